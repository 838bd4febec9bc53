#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dir_of_each_kind_of_path) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
