#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/question.h"

static void test_line_round_trip(void **state)
{
	const struct question q = {
		.id = 7,
		.target = "a.example:443",
		.via = "socks5",
		.wide = "",
		.mark = "m",
		.program = "x\\x1b[2J > \"y\"",
		.argv = "node a b",
		.pid = 12,
		.command = "npm install",
		.project = "/home/me",
		.waiting = 2,
		.deadline = 5000,
	};
	char line[QUESTION_LINE_MAX], text[QUESTION_TEXT_MAX];
	struct question back;
	size_t n = question_format(&q, 1000, line);

	(void)state;
	assert_true(n > 0 && line[n - 1] == '\n');
	assert_int_equal(question_parse_event(line, n, 9000, &back, text), QUESTION_EV_OPEN);
	assert_int_equal(back.id, 7);
	assert_string_equal(back.target, q.target);
	assert_string_equal(back.program, q.program);
	assert_string_equal(back.argv, q.argv);
	assert_string_equal(back.project, q.project);
	assert_int_equal(back.pid, 12);
	assert_int_equal(back.waiting, 2);
	assert_int_equal(back.deadline, 13000);
}

static void test_seconds_are_rounded_up(void **state)
{
	const struct question q = { .deadline = 5000 };

	(void)state;
	assert_int_equal(question_seconds(&q, 0), 5);
	assert_int_equal(question_seconds(&q, 1), 5);
	assert_int_equal(question_seconds(&q, 4999), 1);
	assert_int_equal(question_seconds(&q, 5000), 0);
	assert_int_equal(question_seconds(&q, 9000), 0);
}

static void test_words(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		struct prompt_answer answer;
	} rows[] = {
		{ "allow", true, { true, PROMPT_ONCE, 0, false, NULL } },
		{ " yes \n", true, { true, PROMPT_ONCE, 0, false, NULL } },
		{ "deny", true, { false, PROMPT_ONCE, 0, false, NULL } },
		{ "no forever", true, { false, PROMPT_FOREVER, 0, false, NULL } },
		{ "allow run wide", true, { true, PROMPT_RUN, 0, true, NULL } },
		{ "allow wide", true, { true, PROMPT_ONCE, 0, true, NULL } },
		{ "allow\t15m", true, { true, PROMPT_DURATION, 900, false, NULL } },
		{ "{\"verdict\":\"deny\",\"scope\":\"2h\",\"wide\":false}",
		  true,
		  { false, PROMPT_DURATION, 7200, false, NULL } },
		{ "{\"id\":7,\"verdict\":\"allow\"}", true, { true, PROMPT_ONCE, 0, false, NULL } },
		{ "{\"id\":8,\"verdict\":\"allow\"}", false, { 0 } },
		{ "{\"id\":\"7\",\"verdict\":\"allow\"}", false, { 0 } },
		{ "{\"id\":-7,\"verdict\":\"allow\"}", false, { 0 } },
		{ "", false, { 0 } },
		{ "\n", false, { 0 } },
		{ "ALLOW", false, { 0 } },
		{ "allowed", false, { 0 } },
		{ "run", false, { 0 } },
		{ "allow allow", false, { 0 } },
		{ "allow run run", false, { 0 } },
		{ "allow wide wide", false, { 0 } },
		{ "allow run wide wide", false, { 0 } },
		{ "allow duration", false, { 0 } },
		{ "allow 0m", false, { 0 } },
		{ "{\"verdict\":\"maybe\"}", false, { 0 } },
		{ "{\"verdict\":\"allow\"} x", false, { 0 } },
		{ "{\"verdict\":\"deny\",\"verdict\":\"allow\"}", false, { 0 } },
		{ "{\"verdict\":\"allow\",\"scope\":1}", false, { 0 } },
		{ "{\"verdict\":\"allow\",\"wide\":1}", false, { 0 } },
		{ "{", false, { 0 } },
		{ "[]", false, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct prompt_answer a = { .seconds = 0 };

		assert_int_equal(question_parse_words(rows[i].text, strlen(rows[i].text), 7, &a),
				 rows[i].ok);
		assert_int_equal(a.allow, rows[i].answer.allow);
		assert_int_equal(a.scope, rows[i].answer.scope);
		assert_int_equal(a.seconds, rows[i].answer.seconds);
		assert_int_equal(a.widen, rows[i].answer.widen);
	}
	assert_false(question_parse_words("allow\0", 6, 7, &(struct prompt_answer){ 0 }));
}

