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
 * git directories come by the same way (leftover.h), before pid 1's descriptor. The janitor remembers
 * what is in them while the supervisor goes on, answers when it knows, and is waited for before the
 * command is let go. What it finds after the command has ended it takes away, and tells through the
 * socket; if the supervisor has been killed, it takes it away and tells nobody.
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
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/closefds.h"
#include "base/fd.h"
#include "base/xalloc.h"

static void await_end(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

/** enum notice_kind - what the supervisor tells the janitor */
enum notice_kind {
	NOTICE_HELD, /* a placeholder */
	NOTICE_PID1, /* the descriptor of pid 1 */
	NOTICE_GIT,  /* a directory to compare; @leftover says what it is */
};

/** struct notice - one message, with a descriptor */
struct notice {
	enum notice_kind kind;
	enum leftover_kind leftover;
	dev_t dev;
	ino_t ino;
	bool file, absent;
	char content[8], name[NAME_MAX + 1];
};

/* What the janitor answers: READY when it knows the git directories, LAST at the end, and lines. */
#define READY	 "r"
#define LAST	 "e"
#define TELL_MAX 4096

/** struct task - what the janitor has been told */
struct task {
	struct placeholders held;
	struct leftover **git;
	size_t ngit;
	int *trees, *roots; /* of LEFTOVER_LED, LEFTOVER_ROOT */
	size_t ntrees, nroots;
	int pidfd;
	int sock;
	bool removed;
};

/* To a supervisor that is there: it reads until the janitor has ended. */
static void tell_line(void *arg, const char *line)
{
	const struct task *t = arg;
	CLEANUP_FREE char *text = xasprintf("l%s", line);

	(void)fd_send(t->sock, text, strnlen(text, TELL_MAX), NULL, 0);
}

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

static void keep_fd(int **list, size_t *n, int fd)
{
	*list = xreallocarray(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = fd;
}

/* Takes @fd. */
static void take_git(struct task *t, const struct notice *n, int fd)
{
	if (n->leftover == LEFTOVER_LED) {
		keep_fd(&t->trees, &t->ntrees, fd);
		return;
	}
	if (n->leftover == LEFTOVER_ROOT) {
		keep_fd(&t->roots, &t->nroots, fd);
		return;
	}
	if (n->leftover != LEFTOVER_LOCKED) {
		t->git = xreallocarray(t->git, t->ngit + 1, sizeof(*t->git));
		t->git[t->ngit++] =
			leftover_note(fd, n->leftover, t->trees, t->ntrees, tell_line, t);
	}
	for (size_t i = 0; n->leftover == LEFTOVER_LOCKED && i < t->ngit; i++)
		leftover_lock(t->git[i], fd);
	(void)close(fd);
}

static void obey(struct task *t, const struct notice *n, int fd)
{
	switch (n->kind) {
	case NOTICE_HELD:
		take_note(&t->held, n, fd);
		break;
	case NOTICE_GIT:
		take_git(t, n, fd);
		break;
	case NOTICE_PID1:
		cleanup_close(&t->pidfd);
		t->pidfd = fd;
		(void)fd_send(t->sock, READY, 1, NULL, 0);
		break;
	}
}

/*
 * Reads until the end of the socket. Return: 0, or -1 if something may have been missed: the
 * supervisor, if it lives, does the work itself then.
 */
static int await_sign(struct task *t)
{
	for (;;) {
		struct notice n = { 0 };
		int fd;
		size_t nfds;
		ssize_t got = fd_recv(t->sock, &n, sizeof(n), &fd, 1, &nfds);

		if (got < 0 && (errno == EINTR || errno == ECONNRESET))
			continue; /* killed with an answer unread: what it has told is still to come */
		if (got != sizeof(n))
			return got == 0 ? 0 : -1;
		if (nfds == 1)
			obey(t, &n, fd);
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

/* The command may have filled the file system. What we hold there takes a good many files and blocks. */
static void make_room(void *arg)
{
	struct task *t = arg;

	if (!t->removed)
		remove_all(&t->held);
	t->removed = true;
}

/* Should: outlive the supervisor. Mustn't: keep its terminal, its signals or its descriptors. */
static void run(int sock) __attribute__((noreturn));

static void run(int sock)
{
	struct task t = { .pidfd = -1, .sock = sock };
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	fd_raise_limit(NULL);
	if (await_sign(&t) < 0)
		_exit(1); /* the command may be running: what is removed now would take its lock along */
	if (t.pidfd >= 0)
		await_end(t.pidfd);
	for (size_t i = 0; t.pidfd >= 0 && i < t.ngit; i++) {
		leftover_reach(t.git[i], t.roots, t.nroots);
		leftover_sweep(t.git[i], tell_line, make_room, &t);
	}
	remove_all(&t.held);
	(void)fd_send(sock, LAST, 1, NULL, 0);
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
	j->pid = pid;
	j->sock = pair[0];
	return 0;
}

int janitor_tell(void *arg, const struct placeholder *m)
{
	struct janitor *j = arg;
	struct notice n = { .kind = NOTICE_HELD,
			    .dev = m->dev,
			    .ino = m->ino,
			    .file = m->content,
			    .absent = m->absent };

	if (j->pid == 0 && start(j) < 0)
		return -1;
	(void)snprintf(n.name, sizeof(n.name), "%s", m->name);
	(void)snprintf(n.content, sizeof(n.content), "%s", m->content ? m->content : "");
	return fd_send(j->sock, &n, sizeof(n), &m->dir, 1);
}

int janitor_note(void *arg, int dir, enum leftover_kind kind)
{
	struct janitor *j = arg;
	const struct notice n = { .kind = NOTICE_GIT, .leftover = kind };

	if (j->pid == 0 && start(j) < 0)
		return -1;
	j->noted = true;
	return fd_send(j->sock, &n, sizeof(n), &dir, 1);
}

int janitor_watch(const struct janitor *j, int pidfd, struct error *err)
{
	const struct notice n = { .kind = NOTICE_PID1 };

	if (j->sock >= 0 && fd_send(j->sock, &n, sizeof(n), &pidfd, 1) < 0)
		return error_set(err, errno, "cannot reach the janitor");
	return 0;
}

static void keep_line(struct janitor *j, char *line)
{
	j->lines = xreallocarray(j->lines, j->nlines + 1, sizeof(*j->lines));
	j->lines[j->nlines++] = line;
}

void janitor_say(void *arg, const char *line)
{
	keep_line(arg, xstrdup(line));
}

/* Return: 1 for a line, which is kept; 0 when it knows the git directories; -1 when it is done. */
static int hear(struct janitor *j)
{
	char text[TELL_MAX + 1];
	ssize_t n;

	do
		n = recv(j->sock, text, sizeof(text) - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0 || text[0] == LAST[0])
		return -1;
	text[n] = '\0';
	if (text[0] != 'l')
		return 0;
	keep_line(j, xstrdup(text + 1));
	return 1;
}

int janitor_await(struct janitor *j, struct error *err)
{
	int heard;

	if (!j->noted)
		return 0;
	do
		heard = hear(j);
	while (heard > 0);
	return heard == 0 ? 0 : error_set(err, 0, "the janitor has ended");
}

void janitor_finish(struct janitor *j, const struct placeholders *what)
{
	int status = -1;

	if (j->done)
		return;
	j->done = true;
	if (j->sock >= 0)
		(void)shutdown(j->sock, SHUT_WR);
	while (j->sock >= 0 && hear(j) >= 0)
		;
	cleanup_close(&j->sock);
	j->sock = -1;
	if (j->pid > 0)
		while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
			;
	j->pid = 0;
	if (status == 0)
		return;
	placeholders_remove(what);
	if (j->noted)
		keep_line(
			j,
			xstrdup("nobody has looked at what the command has left in .git: look for "
				"symbolic links in it before you use git there"));
}

void janitor_clear(struct janitor *j)
{
	for (size_t i = 0; i < j->nlines; i++)
		free(j->lines[i]);
	free(j->lines);
	j->lines = NULL;
	j->nlines = 0;
}
