#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/path.h"

static void test_dir_of_each_kind_of_path(void **state)
{
	static const char *const rows[][3] = {
		{ "a", ".", "a" },	   { "a/b", "a", "b" }, { "/a", "/", "a" },
		{ "/a/b/c", "/a/b", "c" }, { "./a", ".", "a" }, { "a/", "a", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *dir = path_dir(rows[i][0]);

		assert_string_equal(dir, rows[i][1]);
		assert_string_equal(path_name(rows[i][0]), rows[i][2]);
	}
}

static void test_beneath_counts_whole_components(void **state)
{
	(void)state;
	assert_true(path_beneath("/a/b", "/a"));
	assert_true(path_beneath("/a", "/a"));
	assert_true(path_beneath("/a", "/"));
	assert_false(path_beneath("/ab", "/a"));
	assert_false(path_beneath("/", "/a"));
}

static void test_components_one_by_one(void **state)
{
	char rest[2 * NAME_MAX] = "//a/./.b//c/", name[NAME_MAX + 1];
	static const char *const each[] = { "a", ".", ".b", "c" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		assert_true(path_next(rest, name));
		assert_string_equal(name, each[i]);
	}
	assert_false(path_next(rest, name));
	memset(rest, 'x', NAME_MAX);
	rest[NAME_MAX] = '\0';
	assert_true(path_next(rest, name));
	assert_int_equal(strlen(name), NAME_MAX);
	memset(rest, 'x', NAME_MAX + 1);
	rest[NAME_MAX + 1] = '\0';
	assert_false(path_next(rest, name));
}

static void test_may_tells_what_the_kernel_says(void **state)
{
	(void)state;
	assert_true(path_may(AT_FDCWD, "/", X_OK));
	assert_true(path_may(AT_FDCWD, "/bin/sh", R_OK | X_OK));
	assert_false(path_may(AT_FDCWD, "/dev/null", X_OK));
	assert_int_equal(errno, EACCES);
	assert_false(path_may(AT_FDCWD, "/nonexistent", F_OK));
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dir_of_each_kind_of_path),
					    cmocka_unit_test(test_beneath_counts_whole_components),
					    cmocka_unit_test(test_components_one_by_one),
					    cmocka_unit_test(test_may_tells_what_the_kernel_says) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
