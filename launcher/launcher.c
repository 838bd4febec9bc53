/*
 * Theory of operation
 *
 *   supervisor                      pid 1                           the command
 *   launcher_start(): clone ------> namespaces' first process
 *                                   close, map ids, lo, listeners
 *   receives the listeners <------- SCM_RIGHTS
 *                                   mounts, privileges dropped
 *   readies the proxy               fork -------------------------> session, program, rules,
 *                                   reaps, forwards signals         Landlock, seccomp
 *   answers the proof's requests <--------------------------------- proof (proof.c)
 *   LAUNCHER_PROVEN: compares <------------------------------------ "holds"
 *   launcher_release() -------------------------------------------> limits, execve
 *
 * The command is forked before its release, so that its preparations overlap with the
 * supervisor's; the release is one byte on a socket whose end means the opposite. A failure of any
 * stage, in either process, is one struct init_report on the status pipe, and so is a proof that
 * held; the pipe closes on execve: its end, after the release and without a report, means that the
 * command runs. Since nothing but a chain of successful stages leads to execve, whatever fails,
 * fails closed.
 *
 * clone(2), not clone3(2): container filters answer ENOSYS to the latter, and the flags fit.
 */
#include "launcher/launcher.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/closefds.h"
#include "base/fd.h"
#include "base/forked.h"
#include "base/xalloc.h"
#include "launcher/init.h"
#include "launcher/init_report.h"
#include "launcher/janitor.h"
#include "launcher/proof.h"
#include "launcher/files/lockseen.h"
#include "launcher/files/protect.h"
#include "launcher/userns.h"
#include "netns/bridge.h"

#define FREEZE_MS 5000 /* that pid 1 may take to stop the command; a machine may be busy */

/**
 * struct launcher - one run; owns its descriptors and the child
 * @pid: pid 1 as we see it; 0 once it has been reaped
 * @pidfd: the same, readable when it has ended
 * @sock: signals to pid 1
 * @status: read end of the status pipe
 * @release: a byte here lets the command go; -1 once it has been sent
 * @stopped: a byte comes when the command, at a terminal of its own, has stopped
 * @released: whether the command can have taken it
 * @protect: the names that are locked, and the placeholders made for that
 * @seen: what was there under those names
 * @janitor: removes those
 * @proof: the bait outside, taken away at the release
 * @state: what launcher_status() has found so far
 * @report: valid in LAUNCHER_FAILED, and from LAUNCHER_PROVEN on for its @proof
 * @exit_status: valid once reaped
 */
struct launcher {
	pid_t pid;
	int pidfd;
	int sock;
	int status;
	int release;
	int stopped;
	bool released;
	struct protect protect;
	struct lockseen seen;
	struct janitor janitor;
	struct proof proof;
	enum launcher_state state;
	struct init_report report;
	int exit_status;
};

/* The child's ends of the four channels. */
struct ends {
	int sock, status, release, stopped;
};

static int open_channels(struct launcher *l, struct ends *child, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "cannot make a socket pair");
	l->sock = pair[0];
	child->sock = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_set(err, errno, "cannot make a pipe");
	l->status = pair[0];
	child->status = pair[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "cannot make a socket pair");
	child->release = pair[0];
	l->release = pair[1];
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) <
	    0) /* pid 1 must not wait for a supervisor that has stopped */
		return error_set(err, errno, "cannot make a pipe");
	l->stopped = pair[0];
	child->stopped = pair[1];
	if (fd_set_nonblock(l->status) < 0)
		return error_set(err, errno, "cannot set up a pipe");
	return 0;
}

static void close_ends(struct ends *e)
{
	cleanup_close(&e->sock);
	cleanup_close(&e->status);
	cleanup_close(&e->release);
	cleanup_close(&e->stopped);
	*e = (struct ends){ -1, -1, -1, -1 };
}

/*
 * Should: make all namespaces in one call, with every signal blocked, so that no handler of the
 * supervisor's event loop ever runs in the child.
 * Mustn't: be called with a second thread alive; its locks would stay locked in the child.
 */
static int spawn(struct launcher *l, const struct launcher_plan *plan, const struct ends *child,
		 struct error *err)
{
	struct init in = {
		.plan = plan,
		.uid = geteuid(),
		.gid = getegid(),
		.sock = child->sock,
		.status = child->status,
		.release = child->release,
		.stopped = child->stopped,
		.protect = &l->protect,
		.proof = &l->proof,
	};
	sigset_t all, old;
	long pid;
	int saved;

