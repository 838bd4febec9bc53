#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/ask/card.h"

static const struct card_rest none, one = { .n = 1 }, two = { .n = 2 };

static struct question sample(void)
{
	return (struct question){
		.id = 7,
		.target = "cdn.dl.example.com:443",
		.via = "connect",
		.wide = "*.dl.example.com:443",
		.mark = "looks like example.org, and is not",
		.program = "npm > node",
		.argv = "node install.js",
		.pid = 4711,
		.command = "npm install",
		.project = "/home/me/app",
		.waiting = 3,
		.deadline = 57000,
	};
}

static void test_everything_is_shown(void **state)
{
	static const char *const parts[] = {
		"npm > node wants to reach",
		"cdn.dl.example.com:443",
		"by HTTP CONNECT",
		"! looks like example.org, and is not",
		"4711  node install.js",
		"npm install",
		"/home/me/app",
		"3 connections; no answer in time is a no",
		"(2 more questions)",
	};
	const struct card_style style = { .columns = 80 };
	const struct question q = sample();
	char text[CARD_MAX];

	(void)state;
	(void)card_format(&q, &style, &two, text);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		assert_non_null(strstr(text, parts[i]));
}

/* Lines, of which none is wider than the terminal; colours do not count. */
static void test_lines_fit(void **state)
{
	struct question q = sample();
	struct keys k = { .verdict = true, .wide = true };

	(void)state;
	memset(q.argv, 'x', sizeof(q.argv) - 1);
	memset(q.command, 'y', sizeof(q.command) - 1);
	memset(q.program, 'z', sizeof(q.program) - 1);
	memset(q.mark, 'm', sizeof(q.mark) - 1);
	for (unsigned columns = 40; columns <= 120; columns += 20) {
		for (int colour = 0; colour < 2; colour++) {
			const struct card_style style = { .columns = columns,
							  .cursor = colour,
							  .colour = colour };
			char text[2 * CARD_MAX];
			unsigned lines = card_format(&q, &style, &none, text), seen = 1, width = 0;

			card_input(&q, &style, 0, &k, text + strlen(text));
			for (const char *p = text; *p; p++) {
				if (*p == '\033') {
					p += strcspn(p, "mK");
				} else if (*p == '\n') {
					seen++;
					width = 0;
				} else if (*p != '\r') {
					assert_in_range(*p, 0x20, 0x7e);
					assert_true(++width < columns);
				}
			}
			assert_int_equal(seen, lines);
		}
	}
}

/* Keys that do not count are not named, and the line is whole at any width. */
static void test_no_key_is_named_while_none_counts(void **state)
{
	const struct question q = sample();
	char text[CARD_MAX];

	(void)state;
	for (unsigned columns = 40; columns <= 120; columns++) {
		const struct card_style style = { .columns = columns };

		card_wait(&q, &style, 0, text);
		assert_null(strstr(text, "[a]"));
		assert_null(strstr(text, "allow"));
		assert_non_null(strstr(text, "57 s  ... "));
		assert_true(strlen(text) < columns);
	}
}

/* What @text says when the line ends and the indents within a name are taken away. */
static void unwrap(const char *text, char *out)
{
	for (; *text; text++) {
		if (strncmp(text, "\r\n    ", 6) == 0)
			text += 5;
		else
			*out++ = *text;
	}
	*out = '\0';
}

/* The end of a name says whose it is: nothing of it is cut, however narrow the terminal. */
static void test_a_name_is_shown_whole(void **state)
{
	struct question q = sample();
	char text[CARD_MAX], plain[CARD_MAX], name[230] = "";

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	for (int n = 1; n < (int)sizeof(name); n += 3) {
		(void)snprintf(q.target, sizeof(q.target), "%.*s.attacker.example:443", n, name);
		(void)snprintf(q.wide, sizeof(q.wide), "*.%.*s.attacker.example:443", n, name);
		for (unsigned columns = 40; columns <= 120; columns += 40) {
			const struct card_style style = { .columns = columns };
			struct keys k = { .verdict = false };

			(void)card_format(&q, &style, &none, text);
			card_input(&q, &style, 0, &k, text + strlen(text));
			unwrap(text, plain);
			assert_non_null(strstr(plain, q.target));
			assert_non_null(strstr(plain, q.wide));
		}
	}
}

/* Every key that counts is named at any width, and the line is whole: it ends in its mark. */
static void test_input_names_every_key(void **state)
{
	struct question q = sample();

	(void)state;
	for (unsigned columns = 40; columns <= 120; columns++) {
		for (int i = 0; i < 8; i++) {
			const struct card_style style = {
				.columns = columns,
			};
			const struct keys k = { .wide = i & 1,
						.verdict = i & 2,
						.ndigits = i & 4 ? 2 : 0,
						.digits = "15" };
			const char *keys = !k.verdict ? "ads" : k.ndigits ? "mhd" : "orpf";
			char text[CARD_MAX], key[4];

			if (k.ndigits && !k.verdict)
				continue;
			card_input(&q, &style, 0, &k, text);
			for (; *keys; keys++) {
				(void)snprintf(key, sizeof(key), "[%c]", *keys);
				if (!strstr(text, key))
					fail_msg("%u columns, no %s: %s", columns, key, text);
			}
			assert_string_equal(text + strlen(text) - 3, " > ");
		}
	}
}

