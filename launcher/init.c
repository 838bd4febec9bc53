/*
 * Theory of operation
 *
 * Pid 1 is born with every capability over its new namespaces, every signal blocked, and a copy of
 * the supervisor's memory and descriptors. It closes what it must not have, sets up the network
 * and the mounts, gives all capabilities up, forks the command, and from then on waits for two
 * things: children that end, and the supervisor, which sends signal numbers, asks for
 * sockets or goes away. When the
 * command ends, or the supervisor does, pid 1 ends, and the kernel kills every process of the PID
 * namespace before anybody can learn that pid 1 is gone. So nothing outlives the run: not a
 * daemon, not after SIGKILL of the supervisor (parent-death signal, and the end of the socket).
 */
#include "launcher/init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/closefds.h"
#include "base/fd.h"
#include "base/forked.h"
#include "launcher/caps.h"
#include "launcher/command.h"
#include "launcher/files/reopen.h"
#include "launcher/files/mounts.h"
#include "launcher/init_report.h"
#include "launcher/pty.h"
#include "launcher/userns.h"
#include "netns/bridge.h"
#include "netns/netns.h"

#define FREEZE_AGAIN_MS 20
#define REAP_MAX	16 /* at a time */

#if defined(__x86_64__)
#define INIT_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define INIT_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

/*
 * Should: die with the supervisor from the first moment; leave its session and its handlers.
 * Mustn't: keep any of its descriptors: sockets of the host's network, answers, logs.
 */
static int detach(const struct init *in, struct error *err)
{
	const int keep[] = { in->sock, in->status, in->release, in->stopped,
			     in->plan->pty ? in->plan->pty->sock : -1 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return error_set(err, errno, "cannot tie the sandbox to its supervisor");
	forked_default_signals();
	if (setsid() < 0)
		return error_set(err, errno, "cannot start a session");
	return closefds_except(keep, ARRAY_SIZE(keep), err);
}

/*
 * Should: keep the caller's own ids, so that files have the owner that the user expects.
 * Mustn't: fail without the host's reason. (A supervisor that is not dumpable would leave
 * /proc/self to root; the maps are ours to write only while we are dumpable.)
 */
static int map_ids(const struct init *in, struct error *err)
{
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot become dumpable");
	if (userns_map_self(in->uid, in->gid, err) == 0)
		return 0;
	return err->code == EPERM || err->code == EACCES ? userns_explain(err->code, err) : -1;
}

/*
 * Should: make every socket before the command exists, and hand all of them over.
 * Mustn't: keep one: whoever holds a listener could accept in the proxy's place.
 */
static int set_up_network(const struct init *in, struct error *err)
{
	static struct netns_listener v[NETNS_LISTENERS_MAX];
	size_t n = 0;
	int rc;

	if (netns_setup(&in->plan->net, v, &n, err))
		return err->code == EPERM ? userns_explain(err->code, err) : -1;
	rc = bridge_send(in->sock, v, n, err);
	while (n > 0)
		cleanup_close(&v[--n].fd);
	return rc;
}

/*
 * Should: give up everything before the command is forked, so that both are without.
 * Mustn't: stay dumpable: /proc/1 would show the supervisor's memory to the command.
 */
static int give_up_privileges(struct error *err)
{
	if (caps_drop_all(err))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot set no_new_privs");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot stop being dumpable");
	return 0;
}

/*
 * Should: keep the command's memory from whatever core_pattern names. The limit of 1 stops programs
 * (command.c, limit_core()), but neither a socket, which Linux 6.16 knows, nor anything where the
 * hard limit keeps the command from that 1: only then it must succeed.
 * Mustn't: come after /proc is read-only.
 */
static int empty_core(struct error *err)
{
	CLEANUP_CLOSE int fd = -1;
	struct rlimit now;

	if (getrlimit(RLIMIT_CORE, &now) < 0)
		return error_set(err, errno, "cannot read a limit");
	fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0; /* a kernel that dumps no core */
	if ((fd < 0 || fd_write_all(fd, "0", 1) < 0) && now.rlim_max < 1)
		return error_set(err, errno, "cannot empty core dumps");
	return 0;
}

static int set_up(struct init *in, struct error *err)
{
	static struct mounts mounts;

	if (detach(in, err) || map_ids(in, err) || empty_core(err) || set_up_network(in, err))
		return -1;
	if (mounts_setup(in->plan, in->protect, &mounts, err) || reopen_inside(in->protect, err))
		return -1;
	in->mounts = &mounts;
	in->tty = -1;
	if (in->plan->pty && pty_make(in->plan->pty, &in->tty, err))
		return -1;
	return give_up_privileges(err);
}

/*
 * Pid 1 keeps the socket and the signal descriptor; 0, 1 and 2 lead to /dev/null. It keeps the
 * command's terminal open, too: a command may close its last descriptor of it before it exits (cat
 * does), and the relay, which then sees the end, would hang up the terminal under its feet.
 */
static int let_go(const struct init *in, int sigfd, struct error *err)
{
	const int keep[] = { in->sock, in->status, in->stopped, sigfd, in->tty };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return error_set(err, errno, "cannot open /dev/null");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return error_set(err, errno, "cannot let go of descriptor %d", fd);
	return closefds_except(keep, ARRAY_SIZE(keep), err);
}

#define ALLOW(nr)                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Calls for sockets to pass out; the first instruction gives way to "no" where none are wanted. */
#define PUBLISH_INSNS 10

/*
 * Should: leave the loop below the calls that it makes. Everything else is EPERM, not death: the
 * death of pid 1 is the end of the run.
 * Mustn't: be relied upon; it is a second wall around a process that reads single bytes.
 */
