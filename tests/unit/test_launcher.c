/* The launcher from end to end: each test makes its own run and looks at it from outside. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/launcher.h"

#define OUTPUT_MAX 65536

/* What one run left behind. */
struct result {
	int status;
	enum launcher_state state;
	char out[OUTPUT_MAX];
	struct error err;
};

static char workspace[PATH_MAX];
static char *const envp[] = { (char[]){ "PATH=/usr/local/bin:/usr/bin:/bin" },
			      (char[]){ "TMPDIR=/tmp" }, NULL };

static struct launcher_plan plan_of(char *const *argv)
{
	return (struct launcher_plan){
		.argv = argv,
		.envp = envp,
		.cwd = workspace,
		.net = { .capture = true },
	};
}

static void close_listeners(struct netns_listener *v, size_t n)
{
	while (n > 0)
		(void)close(v[--n].fd);
}

/* Waits for the status pipe to say how the start went. */
static enum launcher_state await_state(struct launcher *l, int *code, struct error *err)
{
	struct pollfd p = { .fd = launcher_status_fd(l), .events = POLLIN };

	while (poll(&p, 1, 10000) < 0 && errno == EINTR)
		;
	return launcher_status(l, code, err);
}

/* Runs a plan with its stdout and stderr in r->out. */
static void run_plan(const struct launcher_plan *plan, struct result *r)
{
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct launcher *l;
	size_t n = 0;
	int out[2], saved[2], code = -1;
	ssize_t got;

	memset(r, 0, sizeof(*r));
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	(void)fflush(NULL);
	saved[0] = fcntl(1, F_DUPFD_CLOEXEC, 3);
	saved[1] = fcntl(2, F_DUPFD_CLOEXEC, 3);
	(void)dup2(out[1], 1);
	(void)dup2(out[1], 2);
	(void)close(out[1]);
	l = launcher_start(plan, v, &n, &r->err);
	if (l && launcher_release(l, &r->err) == 0)
		r->state = await_state(l, &code, &r->err);
	(void)dup2(saved[0], 1);
	(void)dup2(saved[1], 2);
	(void)close(saved[0]);
	(void)close(saved[1]);
	if (!l) {
		(void)close(out[0]);
		r->state = LAUNCHER_FAILED;
		r->status = LAUNCHER_EXIT_SETUP;
		return;
	}
	got = fd_read_full(out[0], r->out, sizeof(r->out) - 1);
	assert_true(got >= 0);
	(void)close(out[0]);
	r->status = launcher_wait(l);
	if (r->state == LAUNCHER_FAILED)
		assert_int_equal(r->status, code);
	close_listeners(v, n);
	launcher_free(l);
}

static int take_socket(struct launcher *l, int *fd)
{
	struct pollfd p = { .fd = launcher_socket_fd(l), .events = POLLIN };

	assert_true(launcher_ask_socket(l, AF_INET));
	assert_int_equal(poll(&p, 1, 10000), 1);
	return launcher_take_socket(l, fd);
}

