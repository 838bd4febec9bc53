/*
 * test_landlock.c - F-001, F-002, F-016, L-011, L-012, X-026: what each mode lets through
 */
#include "launcher/files/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* top/ holds work/ (the workspace), tmp/ (TMPDIR), out/ (neither), each with a file and a program */
static char top[] = "/var/tmp/test_landlock.XXXXXX";
static int top_fd = -1;

static int shell(const char *command)
{
	int status, rc = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (chdir(top) == 0)
			(void)execl("/bin/sh", "sh", "-ec", command, (char *)NULL);
		_exit(99);
	}
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status))
		rc = WEXITSTATUS(status);
	return rc;
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(top) || shell("mkdir work tmp out work/sub; for d in work tmp out; do"
				   " echo x >$d/file; cp /bin/true $d/true; done") != 0)
		return -1;
	top_fd = open(top, O_PATH | O_CLOEXEC | O_DIRECTORY);
	return top_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)close(top_fd);
	return shell("rm -rf work tmp out") != 0 || rmdir(top) < 0 ? -1 : 0;
}

/** struct probe - one thing to try inside, and what errno must say (0: it works) */
struct probe {
	int (*attempt)(const char *path);
	const char *path;
	int want;
};

static int try_open(const char *path, int flags)
{
	CLEANUP_CLOSE int fd = openat(top_fd, path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

static int do_read(const char *path)
{
	return try_open(path, O_RDONLY);
}

static int do_write(const char *path)
{
	return try_open(path, O_WRONLY);
}

static int do_truncate(const char *path)
{
	return try_open(path, O_WRONLY | O_TRUNC);
}

static int do_create(const char *path)
{
	int rc = try_open(path, O_WRONLY | O_CREAT | O_EXCL);

	if (rc == 0)
		(void)unlinkat(top_fd, path, 0);
	return rc;
}

static int do_list(const char *path)
{
	return try_open(path, O_RDONLY | O_DIRECTORY);
}

static int do_unlink(const char *path)
{
	return unlinkat(top_fd, path, 0) < 0 ? errno : 0;
}

static int do_mkdir(const char *path)
{
	if (mkdirat(top_fd, path, 0700) < 0)
		return errno;
	(void)unlinkat(top_fd, path, AT_REMOVEDIR);
	return 0;
}

static int do_whiteout(const char *path)
{
	return mknodat(top_fd, path, S_IFCHR, 0) < 0 ? errno : 0;
}

/* Renames across directories, there and back: needs REFER. */
static int do_refer(const char *path)
{
	if (renameat(top_fd, path, top_fd, "work/sub/moved") < 0)
		return errno;
	return renameat(top_fd, "work/sub/moved", top_fd, path) < 0 ? errno : 0;
}

/* A hard link of something outside, made in the workspace. */
static int do_link(const char *path)
{
	if (linkat(top_fd, path, top_fd, "work/linked", 0) < 0)
		return errno;
	(void)unlinkat(top_fd, "work/linked", 0);
	return 0;
}

static int do_exec(const char *path)
{
	CLEANUP_CLOSE int fd = openat(top_fd, path, O_PATH | O_CLOEXEC);
	char *const none[] = { NULL };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execveat(fd, "", none, none, AT_EMPTY_PATH);
		_exit(errno);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int do_bind(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/%s", top, path);
	rc = bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0 ? errno : 0;
	if (rc == 0)
		(void)unlinkat(top_fd, path, 0);
	return rc;
}

static int run_probes(const struct probe *probes, size_t n)
{
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		int got = probes[i].attempt(probes[i].path);

		if (got == probes[i].want)
			continue;
		(void)fprintf(stderr, "probe %zu (%s): errno %d, expected %d\n", i, probes[i].path,
			      got, probes[i].want);
		failed = 1;
	}
	return failed;
}

static int confine(const struct landlock_plan *plan)
{
	struct landlock_rights rights;
	struct error err = { .msg = "" };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_abi_query(&rights, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	CLEANUP_CLOSE int fd = landlock_build(plan, &rights, &err);

	if (fd < 0 || landlock_enforce(fd, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	return 0;
}

/* Every probe must work bare (M-04) in one child, and answer as the table says in another. */
static void expect(const struct landlock_plan *plan, const struct probe *probes, size_t n)
{
	for (int confined = 0; confined < 2; confined++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			int failed = 0;

			if (confined)
				_exit(confine(plan) < 0 ? 1 : run_probes(probes, n));
			for (size_t i = 0; i < n; i++) {
				struct probe bare = probes[i];

				/* what would not come back, and what takes a capability */
				if (bare.attempt == do_unlink || bare.attempt == do_whiteout)
					continue;
				bare.want = 0;
				failed |= run_probes(&bare, 1);
			}
			_exit(failed);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

static int grant(const char *name)
{
	char path[sizeof(top) + 32];
	struct error err;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = landlock_open(path, &err);
	assert_true(fd >= 0);
	return fd;
}

static void require_landlock(void)
{
	struct landlock_rights rights;
	struct error err;

	if (landlock_abi_query(&rights, &err) == 0)
		return;
	print_message("SKIP: %s\n", err.msg);
	skip();
}

static void test_workspace_writes_only_where_it_may(void **state)
{
	static const struct probe probes[] = {
		{ do_read, "out/file", 0 },	    { do_list, "out", 0 },
		{ do_exec, "out/true", 0 },	    { do_write, "work/file", 0 },
		{ do_truncate, "work/file", 0 },    { do_create, "work/new", 0 },
		{ do_mkdir, "work/dir", 0 },	    { do_refer, "work/file", 0 },
		{ do_refer, "tmp/file", 0 },	    { do_exec, "work/true", 0 },
		{ do_create, "tmp/new", 0 },	    { do_exec, "tmp/true", 0 },
		{ do_write, "/dev/null", 0 },	    { do_create, "/dev/shm/test_landlock", 0 },
		{ do_write, "out/file", EACCES },   { do_truncate, "out/file", EACCES },
		{ do_create, "out/new", EACCES },   { do_unlink, "out/file", EACCES },
		{ do_mkdir, "out/dir", EACCES },    { do_link, "out/file", EXDEV },
		{ do_refer, "out/file", EACCES },   { do_whiteout, "work/white", EACCES },
		{ do_bind, "work/socket", EACCES }, { do_write, "/proc/self/comm", EACCES },
	};
	struct landlock_plan plan = { .mode = FS_WORKSPACE, .program = -1 };
	CLEANUP_CLOSE int work = grant("work");
	CLEANUP_CLOSE int tmp = grant("tmp");

	(void)state;
	require_landlock();
	plan.cwd = work;
	plan.tmpdir = tmp;
	expect(&plan, probes, ARRAY_SIZE(probes));
}

static void test_workspace_takes_further_grants(void **state)
{
	static const struct probe probes[] = {
		{ do_write, "out/file", 0 },
		{ do_create, "out/new", 0 },
		{ do_refer, "out/file", 0 },
		{ do_bind, "work/socket", 0 },
	};
	CLEANUP_CLOSE int work = grant("work");
	CLEANUP_CLOSE int out = grant("out");
	struct landlock_plan plan = {
		.mode = FS_WORKSPACE,
		.cwd = work,
		.tmpdir = -1,
		.program = -1,
		.write = { &out, 1 },
		.allow_unix_sockets = true,
	};

	(void)state;
	require_landlock();
	expect(&plan, probes, ARRAY_SIZE(probes));
}

/* What no rule covers stays out of reach without any mount, there already or made later. */
static void test_hidden_paths_are_left_out(void **state)
{
	const struct probe probes[] = {
		{ do_read, "out/file", 0 },
		{ do_read, "out/d/open/file", 0 },
		{ do_exec, "out/true", 0 },
		{ do_list, "out/d", 0 },
		{ do_read, "out/d/secret/file", EACCES },
		{ do_read, "out/d/missing", EACCES },
		{ do_read, "work/file", 0 },
	};
	char secret[sizeof(top) + 32], missing[sizeof(top) + 32];
	const char *const hidden[] = { missing, secret };
	CLEANUP_CLOSE int work = grant("work");
	CLEANUP_CLOSE int out = grant("out");
	const struct landlock_plan everything = { .mode = FS_WORKSPACE,
						  .cwd = work,
						  .tmpdir = -1,
						  .program = -1,
						  .hidden = { hidden, 2 } };
	struct landlock_plan strict = everything;

	(void)state;
	require_landlock();
	strict.mode = FS_STRICT;
	strict.read = (struct fd_list){ (const int[]){ out, work }, 2 };
	strict.exec = strict.read;
	(void)snprintf(secret, sizeof(secret), "%s/out/d/secret", top);
	(void)snprintf(missing, sizeof(missing), "%s/out/d/missing", top);
	assert_int_equal(shell("mkdir -p out/d/open out/d/secret; for d in open secret; do "
			       "echo x > out/d/$d/file; done; echo x > out/d/missing"),
			 0);
	expect(&everything, probes, ARRAY_SIZE(probes));
	expect(&strict, probes, ARRAY_SIZE(probes));
	assert_int_equal(shell("rm -r out/d"), 0);
}

/* A directory of the way with very much in it: nobody waits for it, and no chance decides. */
static void test_crowds_are_left_out(void **state)
{
	const struct probe files[] = {
		{ do_read, "out/d/f1", EACCES },
		{ do_read, "out/d/f4100", EACCES },
		{ do_read, "out/d/.dot", 0 },
		{ do_read, "out/d/open/file", 0 },
		{ do_read, "out/d/secret/file", EACCES },
		{ do_read, "out/d/secret2/x/file", 0 },
		{ do_list, "out/d", 0 },
		{ do_read, "out/file", 0 },
	};
	const struct probe all[] = {
		{ do_read, "out/d/.dot", EACCES },
		{ do_read, "out/d/open/file", EACCES },
		{ do_read, "out/d/secret2/x/file", 0 }, /* on the way to something hidden */
		{ do_read, "out/file", 0 },
	};
	char secret[sizeof(top) + 32], second[sizeof(top) + 32];
	const char *const hidden[] = { secret, second };
	CLEANUP_CLOSE int work = grant("work");
	struct launcher_crowd crowd = { "", false };
	const struct landlock_plan plan = { .mode = FS_WORKSPACE,
					    .cwd = work,
					    .tmpdir = -1,
					    .program = -1,
					    .hidden = { hidden, 2 },
					    .crowd = &crowd };
	struct landlock_rights rights;

	(void)state;
	require_landlock();
	(void)snprintf(secret, sizeof(secret), "%s/out/d/secret", top);
	(void)snprintf(second, sizeof(second), "%s/out/d/secret2/y", top);
	assert_int_equal(
		shell("mkdir -p out/d/open out/d/secret out/d/secret2/x out/d/secret2/y; cd out/d; "
		      "for d in open secret secret2/x; do echo x > $d/file; done; echo x > .dot; "
		      "for i in $(seq 4200); do echo x > f$i; done"),
		0);
	expect(&plan, files, ARRAY_SIZE(files));
	assert_int_equal(landlock_abi_query(&rights, NULL), 0);
	(void)close(landlock_build(&plan, &rights, NULL));
	assert_int_equal(strcmp(crowd.path + strlen(top), "/out/d") | crowd.all, 0);
	assert_int_equal(shell("cd out/d; for i in $(seq 4200); do mv f$i .f$i; done"), 0);
	expect(&plan, all, ARRAY_SIZE(all));
	crowd.path[0] = '\0';
	(void)close(landlock_build(&plan, &rights, NULL));
	assert_true(crowd.all);
	assert_int_equal(shell("rm -r out/d"), 0);
}

static void test_strict_denies_by_default(void **state)
{
	static const struct probe probes[] = {
		{ do_exec, "/bin/true", 0 },	     { do_read, "/etc/passwd", 0 },
		{ do_read, "/proc/self/status", 0 }, { do_write, "/dev/null", 0 },
		{ do_create, "tmp/new", 0 },	     { do_read, "tmp/file", 0 },
		{ do_exec, "tmp/true", EACCES },     { do_read, "out/file", EACCES },
		{ do_list, "out", EACCES },	     { do_exec, "out/true", EACCES },
		{ do_write, "out/file", EACCES },    { do_read, "work/file", EACCES },
		{ do_write, "work/file", EACCES },   { do_list, "/tmp", EACCES },
		{ do_list, "/var", EACCES },	     { do_list, "/", EACCES },
		{ do_write, "/etc/passwd", EACCES },
	};
	CLEANUP_CLOSE int work = grant("work");
	CLEANUP_CLOSE int tmp = grant("tmp");
	struct landlock_plan plan = {
		.mode = FS_STRICT, .cwd = work, .tmpdir = tmp, .program = -1
	};

	(void)state;
	require_landlock();
	expect(&plan, probes, geteuid() == 0 ? ARRAY_SIZE(probes) : ARRAY_SIZE(probes) - 1);
}

static void test_strict_axes_do_not_imply_each_other(void **state)
{
	static const struct probe probes[] = {
		/* --read tmp */
		{ do_read, "tmp/file", 0 },
		{ do_list, "tmp", 0 },
		{ do_write, "tmp/file", EACCES },
		{ do_create, "tmp/new", EACCES },
		{ do_exec, "tmp/true", EACCES },
		/* --write out */
		{ do_write, "out/file", 0 },
		{ do_create, "out/new", 0 },
		{ do_read, "out/file", EACCES },
		{ do_list, "out", EACCES },
		{ do_exec, "out/true", EACCES },
		/* --exec work: the kernel opens a program for reading too */
		{ do_exec, "work/true", EACCES },
		{ do_read, "work/file", EACCES },
		{ do_write, "work/file", EACCES },
	};
	CLEANUP_CLOSE int r = grant("tmp");
	CLEANUP_CLOSE int w = grant("out");
	CLEANUP_CLOSE int x = grant("work");
	struct landlock_plan plan = {
		.mode = FS_STRICT,
		.cwd = -1,
		.tmpdir = -1,
		.program = -1,
		.read = { &r, 1 },
		.write = { &w, 1 },
		.exec = { &x, 1 },
	};

	(void)state;
	require_landlock();
	expect(&plan, probes, ARRAY_SIZE(probes));
}

static void test_strict_runs_what_may_be_read_and_executed(void **state)
{
	static const struct probe probes[] = {
		{ do_exec, "work/true", 0 },
		{ do_exec, "out/true", 0 },
		{ do_exec, "tmp/true", EACCES },
		{ do_read, "out/file", EACCES },
	};
	CLEANUP_CLOSE int work = grant("work");
	CLEANUP_CLOSE int program = grant("out/true");
	struct landlock_plan plan = {
		.mode = FS_STRICT,
		.cwd = -1,
		.tmpdir = -1,
		.program = program,
		.read = { &work, 1 },
		.exec = { &work, 1 },
	};

	(void)state;
	require_landlock();
	expect(&plan, probes, ARRAY_SIZE(probes));
}

/* the host's instance holds the terminals of the user's other sessions. */
static void test_terminals_are_denied_unless_private(void **state)
{
	static const struct probe denied[] = { { do_write, "/dev/ptmx", EACCES },
					       { do_read, "/dev/ptmx", EACCES },
					       { do_list, "/dev", 0 },
					       { do_read, "/dev/urandom", 0 } };
	static const struct probe granted[] = { { do_write, "/dev/ptmx", 0 } };
	struct landlock_plan plan = {
		.mode = FS_WORKSPACE, .cwd = -1, .tmpdir = -1, .program = -1
	};

	(void)state;
	require_landlock();
	if (access("/dev/ptmx", R_OK | W_OK) < 0)
		skip();
	expect(&plan, denied, ARRAY_SIZE(denied));
	plan.private_pts = true;
	expect(&plan, granted, 1);
}

/**
 * struct mock - a kernel of a newer ABI than ours: what it was asked for, while @on
 * @handled: rights of files that the ruleset denies by default
 * @allowed: rights of the rule for the file @of
 */
static struct mock {
	bool on;
	uint64_t handled, allowed;
	struct stat of;
} mock;

long __real_syscall(long nr, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long nr, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	struct __attribute__((packed)) {
		uint64_t allowed;
		int32_t fd;
	} rule;
	struct stat st;

	if (mock.on && nr == SYS_landlock_create_ruleset) {
		(void)memcpy(&mock.handled, (const void *)a, sizeof(mock.handled));
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	if (!mock.on || nr != SYS_landlock_add_rule)
		return __real_syscall(nr, a, b, c, d, e, f);
	(void)memcpy(&rule, (const void *)c, sizeof(rule));
	if (fstat(rule.fd, &st) == 0 && st.st_ino == mock.of.st_ino && st.st_dev == mock.of.st_dev)
		mock.allowed |= rule.allowed;
	return 0;
}

/* What a kernel of @abi is asked to allow at @name. */
static uint64_t allowed(int abi, const struct landlock_plan *plan, const char *name)
{
	struct landlock_rights rights;
	struct error err;
	int fd;

	assert_int_equal(landlock_abi_rights(abi, 0, &rights, &err), 0);
	mock = (struct mock){ .on = true };
	assert_int_equal(fstatat(top_fd, name, &mock.of, 0), 0);
	fd = landlock_build(plan, &rights, &err);
	mock.on = false;
	assert_true(fd >= 0);
	(void)close(fd);
	return mock.allowed;
}

/* From ABI 9 sockets are connected to by name only where that is allowed: with the option. */
static void test_sockets_are_reached_by_name_only_where_allowed(void **state)
{
	static const uint64_t resolve = 0x10000, read = 0x4;
	static const enum fs_mode modes[] = { FS_WORKSPACE, FS_STRICT };
	CLEANUP_CLOSE int work = grant("work");
	CLEANUP_CLOSE int tmp = grant("tmp");
	CLEANUP_CLOSE int out = grant("out");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct landlock_plan plan = {
			.mode = modes[i],
			.cwd = modes[i] == FS_WORKSPACE ? work : -1,
			.tmpdir = tmp,
			.program = -1,
			.read = { &out, 1 },
		};

		assert_int_equal(allowed(9, &plan, "tmp") & (resolve | read), read);
		assert_int_equal(mock.handled & resolve, resolve); /* so it is denied */
		assert_int_equal(allowed(9, &plan, "out") & (resolve | read), read);
		plan.allow_unix_sockets = true;
		assert_int_equal(allowed(9, &plan, "tmp") & (resolve | read), resolve | read);
		assert_int_equal(allowed(9, &plan, "out") & (resolve | read), resolve | read);
		/* a kernel that does not know it would refuse the ruleset */
		assert_int_equal(allowed(8, &plan, "tmp") & (resolve | read), read);
		assert_int_equal(mock.handled & resolve, 0);
	}
}

static void test_off_leaves_files_alone(void **state)
{
	static const struct probe probes[] = {
		{ do_write, "out/file", 0 },
		{ do_create, "out/new", 0 },
		{ do_refer, "out/file", 0 },
	};
	struct landlock_plan plan = { .mode = FS_OFF, .cwd = -1, .tmpdir = -1, .program = -1 };
	struct landlock_rights five, six;

	(void)state;
	assert_int_equal(landlock_abi_rights(5, 0, &five, NULL), 0);
	assert_int_equal(landlock_abi_rights(6, 0, &six, NULL), 0);
	assert_false(landlock_needed(&plan, &five));
	assert_true(landlock_needed(&plan, &six));
	plan.mode = FS_WORKSPACE;
	assert_true(landlock_needed(&plan, &five));
	plan.mode = FS_OFF;
	require_landlock();
	expect(&plan, probes, ARRAY_SIZE(probes));
}

static void test_open_refuses_a_missing_path(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(landlock_open("/nonexistent/grant", &err), -1);
	assert_int_equal(err.code, ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/grant"));
}

static void test_build_fails_when_a_rule_does(void **state)
{
	static const int bad = 12345; /* not a descriptor */
	struct landlock_plan plan = {
		.mode = FS_WORKSPACE, .cwd = -1, .tmpdir = -1, .program = -1
	};
	struct landlock_rights rights;
	struct error err;
	int pair[2];

	(void)state;
	require_landlock();
	assert_int_equal(landlock_abi_query(&rights, &err), 0);
	plan.write = (struct fd_list){ &bad, 1 };
	assert_int_equal(landlock_build(&plan, &rights, &err), -1);
	assert_int_equal(err.code, EBADF);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	plan.write = (struct fd_list){ pair, 1 }; /* no path stands behind a pipe: EBADFD */
	assert_int_equal(landlock_build(&plan, &rights, &err), -1);
	assert_int_equal(err.code, EBADFD);
	(void)close(pair[0]);
	(void)close(pair[1]);
	plan.write = (struct fd_list){ NULL, 0 };
	rights.fs |= 1ULL << 40; /* G-03 */
	assert_int_equal(landlock_build(&plan, &rights, &err), -1);
	assert_int_equal(err.code, EINVAL);
}

/* L-012: the seventeenth layer is an error and not a silent success. */
static void test_enforce_fails_past_sixteen_layers(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	require_landlock();
	pid = fork();
	if (pid == 0) {
		struct landlock_plan plan = {
			.mode = FS_WORKSPACE, .cwd = -1, .tmpdir = -1, .program = -1
		};
		struct landlock_rights rights;
		struct error err;

		(void)landlock_abi_query(&rights, &err);
		CLEANUP_CLOSE int fd = landlock_build(&plan, &rights, &err);

		if (landlock_enforce(fd, &err) == 0 || !strstr(err.msg, "no_new_privs"))
			_exit(20);
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		for (int i = 0; i < 17; i++)
			if (landlock_enforce(fd, &err) < 0)
				_exit(err.code == E2BIG ? i : 30);
		_exit(40);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workspace_writes_only_where_it_may),
		cmocka_unit_test(test_workspace_takes_further_grants),
		cmocka_unit_test(test_hidden_paths_are_left_out),
		cmocka_unit_test(test_crowds_are_left_out),
		cmocka_unit_test(test_strict_denies_by_default),
		cmocka_unit_test(test_strict_axes_do_not_imply_each_other),
		cmocka_unit_test(test_strict_runs_what_may_be_read_and_executed),
		cmocka_unit_test(test_terminals_are_denied_unless_private),
		cmocka_unit_test(test_sockets_are_reached_by_name_only_where_allowed),
		cmocka_unit_test(test_off_leaves_files_alone),
		cmocka_unit_test(test_open_refuses_a_missing_path),
		cmocka_unit_test(test_build_fails_when_a_rule_does),
		cmocka_unit_test(test_enforce_fails_past_sixteen_layers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
