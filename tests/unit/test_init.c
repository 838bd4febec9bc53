/*
 * Each step of the start is made to fail, one at a time, by a filter that the supervisor inherits:
 * whatever fails, the command must not run, and the run must end with 125 and a reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/launcher.h"
#include "launcher/weaker.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif
#define ANY_ARG 0xffffffffU

/* What the child tells its parent: shared memory. */
struct outcome {
	int status;
	struct error err;
};

static struct outcome *outcome;
static char top[] = "/var/tmp/sbx-net-init-XXXXXX";

/* A container that hides parts of its /proc; and the user has accepted what follows from it. */
static bool masked, unaccepted;
static enum fs_mode fs;
static bool no_devpts;

/* Makes one system call fail; @arg: only when its argument @i is this. */
static void inject_at(long nr, unsigned i, uint32_t arg, int code)
{
	const uint8_t other = arg == ANY_ARG ? 0 : 1;
	struct sock_filter insn[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(offsetof(struct seccomp_data, args) + 8 * i)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arg, 0, other),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = 6, .filter = insn };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		_exit(99);
}

static void inject(long nr, uint32_t arg, int code)
{
	inject_at(nr, 0, arg, code);
}

static int supervise(void)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "echo ran > canary" },
			 NULL };
	char *envp[] = { (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	struct launcher_plan plan = { .argv = argv,
				      .envp = envp,
				      .cwd = top,
				      .fs = fs,
				      .accept_weaker = masked && !unaccepted ? WEAKER_PROC : 0,
				      .net = { .capture = true, .no_tproxy = true } };
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct pollfd p = { .events = POLLIN };
	struct launcher *l;
	size_t n;
	int code = -1;

	l = launcher_start(&plan, v, &n, &outcome->err);
	if (!l)
		return LAUNCHER_EXIT_SETUP;
	if (launcher_release(l, &outcome->err))
		return LAUNCHER_EXIT_SETUP;
	p.fd = launcher_status_fd(l);
	(void)poll(&p, 1, 10000);
	(void)launcher_status(l, &code, &outcome->err);
	code = launcher_wait(l);
	launcher_free(l);
	return code;
}

/* Runs with (nr, arg) failing; returns the status, and whether the command ran. */
static int run_with(long nr, uint32_t arg, int code, bool *ran)
{
	pid_t pid;
	int status;

	memset(outcome, 0, sizeof(*outcome));
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		(void)dup2(null, 2);
		if (masked)
			inject_at(SYS_mount, 3, MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
				  EPERM);
		if (no_devpts)
			inject_at(SYS_mount, 3, MS_NOSUID | MS_NOEXEC, EPERM);
		if (nr >= 0)
			inject(nr, arg, code);
		_exit(supervise());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*ran = unlinkat(AT_FDCWD, "canary", 0) == 0;
	assert_int_equal(access(".mcp.json", F_OK), -1);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_without_a_failure_it_runs(void **state)
{
	bool ran;

	(void)state;
	assert_int_equal(run_with(-1, 0, 0, &ran), 0);
	assert_true(ran);
}

static const struct {
	const char *name;
	long nr;
	uint32_t arg;
	int code;
} failures[] = {
	{ "clone", SYS_clone, ANY_ARG, EPERM },
	{ "socketpair", SYS_socketpair, ANY_ARG, EMFILE },
	{ "pipe2", SYS_pipe2, ANY_ARG, EMFILE },
	{ "PR_SET_PDEATHSIG", SYS_prctl, PR_SET_PDEATHSIG, EPERM },
	{ "setsid", SYS_setsid, ANY_ARG, EPERM },
	{ "PR_SET_DUMPABLE", SYS_prctl, PR_SET_DUMPABLE, EPERM },
	{ "netlink socket", SYS_socket, 16, EPERM },
	{ "bind", SYS_bind, ANY_ARG, EADDRINUSE },
	{ "setsockopt", SYS_setsockopt, ANY_ARG, EPERM },
	{ "listen", SYS_listen, ANY_ARG, EPERM },
	{ "sendmsg", SYS_sendmsg, ANY_ARG, EPERM },
	{ "mount", SYS_mount, ANY_ARG, EPERM },
	{ "open_tree", SYS_open_tree, ANY_ARG, ENOSYS },
	{ "mount_setattr", SYS_mount_setattr, ANY_ARG, ENOSYS },
	{ "move_mount", SYS_move_mount, ANY_ARG, EPERM },
	{ "fsopen", SYS_fsopen, ANY_ARG, EPERM },
	{ "fsmount", SYS_fsmount, ANY_ARG, EPERM },
	{ "fsconfig", SYS_fsconfig, ANY_ARG, EPERM },
	{ "openat2", SYS_openat2, ANY_ARG, ENOSYS },
	{ "PR_CAPBSET_DROP", SYS_prctl, PR_CAPBSET_DROP, EPERM },
	{ "capset", SYS_capset, ANY_ARG, EPERM },
	{ "PR_SET_SECUREBITS", SYS_prctl, PR_SET_SECUREBITS, EPERM },
	{ "PR_SET_NO_NEW_PRIVS", SYS_prctl, PR_SET_NO_NEW_PRIVS, EINVAL },
	{ "signalfd", SYS_signalfd4, ANY_ARG, EMFILE },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset, ANY_ARG, ENOSYS },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset, ANY_ARG, EOPNOTSUPP },
	{ "landlock_add_rule", SYS_landlock_add_rule, ANY_ARG, EINVAL },
	{ "landlock_restrict_self", SYS_landlock_restrict_self, ANY_ARG, E2BIG },
	{ "prlimit64", SYS_prlimit64, ANY_ARG, EPERM },
	{ "seccomp", SYS_seccomp, ANY_ARG, EINVAL },
	{ "fchdir", SYS_fchdir, ANY_ARG, EACCES },
#ifdef SYS_dup2
	{ "dup2", SYS_dup2, ANY_ARG, EBADF },
#endif
};

