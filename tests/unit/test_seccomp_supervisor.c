/*
 * test_seccomp_supervisor.c - L-025: what code that got into the supervisor could still do
 */
#include "launcher/seccomp_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "launcher/seccomp_asm.h"
#include "tests/support/bpf_interp.h"

#define ALLOW  SECCOMP_RET_ALLOW
#define KILL   SECCOMP_RET_KILL_PROCESS
#define ERR(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))

static const uint32_t audit_arch[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };
static struct seccomp_program program[2];

/* What a set-up may signal. */
enum { SELF = 1000, RELAY = 1001, PIDFD = 7 };

static int set_up(void **state)
{
	static const struct seccomp_peers peers = { .self = SELF, .relay = RELAY, .pidfd = PIDFD };

	(void)state;
	for (int i = 0; i < 2; i++)
		if (seccomp_supervisor_build((enum seccomp_arch)i, &peers, &program[i], NULL) < 0)
			return -1;
	return 0;
}

static uint32_t ask(int arch, uint32_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	struct seccomp_data d = { .nr = (int)nr, .arch = audit_arch[arch], .args = { a, b, c } };

	return bpf_interp(program[arch].insn, program[arch].len, &d);
}

/** struct row - a call and its answer on both architectures */
struct row {
	enum seccomp_call call;
	uint64_t args[3];
	uint32_t want;
};

#define ROW(name, a, b, c, want)                       \
	{                                              \
		SECCOMP_CALL_##name, { a, b, c }, want \
	}

static const struct row rows[] = {
	ROW(execve, 0, 0, 0, KILL),
	ROW(execveat, 0, 0, 0, KILL),
	ROW(fork, 0, 0, 0, KILL),
	ROW(vfork, 0, 0, 0, KILL),
	ROW(clone, SIGCHLD, 0, 0, KILL),
	ROW(clone, 0x3d0f00, 0, 0, KILL),
	ROW(clone3, 0, 0, 0, ERR(ENOSYS)),
	ROW(ptrace, 0, 0, 0, KILL),
	ROW(process_vm_writev, 0, 0, 0, KILL),
	ROW(mount, 0, 0, 0, KILL),
	ROW(unshare, 0, 0, 0, KILL),
	ROW(setns, 0, 0, 0, KILL),
	ROW(bpf, 0, 0, 0, KILL),
	ROW(memfd_create, 0, 8, 0, KILL),
	ROW(setuid, 0, 0, 0, KILL),
	ROW(io_uring_setup, 0, 0, 0, KILL),
	ROW(sethostname, 0, 0, 0, ERR(EPERM)),
	ROW(shmget, 0, 0, 0, ERR(EPERM)),
	ROW(mmap, 0, 4096, PROT_READ | PROT_WRITE, ALLOW),
	ROW(mmap, 0, 4096, PROT_READ | PROT_EXEC, ERR(EPERM)),
	ROW(mmap, 0, 4096, 0x100000000ULL | PROT_EXEC, ERR(EPERM)),
	ROW(mprotect, 0, 4096, PROT_EXEC, ERR(EPERM)),
	ROW(mprotect, 0, 4096, PROT_READ, ALLOW),
	ROW(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, ALLOW),
	ROW(socket, AF_INET6, SOCK_DGRAM, IPPROTO_UDP, ALLOW),
	ROW(socket, AF_INET, SOCK_RAW, 1, ERR(EPERM)),
	ROW(socket, AF_UNIX, SOCK_STREAM, 0, ERR(EPERM)),
	ROW(socket, 0x100000000ULL | AF_UNIX, SOCK_STREAM, 0, ERR(EPERM)),
	ROW(socket, AF_PACKET, SOCK_RAW, 0, ERR(EPERM)),
	ROW(socket, AF_NETLINK, SOCK_RAW, 0, ALLOW),
	ROW(socket, AF_NETLINK, SOCK_RAW, 9, ERR(EPERM)),
	ROW(socketpair, AF_UNIX, SOCK_STREAM, 0, ALLOW),
	ROW(socketpair, AF_UNIX, SOCK_DGRAM, 0, ERR(EPERM)),
	ROW(ioctl, 0, 0x5413, 0, ALLOW),
	ROW(ioctl, 0, 0x5411, 0, ALLOW),
	ROW(ioctl, 0, 0x5412, 0, ERR(EPERM)),
	ROW(ioctl, 0, 0x100005412ULL, 0, ERR(EPERM)),
	ROW(prctl, PR_SET_NAME, 0, 0, ALLOW),
	ROW(prctl, PR_SET_DUMPABLE, 1, 0, ERR(EPERM)),
	ROW(splice, 0, 0, 0, ALLOW),
	ROW(accept4, 0, 0, 0, ALLOW),
	ROW(connect, 0, 0, 0, ALLOW),
	ROW(epoll_pwait, 0, 0, 0, ALLOW),
	ROW(renameat, 0, 0, 0, ALLOW),
	ROW(fsync, 0, 0, 0, ALLOW),
	ROW(pidfd_send_signal, PIDFD, SIGKILL, 0, ALLOW),
	ROW(pidfd_send_signal, PIDFD + 1, SIGKILL, 0, ERR(EPERM)),
	ROW(pidfd_send_signal, 0, SIGKILL, 0, ERR(EPERM)),
	ROW(kill, SELF, SIGSTOP, 0, ALLOW),
	ROW(kill, RELAY, SIGUSR1, 0, ALLOW),
	ROW(kill, 1, SIGKILL, 0, ERR(EPERM)),
	ROW(kill, 0, SIGKILL, 0, ERR(EPERM)),
	ROW(kill, 0xffffffff, SIGKILL, 0, ERR(EPERM)),
	ROW(kill, (uint32_t)-RELAY, SIGKILL, 0, ERR(EPERM)),
	ROW(kill, 0x100000000ULL | 1, SIGKILL, 0, ERR(EPERM)),
	ROW(tkill, SELF, SIGSTOP, 0, ALLOW),
	ROW(tkill, 1, SIGKILL, 0, ERR(EPERM)),
	ROW(tgkill, SELF, SELF, SIGABRT, ALLOW),
	ROW(tgkill, 1, 1, SIGKILL, ERR(EPERM)),
	ROW(rt_sigqueueinfo, SELF, SIGKILL, 0, ERR(EPERM)),
	ROW(fcntl, 3, F_SETOWN, 1, ERR(EPERM)),
	ROW(fcntl, 3, 15, 0, ERR(EPERM)),	/* F_SETOWN_EX */
	ROW(fcntl, 3, 10, SIGKILL, ERR(EPERM)), /* F_SETSIG */
	ROW(fcntl, 3, 1024, 0, ERR(EPERM)),	/* F_SETLEASE */
	ROW(fcntl, 3, F_SETFL, O_ASYNC, ERR(EPERM)),
	ROW(fcntl, 3, F_SETFL, O_NONBLOCK, ALLOW),
	ROW(fcntl, 3, F_DUPFD_CLOEXEC, 0, ALLOW),
	ROW(fcntl, 3, F_OFD_SETLK, 0, ALLOW),
};

