/*
 * probe_process.c - VECTORS 4c and 4d: processes, namespaces, kernel interfaces, terminals
 */
#include "tests/escape/probe.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* kill PID SIGNAL */
static int kill_pid(char *const *args)
{
	return outcome(kill(atoi(args[0]), atoi(args[1])));
}

static int ptrace_me(char *const *args)
{
	(void)args;
	return outcome(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

/* ptrace-of PID: PTRACE_SEIZE stops nobody */
static int ptrace_of(char *const *args)
{
	return outcome(ptrace(PTRACE_SEIZE, atoi(args[0]), 0, 0));
}

/* ptrace-child REQUEST: PTRACE_ATTACH 16, PTRACE_SEIZE 0x4206, on a child of one's own */
static int ptrace_child(char *const *args)
{
	pid_t pid = fork();
	int rc;

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	rc = outcome(syscall(SYS_ptrace, strtol(args[0], NULL, 0), pid, 0, 0));
	(void)kill(pid, SIGKILL);
	return rc;
}

static int vm_read(char *const *args)
{
	char from[4] = "abc", to[4];
	struct iovec l = { to, 4 }, r = { from, 4 };

	(void)args;
	return outcome(process_vm_readv(getpid(), &l, 1, &r, 1, 0));
}

static int vm_write(char *const *args)
{
	char from[4] = "abc", to[4];
	struct iovec l = { from, 4 }, r = { to, 4 };

	(void)args;
	return outcome(process_vm_writev(getpid(), &l, 1, &r, 1, 0));
}

static int kcmp(char *const *args)
{
	(void)args;
	return outcome(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
}

static int pidfd(char *const *args)
{
	(void)args;
	return outcome(syscall(SYS_pidfd_open, getpid(), 0));
}

static int pidfd_getfd(char *const *args)
{
	long fd = syscall(SYS_pidfd_open, getpid(), 0);

	(void)args;
	return fd < 0 ? errno : outcome(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static int robust_list(char *const *args)
{
	void *head;
	size_t len;

	(void)args;
	return outcome(syscall(SYS_get_robust_list, 0, &head, &len));
}

static int move_pages(char *const *args)
{
	int status = 0;
	char page = 0;
	void *pages[] = { &page };

	(void)args;
	return outcome(syscall(SYS_move_pages, 0, 1UL, pages, NULL, &status, 0));
}

static int migrate_pages(char *const *args)
{
	unsigned long nodes = 1;

	(void)args;
	return outcome(syscall(SYS_migrate_pages, 0, 8 * sizeof(nodes), &nodes, &nodes));
}

static int perf_event(char *const *args)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.exclude_kernel = 1 };

	(void)args;
	return outcome(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

/* unshare FLAGS */
static int raw_unshare(char *const *args)
{
	return outcome(syscall(SYS_unshare, strtoull(args[0], NULL, 0)));
}

/* clone FLAGS: a child that ends at once */
static int raw_clone(char *const *args)
{
	long pid = syscall(SYS_clone, strtoull(args[0], NULL, 0), 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

static int raw_clone3(char *const *args)
{
	struct {
		uint64_t v[8];
	} clone_args = { { 0 } };
	long pid;

	(void)args;
	clone_args.v[4] = SIGCHLD;
	pid = syscall(SYS_clone3, &clone_args, sizeof(clone_args));
	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

static int setns_self(char *const *args)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY);

	(void)args;
	return fd < 0 ? errno : outcome(syscall(SYS_setns, fd, 0));
}

/* call NUMBER [ARGUMENT]...: any system call; used where the bare answer is harmless */
static int call(char *const *args)
{
	unsigned long long a[6] = { 0 };
	long nr = strtol(args[0], NULL, 0);

	for (int i = 0; i < 6 && args[i + 1]; i++)
		a[i] = strtoull(args[i + 1], NULL, 0);
	return outcome(syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* open-tree NUMBER: 428, or 467 with attributes */
static int raw_open_tree(char *const *args)
{
	return outcome(syscall(strtol(args[0], NULL, 0), AT_FDCWD, "/", O_CLOEXEC, NULL, 0));
}

static int change_root(char *const *args)
{
	return outcome(chroot(args[0]));
}

/* mount-tmpfs DIR: and away with it again */
static int mount_tmpfs(char *const *args)
{
	if (mount("none", args[0], "tmpfs", 0, NULL) < 0)
		return errno;
	return outcome(umount2(args[0], MNT_DETACH));
}

static int open_fs(char *const *args)
{
	(void)args;
	return outcome(syscall(SYS_fsopen, "tmpfs", 0));
}

static int keyring(char *const *args)
{
	(void)args;
	return outcome(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1));
}

static int key_add(char *const *args)
{
	(void)args;
	return outcome(
		syscall(SYS_add_key, "user", "escape_probe", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static int uffd(char *const *args)
{
	(void)args;
	return outcome(syscall(SYS_userfaultfd, 1)); /* UFFD_USER_MODE_ONLY */
}

static int no_randomize(char *const *args)
{
	(void)args;
	return outcome(syscall(SYS_personality, ADDR_NO_RANDOMIZE));
}

static int io_uring(char *const *args)
{
	char params[120] = { 0 };

	(void)args;
	return outcome(syscall(SYS_io_uring_setup, 1, params));
}

static int exec_fd(int fd)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	char *const envp[] = { NULL };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execveat(fd, "", argv, envp, AT_EMPTY_PATH);
		_exit(errno);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return ECHILD;
	return WEXITSTATUS(status);
}

static int copy_true(int out)
{
	char chunk[65536];
	int in = open("/bin/true", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	while ((n = read(in, chunk, sizeof(chunk))) > 0)
		if (write(out, chunk, (size_t)n) != n)
			return -1;
	(void)close(in);
	return n < 0 ? -1 : 0;
}

/* memfd-exec FLAGS */
static int memfd_exec(char *const *args)
{
	int fd = memfd_create("probe", (unsigned int)strtoul(args[0], NULL, 0));

	if (fd < 0)
		return errno;
	if (copy_true(fd) < 0)
		return EIO;
	return exec_fd(fd);
}

/* file-exec PATH: make a program there and run it */
static int file_exec(char *const *args)
{
	int fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	int rc;

	if (fd < 0 || copy_true(fd) < 0)
		return errno;
	(void)close(fd);
	fd = open(args[0], O_PATH | O_CLOEXEC);
	rc = exec_fd(fd);
	(void)unlink(args[0]);
	return rc;
}

/* tmpfile-exec DIR: a program in a file without a name */
static int tmpfile_exec(char *const *args)
{
	char path[64];
	int fd = open(args[0], O_TMPFILE | O_RDWR | O_CLOEXEC, 0700), again;

	if (fd < 0 || copy_true(fd) < 0)
		return errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC); /* or execve says ETXTBSY */
	(void)close(fd);
	return again < 0 ? errno : exec_fd(again);
}

/* A filter that allows all, put in front: the stricter answer must win. */
static int seccomp_weaken(char *const *args)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &allow };

	(void)args;
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return errno;
	return outcome(socket(AF_UNIX, SOCK_STREAM, 0));
}

/* prctl OPTION A B: nothing may be gained by any */
static int raw_prctl(char *const *args)
{
	return outcome(
		prctl(atoi(args[0]), strtoul(args[1], NULL, 0), strtoul(args[2], NULL, 0), 0, 0));
}

/* M-06: the kernel's own word for it */
static int status_is_confined(char *const *args)
{
	static const char *const want[] = {
		"CapInh:\t0000000000000000\n",
		"CapPrm:\t0000000000000000\n",
		"CapEff:\t0000000000000000\n",
		"CapBnd:\t0000000000000000\n",
		"CapAmb:\t0000000000000000\n",
		"NoNewPrivs:\t1\n",
		"Seccomp:\t2\n",
	};
	size_t found = 0, n = sizeof(want) / sizeof(want[0]);
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	(void)args;
	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < n; i++)
			found += strcmp(line, want[i]) == 0;
	return found == n ? 0 : EPERM;
}

/* shm make|see|remove KEY: a SysV segment of the host */
static int shm(char *const *args)
{
	bool make = strcmp(args[0], "make") == 0;
	int id = shmget((key_t)strtol(args[1], NULL, 0), 4096, make ? IPC_CREAT | 0600 : 0);

	if (id < 0)
		return errno;
	return strcmp(args[0], "remove") == 0 ? outcome(shmctl(id, IPC_RMID, NULL)) : 0;
}

/* ipc sem|msg|mq make|see|remove KEY: of the host's, by its key or name */
static int ipc(char *const *args)
{
	bool make = strcmp(args[1], "make") == 0, remove = strcmp(args[1], "remove") == 0;
	key_t key = (key_t)strtol(args[2], NULL, 0);
	char name[32];
	int id;

	if (strcmp(args[0], "sem") == 0) {
		id = semget(key, 1, make ? IPC_CREAT | 0600 : 0);
		return outcome(id < 0 || !remove ? id : semctl(id, 0, IPC_RMID));
	}
	if (strcmp(args[0], "msg") == 0) {
		id = msgget(key, make ? IPC_CREAT | 0600 : 0);
		return outcome(id < 0 || !remove ? id : msgctl(id, IPC_RMID, NULL));
	}
	(void)snprintf(name, sizeof(name), "/escape-%d", key);
	if (remove)
		return outcome(mq_unlink(name));
	return outcome(mq_open(name, make ? O_CREAT | O_RDWR : O_RDONLY, 0600, NULL));
}

/* affinity PID: to what it is */
static int affinity(char *const *args)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return errno;
	return outcome(sched_setaffinity(atoi(args[0]), sizeof(set), &set));
}

/* One setting of each kind to what it is already, so that bare nothing is changed either. */

static int keep_limit(int pid)
{
	struct rlimit r;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &r) < 0)
		return errno;
	return outcome(prlimit(pid, RLIMIT_NOFILE, &r, NULL));
}

static int keep_affinity(int pid)
{
	cpu_set_t set;

	if (sched_getaffinity(pid, sizeof(set), &set) < 0)
		return errno;
	return outcome(sched_setaffinity(pid, sizeof(set), &set));
}

static int keep_scheduler(int pid)
{
	const struct sched_param param = { 0 };

	return outcome(sched_setscheduler(pid, SCHED_OTHER, &param));
}

static int keep_param(int pid)
{
	const struct sched_param param = { 0 };

	return outcome(sched_setparam(pid, &param));
}

static int keep_attr(int pid)
{
	uint32_t attr[14]; /* struct sched_attr, whose first word is its size */

	if (syscall(SYS_sched_getattr, pid, attr, sizeof(attr), 0) < 0)
		return errno;
	return outcome(syscall(SYS_sched_setattr, pid, attr, 0));
}

static int keep_nice(__priority_which_t which, int who)
{
	int now;

	errno = 0;
	now = getpriority(which, (id_t)who);
	return errno ? errno : outcome(setpriority(which, (id_t)who, now));
}

static int keep_nice_process(int pid)
{
	return keep_nice(PRIO_PROCESS, pid);
}

static int keep_nice_group(int pid)
{
	return keep_nice(PRIO_PGRP, pid);
}

static int keep_nice_user(int uid)
{
	return keep_nice(PRIO_USER, uid);
}

static int keep_io(int which, int who)
{
	long now = syscall(SYS_ioprio_get, which, who);

	return now < 0 ? errno : outcome(syscall(SYS_ioprio_set, which, who, now));
}

static int keep_io_process(int pid)
{
	return keep_io(1, pid);
}

static int keep_io_group(int pid)
{
	return keep_io(2, pid);
}

static int keep_io_user(int uid)
{
	return keep_io(3, uid);
}

/* keep WHAT WHO: set a process's, a group's or a user's WHAT to what it is */
static int keep(char *const *args)
{
	static const struct {
		const char *what;
		int (*set)(int who);
	} kinds[] = {
		{ "limit", keep_limit },
		{ "affinity", keep_affinity },
		{ "scheduler", keep_scheduler },
		{ "param", keep_param },
		{ "attr", keep_attr },
		{ "nice", keep_nice_process },
		{ "nice-group", keep_nice_group },
		{ "nice-user", keep_nice_user },
		{ "io", keep_io_process },
		{ "io-group", keep_io_group },
		{ "io-user", keep_io_user },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(args[0], kinds[i].what) == 0)
			return kinds[i].set(atoi(args[1]));
	return PROBE_SKIP;
}

/* nice-user NICE: every process of this user that can be seen */
static int nice_user(char *const *args)
{
	return outcome(setpriority(PRIO_USER, 0, atoi(args[0])));
}

/* The clock is not set: without a time only the right to set it is asked for. */
static int set_time(char *const *args)
{
	(void)args;
	return outcome(syscall(SYS_settimeofday, NULL, NULL));
}

/* does a program with the set-user-id bit get what the bit gives? */
static int effective_uid(char *const *args)
{
	(void)args;
	return geteuid() != getuid() ? 0 : EPERM;
}

/* exec PROGRAM [ARG]...: whether it ran and ended with 0; else what execve said */
static int exec_path(char *const *args)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execv(args[0], args);
		_exit(errno);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

/* prlimit PID: look at another process's limits */
static int other_prlimit(char *const *args)
{
	struct rlimit r;

	return outcome(prlimit(atoi(args[0]), RLIMIT_NOFILE, NULL, &r));
}

/* can the limit become one under which the kernel starts a core_pattern helper? */
static int core_limit(char *const *args)
{
	struct rlimit none = { 0, 0 }, now;

	(void)args;
	if (setrlimit(RLIMIT_CORE, &none) < 0 || getrlimit(RLIMIT_CORE, &now) < 0)
		return errno;
	return now.rlim_cur == 1 && now.rlim_max == 1 ? EPERM : 0;
}

/* The same for what does not ask for the limit: is there memory in a dump? */
static int core_memory(char *const *args)
{
	unsigned long kinds = 0;
	FILE *f = fopen("/proc/self/coredump_filter", "re");

	(void)args;
	if (!f || fscanf(f, "%lx", &kinds) != 1)
		return errno;
	return kinds ? 0 : EPERM;
}

/* async SIGNAL: ask standard input for that signal (0: its own, SIGIO) when there is something to read */
static int async_input(char *const *args)
{
	int sig = atoi(args[0]);
	char c;

	(void)signal(sig ? sig : SIGIO, SIG_IGN);
	if ((sig && fcntl(0, F_SETSIG, sig) < 0) ||
	    fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_ASYNC) < 0)
		return errno;
	(void)!write(STDOUT_FILENO, "asked\n", 6);
	return outcome(read(0, &c, 1));
}

/* ioctl REQUEST: on standard input, the argument being one byte */
static int tty_ioctl(char *const *args)
{
	char c = 'x';

	return outcome(syscall(SYS_ioctl, 0, strtoull(args[0], NULL, 0), &c));
}

/* Another session's init must not be looked into. */
static int init_environ(char *const *args)
{
	(void)args;
	return outcome(open("/proc/1/environ", O_RDONLY));
}

static int init_root(char *const *args)
{
	char buf[64];

	(void)args;
	return outcome(readlink("/proc/1/root", buf, sizeof(buf)));
}

/* heartbeat PATH: a daemon that outlives its parent and writes to PATH as long as it lives */
static int heartbeat(char *const *args)
{
	if (fork() != 0)
		return 0;
	(void)setsid();
	if (fork() != 0)
		_exit(0);
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_IGN);
	for (int i = 0; i < 600; i++) {
		int fd = open(args[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		(void)!write(fd, ".", 1);
		(void)close(fd);
		(void)usleep(50 * 1000);
	}
	_exit(0);
}

/* A parent that waits for nobody. */
static void leave_zombies(void)
{
	for (int i = 0; i < 200; i++)
		if (fork() == 0)
			_exit(0);
}

static void stay(void) __attribute__((noreturn));

static void stay(void)
{
	for (;;)
		(void)pause();
}

/*
 * crowd: children of every kind that is hard to be rid of, all of which keep standard output open:
 * stopped, blocking every signal, waiting for a vfork(), with zombies that nobody reaps. Ends with
 * "up" once they are there.
 */
static int crowd(char *const *args)
{
	pid_t stopped = fork();
	sigset_t all;

	(void)args;
	if (stopped == 0) {
		(void)raise(SIGSTOP);
		stay();
	}
	if (fork() == 0) {
		(void)sigfillset(&all);
		(void)sigprocmask(SIG_SETMASK, &all, NULL);
		stay();
	}
	if (fork() == 0) {
		/* clone(2) as vfork() calls it, without sharing the stack with a compiler */
		if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0)
			stay();
		_exit(0);
	}
	if (fork() == 0) {
		leave_zombies();
		stay();
	}
	leave_zombies();
	if (stopped < 0 || waitpid(stopped, NULL, WUNTRACED) != stopped)
		return ECHILD;
	(void)!write(STDOUT_FILENO, "up\n", 3);
	_exit(7);
}

const struct probe process_probes[] = {
	{ "kill", kill_pid },
	{ "ptrace", ptrace_me },
	{ "ptrace-child", ptrace_child },
	{ "ptrace-of", ptrace_of },
	{ "vm-read", vm_read },
	{ "vm-write", vm_write },
	{ "kcmp", kcmp },
	{ "pidfd", pidfd },
	{ "pidfd-getfd", pidfd_getfd },
	{ "robust-list", robust_list },
	{ "move-pages", move_pages },
	{ "migrate-pages", migrate_pages },
	{ "perf-event", perf_event },
	{ "unshare", raw_unshare },
	{ "clone", raw_clone },
	{ "clone3", raw_clone3 },
	{ "setns", setns_self },
	{ "call", call },
	{ "open-tree", raw_open_tree },
	{ "chroot", change_root },
	{ "mount-tmpfs", mount_tmpfs },
	{ "fsopen", open_fs },
	{ "keyring", keyring },
	{ "key-add", key_add },
	{ "uffd", uffd },
	{ "no-randomize", no_randomize },
	{ "io-uring", io_uring },
	{ "memfd-exec", memfd_exec },
	{ "file-exec", file_exec },
	{ "tmpfile-exec", tmpfile_exec },
	{ "exec", exec_path },
	{ "seccomp-weaken", seccomp_weaken },
	{ "prctl", raw_prctl },
	{ "status", status_is_confined },
	{ "shm", shm },
	{ "ipc", ipc },
	{ "affinity", affinity },
	{ "keep", keep },
	{ "nice-user", nice_user },
	{ "set-time", set_time },
	{ "euid", effective_uid },
	{ "prlimit", other_prlimit },
	{ "core-limit", core_limit },
	{ "core-memory", core_memory },
	{ "async", async_input },
	{ "ioctl", tty_ioctl },
	{ "init-environ", init_environ },
	{ "init-root", init_root },
	{ "heartbeat", heartbeat },
	{ "crowd", crowd },
	{ 0 },
};