static int install_filter(bool publish, struct error *err)
{
	static struct sock_filter insn[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, INIT_AUDIT_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_ppoll),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_close),
		ALLOW(SYS_recvfrom),
		ALLOW(SYS_wait4),
		ALLOW(SYS_kill),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_restart_syscall),
#ifdef SYS_poll
		ALLOW(SYS_poll),
#endif
#ifdef __SANITIZE_ADDRESS__ /* its runtime looks at the stack before every noreturn call */
		ALLOW(SYS_sigaltstack),
		ALLOW(SYS_gettid),
		ALLOW(SYS_getpid),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
#endif
		ALLOW(SYS_sendmsg),
		ALLOW(SYS_close),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = { .len = ARRAY_SIZE(insn), .filter = insn };

	if (!publish)
		insn[ARRAY_SIZE(insn) - PUBLISH_INSNS] = insn[ARRAY_SIZE(insn) - 1];
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return error_set(err, errno, "cannot install the filter of pid 1");
	return 0;
}

static void tell_stopped(const struct init *in)
{
	if (in->tty >= 0)
		(void)!write(in->stopped, "", 1);
}

/*
 * Looks after the command alone, however many children there are besides; tells of one that has stopped.
 * Return: its status as a shell gives it; -1 while it runs.
 */
static int look_after(const struct init *in, pid_t command)
{
	int status;

	if (waitpid(command, &status, WNOHANG | WUNTRACED) != command)
		return -1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	tell_stopped(in);
	return -1;
}

/*
 * Orphans. The command may make them as fast as they are reaped here, and have each look take long by
 * thousands that do not end: so a few at a time. The command itself may be among them.
 * Return: its status, or -1; @more: there may be others.
 */
static int reap(pid_t command, bool *more)
{
	int status;

	for (int i = 0; i < REAP_MAX; i++) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		*more = pid > 0;
		if (pid <= 0)
			return -1;
		if (pid == command)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return -1;
}

/* Passes a signal on to the command's process group; before its setsid() to itself. */
static void pass_on(pid_t command, int sig)
{
	if (kill(-command, sig) < 0 && errno == ESRCH)
		(void)kill(command, sig);
}

/*
 * A socket of this namespace, for the supervisor to connect. No descriptor means: cannot; also where the
 * user's processes have as many on their way as one may have open (ETOOMANYREFS). Each question has its
 * answer: they are told apart by their order only.
 */
static void pass_socket(const struct init *in, int family)
{
	CLEANUP_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || fd_send(in->sock, "s", 1, &fd, 1) < 0)
		(void)fd_send(in->sock, "s", 1, NULL, 0);
}

/*
 * Not this process. What is ending at that moment may have others go on a little later: its process
 * group without a parent (POSIX, _exit()), the session of a terminal that it had made. So it is done
 * again as long as it is to last.
 */
static void freeze(bool on)
{
	(void)kill(-1, on ? SIGSTOP : SIGCONT);
}

/* What the supervisor wants. */
static void obey(const struct init *in, pid_t command, unsigned char byte, bool *frozen)
{
	if (byte == INIT_SOCKET4)
		pass_socket(in, AF_INET);
	else if (byte == INIT_SOCKET6)
		pass_socket(in, AF_INET6);
	else if (byte == INIT_FREEZE || byte == INIT_THAW)
		freeze(*frozen = byte == INIT_FREEZE);
	else
		pass_on(command, byte);
}

/* Return: whether there is still a supervisor. */
static bool hear(const struct init *in, pid_t command, bool *frozen)
{
	unsigned char byte;
	ssize_t n = recv(in->sock, &byte, 1, MSG_DONTWAIT);

	if (n == 1)
		obey(in, command, byte, frozen);
	return n == 1 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* How long there is nothing to do unasked, in poll(2)'s terms. */
static int rest_ms(bool more, bool frozen)
{
	if (more)
		return 0;
	return frozen ? FREEZE_AGAIN_MS : -1;
}

/*
 * The supervisor comes first, then the command's end, and last what the command has others leave here:
 * no stream of those keeps a signal, a stop or the end waiting.
 */
static void loop(const struct init *in, pid_t command, int sigfd) __attribute__((noreturn));

static void loop(const struct init *in, pid_t command, int sigfd)
{
	struct pollfd pfd[] = {
		{ .fd = sigfd, .events = POLLIN },
		{ .fd = in->sock, .events = POLLIN },
	};
	bool frozen = false, more = false;

	for (;;) {
		struct signalfd_siginfo info;
		int status, ready = poll(pfd, ARRAY_SIZE(pfd), rest_ms(more, frozen));

		if (ready < 0)
			continue;
		if (pfd[1].revents && !hear(in, command, &frozen))
			_exit(128 + SIGKILL);
		if (frozen)
			freeze(true);
		if (pfd[0].revents)
			(void)!read(sigfd, &info, sizeof(info));
		else if (!more)
			continue;
		status = look_after(in, command);
		if (status < 0)
			status = reap(command, &more);
		if (status >= 0)
			_exit(status);
	}
}

void init_run(struct init *in)
{
	struct error err = { 0 };
	sigset_t chld;
	pid_t command;
	int sigfd;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (set_up(in, &err))
		init_fail(in->status, LAUNCHER_EXIT_SETUP, &err);
	sigfd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	command = sigfd < 0 ? -1 : fork();
	if (command < 0) {
		(void)error_set(&err, errno, "cannot fork");
		init_fail(in->status, LAUNCHER_EXIT_SETUP, &err);
	}
	if (command == 0)
		command_run(in);
	if (let_go(in, sigfd, &err) || install_filter(in->plan->publish, &err))
		init_fail(in->status, LAUNCHER_EXIT_SETUP, &err);
	(void)close(in->status);
	loop(in, command, sigfd);
}
