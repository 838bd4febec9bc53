#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/audit_journal.h"

static void expect(const char *line, const char *want)
{
	char out[AUDIT_JOURNAL_MAX];
	size_t n = audit_journal_format(line, strlen(line), out);

	assert_int_equal(n, strlen(want));
	assert_memory_equal(out, want, n);
}

static void test_members_become_fields(void **state)
{
	(void)state;
	expect("{\"event\":\"decision\",\"verdict\":\"deny\",\"code\":\"not-listed\",\"host\":"
	       "\"a.example\",\"port\":443,\"rule\":null,\"bytes_up\":7}\n",
	       "SBX_NET_EVENT=decision\nSBX_NET_VERDICT=deny\nSBX_NET_CODE=not-listed\n"
	       "SBX_NET_HOST=a.example\nSBX_NET_PORT=443\nSBX_NET_RULE=null\nSBX_NET_BYTES_UP=7\n"
	       "PRIORITY=4\nMESSAGE=decision: deny a.example:443 (not-listed)\n"
	       "SYSLOG_IDENTIFIER=sbx-net\n");
}

static void test_values_cannot_start_a_field(void **state)
{
	(void)state;
	expect("{\"event\":\"start\",\"rule\":\"a\\\"b\\\\c\\u000aPRIORITY=0\"}\n",
	       "SBX_NET_EVENT=start\nSBX_NET_RULE=a\"b\\c\\u000aPRIORITY=0\n"
	       "PRIORITY=6\nMESSAGE=start\nSYSLOG_IDENTIFIER=sbx-net\n");
}

static void test_nested_values_stay_json(void **state)
{
	(void)state;
	expect("{\"event\":\"start\",\"x\":{\"a\":[1,\"}\",{}],\"b\":true},\"y\":[1,2]}\n",
	       "SBX_NET_EVENT=start\nSBX_NET_X={\"a\":[1,\"}\",{}],\"b\":true}\nSBX_NET_Y=[1,2]\n"
	       "PRIORITY=6\nMESSAGE=start\nSYSLOG_IDENTIFIER=sbx-net\n");
}

static void test_what_is_no_object_gives_nothing(void **state)
{
	static const char *const bad[] = { "",		"{",	   "x",		"{\"a",
					   "{\"a\"",	"{\"a\":", "{\"a\":\"", "{\"a\":1",
					   "{\"a\":[1", "{a:1}",   "{\"a\":1,", "{\"a\\" };
	char out[AUDIT_JOURNAL_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(audit_journal_format(bad[i], strlen(bad[i]), out), 0);
}

static void test_no_journal_is_an_error(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(audit_journal_open("/nonexistent/socket", &err), -1);
	assert_non_null(strstr(err.msg, "/nonexistent/socket"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_become_fields),
		cmocka_unit_test(test_values_cannot_start_a_field),
		cmocka_unit_test(test_nested_values_stay_json),
		cmocka_unit_test(test_what_is_no_object_gives_nothing),
		cmocka_unit_test(test_no_journal_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