static void test_a_low_terminal_has_room_for_it(void **state)
{
	struct card_style style = { .columns = 40, .rows = 12 };
	const struct question q = sample();
	char text[CARD_MAX];
	unsigned low = card_format(&q, &style, &one, text);

	(void)state;
	assert_in_range(low, 8, 11);
	style.rows = 24;
	assert_int_equal(card_format(&q, &style, &one, text), low + 3);
}

static void test_program_is_cut_in_front(void **state)
{
	const struct card_style style = { .columns = 40 };
	struct question q = sample();
	char text[CARD_MAX];

	(void)state;
	(void)snprintf(q.program, sizeof(q.program),
		       "make > npm > node > sh > postinstall of left-pad");
	(void)card_format(&q, &style, &none, text);
	assert_non_null(strstr(text, " ...of left-pad wants to reach\r\n"));
}

static void test_input_follows_the_keys(void **state)
{
	const struct card_style style = { .columns = 100 };
	const struct question q = sample();
	struct prompt_answer unused;
	struct keys k = { .verdict = false };
	char text[CARD_MAX];

	(void)state;
	card_input(&q, &style, 0, &k, text);
	assert_string_equal(text,
			    "  57 s  [a] allow   [d] deny   [s] wider: *.dl.example.com:443 > ");
	(void)keys_feed(&k, 'd', true, &unused);
	card_input(&q, &style, 0, &k, text);
	assert_string_equal(
		text,
		"  57 s  deny [o]nce  this [r]un  this [p]roject  [f]orever  or 15m 2h 7d > ");
	(void)keys_feed(&k, 's', true, &unused);
	(void)keys_feed(&k, '5', true, &unused);
	card_input(&q, &style, 0, &k, text);
	assert_string_equal(
		text, "  57 s  *.dl.example.com:443 deny for 5   [m]inutes [h]ours [d]ays > ");
}

/* Behind a key that means nothing the keys are still named, in a line that fits. */
static void test_input_tells_of_a_key_that_means_nothing(void **state)
{
	static const char *const rows[] = {
		[40] = " 57s ? [a]llow [d]eny [s] > ",
		[60] = " 57s no such key; [a] allow   [d] deny   [s] wider > ",
		[100] = "  57 s  that key means nothing here; [a] allow   [d] deny   "
			"[s] wider: *.dl.example.com:443 > ",
	};
	const struct question q = sample();
	struct prompt_answer unused;
	struct keys k = { .verdict = false };
	char text[CARD_MAX];

	(void)state;
	assert_int_equal(keys_feed(&k, 'y', true, &unused), KEYS_UNKNOWN);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct card_style style = { .columns = i };

		if (!rows[i])
			continue;
		card_input(&q, &style, 0, &k, text);
		assert_string_equal(text, rows[i]);
	}
}

/* By name where the terminal is high enough, and no wider than it. */
static void test_others_are_named(void **state)
{
	struct question q = sample(), other = sample();
	const struct card_rest rest = { .n = 5, .next = { &other, &other, &other } };
	struct card_style style = { .columns = 60, .rows = 19 };
	char text[CARD_MAX];
	unsigned low;

	(void)state;
	(void)snprintf(other.target, sizeof(other.target), "other.example:8443");
	memset(other.program, 'z', sizeof(other.program) - 1);
	low = card_format(&q, &style, &rest, text);
	assert_null(strstr(text, "other.example"));
	assert_non_null(strstr(text, "   (+5)"));
	style.rows = 20;
	assert_int_equal(card_format(&q, &style, &rest, text), low + 3);
	assert_non_null(strstr(text, "  next     other.example:8443   zzz"));
	for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
		assert_true(end - p <= 60); /* the \r not counted */
}

/* A card that is higher than the terminal would show everything but the host. */
static void test_a_low_terminal_shows_the_host(void **state)
{
	struct question q = sample();
	const struct card_rest rest = { .n = 2, .next = { &q, &q } };

	(void)state;
	for (unsigned columns = 50; columns <= 80; columns += 30) {
		/* what must be there, a line each; the narrower one needs one for "wider" */
		unsigned least = columns < 80 ? 5 : 4;

		for (unsigned rows = least; rows < 30; rows++) {
			const struct card_style style = { .columns = columns, .rows = rows };
			char text[CARD_MAX];

			assert_true(card_format(&q, &style, &rest, text) <= rows);
			assert_non_null(strstr(text, q.target));
			assert_non_null(strstr(text, q.mark));
			assert_int_equal(!!strstr(text, q.wide), columns < 80);
			assert_int_equal(!!strstr(text, "process"), rows > least);
			assert_int_equal(!!strstr(text, "waiting"), rows > least + 3);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_shown),
		cmocka_unit_test(test_lines_fit),
		cmocka_unit_test(test_a_low_terminal_shows_the_host),
		cmocka_unit_test(test_others_are_named),
		cmocka_unit_test(test_no_key_is_named_while_none_counts),
		cmocka_unit_test(test_a_name_is_shown_whole),
		cmocka_unit_test(test_input_names_every_key),
		cmocka_unit_test(test_a_low_terminal_has_room_for_it),
		cmocka_unit_test(test_program_is_cut_in_front),
		cmocka_unit_test(test_input_follows_the_keys),
		cmocka_unit_test(test_input_tells_of_a_key_that_means_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
