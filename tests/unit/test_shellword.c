/* Words that are to be typed: what a shell makes of them is what they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/shellword.h"

static void test_plain_words_stay(void **state)
{
	static const char *const v[] = { "example.com:443", "10.1.2.0/24", "a_b-c",
					 "/a/b,c@d%e+f" };
	char out[SHELLWORD_MAX(64)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		assert_string_equal(shellword(out, sizeof(out), v[i]), v[i]);
}

static const struct {
	const char *word, *typed;
} row[] = {
	{ "[2001:db8::1]:443", "'[2001:db8::1]:443'" },
	{ "*.example.com", "'*.example.com'" },
	{ "", "''" },
	{ "a b", "'a b'" },
	{ "it's", "'it'\\''s'" },
	{ "=ls", "'=ls'" },
	{ "~root", "'~root'" },
	{ "$HOME`id`\\", "'$HOME`id`\\'" },
	{ "a\n1'\\\303\244", "$'a\\0121\\'\\\\\\303\\244'" },
};

static void test_others_are_quoted(void **state)
{
	char out[SHELLWORD_MAX(64)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		assert_string_equal(shellword(out, sizeof(out), row[i].word), row[i].typed);
}

/* bash with failglob is as strict as zsh. */
static void test_a_shell_passes_them_on(void **state)
{
	char word[SHELLWORD_MAX(64)], script[sizeof(word) + 64], got[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		FILE *in;
		size_t n;

		(void)snprintf(script, sizeof(script), "shopt -s failglob\nprintf %%s %s",
			       shellword(word, sizeof(word), row[i].word));
		assert_int_equal(setenv("SCRIPT", script, 1), 0);
		in = popen("exec bash -c \"$SCRIPT\"", "re");
		assert_non_null(in);
		n = fread(got, 1, sizeof(got) - 1, in);
		got[n] = '\0';
		assert_int_equal(pclose(in), 0);
		assert_string_equal(got, row[i].word);
	}
}

static void test_what_is_cut_is_closed(void **state)
{
	char out[8];

	(void)state;
	assert_string_equal(shellword(out, sizeof(out), "abcdefgh"), "'abcde'");
	assert_string_equal(shellword(out, sizeof(out), "abcd'efgh"), "'abcd'");
	assert_string_equal(shellword(out, sizeof(out), "abcd\1efgh"), "$'abcd'");
	assert_string_equal(shellword(out, sizeof(out), "abcdefg"), "abcdefg");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_words_stay),
		cmocka_unit_test(test_others_are_quoted),
		cmocka_unit_test(test_a_shell_passes_them_on),
		cmocka_unit_test(test_what_is_cut_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