/* The next ones are answered as ever; only pid 1's end is the end. */
static void test_an_answer_that_finds_no_room_is_one(void **state)
{
	char *argv[] = { (char[]){ "sleep" }, (char[]){ "60" }, NULL };
	struct launcher_plan plan = plan_of(argv);
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct pollfd p = { .events = POLLIN };
	struct rlimit was, none;
	struct error err;
	struct launcher *l;
	size_t n = 0;
	int fd;

	(void)state;
	plan.publish = true;
	l = launcher_start(&plan, v, &n, &err);
	assert_non_null(l);
	assert_int_equal(launcher_release(l, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	fd = fcntl(0, F_DUPFD_CLOEXEC, 0);
	assert_true(fd > 0);
	(void)close(fd); /* the lowest that is free */
	none = (struct rlimit){ (rlim_t)fd, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(take_socket(l, &fd), 1);
	assert_int_equal(fd, -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(take_socket(l, &fd), 1);
	assert_true(fd >= 0);
	(void)close(fd);
	launcher_kill(l);
	p.fd = launcher_socket_fd(l);
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(launcher_take_socket(l, &fd), -1);
	(void)launcher_wait(l);
	close_listeners(v, n);
	launcher_free(l);
}

static void run_shell(const char *script, struct result *r)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, xstrdup(script), NULL };
	struct launcher_plan plan = plan_of(argv);

	run_plan(&plan, r);
	free(argv[2]);
	if (r->state != LAUNCHER_RUNNING)
		fail_msg("did not start: %s", r->err.msg);
}

static struct result r;

static void test_exit_codes_are_the_commands_own(void **state)
{
	(void)state;
	run_shell("exit 0", &r);
	assert_int_equal(r.status, 0);
	run_shell("exit 7", &r);
	assert_int_equal(r.status, 7);
	run_shell("exit 255", &r);
	assert_int_equal(r.status, 255);
}

static void test_a_fatal_signal_is_128_plus_it(void **state)
{
	(void)state;
	run_shell("kill -KILL $$", &r);
	assert_int_equal(r.status, 128 + SIGKILL);
	run_shell("kill -SEGV $$", &r);
	assert_int_equal(r.status, 128 + SIGSEGV);
}

static void test_a_missing_program_is_127(void **state)
{
	char *argv[] = { (char[]){ "no-such-program-here" }, NULL };
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	run_plan(&plan, &r);
	assert_int_equal(r.state, LAUNCHER_FAILED);
	assert_int_equal(r.status, 127);
	assert_string_equal(r.err.msg, "no-such-program-here: command not found");
	argv[0] = (char[]){ "/no/such/program" };
	run_plan(&plan, &r);
	assert_int_equal(r.status, 127);
}

static void test_a_program_that_cannot_run_is_126(void **state)
{
	char *argv[] = { (char[]){ "/etc/passwd" }, NULL };
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	run_plan(&plan, &r);
	assert_int_equal(r.state, LAUNCHER_FAILED);
	assert_int_equal(r.status, 126);
	argv[0] = (char[]){ "/usr" };
	run_plan(&plan, &r);
	assert_int_equal(r.status, 126);
}

static void test_the_command_is_confined(void **state)
{
	(void)state;
	run_shell("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -d '\\n\\t'", &r);
	assert_string_equal(r.out, "CapInh:0000000000000000CapPrm:0000000000000000"
				   "CapEff:0000000000000000CapBnd:0000000000000000"
				   "CapAmb:0000000000000000NoNewPrivs:1Seccomp:2");
}

static void test_only_stdio_is_open(void **state)
{
	int leaked = open("/", O_RDONLY); /* U-002: without CLOEXEC */

	(void)state;
	run_shell("echo /proc/self/fd/*", &r);
	/* 3 is the shell's own directory stream */
	assert_string_equal(r.out, "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 "
				   "/proc/self/fd/3\n");
	(void)close(leaked);
}

static void test_ids_and_namespaces(void **state)
{
	CLEANUP_FREE char *want = xasprintf("%u:%u\n1\n", geteuid(), getegid());

	(void)state;
	run_shell("echo $(id -u):$(id -g); ls -d /proc/[0-9]* | grep -c '/1$'", &r);
	assert_string_equal(r.out, want);
	run_shell("ls -d /proc/[0-9]* | wc -l", &r);
	assert_in_range(atoi(r.out), 2, 5);
}

static void test_the_session_is_its_own(void **state)
{
	(void)state;
	run_shell("set -- $(cat /proc/self/stat); echo $(( $6 == $$ ))", &r);
	assert_string_equal(r.out, "1\n");
	/* kill(0) reaches the run's own processes only */
	run_shell("trap '' USR1; kill -USR1 0; echo alive", &r);
	assert_string_equal(r.out, "alive\n");
}

static void test_inherited_signal_state_is_reset(void **state)
{
	sigset_t set;

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	run_shell("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\n\\t'", &r);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	assert_string_equal(r.out, "SigBlk:0000000000000000SigIgn:0000000000000000");
}

static void test_core_limit_starts_no_helper(void **state)
{
	(void)state;
	run_shell("grep 'core file' /proc/self/limits | tr -s ' '", &r);
	assert_string_equal(r.out, "Max core file size 1 1 bytes \n");
}

/* A limit of 0 stops no helper, and none stops a socket: what they get holds no memory. */
static void test_without_a_core_limit_the_dump_is_empty(void **state)
{
	const struct rlimit none = { 0, 0 };
	unsigned long kinds;
	FILE *outside;
	int status;
	pid_t pid;

	(void)state;
	outside = fopen("/proc/self/coredump_filter", "re");
	assert_non_null(outside);
	assert_int_equal(fscanf(outside, "%lx", &kinds), 1);
	assert_int_not_equal(kinds, 0);
	(void)fclose(outside);
	run_shell("cat /proc/self/coredump_filter", &r);
	assert_string_equal(r.out, "00000000\n");
	pid = fork();
	if (pid == 0) {
		(void)setrlimit(RLIMIT_CORE, &none);
		run_shell("cat /proc/self/coredump_filter; echo 33 > /proc/self/coredump_filter; "
			  "cat /proc/self/coredump_filter",
			  &r);
		_exit(strncmp(r.out, "00000000\n", 9) == 0 &&
				      strcmp(r.out + strlen(r.out) - 9, "00000000\n") == 0
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A caller's `nice` and `ionice` stay, what only root can give itself does not. */
static void test_privileged_priorities_are_not_passed_on(void **state)
{
	static const struct {
		int nice, ioprio;
		const char *shown, *kind;
	} rows[] = { { -5, 1 << 13, "0\n", NULL }, { 7, 3 << 13, "7\n", "idle" } };
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (setpriority(PRIO_PROCESS, 0, rows[i].nice) < 0 ||
			    syscall(SYS_ioprio_set, 1, 0, rows[i].ioprio) < 0)
				_exit(2);
			run_shell("nice; ionice", &r);
			_exit(strncmp(r.out, rows[i].shown, 2) != 0 || strstr(r.out, "realtime") ||
			      (rows[i].kind && !strstr(r.out, rows[i].kind)));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static void test_writes_only_to_the_workspace_and_tmp(void **state)
{
	struct stat st;

	(void)state;
	run_shell("echo x > inside && cat inside && rm inside && echo y > $TMPDIR/f && "
		  "echo z > /dev/shm/f && echo ok",
		  &r);
	assert_string_equal(r.out, "x\nok\n");
	run_shell("echo x > ../outside", &r);
	assert_int_equal(access("../outside", F_OK), -1);
	/* F-004: not mediated by Landlock; read-only mounts refuse it */
	run_shell("chmod 700 ..; touch -d 2001-01-01 ..", &r);
	assert_int_equal(stat("..", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_true(st.st_mtime > 1000000000);
	run_shell("touch f && chmod 600 f && rm f", &r);
	assert_int_equal(r.status, 0);
}

/* F-009 to F-012, present and absent, directly and by way of a parent. */
static void test_protected_names_stay_as_they_are(void **state)
{
	(void)state;
	assert_int_equal(system("echo x > x"), 0); /* not an empty workspace */
	run_shell("mkdir .claude || : > .mcp.json || mv -T x .envrc || rm -rf .vscode || "
		  "ln -sT x .idea || mv .mcp.json y || chmod 755 .codex || touch .cursor/f || "
		  "rmdir .gemini || mv -T y .sbx-net",
		  &r);
	assert_int_not_equal(r.status, 0);
	assert_int_equal(access(".mcp.json", F_OK), -1); /* nor does a placeholder stay */
	run_shell("git init -q . && git config user.name n && git config user.email e && "
		  "echo '#!/bin/sh' > .git/hooks/post-commit && echo made",
		  &r);
	assert_string_equal(r.out, "made\n"); /* a repository of the command's own */
	(void)unlink(".git/hooks/post-commit");
	run_shell("for t in 'git config a.b c' 'touch .git/hooks/post-commit' "
		  "'touch .git/config.worktree' 'rm .git/commondir' 'mv .git .git2' "
		  "'mv .git/hooks .git/h' 'rm -rf .git/config' 'ln -f a .git/config'; do "
		  "$t 2> /dev/null && echo $t; done; "
		  "echo a > a && git add a && git commit -qm a && git log --format=%s && "
		  "git status -s && git checkout -q -b b && git gc -q && git clone -q . sub && "
		  "cat sub/a",
		  &r);
	assert_string_equal(r.out, "a\n?? x\na\n");
	assert_int_equal(r.status, 0);
	run_shell("rm -rf sub a; rm -rf .git", &r);
	assert_int_equal(system("rm -rf .git sub a .git2 x"), 0);
}

static void test_denials_win_over_grants(void **state)
{
	CLEANUP_FREE char *secret = xasprintf("%s/secret", workspace);
	CLEANUP_FREE char *fixed = xasprintf("%s/d/fixed", workspace);
	const char *const read[] = { secret }, *const write[] = { fixed };
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "cat secret; echo x > d/fixed; rm -f d/fixed; mv d e; "
				   "echo y > d/other && cat d/fixed d/other" },
			 NULL };
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	assert_int_equal(system("echo canary > secret; mkdir d; echo fixed > d/fixed"), 0);
	plan.read = plan.deny_read = (struct path_list){ .v = read, .n = 1 };
	plan.write = plan.deny_write = (struct path_list){ .v = write, .n = 1 };
	run_plan(&plan, &r);
	assert_null(strstr(r.out, "canary"));
	assert_non_null(strstr(r.out, "fixed\ny\n"));
	assert_int_equal(r.status, 0);
	/* the same without the denials: the probe itself works */
	plan.deny_read = plan.deny_write = (struct path_list){ .v = NULL, .n = 0 };
	argv[2] = (char[]){ "cat secret; echo x > d/fixed && cat d/fixed" };
	run_plan(&plan, &r);
	assert_string_equal(r.out, "canary\nx\n");
	assert_int_equal(system("rm -rf secret d e"), 0);
}

static void test_credentials_are_not_shown(void **state)
{
	CLEANUP_FREE char *home = xasprintf("%s/home", workspace);
	CLEANUP_FREE char *aws = xasprintf("%s/home/.aws", workspace);
	CLEANUP_FREE char *hosts = xasprintf("%s/home/.ssh/known_hosts", workspace);
	CLEANUP_FREE char *was = getenv("HOME") ? xstrdup(getenv("HOME")) : NULL;
	const char *const granted[] = { aws, hosts };
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "cd home; cat .netrc .ssh/id .ssh/known_hosts .aws/key" },
			 NULL };
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	assert_int_equal(system("mkdir -p home/.ssh home/.aws; cd home; echo a > .netrc; "
				"echo b > .ssh/id; echo c > .ssh/known_hosts; echo d > .aws/key"),
			 0);
	assert_int_equal(setenv("HOME", home, 1), 0);
	run_plan(&plan, &r);
	assert_non_null(strstr(r.out, "No such file"));
	assert_null(strstr(r.out, "a\n"));
	/* what the user names is shown, and nothing beside it */
	plan.read = (struct path_list){ .v = granted, .n = 2 };
	run_plan(&plan, &r);
	assert_non_null(strstr(r.out, "c\nd\n"));
	assert_non_null(strstr(r.out, ".ssh/id: No such file"));
	if (was)
		(void)setenv("HOME", was, 1);
	else
		(void)unsetenv("HOME");
	assert_int_equal(system("rm -rf home"), 0);
}

/* A protected name may be a symbolic link: neither it nor what it leads to can be replaced. */
static void test_a_protected_link_is_locked_with_its_target(void **state)
{
	(void)state;
	assert_int_equal(system("mkdir real; ln -s real .vscode"), 0);
	run_shell("touch .vscode/x || rm .vscode || mv .vscode v || mv real r || rm -r real || "
		  "touch real/x",
		  &r);
	assert_int_not_equal(r.status, 0);
	assert_int_equal(system("test -L .vscode && rmdir real && rm .vscode"), 0);
	run_shell("mkdir real && touch real/x && rm -r real && echo ok", &r); /* the control */
	assert_string_equal(r.out, "ok\n");
}

/* Our own settings and sockets, granted or not. */
static void test_private_paths_are_out_of_reach(void **state)
{
	CLEANUP_FREE char *own = xasprintf("%s/own", workspace);
	const char *const paths[] = { own };
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "ls own; cat own/f; echo x > own/f; mv own own2" }, NULL };
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	assert_int_equal(system("mkdir own; echo canary > own/f"), 0);
	plan.private_paths = plan.write = plan.read = (struct path_list){ .v = paths, .n = 1 };
	run_plan(&plan, &r);
	assert_int_not_equal(r.status, 0);
	assert_null(strstr(r.out, "canary"));
	assert_int_equal(system("grep -q canary own/f && rm -r own"), 0);
}

static void test_each_mode_starts(void **state)
{
	char *argv[] = {
		(char[]){ "sh" }, (char[]){ "-c" },
		(char[]){ "touch in 2> /dev/null && echo wrote; touch $TMPDIR/f && echo tmp" }, NULL
	};
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	run_plan(&plan, &r);
	assert_string_equal(r.out, "wrote\ntmp\n");
	assert_int_equal(unlink("in"), 0);
	plan.fs = FS_STRICT;
	run_plan(&plan, &r);
	assert_string_equal(r.out, "tmp\n");
	assert_int_equal(access("in", F_OK), -1);
	plan.fs = FS_OFF;
	argv[2] = (char[]){ "touch in && echo wrote; touch /dev/shm/f && echo shm" };
	run_plan(&plan, &r);
	assert_string_equal(r.out, "wrote\nshm\n");
	assert_int_equal(unlink("in"), 0);
}

static void test_limits_are_set(void **state)
{
	const struct launcher_limit limits[] = { { RLIMIT_NOFILE, 10 }, { RLIMIT_FSIZE, 4096 } };
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "ulimit -n; ulimit -H -n" },
			 NULL };
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	plan.limits = limits;
	plan.nlimits = 2;
	run_plan(&plan, &r);
	assert_string_equal(r.out, "10\n10\n");
}

