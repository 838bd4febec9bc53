/* Lines of control.sock: there and back, and nothing that is not understood. */
#include "cli/serve/attach_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void test_request_there_and_back(void **state)
{
	struct attach_request in = { .op = ATTACH_OP_ATTACH, .capture = true }, out = { 0 };
	struct error err = { 0 };
	CLEANUP_FREE char *line = NULL;

	(void)state;
	attach_list_add(&in.only, "*.example.com:443");
	attach_list_add(&in.only, "b\303\274cher.example");
	attach_list_add(&in.forward, "5432=db.example.com:5432");
	in.command = strdup("make deps");
	line = attach_request_format(&in);
	assert_int_equal(line[strlen(line) - 1], '\n');
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	if (attach_request_parse(line, strlen(line), &out, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(out.op, ATTACH_OP_ATTACH);
	assert_true(out.capture);
	assert_int_equal(out.only.n, 2);
	assert_string_equal(out.only.v[1], "b\303\274cher.example");
	assert_null(out.only.v[2]);
	assert_int_equal(out.deny.n, 0);
	assert_string_equal(out.forward.v[0], "5432=db.example.com:5432");
	assert_string_equal(out.command, "make deps");
	attach_request_clear(&in);
	attach_request_clear(&out);
}

static void test_request_refuses(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "[]",
					   "1",
					   "{}",
					   "{\"op\":1}",
					   "{\"op\":\"\"}",
					   "{\"op\":\"dance\"}",
					   "{\"op\":\"stats\"",
					   "{\"op\":\"stats\",\"op\":\"stats\"}",
					   "{\"op\":\"attach\",\"allow\":[\"*\"]}",
					   "{\"op\":\"attach\",\"version\":2}",
					   "{\"op\":\"attach\",\"capture\":1}",
					   "{\"op\":\"attach\",\"command\":1}",
					   "{\"op\":\"attach\",\"only\":\"x\"}",
					   "{\"op\":\"attach\",\"only\":[1]}",
					   "{\"op\":\"attach\",\"only\":[\"\"]}",
					   "{\"op\":\"attach\",\"only\":{}}",
					   "{\"op\":\"attach\",\"only\":[\"a\\u0000b\"]}",
					   "{\"op\":\"attach\"} {}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct attach_request out = { .op = ATTACH_OP_STATS };
		struct error err = { 0 };

		if (attach_request_parse(bad[i], strlen(bad[i]), &out, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_true(err.msg[0]);
		assert_int_equal(out.op, ATTACH_OP_STATS); /* untouched */
		assert_null(out.only.v);
	}
}

static void test_request_refuses_too_many_entries(void **state)
{
	struct attach_request in = { .op = ATTACH_OP_ATTACH }, out;
	struct error err = { 0 };
	CLEANUP_FREE char *line = NULL;

	(void)state;
	for (int i = 0; i <= ATTACH_ENTRIES_MAX; i++)
		attach_list_add(&in.deny, "x.example");
	line = attach_request_format(&in);
	assert_int_equal(attach_request_parse(line, strlen(line), &out, &err), -1);
	attach_request_clear(&in);
}

static void test_reply_there_and_back(void **state)
{
	static struct attach_reply in, out;
	CLEANUP_FREE char *line = NULL;
	struct error err = { 0 };

	(void)state;
	in = (struct attach_reply){ .ok = true,
				    .session = 7,
				    .netns = UINT64_MAX,
				    .capture = true,
				    .ports = { 1, 65535 },
				    .nports = 2,
				    .forwards = { 5432 },
				    .nforwards = 1 };
	line = attach_reply_format(&in);
	if (attach_reply_parse(line, strlen(line), &out, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(out.session, 7);
	assert_true(out.netns == UINT64_MAX);
	assert_true(out.capture);
	assert_int_equal(out.nports, 2);
	assert_int_equal(out.ports[1], 65535);
	assert_int_equal(out.nforwards, 1);
}

static void test_reply_refusals(void **state)
{
	static const char *const bad[] = { "{\"ok\":false}",
					   "{}",
					   "x",
					   "{\"ok\":true,\"ports\":[0]}",
					   "{\"ok\":true,\"ports\":[65536]}",
					   "{\"ok\":true,\"forwards\":[\"x\"]}" };
	static struct attach_reply in, out;
	CLEANUP_FREE char *line = NULL;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(attach_reply_parse(bad[i], strlen(bad[i]), &out, &err), -1);
	(void)snprintf(in.error, sizeof(in.error), "%s", "\"*.com\": too wide");
	line = attach_reply_format(&in);
	assert_int_equal(attach_reply_parse(line, strlen(line), &out, &err), -1);
	assert_string_equal(err.msg, "the server says: \"*.com\": too wide");
}

/* Whoever answers in the server's place has no say about the terminal. */
static void test_reply_is_fit_for_a_terminal(void **state)
{
	static const char line[] = "{\"ok\":false,\"error\":\"a\\u001b[2J\\\\x1b\\nb\"}\n";
	static struct attach_reply out;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(attach_reply_parse(line, sizeof(line) - 1, &out, &err), -1);
	assert_string_equal(err.msg, "the server says: a\\x1b[2J\\x5cx1b\\x0ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reply_is_fit_for_a_terminal),
		cmocka_unit_test(test_request_there_and_back),
		cmocka_unit_test(test_request_refuses),
		cmocka_unit_test(test_request_refuses_too_many_entries),
		cmocka_unit_test(test_reply_there_and_back),
		cmocka_unit_test(test_reply_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
