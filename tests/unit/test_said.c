/* What was asked for, fit to be shown: no control bytes, no password, no more than fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#include "policy/said.h"

static void test_text_is_shown_as_it_was(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		const char *out;
	} cases[] = {
		{ "good.example:99999", 18, "good.example:99999" },
		{ "a\0b:80", 6, "a\\x00b:80" },
		{ "a\x1b[2J:80", 8, "a\\x1b[2J:80" },
		{ "a\\b:80", 6, "a\\x5cb:80" },
		{ "</b>:80", 7, "\\x3c/b\\x3e:80" },
		{ "a b:80", 6, "a\\x20b:80" },
		{ "`$(x)`;'\"|&*?", 13,
		  "\\x60\\x24\\x28x\\x29\\x60\\x3b\\x27\\x22\\x7c\\x26\\x2a\\x3f" },
		{ "[fe80::1%eth0]:80", 17, "[fe80::1%eth0]:80" },
		{ "me:secret@h.example:x", 21, "h.example:x" },
		{ "a@secret@h:", 11, "h:" },
		{ "secret@", 7, "" },
		{ "", 0, "" },
	};
	char out[SAID_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		said_text(out, cases[i].in, cases[i].n);
		assert_string_equal(out, cases[i].out);
	}
}

static void test_long_text_is_cut_and_says_so(void **state)
{
	char in[5000], out[SAID_MAX];

	(void)state;
	memset(in, 'a', sizeof(in));
	said_text(out, in, sizeof(in));
	assert_int_equal(strlen(out), SAID_MAX - 1);
	assert_string_equal(out + SAID_MAX - 4, "...");
	said_host(out, in, sizeof(in), 65535);
	assert_non_null(strstr(out, "...:65535"));
	memset(in, 0xff, sizeof(in));
	said_text(out, in, 60); /* the twin: it fits */
	assert_int_equal(strlen(out), 240);
	assert_string_equal(out + 236, "\\xff");
	said_text(out, in, 100); /* escapes make it too long */
	assert_string_equal(out + strlen(out) - 3, "...");
}

static void test_addr_and_port(void **state)
{
	struct addr a4 = { .family = AF_INET, .bytes = { 192, 0, 2, 1 } };
	struct addr a6 = { .family = AF_INET6, .bytes = { [15] = 1 } };
	char out[SAID_MAX];

	(void)state;
	said_addr(out, &a4, 0);
	assert_string_equal(out, "192.0.2.1:0");
	said_addr(out, &a6, 0);
	assert_string_equal(out, "[::1]:0");
	said_host(out, "h.example", 9, 0);
	assert_string_equal(out, "h.example:0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_shown_as_it_was),
		cmocka_unit_test(test_long_text_is_cut_and_says_so),
		cmocka_unit_test(test_addr_and_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
