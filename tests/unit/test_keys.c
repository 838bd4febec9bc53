#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/ask/keys.h"

/* Types @text; the number of keys until there was an answer, 0 if there was none. */
static size_t type(const char *text, bool can_widen, struct prompt_answer *out)
{
	struct keys k = { .verdict = false };

	for (size_t i = 0; text[i]; i++)
		if (keys_feed(&k, text[i], can_widen, out) == KEYS_DONE)
			return i + 1;
	return 0;
}

static void test_answers(void **state)
{
	static const struct {
		const char *text;
		struct prompt_answer answer;
	} rows[] = {
		{ "ao", { true, PROMPT_ONCE, 0, false, NULL } },
		{ "do", { false, PROMPT_ONCE, 0, false, NULL } },
		{ "ar", { true, PROMPT_RUN, 0, false, NULL } },
		{ "dp", { false, PROMPT_PROJECT, 0, false, NULL } },
		{ "af", { true, PROMPT_FOREVER, 0, false, NULL } },
		{ "a15m", { true, PROMPT_DURATION, 900, false, NULL } },
		{ "d2h", { false, PROMPT_DURATION, 7200, false, NULL } },
		{ "a7d", { true, PROMPT_DURATION, 604800, false, NULL } },
		{ "a90s", { true, PROMPT_DURATION, 90, false, NULL } },
		{ "asr", { true, PROMPT_RUN, 0, true, NULL } },
		{ "sar", { true, PROMPT_RUN, 0, true, NULL } },
		{ "ssar", { true, PROMPT_RUN, 0, false, NULL } },
		{ "ado", { false, PROMPT_ONCE, 0, false, NULL } },
		{ "a\177do", { false, PROMPT_ONCE, 0, false, NULL } },
		{ "a15\177\177o", { true, PROMPT_ONCE, 0, false, NULL } },
		{ "a1x5m", { true, PROMPT_DURATION, 900, false, NULL } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct prompt_answer a = { .seconds = 0 };

		assert_int_equal(type(rows[i].text, true, &a), strlen(rows[i].text));
		assert_int_equal(a.allow, rows[i].answer.allow);
		assert_int_equal(a.scope, rows[i].answer.scope);
		assert_int_equal(a.seconds, rows[i].answer.seconds);
		assert_int_equal(a.widen, rows[i].answer.widen);
	}
}

static void test_no_answers(void **state)
{
	static const char *const rows[] = {
		"",   "a",   "o",   "r",     "p",	"AO",	"Ao",	  "y\n", "\r\n",
		"a ", "a0m", "a15", "a15\n", "a99999d", "a15x", "\033[A", "15m",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct prompt_answer a = { .seconds = 0 };

		assert_int_equal(type(rows[i], true, &a), 0);
	}
}

static void test_nothing_is_wider_where_it_cannot_be(void **state)
{
	struct prompt_answer a = { .widen = true };

	(void)state;
	assert_int_equal(type("sar", false, &a), 3);
	assert_false(a.widen);
}

/* Nothing is an answer, or a part of one, that was not asked for; the next key clears it. */
static void test_a_key_that_means_nothing_is_told(void **state)
{
	struct keys k = { .verdict = false };
	struct prompt_answer a;

	(void)state;
	assert_int_equal(keys_feed(&k, 'y', true, &a), KEYS_UNKNOWN);
	assert_true(k.unknown && !k.verdict);
	assert_int_equal(keys_feed(&k, 'a', true, &a), KEYS_MORE);
	assert_true(!k.unknown && k.verdict);
	assert_int_equal(keys_feed(&k, 'n', true, &a), KEYS_UNKNOWN);
	assert_true(k.unknown && k.verdict);
	assert_int_equal(keys_feed(&k, 'o', true, &a), KEYS_DONE);
	assert_false(k.unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_no_answers),
		cmocka_unit_test(test_nothing_is_wider_where_it_cannot_be),
		cmocka_unit_test(test_a_key_that_means_nothing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
