#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/jsonout.h"

static void test_object_is_one_line_in_the_order_of_the_calls(void **state)
{
	static const char want[] =
		"{\"a\":\"x\\\"\\\\y\",\"n\":18446744073709551615,\"t\":true,\"l\":[1,\"e\"],"
		"\"o\":{\"k\":null},\"z\":0}\n";
	char buf[256];
	struct jsonout j;

	(void)state;
	jsonout_begin(&j, buf, sizeof(buf));
	jsonout_str(&j, "a", "x\"\\y");
	jsonout_uint(&j, "n", UINT64_MAX);
	jsonout_bool(&j, "t", true);
	jsonout_array(&j, "l");
	jsonout_uint(&j, NULL, 1);
	jsonout_str(&j, NULL, "e");
	jsonout_close(&j);
	jsonout_object(&j, "o");
	jsonout_str(&j, "k", NULL);
	jsonout_close_object(&j);
	jsonout_uint(&j, "z", 0);
	assert_int_equal(jsonout_end(&j), sizeof(want) - 1);
	assert_memory_equal(buf, want, sizeof(want) - 1);
}

static void test_strings_cannot_forge_a_line(void **state)
{
	static const char want[] = "{\"h\":\"a\\u000a{\\u001b[2J\\u0000\\u00ff\"}\n";
	char buf[256];
	struct jsonout j;

	(void)state;
	jsonout_begin(&j, buf, sizeof(buf));
	jsonout_strn(&j, "h", "a\n{\x1b[2J\0\xff", 9);
	assert_int_equal(jsonout_end(&j), sizeof(want) - 1);
	assert_memory_equal(buf, want, sizeof(want) - 1);
}

static void test_object_that_does_not_fit_is_reported(void **state)
{
	char buf[16];
	struct jsonout j;

	(void)state;
	jsonout_begin(&j, buf, sizeof(buf));
	jsonout_str(&j, "key", "0123456789");
	assert_int_equal(jsonout_end(&j), 0);
	jsonout_begin(&j, buf, sizeof(buf)); /* its twin that fits exactly */
	jsonout_str(&j, "key", "01234");
	assert_int_equal(jsonout_end(&j), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_is_one_line_in_the_order_of_the_calls),
		cmocka_unit_test(test_strings_cannot_forge_a_line),
		cmocka_unit_test(test_object_that_does_not_fit_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