static void test_any_failure_stops_the_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		bool ran;
		int status = run_with(failures[i].nr, failures[i].arg, failures[i].code, &ran);

		if (ran || status != LAUNCHER_EXIT_SETUP || !outcome->err.msg[0])
			fail_msg("%s: status %d, ran %d, \"%s\"", failures[i].name, status, ran,
				 outcome->err.msg);
	}
}

/* The covers lie on the surrounding /proc, and must not be what the command sees instead of it. */
static void test_with_a_masked_proc_the_covers_must_go(void **state)
{
	bool ran;
	int status;

	(void)state;
	masked = true;
	assert_int_equal(run_with(-1, 0, 0, &ran), 0);
	assert_true(ran);
	status = run_with(SYS_umount2, ANY_ARG, EPERM, &ran);
	masked = false;
	assert_int_equal(status, LAUNCHER_EXIT_SETUP);
	assert_false(ran);
	assert_non_null(strstr(outcome->err.msg, "cannot clear /proc"));
}

/* Whoever is asked to accept it is told what is seen by it: /proc/PID/net, too. */
static void test_a_masked_proc_is_accepted_by_name(void **state)
{
	bool ran;
	int status;

	(void)state;
	masked = unaccepted = true;
	status = run_with(-1, 0, 0, &ran);
	masked = unaccepted = false;
	assert_int_equal(status, LAUNCHER_EXIT_SETUP);
	assert_false(ran);
	assert_non_null(strstr(outcome->err.msg, "which processes and connections there are"));
}

/* Without one of its own it would have the host's; there are no rules before files with FS_OFF. */
static void test_without_terminals_of_its_own_there_must_be_rules(void **state)
{
	static const struct {
		enum fs_mode fs;
		bool no_devpts, runs;
	} cases[] = {
		{ FS_OFF, true, false },
		{ FS_OFF, false, true },
		{ FS_WORKSPACE, true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool ran;
		int status;

		fs = cases[i].fs;
		no_devpts = cases[i].no_devpts;
		status = run_with(-1, 0, 0, &ran);
		fs = FS_WORKSPACE;
		no_devpts = false;
		assert_int_equal(ran, cases[i].runs);
		assert_int_equal(status, ran ? 0 : LAUNCHER_EXIT_SETUP);
		assert_int_equal(!ran, !!strstr(outcome->err.msg, "your other terminals"));
	}
}

/* L-031: the kernel or an outer filter has no close_range(2). */
static void test_close_range_has_a_fallback(void **state)
{
	bool ran;

	(void)state;
	assert_int_equal(run_with(SYS_close_range, ANY_ARG, ENOSYS, &ran), 0);
	assert_true(ran);
}

static void test_a_failing_execve_is_126(void **state)
{
	bool ran;

	(void)state;
	assert_int_equal(run_with(SYS_execve, ANY_ARG, EACCES, &ran), 126);
	assert_false(ran);
}

static int enter_top(void **state)
{
	(void)state;
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (outcome == MAP_FAILED || !mkdtemp(top) || chdir(top) < 0)
		return -1;
	/* An empty workspace needs no covers; the steps for those must be able to fail as well. */
	return mkdir("kept", 0700);
}

static int leave_top(void **state)
{
	(void)state;
	return rmdir("kept") < 0 || chdir("/") < 0 || rmdir(top) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_failure_it_runs),
		cmocka_unit_test(test_any_failure_stops_the_command),
		cmocka_unit_test(test_with_a_masked_proc_the_covers_must_go),
		cmocka_unit_test(test_a_masked_proc_is_accepted_by_name),
		cmocka_unit_test(test_without_terminals_of_its_own_there_must_be_rules),
		cmocka_unit_test(test_close_range_has_a_fallback),
		cmocka_unit_test(test_a_failing_execve_is_126),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}
