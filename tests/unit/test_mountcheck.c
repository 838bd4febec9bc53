/*
 * test_mountcheck.c - a mount that nobody reaches is found
 *
 * Each case runs in a mount namespace of its own, in a child.
 */
#include "launcher/files/mountcheck.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILD_SKIP 77

static char path[] = "/usr";

static int mount_there(void)
{
	return mount(path, path, NULL, MS_BIND, NULL);
}

static struct mountplan_step step(enum mountplan_kind kind)
{
	return (struct mountplan_step){
		.kind = kind,
		.mounted = true,
		.path = path,
		.fd = open(path, O_PATH | O_CLOEXEC),
		.tree = -1,
	};
}

/* Found by its path; lost when another mount covers it; and not asked for when nothing is mounted. */
static int covered(void)
{
	struct mountplan_step s;
	struct mountplan p = { .v = &s, .n = 1 };

	if (mount_there() < 0)
		return 1;
	s = step(STEP_HIDE);
	if (mountcheck_next(&p, 0) < p.n)
		return 2;
	if (mount_there() < 0 || mountcheck_next(&p, 0) == p.n)
		return 3;
	s.mounted = false;
	return mountcheck_next(&p, 0) < p.n ? 4 : 0;
}

/* Of two in one place the upper one is seen. */
static int one_path(void)
{
	struct mountplan_step v[2];
	struct mountplan p = { .v = v, .n = 2 };

	if (mount_there() < 0)
		return 1;
	v[0] = step(STEP_GRANT);
	if (mount_there() < 0)
		return 2;
	v[1] = step(STEP_LOCK);
	if (mountcheck_next(&p, 0) < p.n)
		return 3;
	v[1].mounted = false;
	return mountcheck_next(&p, 0) == p.n ? 4 : 0;
}

/* The same directory by another mount is not what was granted. */
static int beside(void)
{
	struct mountplan_step s;
	struct mountplan p = { .v = &s, .n = 1 };
	struct launcher_plan plan = { .cwd = "/usr/bin" };
	struct error err;
	int fd;

	if (mount_there() < 0)
		return 1;
	s = step(STEP_GRANT);
	fd = mountcheck_cwd(&p, &plan, &err);
	if (fd < 0)
		return 2;
	if (mount(plan.cwd, plan.cwd, NULL, MS_BIND, NULL) < 0)
		return 3;
	if (mountcheck_cwd(&p, &plan, &err) < 0)
		return 4; /* both ways lead to the bind */
	if (mount_there() < 0 || mountcheck_cwd(&p, &plan, &err) >= 0)
		return 5;
	s.kind = STEP_HIDE;
	if (mountcheck_cwd(&p, &plan, &err) >= 0 || !strstr(err.msg, "denied"))
		return 6;
	p.n = 0;
	return mountcheck_cwd(&p, &plan, &err) < 0 ? 7 : 0;
}

static void in_namespace(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
				      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
			      ? CHILD_SKIP
			      : run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_SKIP) {
		print_message("SKIP: no namespaces here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_steps_that_are_covered(void **state)
{
	(void)state;
	in_namespace(covered);
}

static void test_steps_of_one_path(void **state)
{
	(void)state;
	in_namespace(one_path);
}

static void test_working_directory_beside_its_grant(void **state)
{
	(void)state;
	in_namespace(beside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_that_are_covered),
		cmocka_unit_test(test_steps_of_one_path),
		cmocka_unit_test(test_working_directory_beside_its_grant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
