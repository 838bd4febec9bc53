/*
 * test_caps.c - M-06, X-031, X-032: no capability is left, and none comes back
 */
#include "launcher/caps.h"

#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILD_SKIP 77

/* In a child of its own, with every capability over a user namespace or as root. */
static int in_child(int (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(geteuid() != 0 && unshare(CLONE_NEWUSER) < 0 ? CHILD_SKIP : test());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect_zero(int (*test)(void))
{
	int rc = in_child(test);

	if (rc == CHILD_SKIP) {
		print_message("SKIP: user namespaces are not available\n");
		skip();
	}
	assert_int_equal(rc, 0);
}

static int drop_and_check(void)
{
	struct error err;

	if (caps_check_none(&err) == 0)
		return 1; /* the control: there must be something to drop */
	if (caps_drop_all(&err) < 0)
		return 2;
	return caps_check_none(&err) == 0 ? 0 : 3;
}

static int regain(void)
{
	struct error err;

	if (caps_drop_all(&err) < 0)
		return 1;
	if (prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0)
		return 2;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0) == 0)
		return 3;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0)
		return 4;
	return 0;
}

/* uid 0 gains nothing by exec: the program itself reads what it has. */
static int look_after_exec(void)
{
	struct error err;

	if (caps_drop_all(&err) < 0)
		return 1;
	(void)execl("/bin/sh", "sh", "-c",
		    "n=$(grep -c '^Cap[A-Z][a-z]*:\t0*$' /proc/self/status); test \"$n\" = 5",
		    (char *)NULL);
	return 2;
}

static int drop_twice(void)
{
	struct error err = { .msg = "" };

	if (caps_drop_all(&err) < 0)
		return 1;
	return caps_drop_all(&err) < 0 && strstr(err.msg, "securebits") ? 0 : 2;
}

static void test_drop_all_empties_every_set(void **state)
{
	(void)state;
	expect_zero(drop_and_check);
}

static void test_drop_all_is_final(void **state)
{
	(void)state;
	expect_zero(regain);
}

static void test_drop_all_outlasts_exec(void **state)
{
	(void)state;
	expect_zero(look_after_exec);
}

static void test_drop_all_fails_without_the_right_to(void **state)
{
	(void)state;
	expect_zero(drop_twice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop_all_empties_every_set),
		cmocka_unit_test(test_drop_all_is_final),
		cmocka_unit_test(test_drop_all_outlasts_exec),
		cmocka_unit_test(test_drop_all_fails_without_the_right_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