static void test_a_killed_supervisor_leaves_no_placeholder(void **state)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "test -e .mcp.json && echo up; sleep 1000" }, NULL };
	struct launcher_plan plan = plan_of(argv);
	char buf[3];
	int out[2];
	pid_t pid;

	(void)state;
	assert_int_equal(system("echo x > x"), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct netns_listener v[NETNS_LISTENERS_MAX];
		struct launcher *l;
		size_t n;

		(void)dup2(out[1], 1);
		(void)close(out[1]);
		l = launcher_start(&plan, v, &n, NULL);
		_exit(l && launcher_release(l, NULL) == 0 ? launcher_wait(l) : 1);
	}
	(void)close(out[1]);
	assert_int_equal(fd_read_full(out[0], buf, 3), 3);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(out[0]);
	for (int i = 0; i < 500 && access(".mcp.json", F_OK) == 0; i++)
		(void)usleep(10000);
	assert_int_equal(access(".mcp.json", F_OK), -1);
	assert_int_equal(unlink("x"), 0);
}

static void test_tmp_is_private(void **state)
{
	char name[] = "/var/tmp/sbx-net-test-XXXXXX";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	run_shell("ls -A /var/tmp /dev/shm | grep sbx-net-test; echo done", &r);
	(void)unlink(name);
	(void)close(fd);
	assert_string_equal(r.out, "done\n");
}

