#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/weaker.h"

static void test_parse_adds_up(void **state)
{
	unsigned set = 0;
	struct error err;

	(void)state;
	assert_int_equal(weaker_parse("landlock-scopes", &set, &err), 0);
	assert_int_equal(set, WEAKER_LANDLOCK_SCOPES);
	assert_int_equal(weaker_parse("proc,proc", &set, &err), 0);
	assert_int_equal(set, WEAKER_LANDLOCK_SCOPES | WEAKER_PROC);
	assert_int_equal(weaker_parse("spelling", &set, &err), 0);
	assert_int_equal(set, WEAKER_LANDLOCK_SCOPES | WEAKER_PROC | WEAKER_SPELLING);
}

static void test_parse_refuses_what_it_does_not_know(void **state)
{
	static const char *const bad[] = { "",
					   ",",
					   "proc,",
					   ",proc",
					   "pro",
					   "procs",
					   "PROC",
					   "all",
					   "proc landlock-scopes",
					   "proc,,landlock-scopes" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		unsigned set = 0;
		struct error err;

		assert_int_equal(weaker_parse(bad[i], &set, &err), -1);
		assert_int_equal(set, 0);
	}
}

static void test_names_are_those_that_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < WEAKER_NUM; i++) {
		unsigned set = 0;
		struct error err;

		assert_int_equal(weaker_parse(weaker_name(i), &set, &err), 0);
		assert_int_equal(set, 1u << i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_adds_up),
		cmocka_unit_test(test_parse_refuses_what_it_does_not_know),
		cmocka_unit_test(test_names_are_those_that_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