	forked_ignored(&in.ignored);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	pid = syscall(SYS_clone, USERNS_ALL | CLONE_PIDFD | SIGCHLD, NULL, &l->pidfd, NULL, 0L);
	saved = errno;
	if (pid == 0)
		init_run(&in);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0) {
		l->pidfd = -1;
		return userns_explain(saved, err);
	}
	l->pid = (pid_t)pid;
	return 0;
}

/* Prefers pid 1's own account of a failure to what its silence looked like. */
static void explain_silence(struct launcher *l, struct error *err)
{
	struct init_report report;

	launcher_kill(l);
	(void)launcher_wait(l);
	if (read(l->status, &report, sizeof(report)) == sizeof(report))
		*err = report.err;
}

/* Not at what is denied by path or granted, nor at our own files, which are replaced by ourselves. */
static int look_at_locks(struct launcher *l, const struct launcher_plan *plan)
{
	lockseen_note(&l->seen, l->protect.paths, l->protect.first_denied);
	for (size_t i = 0; i < plan->write.n; i++)
		lockseen_except(&l->seen, plan->write.v[i]);
	return 0;
}

static int start(struct launcher *l, const struct launcher_plan *plan,
		 struct netns_listener *listeners, size_t *n, struct error *err)
{
	struct ends child = { -1, -1, -1, -1 };
	const struct placeholder_watch watch = { janitor_tell, janitor_note, &l->janitor };
	int rc = closefds_fill_stdio(err) || protect_prepare(plan, &watch, &l->protect, err) ||
		 look_at_locks(l, plan) || proof_open(&l->proof, plan, err) ||
		 open_channels(l, &child, err) || spawn(l, plan, &child, err) ||
		 janitor_watch(&l->janitor, l->pidfd, err);

	close_ends(&child);
	if (rc)
		return -1;
	if (bridge_recv(l->sock, listeners, n, err)) {
		explain_silence(l, err);
		return -1;
	}
	return 0;
}

struct launcher *launcher_start(const struct launcher_plan *plan, struct netns_listener *listeners,
				size_t *nlisteners, struct error *err)
{
	struct launcher *l = xcalloc(1, sizeof(*l));
	struct error own;

	*l = (struct launcher){
		.pidfd = -1,
		.sock = -1,
		.status = -1,
		.release = -1,
		.stopped = -1,
		.janitor.sock = -1,
		.proof = { .tcp = -1, .udp = -1, .abstract = -1 },
	};
	if (start(l, plan, listeners, nlisteners, err ? err : &own)) {
		launcher_free(l);
		return NULL;
	}
	return l;
}

int launcher_release(struct launcher *l, struct error *err)
{
	ssize_t n;

	if (l->proof.plan && l->state == LAUNCHER_PENDING)
		return error_set(err, 0, "the sandbox has not been proven"); /* our bug */
	if (janitor_await(&l->janitor, err) < 0)
		return -1;
	proof_close(&l->proof);
	n = send(l->release, "r", 1, MSG_NOSIGNAL);
	if (n < 0 && errno != EPIPE && errno != ECONNRESET)
		return error_set(err, errno, "cannot release the command");
	l->released = n == 1;
	cleanup_close(&l->release);
	l->release = -1;
	return 0;
}

int launcher_status_fd(const struct launcher *l)
{
	return l->status;
}

enum launcher_state launcher_status(struct launcher *l, int *exit_code, struct error *err)
{
	struct init_report report;
	ssize_t n;

	if (l->state == LAUNCHER_PENDING || l->state == LAUNCHER_PROVEN) {
		do
			n = read(l->status, &report, sizeof(report));
		while (n < 0 && errno == EINTR);
		if (n == 0 && l->released) {
			l->state = LAUNCHER_RUNNING;
		} else if (n == 0) {
			l->state = LAUNCHER_FAILED;
			l->report.exit_code = LAUNCHER_EXIT_SETUP;
			(void)error_set(&l->report.err, 0,
					"the sandbox ended before the command could start");
		} else if (n == (ssize_t)sizeof(report)) {
			l->state = report.exit_code ? LAUNCHER_FAILED : LAUNCHER_PROVEN;
			l->report = report;
		}
	}
	if (l->state == LAUNCHER_FAILED) {
		*exit_code = l->report.exit_code;
		if (err)
			*err = l->report.err;
	}
	return l->state;
}

const struct launcher_proof *launcher_proof(const struct launcher *l)
{
	return &l->report.proof;
}