static void test_proc_cannot_be_written(void **state)
{
	(void)state;
	run_shell("echo x > /proc/sys/kernel/core_pattern", &r);
	assert_int_not_equal(r.status, 0);
	run_shell("cat /proc/1/environ /proc/1/maps", &r);
	assert_int_not_equal(r.status, 0);
	assert_non_null(strstr(r.out, "Permission denied"));
}

static void test_descendants_die_with_the_command(void **state)
{
	(void)state;
	/* The orphan holds our pipe: fd_read_full() returns only when it is dead. */
	run_shell("(trap '' TERM HUP INT; setsid sleep 1000 &) ; exit 3", &r);
	assert_int_equal(r.status, 3);
}

static void test_a_missing_grant_stops_the_start(void **state)
{
	const char *const missing[] = { "/no/such/dir" };
	char *argv[] = { (char[]){ "true" }, NULL };
	struct launcher_plan plan = plan_of(argv);

	(void)state;
	plan.write = (struct path_list){ .v = missing, .n = 1 };
	run_plan(&plan, &r);
	assert_int_equal(r.state, LAUNCHER_FAILED);
	assert_int_equal(r.status, 125);
	assert_non_null(strstr(r.err.msg, "/no/such/dir"));
}

/* What was judged outside must be what is opened: as a grant, and as the working directory. */
static void test_a_replaced_grant_stops_the_start(void **state)
{
	CLEANUP_FREE char *dir = xasprintf("%s/granted", workspace);
	const char *const paths[] = { dir };
	char *argv[] = { (char[]){ "true" }, NULL };
	struct launcher_plan plan = plan_of(argv);
	struct stat at, other;
	struct file_id right, wrong;

	(void)state;
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(stat(dir, &at), 0);
	assert_int_equal(stat(workspace, &other), 0);
	right = (struct file_id){ at.st_dev, at.st_ino };
	wrong = (struct file_id){ other.st_dev, other.st_ino };
	for (int i = 0; i < 4; i++) {
		bool writes = i % 2;

		plan.read = plan.write = (struct path_list){ NULL, 0, NULL };
		*(writes ? &plan.write : &plan.read) =
			(struct path_list){ paths, 1, i < 2 ? &wrong : &right };
		run_plan(&plan, &r);
		assert_int_equal(r.status, i < 2 ? 125 : 0);
		if (i < 2)
			assert_non_null(strstr(r.err.msg, "granted was replaced"));
	}
	plan.write = (struct path_list){ NULL, 0, NULL };
	plan.cwd_id = &right;
	run_plan(&plan, &r);
	assert_int_equal(r.status, 125);
	plan.cwd_id = &wrong; /* which it is */
	run_plan(&plan, &r);
	assert_int_equal(r.status, 0);
	assert_int_equal(rmdir(dir), 0);
}

