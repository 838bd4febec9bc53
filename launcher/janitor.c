/*
 * Theory of operation
 *
 * Placeholders are in the user's directories and must go when the run ends, also when the
 * supervisor is killed. The janitor is a child of the supervisor outside the sandbox, in a session
 * of its own, with nothing but the placeholders' descriptors. It sleeps on a socket. First comes
 * pid 1's descriptor; the end of the socket means that the supervisor is gone or done. Then it
 * waits for pid 1's end, since removing a mount point takes the mount away, and only then removes.
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
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

/* Reads until the end of the socket; keeps the descriptor that comes. */
static int await_sign(int sock)
{
	int pidfd = -1;

	for (;;) {
		char byte;
		int fd;
		size_t n;
		ssize_t got = fd_recv(sock, &byte, 1, &fd, 1, &n);

		if (got <= 0)
			return pidfd;
		if (n == 1) {
			cleanup_close(&pidfd);
			pidfd = fd;
		}
	}
}

static void *let_go(void *arg)
{
	(void)close(*(const int *)arg);
	return NULL;
}

/* What cannot be opened, or gets no thread, is freed in its turn. */
static void remove_all(const struct protect *what)
{
	int *fd = xcalloc(what->nmade, sizeof(*fd));
	pthread_t *thread = xcalloc(what->nmade, sizeof(*thread));
	bool *runs = xcalloc(what->nmade, sizeof(*runs));

	for (size_t i = 0; i < what->nmade; i++)
		fd[i] = openat(what->made[i].dir, what->made[i].name,
			       O_PATH | O_NOFOLLOW | O_CLOEXEC);
	protect_remove(what);
	for (size_t i = 0; i < what->nmade; i++)
		runs[i] = fd[i] >= 0 && pthread_create(&thread[i], NULL, let_go, &fd[i]) == 0;
	for (size_t i = 0; i < what->nmade; i++)
		if (runs[i])
			(void)pthread_join(thread[i], NULL);
}

/* Should: outlive the supervisor. Mustn't: keep its terminal, its signals or its descriptors. */
static void run(const struct protect *what, int sock) __attribute__((noreturn));

static void run(const struct protect *what, int sock)
{
	sigset_t all;
	int pidfd;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	pidfd = await_sign(sock);
	if (pidfd >= 0)
		await_end(pidfd);
	remove_all(what);
	_exit(0);
}

/* Closes everything but the socket and the placeholders' directories. */
static int keep_only(const struct protect *what, int sock)
{
	CLEANUP_FREE int *keep = xcalloc(what->ndirs + 1, sizeof(*keep));
	size_t n = 0;

	keep[n++] = sock;
	for (size_t i = 0; i < what->ndirs; i++)
		keep[n++] = what->dirs[i];
	return closefds_except(keep, n, NULL);
}

int janitor_start(const struct protect *what, struct janitor *out, struct error *err)
{
	int pair[2];
	pid_t pid;

	*out = (struct janitor){ .sock = -1 };
	if (what->nmade == 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "cannot make a socket pair");
	pid = fork();
	if (pid == 0) {
		if (keep_only(what, pair[1]))
			_exit(1);
		run(what, pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return error_set(err, errno, "cannot fork");
	}
	*out = (struct janitor){ .pid = pid, .sock = pair[0] };
	return 0;
}

int janitor_watch(const struct janitor *j, int pidfd, struct error *err)
{
	if (j->sock >= 0 && fd_send(j->sock, "p", 1, &pidfd, 1) < 0)
		return error_set(err, errno, "cannot reach the janitor");
	return 0;
}

void janitor_finish(struct janitor *j, const struct protect *what)
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
		protect_remove(what);
}
