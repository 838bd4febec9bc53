#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/path.h"

static void test_dir_of_each_kind_of_path(void **state)
{
	static const char *const rows[][2] = {
		{ "a", "." }, { "a/b", "a" }, { "/a", "/" }, { "/a/b/c", "/a/b" }, { "./a", "." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *dir = path_dir(rows[i][0]);

		assert_string_equal(dir, rows[i][1]);
	}
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
					    cmocka_unit_test(test_may_tells_what_the_kernel_says) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