pid_t launcher_pid(const struct launcher *l)
{
	return l->pid;
}

int launcher_pidfd(const struct launcher *l)
{
	return l->pidfd;
}

const int *launcher_tidy_dirs(const struct launcher *l, size_t *n)
{
	*n = l->protect.held.ndirs;
	return l->protect.held.dirs;
}

const char *const *launcher_left(const struct launcher *l, size_t *n)
{
	*n = l->janitor.nlines;
	return (const char *const *)l->janitor.lines;
}

int launcher_wait(struct launcher *l)
{
	int status = 0;
	pid_t got;

	if (l->pid == 0)
		return l->exit_status;
	do
		got = waitpid(l->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	l->pid = 0;
	if (got < 0)
		l->exit_status = LAUNCHER_EXIT_SETUP; /* somebody else has reaped it */
	else if (WIFEXITED(status))
		l->exit_status = WEXITSTATUS(status);
	else
		l->exit_status = 128 + WTERMSIG(status);
	lockseen_compare(&l->seen, janitor_say, &l->janitor);
	janitor_finish(&l->janitor, &l->protect.held);
	return l->exit_status;
}

static int tell(struct launcher *l, unsigned char byte)
{
	return send(l->sock, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -1;
}

void launcher_signal(struct launcher *l, int sig)
{
	assert(sig > 0 && sig < NSIG);
	(void)tell(l, (unsigned char)sig);
}

/* Until @end, waits a moment. */
static bool again(uint64_t end)
{
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };

	(void)nanosleep(&pause, NULL);
	return clock_ms() < end;
}

/* Return: whether it is on its way, or there is nobody any more to whom it would matter. */
static bool tell_surely(struct launcher *l, unsigned char byte, uint64_t end)
{
	while (tell(l, byte) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return true;
		if (!again(end))
			return false;
	}
	return true;
}

/*
 * Pid 1 takes one message after the other: when it has taken the second, it has obeyed the first. A
 * socket counts what its peer has not taken yet (unix(7), SIOCOUTQ).
 */
bool launcher_freeze(struct launcher *l)
{
	uint64_t end = clock_ms() + FREEZE_MS;
	int left;

	if (!tell_surely(l, INIT_FREEZE, end) || !tell_surely(l, INIT_FREEZE, end))
		return false;
	while (ioctl(l->sock, SIOCOUTQ, &left) == 0 && left > 0)
		if (!again(end))
			return false;
	return true;
}

void launcher_thaw(struct launcher *l)
{
	(void)tell_surely(l, INIT_THAW, clock_ms() + FREEZE_MS);
}

int launcher_stopped_fd(const struct launcher *l)
{
	return l->stopped;
}

int launcher_take_stops(struct launcher *l)
{
	int any = 0;
	char bytes[64];
	ssize_t n;

	while ((n = read(l->stopped, bytes, sizeof(bytes))) > 0)
		any = 1;
	return n == 0 && !any ? -1 : any;
}

bool launcher_ask_socket(struct launcher *l, int family)
{
	unsigned char byte = family == AF_INET6 ? INIT_SOCKET6 : INIT_SOCKET4;

	return send(l->sock, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

int launcher_socket_fd(const struct launcher *l)
{
	return l->sock;
}

/* An answer whose descriptor has found no place is one all the same; it has been taken. */
int launcher_take_socket(struct launcher *l, int *fd)
{
	unsigned char byte;
	ssize_t got;
	size_t n;

	*fd = -1;
	got = fd_recv(l->sock, &byte, 1, fd, 1, &n);
	if (got == 1 || (got < 0 && errno == EMSGSIZE))
		return 1;
	return got < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) ? 0 : -1;
}

/* Through the descriptor: a pid that has been reaped may be another process by now. */
void launcher_kill(struct launcher *l)
{
	if (l->pid)
		(void)syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
}

void launcher_free(struct launcher *l)
{
	if (!l)
		return;
	launcher_kill(l);
	if (l->pid)
		(void)launcher_wait(l);
	janitor_finish(&l->janitor, &l->protect.held);
	janitor_clear(&l->janitor);
	lockseen_clear(&l->seen);
	protect_clear(&l->protect);
	proof_close(&l->proof);
	cleanup_close(&l->pidfd);
	cleanup_close(&l->sock);
	cleanup_close(&l->status);
	cleanup_close(&l->release);
	cleanup_close(&l->stopped);
	free(l);
}