static void test_without_release_it_never_runs(void **state)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "echo x > ran" }, NULL };
	struct launcher_plan plan = plan_of(argv);
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct launcher *l;
	struct error err;
	size_t n;

	(void)state;
	l = launcher_start(&plan, v, &n, &err);
	assert_non_null(l);
	assert_int_equal(launcher_status(l, &(int){ 0 }, &err), LAUNCHER_PENDING);
	close_listeners(v, n);
	launcher_free(l);
	assert_int_equal(access("ran", F_OK), -1);
}

static void test_signals_are_passed_on(void **state)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "trap 'exit 42' TERM; echo ready; "
				   "while :; do sleep 0.02; done" },
			 NULL };
	struct launcher_plan plan = plan_of(argv);
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct launcher *l;
	struct error err;
	char ready[6] = "";
	size_t n;
	int out[2], saved = fcntl(1, F_DUPFD_CLOEXEC, 3);

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	(void)fflush(NULL);
	(void)dup2(out[1], 1);
	l = launcher_start(&plan, v, &n, &err);
	(void)dup2(saved, 1);
	(void)close(saved);
	(void)close(out[1]);
	assert_non_null(l);
	assert_int_equal(launcher_release(l, &err), 0);
	assert_int_equal(fd_read_full(out[0], ready, 6), 6);
	launcher_signal(l, SIGTERM);
	assert_int_equal(launcher_wait(l), 42);
	(void)close(out[0]);
	close_listeners(v, n);
	launcher_free(l);
}

