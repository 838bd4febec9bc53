/* Entries of lists: what is taken, what is refused with which advice, canonical text. */
#include "policy/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

static bool equal(const struct pattern *a, const struct pattern *b)
{
	for (size_t i = 0; i < PATTERN_PORTS_MAX; i++)
		if (a->ports[i].lo != b->ports[i].lo || a->ports[i].hi != b->ports[i].hi)
			return false;
	return a->kind == b->kind && a->nports == b->nports && hostname_equal(&a->host, &b->host) &&
	       addr_equal(&a->cidr.addr, &b->cidr.addr) && a->cidr.bits == b->cidr.bits;
}

static void expect(const char *text, const char *canonical)
{
	char out[PATTERN_TEXT_MAX];
	struct pattern p, again;
	struct error err;

	if (pattern_parse(text, strlen(text), &p, &err))
		fail_msg("%s: %s", text, err.msg);
	assert_string_equal(pattern_format(&p, out), canonical);
	assert_int_equal(pattern_parse(out, strlen(out), &again, &err), 0);
	assert_true(equal(&p, &again));
}

/* CONFORMANCE B (with single labels and blocks), H-051, H-052, ARCHITECTURE 3 */
static void test_parse_accepts(void **state)
{
	(void)state;
	expect("example.com", "example.com");
	expect("*.example.com", "*.example.com");
	expect("**.example.com", "**.example.com");
	expect("*", "*");
	expect("*:443", "*:443");
	expect("localhost", "localhost");
	expect("com", "com");
	expect("host", "host");
	expect("host:22", "host:22");
	expect("127.0.0.1", "127.0.0.1");
	expect("[::1]", "[::1]");
	expect("[::1]:443", "[::1]:443");
	expect("[2001:DB8:0:0::1]:8443", "[2001:db8::1]:8443");
	expect("[::ffff:1.2.3.4]:80", "1.2.3.4:80");
	expect("example.com:443", "example.com:443");
	expect("foo_bar.com", "foo_bar.com");
	expect("h:1-65535", "h:1-65535");
	expect("h:1", "h:1");
	expect("h:65535", "h:65535");
	expect("X.TEST", "x.test"); /* case and one final dot are normalised */
	expect("x.test.", "x.test");
	expect("*.X.TEST.:443", "*.x.test:443");
	expect("xn--mnchen-3ya.de", "xn--mnchen-3ya.de");
	expect("10.0.0.0/8", "10.0.0.0/8");
	expect("10.0.0.0/8:22", "10.0.0.0/8:22");
	expect("0.0.0.0/0", "0.0.0.0/0");
	expect("1.2.3.4/32", "1.2.3.4/32");
	expect("fd00::/8", "[fd00::]/8");
	expect("[fd00::]/8", "[fd00::]/8");
	expect("[fd00::]/8:443,80", "[fd00::]/8:80,443");
	expect("::/0", "[::]/0");
	expect("::/0:53", "[::]/0:53");
	expect("::ffff:10.0.0.0/104", "10.0.0.0/8");
}

static void test_ports_are_sorted_and_merged(void **state)
{
	(void)state;
	expect("h:443,80", "h:80,443");
	expect("h:80,80", "h:80");
	expect("h:80,81", "h:80-81");
	expect("h:1-10,5-20,21,23", "h:1-21,23");
	expect("h:100-200,1-65535", "h:1-65535");
	expect("h:65535,65534", "h:65534-65535");
	expect("h:8000-8000", "h:8000");
	expect("h:1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31",
	       "h:1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31");
}

/* The entry, and a piece of the advice. */
/* Whatever a message says to write can be written. */
static void assert_advice_parses(const char *msg)
{
	static const char *const lead[] = { "write \"", "or \"" };

	for (size_t i = 0; i < ARRAY_SIZE(lead); i++) {
		const char *at = strstr(msg, lead[i]);
		struct pattern p;
		struct error err;

		if (!at)
			continue;
		at += strlen(lead[i]);
		if (pattern_parse(at, strcspn(at, "\""), &p, &err))
			fail_msg("%s\nbut: %s", msg, err.msg);
	}
}