static void test_filter_answers(void **state)
{
	(void)state;
	for (int arch = 0; arch < 2; arch++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			const struct row *r = &rows[i];
			int nr = seccomp_rows[r->call].nr[arch];
			uint32_t got;

			if (nr < 0)
				continue;
			got = ask(arch, (uint32_t)nr, r->args[0], r->args[1], r->args[2]);
			if (got != r->want)
				fail_msg("arch %d row %zu %s: %x instead of %x", arch, i,
					 seccomp_rows[r->call].name, got, r->want);
		}
}

/* An allow-list: what the command may not do, the supervisor may not do unless it is listed. */
static void test_filter_knows_no_call_by_accident(void **state)
{
	size_t allowed = 0;

	(void)state;
	for (int arch = 0; arch < 2; arch++)
		for (uint32_t nr = 0; nr < 1024; nr++) {
			allowed += ask(arch, nr, 0, 0, 0) == ALLOW;
			assert_int_equal(ask(arch, 0x40000000 | nr, 0, 0, 0), ERR(ENOSYS));
		}
	assert_in_range(allowed, 150, 300);
}

/* Somebody else's process, and one of ours. */
static pid_t victim;
static struct seccomp_peers peers;

static int in_child(int (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		const struct rlimit none = { 0, 0 };
		struct error err = { .msg = "" };

		(void)setrlimit(RLIMIT_CORE, &none);
		if (seccomp_supervisor_install(&peers, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.msg);
			_exit(99);
		}
		_exit(test());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int inject_execve(void)
{
	char *const argv[] = { NULL };

	return execve("/bin/true", argv, argv);
}

static int inject_fork(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static int inject_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, 0, 0);
}

static int inject_mount(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static int inject_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}

static int inject_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	return p == MAP_FAILED && errno == EPERM ? 0 : 1;
}

