#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/trial.h"

static void test_run_finds_what_the_other_tests_need(void **state)
{
	struct trial_result v[TRIAL_NUM];
	struct error err;

	(void)state;
	assert_int_equal(trial_run(v, &err), 0);
	for (int i = 0; i < TRIAL_NUM; i++) {
		const struct trial_about *a = trial_about((enum trial_part)i);

		assert_non_null(a->name);
		assert_non_null(a->what);
		if (a->need == TRIAL_NEEDED && !v[i].ok)
			fail_msg("%s: %s", a->name, v[i].err.msg);
		assert_true(v[i].tried);
	}
}

static void test_run_leaves_the_caller_as_it_was(void **state)
{
	struct trial_result v[TRIAL_NUM];
	char before[64] = "", after[64] = "";
	struct error err;

	(void)state;
	assert_true(readlink("/proc/self/ns/mnt", before, sizeof(before) - 1) > 0);
	assert_int_equal(trial_run(v, &err), 0);
	assert_true(readlink("/proc/self/ns/mnt", after, sizeof(after) - 1) > 0);
	assert_string_equal(before, after);
	assert_int_equal(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_finds_what_the_other_tests_need),
		cmocka_unit_test(test_run_leaves_the_caller_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