/* The end of pid 1 is the end of the run, and of what was made for it. */
static void test_a_killed_pid1_ends_the_run(void **state)
{
	char *argv[] = { (char[]){ "sleep" }, (char[]){ "1000" }, NULL };
	struct launcher_plan plan = plan_of(argv);
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct launcher *l;
	struct error err;
	size_t n;
	int code;

	(void)state;
	assert_int_equal(system("echo x > x"), 0);
	l = launcher_start(&plan, v, &n, &err);
	assert_non_null(l);
	assert_int_equal(access(".mcp.json", F_OK), 0);
	assert_int_equal(launcher_release(l, &err), 0);
	assert_int_equal(await_state(l, &code, &err), LAUNCHER_RUNNING);
	launcher_kill(l);
	assert_int_equal(launcher_wait(l), 128 + SIGKILL);
	assert_int_equal(access(".mcp.json", F_OK), -1);
	assert_int_equal(unlink("x"), 0);
	close_listeners(v, n);
	launcher_free(l);
}

/* A supervisor in a process of its own, killed while the command runs. */
static void test_nothing_outlives_a_killed_supervisor(void **state)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "trap '' TERM HUP INT; echo up; sleep 1000" }, NULL };
	int out[2];
	char buf[16];
	pid_t supervisor;

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	supervisor = fork();
	if (supervisor == 0) {
		struct launcher_plan plan = plan_of(argv);
		struct netns_listener v[NETNS_LISTENERS_MAX];
		struct launcher *l;
		size_t n;

		(void)dup2(out[1], 1);
		(void)close(out[1]);
		l = launcher_start(&plan, v, &n, NULL);
		if (!l || launcher_release(l, NULL))
			_exit(1);
		(void)launcher_wait(l);
		_exit(0);
	}
	(void)close(out[1]);
	assert_int_equal(fd_read_full(out[0], buf, 3), 3);
	assert_int_equal(kill(supervisor, SIGKILL), 0);
	/* The end of the pipe: no process holds it any more. */
	assert_int_equal(fd_read_full(out[0], buf, sizeof(buf)), 0);
	(void)close(out[0]);
	assert_int_equal(waitpid(supervisor, NULL, 0), supervisor);
}

