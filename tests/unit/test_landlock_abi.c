/*
 * test_landlock_abi.c - G-01 to G-04, L-011: the masks of every kernel, and what is said to old ones
 */
#include "launcher/files/landlock_abi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* Spelt out as numbers, from the table of ABIs and not from the code under test. */
static void test_rights_are_exact_for_each_abi(void **state)
{
	static const struct landlock_rights want[] = {
		{ 5, 0xffff, 0x3, 0x0, 16 },  { 6, 0xffff, 0x3, 0x3, 24 },
		{ 7, 0xffff, 0x3, 0x3, 24 },  { 8, 0xffff, 0x3, 0x3, 24 },
		{ 9, 0x1ffff, 0x3, 0x3, 24 }, { 10, 0x1ffff, 0xf, 0x3, 24 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct landlock_rights got;

		assert_int_equal(landlock_abi_rights(want[i].abi, 0, &got, NULL), 0);
		assert_int_equal(got.abi, want[i].abi);
		assert_int_equal(got.fs, want[i].fs);
		assert_int_equal(got.net, want[i].net);
		assert_int_equal(got.scoped, want[i].scoped);
		assert_int_equal(got.attr_size, want[i].attr_size);
	}
}

static void test_rights_of_a_newer_kernel_are_those_reviewed(void **state)
{
	struct landlock_rights ten, newer;

	(void)state;
	assert_int_equal(landlock_abi_rights(10, 0, &ten, NULL), 0);
	assert_int_equal(landlock_abi_rights(11, 0, &newer, NULL), 0);
	assert_int_equal(newer.abi, 10);
	assert_int_equal(newer.fs, ten.fs);
}

static void test_rights_refuses_with_the_remedy(void **state)
{
	static const struct {
		int version, code;
		const char *remedy;
	} rows[] = {
		{ -1, ENOSYS, "6.10" },	 { -1, EOPNOTSUPP, "lsm=" }, { -1, EPERM, "seccomp" },
		{ -1, EIO, "Landlock" }, { 0, 0, "6.10" },	     { 1, 0, "6.10" },
		{ 4, 0, "ABI 4" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct landlock_rights got = { .abi = 99 };
		struct error err;

		assert_int_equal(landlock_abi_rights(rows[i].version, rows[i].code, &got, &err),
				 -1);
		assert_non_null(strstr(err.msg, rows[i].remedy));
		assert_int_equal(got.abi, 99);
	}
}

static void test_query_answers_for_this_kernel(void **state)
{
	struct landlock_rights got;
	struct error err;

	(void)state;
	if (landlock_abi_query(&got, &err) < 0) {
		print_message("SKIP: %s\n", err.msg);
		skip();
	}
	assert_in_range(got.abi, LANDLOCK_ABI_MIN, LANDLOCK_ABI_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights_are_exact_for_each_abi),
		cmocka_unit_test(test_rights_of_a_newer_kernel_are_those_reviewed),
		cmocka_unit_test(test_rights_refuses_with_the_remedy),
		cmocka_unit_test(test_query_answers_for_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
