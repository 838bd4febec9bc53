/* What one or many can take, and what is there for whoever comes after them. */
#include "base/fairshare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX    10240 /* a quarter kept: 2560, which is 40 for each of 64 */
#define KEPT   (MAX / FAIRSHARE_KEPT)
#define LITTLE (KEPT / FAIRSHARE_LATE)

/* As much as the rule gives, @n at a time. */
static size_t grab(struct fairshare *f, size_t n)
{
	size_t mine = 0;

	while (fairshare_may(f, mine, n)) {
		mine += n;
		f->taken += n;
	}
	return mine;
}

static void test_may_gives_all_to_one_alone(void **state)
{
	struct fairshare f = { .max = MAX, .takers = 1 };

	(void)state;
	assert_int_equal(grab(&f, 2), MAX);
	assert_false(fairshare_may(&f, 0, 1));
}

static void test_may_leaves_as_much_as_one_has(void **state)
{
	struct fairshare f = { .max = MAX, .takers = 2 };

	(void)state;
	assert_int_equal(grab(&f, 2), (MAX - KEPT) / 2);
	assert_int_equal(grab(&f, 2), (MAX - KEPT) / 4);
}

/* However many have taken all they get, one after the other. */
static void test_may_keeps_a_part_for_the_late(void **state)
{
	struct fairshare f = { .max = MAX, .takers = 1000 };
	int late = 0;
	size_t got;

	(void)state;
	while ((got = grab(&f, 2)) > LITTLE)
		;
	assert_true(f.max - f.taken >= KEPT - LITTLE);
	for (late = 1; (got = grab(&f, 2)) > 0; late++)
		assert_true(got == LITTLE || f.taken == f.max);
	assert_in_range(late, FAIRSHARE_LATE, FAIRSHARE_LATE + 2);
}

/* The first portion may be larger than the little: a session's listeners, for example. */
static void test_may_gives_a_first_portion(void **state)
{
	struct fairshare f = { .max = MAX, .taken = MAX - 3 * LITTLE, .takers = 9 };

	(void)state;
	assert_true(fairshare_may(&f, 0, 3 * LITTLE));
	assert_false(fairshare_may(&f, 0, 3 * LITTLE + 1));
	assert_false(fairshare_may(&f, 1, 2 * LITTLE));
	assert_true(fairshare_may(&f, 1, LITTLE - 1));
}

/* More is out than there is: a limit that was lowered, or what is not counted by shares. */
static void test_may_survives_an_overdraft(void **state)
{
	struct fairshare f = { .max = 10, .taken = 12, .takers = 2 };

	(void)state;
	assert_false(fairshare_may(&f, 0, 1));
	assert_true(fairshare_may(&f, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_may_gives_all_to_one_alone),
		cmocka_unit_test(test_may_leaves_as_much_as_one_has),
		cmocka_unit_test(test_may_keeps_a_part_for_the_late),
		cmocka_unit_test(test_may_gives_a_first_portion),
		cmocka_unit_test(test_may_survives_an_overdraft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