static void test_closed_stdio_is_dev_null(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
				 (char[]){ "test /proc/self/fd/0 -ef /dev/null && "
					   "test /proc/self/fd/1 -ef /dev/null && "
					   "test /proc/self/fd/2 -ef /dev/null" },
				 NULL };
		struct launcher_plan plan = plan_of(argv);
		struct netns_listener v[NETNS_LISTENERS_MAX];
		struct launcher *l;
		size_t n;

		(void)close(0);
		(void)close(1);
		(void)close(2);
		l = launcher_start(&plan, v, &n, NULL);
		_exit(l && launcher_release(l, NULL) == 0 ? launcher_wait(l) : 99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int find_listener(const struct netns_listener *v, size_t n, enum netns_kind kind, int family,
			 unsigned port)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].kind == kind && v[i].family == family && (v[i].port == port || port == 0))
			return v[i].fd;
	return -1;
}

/* Accepts one connection; @local receives the address that the client dialled. */
static int accept_one(int fd, char local[INET6_ADDRSTRLEN])
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int c;

	assert_int_equal(poll(&p, 1, 10000), 1);
	c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(c >= 0);
	assert_int_equal(getsockname(c, (struct sockaddr *)&sa, &len), 0);
	assert_non_null(inet_ntop(AF_INET, &sa.sin_addr, local, INET6_ADDRSTRLEN));
	return c;
}

static void test_listeners_are_usable_from_outside(void **state)
{
	const uint16_t ports[] = { 80 };
	char *argv[] = { (char[]){ "bash" }, (char[]){ "-c" },
			 (char[]){ "exec 3<>/dev/tcp/127.0.0.1/3128 && echo hi >&3 && "
				   "exec 4<>/dev/tcp/8.8.8.8/80 && read -r x <&4 && "
				   "test \"$x\" = yo" },
			 NULL };
	struct launcher_plan plan = plan_of(argv);
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct launcher *l;
	struct error err;
	char local[INET6_ADDRSTRLEN], hi[3];
	size_t n;
	int c, d;

	(void)state;
	plan.net.no_tproxy = true;
	plan.net.ports = ports;
	plan.net.nports = 1;
	l = launcher_start(&plan, v, &n, &err);
	assert_non_null(l);
	assert_int_equal(launcher_release(l, &err), 0);
	c = accept_one(find_listener(v, n, NETNS_PROXY, AF_INET, NETNS_PROXY_PORT), local);
	assert_string_equal(local, "127.0.0.1");
	assert_int_equal(fd_read_full(c, hi, 3), 3);
	d = accept_one(find_listener(v, n, NETNS_CAPTURE, AF_INET, 0), local);
	assert_string_equal(local, "8.8.8.8");
	assert_int_equal(fd_write_all(d, "yo\n", 3), 0);
	assert_int_equal(launcher_wait(l), 0);
	assert_true(find_listener(v, n, NETNS_DNS_UDP, AF_INET, 53) >= 0);
	assert_true(find_listener(v, n, NETNS_DNS_TCP, AF_INET, 53) >= 0);
	(void)close(c);
	(void)close(d);
	close_listeners(v, n);
	launcher_free(l);
}

