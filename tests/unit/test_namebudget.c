/* The budget of new names under a wildcard. */
#include "policy/namebudget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct hostname name(const char *fmt, unsigned i)
{
	struct hostname h = { 0 };
	char text[64];
	struct addr a;

	(void)snprintf(text, sizeof(text), "h%u.%s", i, fmt);
	assert_int_equal(hostname_parse(text, strlen(text), &h, &a), HOSTNAME_NAME);
	return h;
}

static bool take(struct namebudget *nb, const char *rule, unsigned i)
{
	struct rule r = { .text = rule };
	struct hostname h = name("wild.example", i);

	return namebudget_take(nb, &r, &h);
}

static void test_take_ends_at_the_budget(void **state)
{
	struct namebudget *nb = namebudget_new();

	(void)state;
	for (unsigned i = 0; i < NAMEBUDGET_NAMES_MAX; i++)
		assert_true(take(nb, "*.wild.example", i));
	assert_false(take(nb, "*.wild.example", NAMEBUDGET_NAMES_MAX));
	assert_false(take(nb, "*.wild.example", NAMEBUDGET_NAMES_MAX + 1));
	/* what has been seen goes on, and another rule has its own budget */
	for (unsigned i = 0; i < NAMEBUDGET_NAMES_MAX; i++)
		assert_true(take(nb, "*.wild.example", i));
	assert_true(take(nb, "**.wild.example", NAMEBUDGET_NAMES_MAX));
	namebudget_free(nb);
}

static void test_take_counts_a_name_once(void **state)
{
	struct namebudget *nb = namebudget_new();

	(void)state;
	for (unsigned i = 0; i < 3 * NAMEBUDGET_NAMES_MAX; i++)
		assert_true(take(nb, "*.wild.example", i % 3));
	for (unsigned i = 0; i < NAMEBUDGET_NAMES_MAX; i++)
		assert_true(take(nb, "*.wild.example", i));
	namebudget_free(nb);
}

static void test_take_ignores_exact_entries_and_answers(void **state)
{
	struct namebudget *nb = namebudget_new();
	struct hostname h;

	(void)state;
	for (unsigned i = 0; i < 2 * NAMEBUDGET_NAMES_MAX; i++) {
		h = name("example", i);
		assert_true(take(nb, "exact.example", i));
		assert_true(take(nb, "*", i));
		assert_true(take(nb, "*:443", i));
		assert_true(namebudget_take(nb, NULL, &h));
	}
	namebudget_free(nb);
}

static void test_take_bounds_the_table(void **state)
{
	struct namebudget *nb = namebudget_new();
	unsigned taken = 0;

	(void)state;
	for (unsigned i = 0; i < NAMEBUDGET_TOTAL_MAX + 1000; i++) {
		char rule[32];

		(void)snprintf(rule, sizeof(rule), "*.r%u.example", i / 500);
		taken += take(nb, rule, i);
	}
	assert_int_equal(taken, NAMEBUDGET_TOTAL_MAX);
	assert_true(take(nb, "*.r0.example", 0)); /* seen before */
	namebudget_free(nb);
	namebudget_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_ends_at_the_budget),
		cmocka_unit_test(test_take_counts_a_name_once),
		cmocka_unit_test(test_take_ignores_exact_entries_and_answers),
		cmocka_unit_test(test_take_bounds_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
