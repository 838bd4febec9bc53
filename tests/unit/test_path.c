#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

static void test_lead_puts_the_target_first(void **state)
{
	char dir[] = "/tmp/sbx-path.XXXXXX", at[64], target[PATH_MAX], rest[PATH_MAX] = "b/c";
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(symlinkat("../a", fd, "relative"), 0);
	assert_int_equal(symlinkat("/x", fd, "absolute"), 0);
	assert_int_equal(path_lead(rest, fd, "relative"), 0);
	assert_string_equal(rest, "../a/b/c");
	(void)snprintf(at, sizeof(at), "%s/absolute", dir);
	assert_int_equal(path_lead(rest, AT_FDCWD, at), 1);
	assert_string_equal(rest, "/x/../a/b/c");

	/* what cannot be done changes nothing */
	assert_int_equal(path_lead(rest, fd, "missing"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(path_lead(rest, fd, "."), -1);
	assert_int_equal(errno, EINVAL);
	memset(target, 'x', sizeof(target));
	target[PATH_MAX - 1 - strlen(rest)] = '\0'; /* one too many, with the slash and the end */
	assert_int_equal(symlinkat(target, fd, "long"), 0);
	assert_int_equal(path_lead(rest, fd, "long"), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_string_equal(rest, "/x/../a/b/c");
	target[PATH_MAX - 2 - strlen(rest)] = '\0';
	assert_int_equal(symlinkat(target, fd, "fits"), 0);
	assert_int_equal(path_lead(rest, fd, "fits"), 0);
	assert_int_equal(strlen(rest), PATH_MAX - 1);

	for (size_t i = 0; i < 4; i++)
		(void)unlinkat(fd, ((const char *[]){ "relative", "absolute", "long", "fits" })[i],
			       0);
	(void)close(fd);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dir_of_each_kind_of_path),
					    cmocka_unit_test(test_beneath_counts_whole_components),
					    cmocka_unit_test(test_components_one_by_one),
					    cmocka_unit_test(test_lead_puts_the_target_first),
					    cmocka_unit_test(test_may_tells_what_the_kernel_says) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