/* In /var/lib where root can make it: beneath /tmp the parent would be private to the run. */
static int make_workspace(const char *base, uid_t owner)
{
	CLEANUP_FREE char *dir = xasprintf("%s/sbx-net-test-XXXXXX", base);

	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(workspace, sizeof(workspace), "%s/ws", dir);
	if (chmod(dir, 0755) < 0 || mkdir(workspace, 0755) < 0 || chdir(workspace) < 0)
		return -1;
	return chown(dir, owner, (gid_t)-1) < 0 || chown(workspace, owner, (gid_t)-1) < 0 ? -1 : 0;
}

static int remove_workspace(void)
{
	if (chdir("/") < 0 || rmdir(workspace) < 0)
		return -1;
	*strrchr(workspace, '/') = '\0';
	return rmdir(workspace);
}

static int run_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_codes_are_the_commands_own),
		cmocka_unit_test(test_a_fatal_signal_is_128_plus_it),
		cmocka_unit_test(test_a_missing_program_is_127),
		cmocka_unit_test(test_a_program_that_cannot_run_is_126),
		cmocka_unit_test(test_the_command_is_confined),
		cmocka_unit_test(test_only_stdio_is_open),
		cmocka_unit_test(test_ids_and_namespaces),
		cmocka_unit_test(test_the_session_is_its_own),
		cmocka_unit_test(test_inherited_signal_state_is_reset),
		cmocka_unit_test(test_core_limit_starts_no_helper),
		cmocka_unit_test(test_without_a_core_limit_the_dump_is_empty),
		cmocka_unit_test(test_privileged_priorities_are_not_passed_on),
		cmocka_unit_test(test_writes_only_to_the_workspace_and_tmp),
		cmocka_unit_test(test_protected_names_stay_as_they_are),
		cmocka_unit_test(test_denials_win_over_grants),
		cmocka_unit_test(test_credentials_are_not_shown),
		cmocka_unit_test(test_a_protected_link_is_locked_with_its_target),
		cmocka_unit_test(test_private_paths_are_out_of_reach),
		cmocka_unit_test(test_each_mode_starts),
		cmocka_unit_test(test_limits_are_set),
		cmocka_unit_test(test_a_killed_supervisor_leaves_no_placeholder),
		cmocka_unit_test(test_tmp_is_private),
		cmocka_unit_test(test_proc_cannot_be_written),
		cmocka_unit_test(test_descendants_die_with_the_command),
		cmocka_unit_test(test_a_missing_grant_stops_the_start),
		cmocka_unit_test(test_a_replaced_grant_stops_the_start),
		cmocka_unit_test(test_without_release_it_never_runs),
		cmocka_unit_test(test_signals_are_passed_on),
		cmocka_unit_test(test_a_killed_pid1_ends_the_run),
		cmocka_unit_test(test_nothing_outlives_a_killed_supervisor),
		cmocka_unit_test(test_closed_stdio_is_dev_null),
		cmocka_unit_test(test_an_answer_that_finds_no_room_is_one),
		cmocka_unit_test(test_listeners_are_usable_from_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The group as an ordinary user, in a child. */
static int run_unprivileged(void)
{
	int status = 0;
	pid_t pid;

	if (make_workspace("/var/lib", 65534))
		return 1;
	pid = fork();
	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) ||
		    prctl(PR_SET_DUMPABLE, 1) < 0)
			exit(1);
		exit(run_group());
	}
	if (waitpid(pid, &status, 0) < 0)
		return 1;
	return remove_workspace() || status;
}

int main(void)
{
	bool root = geteuid() == 0;
	int failed = 0;

	(void)signal(SIGPIPE, SIG_IGN);
	if (root)
		failed = run_unprivileged();
	if (make_workspace(root ? "/var/lib" : "/tmp", geteuid()))
		return 1;
	failed |= run_group();
	return remove_workspace() || failed;
}
