/*
 * Theory of operation
 *
 * Placeholders are in the user's directories and must go when the run ends, also when the
 * supervisor is killed. The janitor is a child of the supervisor outside the sandbox, in a session
 * of its own. It reads a socket. Each placeholder comes before it is made, with the descriptor of
 * its directory, and again when it is known which one it is; then comes pid 1's descriptor. The end
 * of the socket means that the supervisor is gone or done. Then it waits for pid 1's end, since
 * removing a mount point takes the mount away, and only then removes.
 *
 * The supervisor waits for that, so it must be quick. A file system that discards blocks as they
 * become free (ext4 without a journal, mounted with "discard") takes three milliseconds for each
 * directory, one after the other: thirty for those of a workspace. But it does so when the last
 * descriptor is closed. So the placeholders are opened, their names removed, and then they are let
 * go of by as many threads: three milliseconds in all.
 */
#include "launcher/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/closefds.h"

static void await_end(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

/** struct notice - one message; without a name it is about pid 1 */
struct notice {
	dev_t dev;
	ino_t ino;
	bool file, absent;
	char content[8], name[NAME_MAX + 1];
};

/* One descriptor will do for what is in one directory: there may be thousands of placeholders. */
static int share_dir(const struct placeholders *what, int dir)
{
	struct stat a, b;

	if (what->n == 0 || fstat(dir, &a) < 0 || fstat(what->v[what->n - 1].dir, &b) < 0 ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return dir;
	(void)close(dir);
	return what->v[what->n - 1].dir;
}

/* A placeholder that has been made is the one that was announced last. */
static void take_note(struct placeholders *what, const struct notice *n, int dir)
{
	struct placeholder *last = what->n ? &what->v[what->n - 1] : NULL;

	if (last && n->ino && last->ino == 0 && strcmp(last->name, n->name) == 0) {
		last->dev = n->dev;
		last->ino = n->ino;
		cleanup_close(&dir);
		return;
	}
	dir = share_dir(what, dir);
	what->v = xreallocarray(what->v, what->n + 1, sizeof(*what->v));
	what->v[what->n++] = (struct placeholder){
		.dir = dir,
		.name = xstrdup(n->name),
		.content = n->file ? xstrdup(n->content) : NULL,
		.dev = n->dev,
		.ino = n->ino,
		.absent = n->absent,
	};
}

/*
 * Reads until the end of the socket; @pidfd is pid 1's descriptor, or -1 if none came. Return: 0,
 * or -1 if something may have been missed: the supervisor, if it lives, does the work itself then.
 */
static int await_sign(int sock, struct placeholders *what, int *pidfd)
{
	*pidfd = -1;
	for (;;) {
		struct notice n = { 0 };
		int fd;
		size_t nfds;
		ssize_t got = fd_recv(sock, &n, sizeof(n), &fd, 1, &nfds);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(n))
			return got == 0 ? 0 : -1;
		if (nfds == 1 && n.name[0]) {
			take_note(what, &n, fd);
		} else if (nfds == 1) {
			cleanup_close(pidfd);
			*pidfd = fd;
		}
	}
}

static void *let_go(void *arg)
{
	(void)close(*(const int *)arg);
	return NULL;
}

/* What cannot be opened, or gets no thread, is freed in its turn. */
static void remove_all(const struct placeholders *what)
{
	int *fd = xcalloc(what->n, sizeof(*fd));
	pthread_t *thread = xcalloc(what->n, sizeof(*thread));
	bool *runs = xcalloc(what->n, sizeof(*runs));

	for (size_t i = 0; i < what->n; i++)
		fd[i] = openat(what->v[i].dir, what->v[i].name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	placeholders_remove(what);
	for (size_t i = 0; i < what->n; i++)
		runs[i] = fd[i] >= 0 && pthread_create(&thread[i], NULL, let_go, &fd[i]) == 0;
	for (size_t i = 0; i < what->n; i++)
		if (runs[i])
			(void)pthread_join(thread[i], NULL);
}

/* Should: outlive the supervisor. Mustn't: keep its terminal, its signals or its descriptors. */
static void run(int sock) __attribute__((noreturn));

static void run(int sock)
{
	struct placeholders what = { 0 };
	sigset_t all;
	int pidfd;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	fd_raise_limit(NULL);
	if (await_sign(sock, &what, &pidfd) < 0)
		_exit(1); /* the command may be running: what is removed now would take its lock along */
	if (pidfd >= 0)
		await_end(pidfd);
	remove_all(&what);
	_exit(0);
}

/* Return: 0, or -1 with errno. */
static int start(struct janitor *j)
{
	int pair[2], saved;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	pid = fork();
	saved = errno;
	if (pid == 0) {
		if (closefds_except(&pair[1], 1, NULL))
			_exit(1);
		run(pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		errno = saved;
		return -1;
	}
	*j = (struct janitor){ .pid = pid, .sock = pair[0] };
	return 0;
}

int janitor_tell(void *arg, const struct placeholder *m)
{
	struct janitor *j = arg;
	struct notice n = { .dev = m->dev, .ino = m->ino, .file = m->content, .absent = m->absent };

	if (j->pid == 0 && start(j) < 0)
		return -1;
	(void)snprintf(n.name, sizeof(n.name), "%s", m->name);
	(void)snprintf(n.content, sizeof(n.content), "%s", m->content ? m->content : "");
	return fd_send(j->sock, &n, sizeof(n), &m->dir, 1);
}

int janitor_watch(const struct janitor *j, int pidfd, struct error *err)
{
	const struct notice n = { 0 };

	if (j->sock >= 0 && fd_send(j->sock, &n, sizeof(n), &pidfd, 1) < 0)
		return error_set(err, errno, "cannot reach the janitor");
	return 0;
}

void janitor_finish(struct janitor *j, const struct placeholders *what)
{
	int status = -1;

	if (j->done)
		return;
	j->done = true;
	cleanup_close(&j->sock);
	j->sock = -1;
	if (j->pid > 0)
		while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
			;
	j->pid = 0;
	if (status != 0)
		placeholders_remove(what);
}
