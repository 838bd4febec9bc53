#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/decimal.h"

static void test_format_says_what_printf_says(void **state)
{
	static const uint64_t numbers[] = {
		0,	   1,	      9, 10, 99, 100, 65535, 4294967295, UINT32_MAX, 1000000000000,
		INT64_MAX, UINT64_MAX
	};
	char want[DECIMAL_MAX + 1], got[DECIMAL_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		(void)snprintf(want, sizeof(want), "%" PRIu64, numbers[i]);
		got[decimal_format(numbers[i], got)] = '\0';
		assert_string_equal(got, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format_says_what_printf_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
