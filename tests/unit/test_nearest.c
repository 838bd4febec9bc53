/*
 * Which known word is meant by a mistyped one, and when none is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/nearest.h"

static const char *const words[] = { "allow", "deny", NULL, "allow-list", "resolver", "run" };

static const char *nearest(const char *word)
{
	size_t i = nearest_word(word, words, ARRAY_SIZE(words));

	return i < ARRAY_SIZE(words) ? words[i] : "none";
}

static void test_nearest_word_finds_typing_mistakes(void **state)
{
	(void)state;
	assert_string_equal(nearest("allow"), "allow");
	assert_string_equal(nearest("alow"), "allow");
	assert_string_equal(nearest("allwo"), "allow");
	assert_string_equal(nearest("alloww"), "allow");
	assert_string_equal(nearest("rum"), "run");
	assert_string_equal(nearest("resovler"), "resolver");
	assert_string_equal(nearest("allow-lsit"), "allow-list");
}

static void test_nearest_word_finds_beginnings(void **state)
{
	(void)state;
	assert_string_equal(nearest("res"), "resolver");
	assert_string_equal(nearest("allow-l"), "allow-list");
}

static void test_nearest_word_does_not_guess_wildly(void **state)
{
	(void)state;
	assert_string_equal(nearest(""), "none");
	assert_string_equal(nearest("curl"), "none");
	assert_string_equal(nearest("x"), "none");
	assert_string_equal(nearest("publish"), "none");
}

static void test_nearest_word_bounds_the_length(void **state)
{
	char longest[NEAREST_WORD_MAX + 2];
	const char *const one[] = { longest };

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[NEAREST_WORD_MAX] = 0;
	assert_int_equal(nearest_word(longest, one, 1), 0);
	longest[NEAREST_WORD_MAX] = 'a';
	longest[NEAREST_WORD_MAX + 1] = 0;
	assert_int_equal(nearest_word(longest, one, 1), 1);
	assert_string_equal(nearest(longest), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest_word_finds_typing_mistakes),
		cmocka_unit_test(test_nearest_word_finds_beginnings),
		cmocka_unit_test(test_nearest_word_does_not_guess_wildly),
		cmocka_unit_test(test_nearest_word_bounds_the_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