static void test_parse_rejects_with_advice(void **state)
{
	static const struct {
		const char *text, *advice;
	} row[] = {
		{ "", "empty" },
		{ "**", "a wildcard stands" },
		{ "*.", "not a host name" },
		{ "**.", "not a host name" },
		{ "*.*", "a wildcard stands" },
		{ "*.*.com", "a wildcard stands" },
		{ "*.*.x.test", "a wildcard stands" },
		{ "***.x.test", "a wildcard stands" },
		{ "foo*.x.test", "a wildcard stands" },
		{ "*foo.x.test", "a wildcard stands" },
		{ "x.*.org", "a wildcard stands" },
		{ "a.*.com", "a wildcard stands" },
		{ "x.*", "a wildcard stands" },
		{ ".example.com", "write \"*.example.com\"" },
		{ "https://x.test", "write \"x.test\"" },
		{ "http://h", "write \"h\"" },
		{ "https://u:p@x.test:443/a?b#c", "write \"x.test:443\"" },
		{ "https://*.x.com", "write \"*.x.com\"" },
		{ "x.test/", "write \"x.test\"" },
		{ "h/path", "write \"h\"" },
		{ "h?q", "write \"h\"" },
		{ "h#f", "write \"h\"" },
		{ "h\\f", "write \"h\"" },
		{ "user@x.test", "write \"x.test\"" },
		{ "user@h:22", "write \"h:22\"" },
		{ " x.test ", "blank" },
		{ "exa mple.com", "blank" },
		{ "x.test\t", "blank" },
		{ "x.test\n", "blank" },
		{ "m\xc3\xbcnchen.de", "xn--" },
		{ "x%2eorg", "percent" },
		{ "h:0", "bad port" },
		{ "h:", "bad port" },
		{ "h:65536", "bad port" },
		{ "h:0443", "bad port" },
		{ "h:*", "write \"h\"" },
		{ "h:443.allowed.com", "bad port" },
		{ "h:443:80", "bad port" },
		{ "h:80-", "bad port" },
		{ "h:-80", "bad port" },
		{ "h:90-80", "bad port" },
		{ "h:0-80", "bad port" },
		{ "h:80,", "bad port" },
		{ "h:,80", "bad port" },
		{ "h:80,,81", "bad port" },
		{ "h:http", "bad port" },
		{ "h:1-2-3", "bad port" },
		{ "h:1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33", "more than 16" },
		{ "::1", "write \"[::1]\"" },
		{ "::1:443", "write \"[::1]:443\", or \"[::1:443]\" if all of it is the address" },
		{ "2001:db8::1:443", "write \"[2001:db8::1]:443\", or" },
		{ "2001:db8::1:8000-8080", "write \"[2001:db8::1]:8000-8080\"" },
		{ "::1:80,443", "write \"[::1]:80,443\"" },
		{ "::1:65535", "write \"[::1]:65535\"" },
		{ "1:2:3:4:5:6:7:8:443", "write \"[1:2:3:4:5:6:7:8]:443\"" },
		{ "::ffff:1.2.3.4", "write \"[::ffff:1.2.3.4]\"" },
		{ "::ffff:1.2.3.4:80", "write \"[::ffff:1.2.3.4]:80\"" },
		{ "2001:db8::beef", "write \"[2001:db8::beef]\"" },
		{ "1:2:3:4:5:6:7:8:9:10", "brackets" },
		{ "[::1", "in brackets" },
		{ "[::1]junk", "in brackets" },
		{ "[::1]:", "bad port" },
		{ "[::1]:0", "bad port" },
		{ "[127.0.0.1]", "in brackets" },
		{ "[fe80::1%eth0]", "zone" },
		{ "[fd00::/8]", "in brackets" },
		{ "[]", "in brackets" },
		{ "127.1", "four decimal numbers" },
		{ "2130706433", "four decimal numbers" },
		{ "0x7f.0.0.1", "four decimal numbers" },
		{ "1.2.3.4.", "ends in a number" },
		{ "*.0.0.1", "ends in a number" }, /* CONFORMANCE 7 */
		{ "*.168.1.1", "ends in a number" },
		{ "*.192.168.1.1", "a wildcard never matches an address" },
		{ "**.127.0.0.1", "a wildcard never matches an address" },
		{ "10.1.2.3/8", "write \"10.0.0.0/8\"" },
		{ "[fd00::1]/8", "write \"[fd00::]/8\"" },
		{ "fd00::1/8", "write \"[fd00::]/8\"" },
		{ "10.0.0.0/33", "not a block" },
		{ "10.0.0.0/", "not a block" },
		{ "10.0.0.0/8/8", "not a block" },
		{ "10.0.0/8", "not a block" },
		{ "10.0.0.0/8:0", "bad port" },
		{ "a..b.com", "not a host name" },
		{ "-a.com", "not a host name" },
		{ "a-.com", "not a host name" },
		{ "a;b", "not a host name" },
		{ "a,b", "repeat the option for each" },
		{ "a.com,b.com:443", "repeat the option for each" },
		{ "git@github.com:user/project.git", "write \"github.com:22\"" },
		{ "git@example.com:22/x", "write \"example.com:22\"" },
	};
	struct pattern p = { .nports = 99, .host = { 5, "aaaaa" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct error err = { 0 };

		if (!pattern_parse(row[i].text, strlen(row[i].text), &p, &err))
			fail_msg("%s is taken", row[i].text);
		if (!strstr(err.msg, row[i].advice))
			fail_msg("%s: message is: %s", row[i].text, err.msg);
		assert_advice_parses(err.msg);
	}
	assert_int_equal(p.nports, 99); /* untouched */
	assert_string_equal(p.host.s, "aaaaa");
}

static void test_parse_rejects_nul_and_escapes_it(void **state)
{
	struct pattern p;
	struct error err;

	(void)state;
	assert_int_equal(pattern_parse("a.com\0.b.com", 12, &p, &err), -1);
	assert_non_null(strstr(err.msg, "a.com\\x00.b.com"));
	assert_int_equal(pattern_parse("\x1b[2Jx", 5, &p, &err), -1);
	assert_null(strchr(err.msg, 0x1b));
	assert_int_equal(pattern_parse("a/b", 3, &p, NULL), -1);
}

static void test_parse_bounds_a_long_entry(void **state)
{
	static char text[100000];
	struct pattern p;
	struct error err;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(pattern_parse(text, sizeof(text), &p, &err), -1);
	assert_non_null(strstr(err.msg, "longer than any host name"));
	for (size_t i = 1; i < sizeof(text); i += 2)
		text[i] = '.';
	assert_int_equal(pattern_parse(text, sizeof(text), &p, &err), -1);
	assert_int_equal(pattern_parse(text, 253, &p, &err), 0);
}

static void test_too_wide(void **state)
{
	static const char *const wide[] = { "*.com",	"**.com",   "*.de:443",	  "*.co.uk",
					    "*.com.au", "**.or.jp", "*.xn--p1ai", "*.dev" };
	static const char *const fine[] = { "com",	    "co.uk",	 "*.example.com",
					    "*.internal",   "*.local",	 "*.test",
					    "*.localhost",  "*",	 "*.gov.uk",
					    "*.co.example", "*.a.co.uk", "*.corp",
					    "**.lan",	    "10.0.0.0/8" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wide) + ARRAY_SIZE(fine); i++) {
		bool want = i < ARRAY_SIZE(wide);
		const char *text = want ? wide[i] : fine[i - ARRAY_SIZE(wide)];
		struct pattern p;
		struct error err;

		assert_int_equal(pattern_parse(text, strlen(text), &p, &err), 0);
		if (pattern_is_too_wide(&p) != want)
			fail_msg("%s: want %d", text, want);
	}
}

static void test_has_port(void **state)
{
	struct pattern p;
	struct error err;

	(void)state;
	assert_int_equal(pattern_parse("h:80,8000-8002", 14, &p, &err), 0);
	assert_true(pattern_has_port(&p, 80));
	assert_true(pattern_has_port(&p, 8001));
	assert_false(pattern_has_port(&p, 81));
	assert_false(pattern_has_port(&p, 8003));
	assert_int_equal(pattern_parse("h", 1, &p, &err), 0);
	assert_true(pattern_has_port(&p, 65535));
	assert_true(pattern_is_name(&p));
	assert_int_equal(pattern_parse("1.2.3.4", 7, &p, &err), 0);
	assert_false(pattern_is_name(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_accepts),
		cmocka_unit_test(test_ports_are_sorted_and_merged),
		cmocka_unit_test(test_parse_rejects_with_advice),
		cmocka_unit_test(test_parse_rejects_nul_and_escapes_it),
		cmocka_unit_test(test_parse_bounds_a_long_entry),
		cmocka_unit_test(test_too_wide),
		cmocka_unit_test(test_has_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
