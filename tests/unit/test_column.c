#include "launcher/column.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

static void test_feed_knows_an_unfinished_line(void **state)
{
	static const struct {
		const char *text;
		bool open;
	} row[] = {
		{ "", false },
		{ "done\n", false },
		{ "done\r\n", false },
		{ "Password: ", true },
		{ "one\ntwo", true },
		{ "\t", true },
		{ "\a", false },
		{ "caf\xc3\xa9", true },
		/* a spinner: drawn over itself, then cleared */
		{ "\rbuilding 1/9", true },
		{ "\rbuilding 1/9\r", true },
		{ "building\r\033[K", false },
		{ "building\r\033[2K", false },
		{ "building\033[K", true },
		{ "\r\033[Kbuilding", true },
		/* colours do not count, wherever they stand */
		{ "done\n\033[0m", false },
		{ "\033[1;32m", false },
		{ "\033[1;32mok\033[0m", true },
		{ "\033[1;32mok\033[0m\n\033[?25h", false },
		/* a title, with either end */
		{ "done\n\033]0;title\a", false },
		{ "done\n\033]0;title\033\\", false },
		{ "\033]0;title\aok", true },
		{ "\033(B", false },
		/* the screen is cleared */
		{ "text\033[H\033[2J", false },
		{ "text\033[5;7H", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct column whole = { .open = false }, by_one = { .open = false };

		column_feed(&whole, row[i].text, strlen(row[i].text));
		for (const char *p = row[i].text; *p; p++)
			column_feed(&by_one, p, 1);
		if (whole.open != row[i].open)
			fail_msg("row %zu: %s", i, row[i].text);
		assert_int_equal(by_one.open, whole.open);
		assert_int_equal(by_one.state, whole.state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feed_knows_an_unfinished_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
