#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/ask/keyguard.h"

static size_t feed(struct keyguard *g, const char *text, uint64_t now)
{
	char keys[KEYGUARD_BURST_MAX];

	return keyguard_read(g, text, strlen(text), now, keys);
}

static void test_single_keys_count(void **state)
{
	struct keyguard g = { .noise_ms = 0 };

	(void)state;
	assert_int_equal(feed(&g, "a", 1), 1);
	assert_int_equal(feed(&g, "f", 2), 1);
	assert_int_equal(feed(&g, "ao", 3), 2);
	assert_int_equal(feed(&g, "\x7f", 4), 1);
}

static void test_terminal_answers_never_count(void **state)
{
	static const char *const answers[] = {
		"\033]4;1;rgb:afaf/afaf/afaf\a",
		"\033]4;1;rgb:afaf/afaf/afaf\033\\",
		"\033[0n",
		"\033[12;40R",
		"\033]lallow\033\\",
		"\033P1$r0m\033\\",
		"\033Oa",
		"\x9b"
		"a",
		"\033[<0;1;1M",
		"\033Na",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		/* whole, and cut at each place: what comes behind the cut is part of it */
		for (size_t cut = 0; cut < strlen(answers[i]); cut++) {
			struct keyguard g = { .noise_ms = 0 };
			char first[64];

			memcpy(first, answers[i], cut);
			first[cut] = '\0';
			if (cut)
				assert_int_equal(feed(&g, first, 1000), 0);
			assert_int_equal(feed(&g, answers[i] + cut, 1001), 0);
			assert_int_equal(feed(&g, "a", 1002), 0);
			assert_int_equal(feed(&g, "a", 1002 + KEYGUARD_QUIET_MS), 1);
		}
	}
}

static void test_many_answers_cut_by_reads_never_count(void **state)
{
	struct keyguard g = { .noise_ms = 0 };

	(void)state;
	assert_int_equal(feed(&g, "\033[0n\033[0n\033[0n\033]4;1;rgb:afaf/afaf/", 10), 0);
	assert_int_equal(feed(&g, "afaf\a", 10), 0);
	assert_int_equal(feed(&g, "af", 200), 0); /* noise again while it is not quiet */
	assert_int_equal(feed(&g, "a", 400), 0);  /* 200 ms after the last */
	assert_int_equal(feed(&g, "a", 400 + KEYGUARD_QUIET_MS), 1);
}

static void test_a_paste_is_dropped_and_a_lone_escape_ends(void **state)
{
	struct keyguard g = { .noise_ms = 0 };

	(void)state;
	assert_int_equal(feed(&g, "afafa", 10), 0);
	assert_int_equal(feed(&g, "a", 10 + KEYGUARD_QUIET_MS), 1);
	assert_int_equal(feed(&g, "\033", 1000), 0);
	assert_int_equal(feed(&g, "a", 1000 + KEYGUARD_QUIET_MS), 1);
	assert_int_equal(feed(&g, "a\r", 2000), 0); /* no key of ours ends in control bytes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_keys_count),
		cmocka_unit_test(test_terminal_answers_never_count),
		cmocka_unit_test(test_many_answers_cut_by_reads_never_count),
		cmocka_unit_test(test_a_paste_is_dropped_and_a_lone_escape_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
