#include "launcher/ttykeep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/forked.h"
#include "launcher/ttyquiet.h"

/**
 * struct kept - one of 0, 1 and 2
 * @is: a terminal that can be put back
 * @moded: so can its modes
 */
struct kept {
	bool is, moded;
	mode_t mode;
	int flags;
	struct termios modes;
};

static struct kept kept[STDERR_FILENO + 1];

static bool is_foreground(int fd)
{
	return tcgetpgrp(fd) == getpgrp();
}

/* Somebody at the other end of a pipe may use the same terminal. */
static bool is_alone(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		struct stat st;

		if (fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
			return false;
	}
	return true;
}

static void look(int fd, bool modes, struct kept *k)
{
	struct stat st;

	*k = (struct kept){ 0 };
	if (!isatty(fd) || fstat(fd, &st) < 0)
		return;
	k->mode = st.st_mode & 07777;
	k->flags = fcntl(fd, F_GETFL);
	k->is = k->flags >= 0;
	k->moded =
		k->is && modes && is_alone() && is_foreground(fd) && tcgetattr(fd, &k->modes) == 0;
}

/* What is as it was is not touched: fchmod(2) alone would change a time. */
static void put_back(int fd, const struct kept *k)
{
	struct stat st;

	if (!k->is)
		return;
	if (fstat(fd, &st) == 0 && (st.st_mode & 07777) != k->mode)
		(void)fchmod(fd, k->mode);
	if (fcntl(fd, F_GETFL) != k->flags)
		(void)fcntl(fd, F_SETFL, k->flags);
	if (k->moded && is_foreground(fd))
		(void)tcsetattr(fd, TCSANOW, &k->modes);
}

/* The input goes once, however many of 0, 1 and 2 lead to the terminal, and before any has its modes. */
static void put_all_back(const struct kept *v)
{
	bool quiet = false;

	for (int fd = 0; fd <= STDERR_FILENO && !quiet; fd++) {
		quiet = v[fd].moded && is_foreground(fd);
		if (quiet)
			ttyquiet_discard(fd);
	}
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		put_back(fd, &v[fd]);
}

/* Should: outlive the supervisor. Mustn't: die of what is typed, or keep more than the terminal. */
static void run(int pidfd, const struct kept *v) __attribute__((noreturn));

static void run(int pidfd, const struct kept *v)
{
	static const int ignored[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2 };
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (forked_helper(&pidfd, 1, ignored, ARRAY_SIZE(ignored), NULL))
		_exit(1);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	put_all_back(v);
	_exit(0);
}

pid_t ttykeep_start(int pidfd, bool modes, struct error *err)
{
	bool any = false;
	pid_t pid;

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		look(fd, modes, &kept[fd]);
		any = any || kept[fd].is;
	}
	if (!any)
		return 0;
	pid = fork();
	if (pid == 0)
		run(pidfd, kept);
	return pid < 0 ? error_set(err, errno, "cannot fork") : pid;
}

void ttykeep_finish(pid_t keeper)
{
	int status = 0;

	while (keeper > 0 && waitpid(keeper, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0)
		return;
	put_all_back(kept);
}
