#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "policy/recordtype.h"

static void test_known_types_are_added_once(void **state)
{
	static const char *const words[] = {
		"MX", "TXT", "SRV", "SSHFP", "TLSA", "CAA", "MX", "CAA"
	};
	struct recordtypes t = { 0 };
	struct error err;

	(void)state;
	assert_false(recordtypes_have(&t, RECORDTYPE_MX));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(recordtypes_add(&t, words[i], &err), 0);
	assert_int_equal(t.n, RECORDTYPE_COUNT);
	assert_true(recordtypes_have(&t, 15) && recordtypes_have(&t, 257));
}

/* A, NS, CNAME, SOA, PTR, AAAA, HTTPS, SVCB, ANY: nothing makes them forwarded. */
static void test_addresses_and_others_are_refused(void **state)
{
	static const char *const words[] = { "A",   "AAAA",  "HTTPS", "SVCB", "ANY", "APL", "NS",
					     "PTR", "CNAME", "mx",    "MX ",  "",    "16" };
	static const uint16_t numbers[] = { 1, 2, 5, 6, 12, 28, 64, 65, 255 };
	struct recordtypes t = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(recordtypes_add(&t, "TXT", &err), 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(recordtypes_add(&t, words[i], &err), -1);
		assert_non_null(strstr(err.msg, words[i]));
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_false(recordtypes_have(&t, numbers[i]));
	assert_int_equal(recordtypes_add(&t, "AAAA", &err), -1);
	assert_non_null(strstr(err.msg, "addresses"));
	assert_int_equal(t.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_types_are_added_once),
		cmocka_unit_test(test_addresses_and_others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