static void test_requests(void **state)
{
	static const struct {
		const char *line;
		enum question_op op;
		uint64_t id;
		bool valid;
	} rows[] = {
		{ "{\"op\":\"subscribe\"}", QUESTION_SUBSCRIBE, 0, false },
		{ "{\"op\":\"list\"}", QUESTION_LIST, 0, false },
		{ "{\"op\":\"explain\",\"target\":\"a:1\"}", QUESTION_EXPLAIN, 0, false },
		{ "{\"op\":\"explain\"}", QUESTION_BAD, 0, false },
		{ "{\"op\":\"answer\",\"id\":3,\"verdict\":\"allow\"}", QUESTION_ANSWER, 3, true },
		{ "{\"op\":\"answer\",\"id\":3,\"verdict\":true}", QUESTION_ANSWER, 3, false },
		{ "{\"op\":\"answer\",\"id\":-3,\"verdict\":\"allow\"}", QUESTION_ANSWER, 0, true },
		{ "{\"op\":\"answer\",\"id\":\"3\"}", QUESTION_ANSWER, 0, false },
		{ "{\"op\":\"answer\",\"op\":\"list\"}", QUESTION_BAD, 0, false },
		{ "{\"op\":\"answer\",\"id\":3,\"verdict\":\"deny\",\"verdict\":\"allow\"}",
		  QUESTION_BAD, 0, false },
		{ "{\"op\":\"answer\",\"id\":3,\"verdict\":\"deny\",\"\\u0076erdict\":\"allow\"}",
		  QUESTION_BAD, 0, false },
		{ "{\"op\":\"stop\"}", QUESTION_BAD, 0, false },
		{ "{}", QUESTION_BAD, 0, false },
		{ "[1]", QUESTION_BAD, 0, false },
		{ "", QUESTION_BAD, 0, false },
		{ "x", QUESTION_BAD, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct question_request r;

		question_parse_request(rows[i].line, strlen(rows[i].line), &r);
		assert_int_equal(r.op, rows[i].op);
		assert_int_equal(r.id, rows[i].id);
		assert_int_equal(r.valid, rows[i].valid);
	}
}

static void test_texts_of_a_peer_are_escaped(void **state)
{
	static const char line[] =
		"{\"event\":\"closed\",\"id\":1,\"text\":\"a\\u001b[2J\\u00e9\"}";
	char text[QUESTION_TEXT_MAX];
	struct question q;

	(void)state;
	assert_int_equal(question_parse_event(line, strlen(line), 0, &q, text), QUESTION_EV_CLOSED);
	for (const char *p = text; *p; p++)
		assert_in_range(*p, 0x20, 0x7e);
}

/* Of two that are named alike nobody knows which is meant: such a line says nothing. */
static void test_events_with_two_members_of_a_name(void **state)
{
	static const struct {
		const char *line, *target;
		enum question_event event;
	} rows[] = {
		{ "{\"event\":\"question\",\"id\":1,\"target\":\"a:1\"}", "a:1", QUESTION_EV_OPEN },
		{ "{\"event\":\"question\",\"id\":1,\"target\":\"a:1\",\"target\":\"b:1\"}", "",
		  QUESTION_EV_OTHER },
		{ "{\"event\":\"question\",\"event\":\"closed\",\"id\":1}", "", QUESTION_EV_OTHER },
	};
	char text[QUESTION_TEXT_MAX];
	struct question q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			question_parse_event(rows[i].line, strlen(rows[i].line), 0, &q, text),
			rows[i].event);
		assert_string_equal(q.target, rows[i].target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_round_trip),
		cmocka_unit_test(test_seconds_are_rounded_up),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_texts_of_a_peer_are_escaped),
		cmocka_unit_test(test_events_with_two_members_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
