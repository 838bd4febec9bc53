/*
 * Theory of operation
 *
 * The caller may go on reading where the command has stopped: a loop of a shell over the lines of a pipe,
 * a shell that reads its script there. Then nothing is taken from the caller's pipe before the command
 * has taken it. The command's pipe has room for one buffer, which tee(2) fills without taking
 * anything; when there is room again, the command has read it all, and as many bytes are thrown away
 * at the caller's end. When the command is gone, what was left in its pipe says how much it has read.
 *
 * That is slow, since the two processes take turns for each page. Where we know that no process above us has that
 * pipe open, what is there is moved, ahead of the command.
 */
#include "launcher/inpipe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/forked.h"
#include "base/procstat.h"

#define ONE_BUFFER 1	     /* rounded up to a page, and a pipe has one buffer for each */
#define CHUNK	   (1 << 20) /* more than a buffer holds, or a pipe */
#define ABOVE_MAX  64	     /* processes above us that are looked at */
#define NAME_LEN   64	     /* "pipe:[INODE]"; a longer one is no pipe's */

/**
 * struct relay - the two pipes
 * @from: the caller's
 * @to: the command's
 * @null: for what has been read
 * @shared: somebody else reads @from
 */
struct relay {
	int from, to, null;
	bool shared;
};

/* Waits for @fd. Return: false when nobody can read the command's pipe any more. */
static bool await(const struct relay *r, int fd, short events)
{
	struct pollfd p[] = {
		{ .fd = r->to, .events = fd == r->to ? events : 0 },
		{ .fd = fd == r->from ? fd : -1, .events = events },
	};

	while (poll(p, ARRAY_SIZE(p), -1) < 0)
		if (errno != EINTR)
			return false;
	return !(p[0].revents & (POLLERR | POLLNVAL));
}

/* Takes away what the command has read of it; less if somebody else has read there meanwhile. */
static void take(const struct relay *r, size_t n)
{
	while (n > 0) {
		ssize_t done = splice(r->from, NULL, r->null, NULL, n, SPLICE_F_NONBLOCK);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		n -= (size_t)done;
	}
}

