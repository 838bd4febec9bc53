/* What becomes of text that a terminal might obey. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/printable.h"

static void test_printable_shows_what_reads(void **state)
{
	static const struct {
		const char *in, *out;
	} row[] = {
		{ "", "" },
		{ "/home/me/a b\\x1b", "/home/me/a b\\x1b" },
		{ "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80",
		  "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80" },
		{ "\x1b[31m\x07\r\n\t\x7f", "\\x1b[31m\\x07\\x0d\\x0a\\x09\\x7f" },
		{ "\x9b"
		  "31m",
		  "\\x9b31m" }, /* C1, a byte */
		{ "\xc2\x9b"
		  "31m\xc2\xa0",
		  "\\xc2\\x9b31m\xc2\xa0" }, /* C1, as UTF-8 */
		{ "a\xe2\x80\xae"
		  "b",
		  "a\\xe2\\x80\\xaeb" }, /* from right to left */
		{ "a\xe2\x80\x8b\xef\xbb\xbf", "a\\xe2\\x80\\x8b\\xef\\xbb\\xbf" },
		{ "\xf3\xa0\x81\xa1", "\\xf3\\xa0\\x81\\xa1" }, /* a tag */
		{ "\xf0\x9b\xb2\xa0\xf0\x9d\x85\xb3",
		  "\\xf0\\x9b\\xb2\\xa0\\xf0\\x9d\\x85\\xb3" }, /* shorthand's, music's */
		{ "\xc0\x9b\xe0\x80\x9b",
		  "\\xc0\\x9b\\xe0\\x80\\x9b" }, /* too long for what it is */
		{ "\xed\xa0\x80\xf4\x90\x80\x80", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80" },
		{ "\xff\xe6\x97", "\\xff\\xe6\\x97" }, /* cut short */
	};
	char out[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		assert_string_equal(printable(out, sizeof(out), row[i].in), row[i].out);
}

static void test_printable_cuts_between_characters(void **state)
{
	static const char *const want[] = {
		"", "a", "a", "a\xc3\xa9", "a\xc3\xa9", "a\xc3\xa9", "a\xc3\xa9", "a\xc3\xa9\\x1b"
	};
	char out[9];

	(void)state;
	for (size_t size = 1; size <= ARRAY_SIZE(want); size++) {
		memset(out, 'z', sizeof(out));
		assert_string_equal(printable(out, size, "a\xc3\xa9\x1b"), want[size - 1]);
		assert_int_equal(out[size], 'z');
	}
}

static void test_no_error_is_obeyed_by_a_terminal(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(error_set(&err, 2, "'%s'", "\x1b]0;x\x07"), -1);
	assert_string_equal(err.msg, "'\\x1b]0;x\\x07': No such file or directory");
	assert_int_equal(error_wrap(&err, "caf\xc3\xa9\x1b"), -1);
	assert_string_equal(err.msg,
			    "caf\xc3\xa9\\x1b: '\\x1b]0;x\\x07': No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_printable_shows_what_reads),
		cmocka_unit_test(test_printable_cuts_between_characters),
		cmocka_unit_test(test_no_error_is_obeyed_by_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
