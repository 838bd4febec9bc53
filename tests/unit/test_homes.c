#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/files/homes.h"

static void test_both_homes_are_found(void **state)
{
	const struct passwd *pw = getpwuid(geteuid());
	struct homes h;

	(void)state;
	if (!pw || pw->pw_dir[0] != '/')
		skip();
	assert_int_equal(setenv("HOME", "/somewhere/else", 1), 0);
	homes_find(&h);
	assert_true(h.n >= 2); /* more where a home is mounted twice */
	assert_string_equal(h.v[0], "/somewhere/else");
	assert_string_equal(h.v[1], pw->pw_dir);
	homes_clear(&h);
	assert_int_equal(h.n, 0);
}

static void test_without_a_usable_home_the_user_database_counts(void **state)
{
	static const char *const odd[] = { "", "relative", "/" };
	const struct passwd *pw = getpwuid(geteuid());
	struct homes h;

	(void)state;
	if (!pw || pw->pw_dir[0] != '/')
		skip();
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(setenv("HOME", odd[i], 1), 0);
		homes_find(&h);
		assert_true(h.n >= 1);
		assert_string_equal(h.v[0], pw->pw_dir);
		homes_clear(&h);
	}
	assert_int_equal(setenv("HOME", pw->pw_dir, 1), 0); /* the same twice is one */
	homes_find(&h);
	assert_true(h.n == 1 || strcmp(h.v[1], pw->pw_dir) != 0);
	homes_clear(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_homes_are_found),
		cmocka_unit_test(test_without_a_usable_home_the_user_database_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