/* Return: whether there may be more. */
static bool move(const struct relay *r)
{
	ssize_t n = splice(r->from, NULL, r->to, NULL, CHUNK, SPLICE_F_NONBLOCK);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Shows the command what comes next. Return: as above. */
static bool show(const struct relay *r)
{
	ssize_t n = tee(r->from, r->to, CHUNK, SPLICE_F_NONBLOCK);
	int left = 0;
	bool more;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	more = await(r, r->to, POLLOUT);
	if (!more && (ioctl(r->to, FIONREAD, &left) < 0 || left > n || left < 0))
		left = (int)n; /* the command has written there itself */
	take(r, (size_t)(n - left));
	return more;
}

/* Should: outlive signals that are meant for the command. Mustn't: keep more than three descriptors. */
static void run(int to, bool shared) __attribute__((noreturn));

static void run(int to, bool shared)
{
	static const int ignored[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2 };
	struct relay r = { .from = STDIN_FILENO, .to = to, .shared = shared };

	if (forked_helper(&to, 1, ignored, ARRAY_SIZE(ignored), NULL))
		_exit(1);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	r.null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (r.null < 0 || dup2(r.null, STDOUT_FILENO) < 0 || dup2(r.null, STDERR_FILENO) < 0)
		_exit(1);
	while (await(&r, r.to, POLLOUT) && await(&r, r.from, POLLIN) &&
	       (r.shared ? show(&r) : move(&r)))
		;
	_exit(0);
}

/* What an open pipe is called; nothing is looked at but the name. Return: false if nobody can tell. */
static bool name_of(int dir, const char *fd, char name[static NAME_LEN])
{
	ssize_t n = readlinkat(dir, fd, name, NAME_LEN - 1);

	name[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

enum found { HAS_NOT, HAS, NOBODY_CAN_TELL };

/* "." and ".." are no links. */
static enum found has_descriptor(int dir, const char *fd, const char *pipe)
{
	char name[NAME_LEN];

	if (name_of(dir, fd, name))
		return strcmp(name, pipe) == 0 ? HAS : HAS_NOT;
	return errno == ENOENT || errno == EINVAL ? HAS_NOT : NOBODY_CAN_TELL;
}

/*
 * Whether @pid has the pipe open. Another user's process, and one that is not dumpable, lets nobody look,
 * or is not shown at all (proc(5), hidepid).
 */
static enum found has_open(pid_t pid, const char *pipe)
{
	enum found found = HAS_NOT;
	struct dirent *e;
	char path[64];
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		return NOBODY_CAN_TELL;
	while (found == HAS_NOT && (e = readdir(d)))
		found = has_descriptor(dirfd(d), e->d_name, pipe);
	(void)closedir(d);
	return found;
}

/*
 * A shell that goes on reading there is above us. One that cannot be looked at may be that shell, unless
 * somebody below it, by whom we would have the pipe from it, has it not: init is above us all. So may
 * one be that is above a PID namespace.
 */
static bool is_shared(void)
{
	bool cut_off = false;
	pid_t pid = getppid();
	char pipe[NAME_LEN];

	if (!name_of(AT_FDCWD, "/proc/self/fd/0", pipe))
		return true;
	for (int i = 0; pid > 0 && i < ABOVE_MAX; i++, pid = procstat_parent(pid)) {
		enum found found = has_open(pid, pipe);

		if (found == HAS || (found == NOBODY_CAN_TELL && !cut_off))
			return true;
		cut_off = cut_off || found == HAS_NOT;
	}
	return !cut_off;
}

static bool is_wanted(void)
{
	int flags = fcntl(STDIN_FILENO, F_GETFL);
	struct statfs fs;
	struct stat st;

	return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY && fstat(STDIN_FILENO, &st) == 0 &&
	       S_ISFIFO(st.st_mode) && fstatfs(STDIN_FILENO, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

/* Both ends are closed in the other of the two processes. */
static int start(struct inpipe *p, const int pair[2], struct error *err)
{
	bool shared = is_shared();

	if (shared && fcntl(pair[1], F_SETPIPE_SZ, ONE_BUFFER) < 0)
		return error_set(err, errno, "cannot set the size of a pipe");
	p->caller = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (p->caller < 0)
		return error_set(err, errno, "cannot keep standard input");
	p->relay = fork();
	if (p->relay == 0)
		run(pair[1], shared);
	if (p->relay < 0)
		return error_set(err, errno, "cannot fork");
	if (dup2(pair[0], STDIN_FILENO) < 0)
		return error_set(err, errno, "cannot replace standard input");
	return 0;
}

int inpipe_start(struct inpipe *out, struct error *err)
{
	CLEANUP_CLOSE int from = -1, to = -1;
	struct inpipe p = { .caller = -1 };
	int pair[2], rc;

	*out = p;
	if (!is_wanted())
		return 0;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_set(err, errno, "cannot make a pipe");
	from = pair[0];
	to = pair[1];
	rc = start(&p, pair, err);
	if (rc == 0) {
		*out = p;
		return 0;
	}
	cleanup_close(&p.caller);
	cleanup_close(&from);
	cleanup_close(&to);
	from = to = p.caller = -1;
	inpipe_finish(&p);
	return -1;
}

void inpipe_started(struct inpipe *p)
{
	if (p->caller < 0)
		return;
	(void)dup2(p->caller, STDIN_FILENO);
	cleanup_close(&p->caller);
	p->caller = -1;
}

void inpipe_finish(struct inpipe *p)
{
	inpipe_started(p);
	while (p->relay > 0 && waitpid(p->relay, NULL, 0) < 0 && errno == EINTR)
		;
	p->relay = 0;
}