/* Loopback connection, epoll, timer, splice through a pipe. */
static int work(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	struct epoll_event ev = { .events = EPOLLIN };
	sigset_t set;
	char c = 0;
	int pipefd[2], l, out, in, ep;

	l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l < 0 || bind(l, (const struct sockaddr *)&sin, len) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (struct sockaddr *)&sin, &len) < 0)
		return 1;
	out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (out < 0 || connect(out, (const struct sockaddr *)&sin, len) < 0)
		return 2;
	in = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (in < 0 || ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, in, &ev) < 0)
		return 3;
	if (write(out, "x", 1) != 1 || epoll_wait(ep, &ev, 1, 5000) != 1)
		return 4;
	if (pipe2(pipefd, O_CLOEXEC) < 0 || splice(in, NULL, pipefd[1], NULL, 16, 0) != 1 ||
	    read(pipefd[0], &c, 1) != 1 || c != 'x')
		return 5;
	(void)sigemptyset(&set);
	if (timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) < 0 || signalfd(-1, &set, SFD_CLOEXEC) < 0)
		return 6;
	return 0;
}

/* Save an answer: temporary file, fsync, rename. */
static int save(void)
{
	static const char tmp[] = "/tmp/test_seccomp_supervisor.new";
	static const char name[] = "/tmp/test_seccomp_supervisor";
	int fd = open(tmp, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) < 0 || close(fd) < 0)
		return 1;
	return rename(tmp, name) < 0 || unlink(name) < 0 ? 2 : 0;
}

/* To itself and to those it is told of; by no way to another. */
static int send_signals(void)
{
	if (raise(SIGCONT) != 0 || kill(peers.relay, 0) != 0)
		return 1;
	if (syscall(SYS_pidfd_send_signal, peers.pidfd, 0, NULL, 0) != 0)
		return 2;
	if (kill(victim, SIGKILL) == 0 || errno != EPERM || kill(-victim, SIGKILL) == 0 ||
	    kill(0, SIGKILL) == 0)
		return 3;
	return syscall(SYS_tgkill, victim, victim, SIGKILL) == 0 ||
	       fcntl(peers.pidfd, F_SETOWN, victim) == 0;
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	while (pid == 0)
		(void)pause();
	return pid;
}

static void test_install_lets_signals_through_to_peers_only(void **state)
{
	int status;

	(void)state;
	victim = sleeper();
	peers.relay = sleeper();
	peers.pidfd = (int)syscall(SYS_pidfd_open, peers.relay, 0);
	assert_true(peers.pidfd > 0);
	assert_int_equal(in_child(send_signals), 0);
	assert_int_equal(waitpid(victim, &status, WNOHANG), 0);
	(void)close(peers.pidfd);
	(void)kill(victim, SIGKILL);
	(void)kill(peers.relay, SIGKILL);
	assert_int_equal(waitpid(victim, &status, 0), victim);
	assert_int_equal(waitpid(peers.relay, &status, 0), peers.relay);
	peers = (struct seccomp_peers){ 0 };
}

static void test_install_kills_what_is_injected(void **state)
{
	(void)state;
	assert_int_equal(in_child(inject_execve), 128 + SIGSYS);
	assert_int_equal(in_child(inject_fork), 128 + SIGSYS);
	assert_int_equal(in_child(inject_ptrace), 128 + SIGSYS);
	assert_int_equal(in_child(inject_mount), 128 + SIGSYS);
	assert_int_equal(in_child(inject_unshare), 128 + SIGSYS);
}

static void test_install_lets_the_supervisor_work(void **state)
{
	(void)state;
	assert_int_equal(in_child(work), 0);
	assert_int_equal(in_child(save), 0);
	assert_int_equal(in_child(inject_code), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_answers),
		cmocka_unit_test(test_filter_knows_no_call_by_accident),
		cmocka_unit_test(test_install_kills_what_is_injected),
		cmocka_unit_test(test_install_lets_the_supervisor_work),
		cmocka_unit_test(test_install_lets_signals_through_to_peers_only),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
