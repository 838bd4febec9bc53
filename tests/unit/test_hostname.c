/* The canonical host: every vector about bytes and spelling, by its id. */
#include "policy/hostname.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

/* A string literal with its length, embedded zero bytes included. */
#define LIT(s) s, sizeof(s) - 1

struct bad_row {
	const char *id;
	const char *p;
	size_t n;
};

static enum hostname_kind parse(const char *p, size_t n, struct hostname *h)
{
	struct addr a;

	return hostname_parse(p, n, h, &a);
}

static void expect_name(const char *text, const char *canonical)
{
	struct hostname h;
	struct addr a = { .family = 77 };

	if (hostname_parse(text, strlen(text), &h, &a) != HOSTNAME_NAME)
		fail_msg("%s is no name", text);
	assert_string_equal(h.s, canonical);
	assert_int_equal(h.len, strlen(canonical));
	assert_int_equal(a.family, AF_UNSPEC);
}

static void test_parse_rejects_bytes_and_encodings(void **state)
{
	static const struct bad_row row[] = {
		{ "H-001", LIT("evil.test\0.wild.example") },
		{ "H-002", LIT("good.example\0evil") },
		{ "H-002", LIT("\0good.example") },
		{ "H-002", LIT("good.example\0") },
		{ "H-002", LIT("\0") },
		{ "H-007", LIT("good.example%00.evil.test") },
		{ "H-007", LIT("evil%2etest") },
		{ "H-007", LIT("%67ood.example") },
		{ "H-009", LIT("good.examp\xc2\xad"
			       "le") },
		{ "H-009", LIT("good\xe2\x80\x8b.example") },
		{ "H-009", LIT("good\xe2\x80\x8c.example") },
		{ "H-009", LIT("good\xe2\x80\x8d.example") },
		{ "H-009", LIT("good\xe2\x81\xa0.example") },
		{ "H-009", LIT("\xef\xbb\xbfgood.example") },
		{ "H-010", LIT("\xef\xac\x81le.example") },
		{ "H-010", LIT("\xe2\x93\x96ood.example") },
		{ "H-010", LIT("\xe2\x84\xaa.example") },
		{ "H-010", LIT("\xc5\xbf.example") },
		{ "H-010", LIT("w\xc4\xb1ld.example") },
		{ "H-010", LIT("stra\xc3\x9f"
			       "e.example") },
		{ "H-012", LIT("xn--") },
		{ "H-012", LIT("xn--\x80") },
		{ "H-012", LIT("xn--good-.example") },
		{ "H-019", LIT(" good.example") },
		{ "H-019", LIT("good.example ") },
		{ "H-019", LIT("\tgood.example") },
		{ "H-019", LIT("good.example\r") },
		{ "H-020", LIT("good.example@evil.test") },
		{ "H-020", LIT("good.example:443@evil.test") },
		{ "H-020", LIT("evil.test@good.example") },
		{ "H-021", LIT("evil.test/.wild.example") },
		{ "H-021", LIT("evil.test#.wild.example") },
		{ "H-021", LIT("evil.test?.wild.example") },
		{ "H-021", LIT("evil.test\\.wild.example") },
		{ "H-021", LIT("evil.test;.wild.example") },
		{ "H-022", LIT("evil.test:80.wild.example") },
		{ "H-022", LIT("good.example:443:80") },
		{ "H-027", LIT("") },
		{ "H-029",
		  LIT("-") }, /* decided (D?): a hyphen at the edge of a label is refused */
		{ "H-029", LIT("--") },
		{ "H-029", LIT("-a.wild.example") },
		{ "H-029", LIT("a-.wild.example") },
		{ "H-031", LIT("\x1b[2J.example") },
		{ "H-031", LIT("a\nb.example") },
		{ "H-044", LIT(".wild.example") },
		{ "H-044", LIT("..wild.example") },
		{ "H-044", LIT("*.wild.example") },
		{ "", LIT(".") },
		{ "", LIT("..") },
		{ "", LIT("a..b.com") },
		{ "", LIT("good.example..") },
		{ "", LIT("good.example:443") },
	};
	struct hostname h = { .len = 200 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		if (parse(row[i].p, row[i].n, &h) != HOSTNAME_BAD)
			fail_msg("%s row %zu is taken", row[i].id, i);
	assert_int_equal(h.len, 200); /* untouched on failure */
}

/* H-005, H-006: every byte outside the alphabet, at every place of a label. */
static void test_parse_rejects_each_foreign_byte(void **state)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789-_.";

	(void)state;
	for (int c = 0; c < 256; c++)
		for (size_t at = 0; at < 8; at++) {
			char text[] = "goo0.example";
			bool good = c && strchr(alphabet, c);
			struct hostname h;
			bool taken;

			text[at] = (char)c;
			taken = parse(text, sizeof(text) - 1, &h) != HOSTNAME_BAD;
			if (taken && !good)
				fail_msg("byte %02x at %zu is taken", (unsigned)c, at);
			if (!taken && good && c != '-' && c != '.')
				fail_msg("byte %02x at %zu is refused", (unsigned)c, at);
		}
}

static void test_parse_makes_one_form(void **state)
{
	(void)state;
	expect_name("good.example", "good.example");
	expect_name("GOOD.EXAMPLE", "good.example"); /* H-014 */
	expect_name("gOoD.eXaMpLe", "good.example");
	expect_name("good.example.", "good.example");		 /* H-016 */
	expect_name("BAD.wild.EXAMPLE.", "bad.wild.example");	 /* H-017 */
	expect_name("xn--gd-9bb.example", "xn--gd-9bb.example"); /* H-011: opaque */
	expect_name("xn--a", "xn--a");
	expect_name("_dmarc.wild.example", "_dmarc.wild.example"); /* H-030 */
	expect_name("foo_bar.wild.example", "foo_bar.wild.example");
	expect_name("_", "_");
	expect_name("intranet", "intranet");
	expect_name("a--b.example", "a--b.example");
	expect_name("09.example", "09.example");
}

/* H-015: the Turkish locale lowers I to a dotless i. */
static void test_parse_ignores_the_locale(void **state)
{
	static const char *const locales[] = { "tr_TR.UTF-8", "tr_TR", "C.UTF-8", "C" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		(void)setlocale(LC_ALL, locales[i]); /* where it is installed */
		expect_name("WILD.EXAMPLE", "wild.example");
	}
}

/* H-024, H-025: lengths. */
static void test_parse_lengths(void **state)
{
	char text[300];
	struct hostname h;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(parse(text, 63, &h), HOSTNAME_NAME);
	assert_int_equal(parse(text, 64, &h), HOSTNAME_BAD);
	for (size_t i = 50; i < sizeof(text); i += 51)
		text[i] = '.';
	text[252] = 'a';
	assert_int_equal(parse(text, 253, &h), HOSTNAME_NAME);
	assert_int_equal(h.len, 253);
	assert_int_equal(h.s[253], '\0');
	text[253] = 'a';
	assert_int_equal(parse(text, 254, &h), HOSTNAME_BAD);
	text[253] = '.';
	assert_int_equal(parse(text, 254, &h), HOSTNAME_NAME);
	assert_int_equal(h.len, 253);
	text[253] = 'a';
	assert_int_equal(parse(text, 255, &h), HOSTNAME_BAD);
	assert_int_equal(parse(text, 256, &h), HOSTNAME_BAD);
	assert_int_equal(parse(text, 300, &h), HOSTNAME_BAD);
}

/* H-026: a host of a mebibyte is refused by its length alone. */
static void test_parse_rejects_huge_hosts(void **state)
{
	static char text[1 << 20];
	struct hostname h;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 1; i < sizeof(text); i += 2)
		text[i] = '.';
	assert_int_equal(parse(text, 65536, &h), HOSTNAME_BAD);
	assert_int_equal(parse(text, sizeof(text), &h), HOSTNAME_BAD);
	text[0] = '[';
	text[sizeof(text) - 1] = ']';
	assert_int_equal(parse(text, sizeof(text), &h), HOSTNAME_BAD);
	assert_int_equal(parse(text + 2, 251, &h), HOSTNAME_NAME);
}

/* numbers that some parser takes for an address. */
static void test_parse_rejects_numeric_spellings(void **state)
{
	static const char *const bad[] = {
		"0",
		"2130706433",
		"0x7f000001",
		"0x7f.1",
		"127.1",
		"127.0.1",
		"0177.0.0.1",
		"0251.0376.0251.0376",
		"2852039166",
		"0xa9fea9fe",
		"169.254.43518",
		"+1.2.3.4",
		"01.2.3.4",
		"1.2.3.04",
		"::ffff:01.2.3.4",
		"1.2.3.4 x",
		"1.2.3.4 ",
		"127.0.0.1.",
		"1.2.3.4.",
		"[::1].",
		"a.b.c.0x7f",
		"a.b.c.0X7F",
		"a.0x",
		"foo.1",
		"foo.1.",
		"1e3",
		"a.1e3",
		"1.2.3.4.5",
		"256.256.256.256",
		"1.2.3",
		"a.00",
		"\xe2\x91\xa0\xe2\x91\xa1.1",
		"127\xe3\x80\x82"
		"0\xe3\x80\x82"
		"0\xe3\x80\x82"
		"1",
	};
	struct hostname h;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i], strlen(bad[i]), &h) != HOSTNAME_BAD)
			fail_msg("%s is taken", bad[i]);
	/* their twins with a name behind the number, or a label that is no number */
	expect_name("0x7f.1.example", "0x7f.1.example");
	expect_name("127.0.0.1.nip.io", "127.0.0.1.nip.io");
	expect_name("a.0x7g", "a.0x7g");
	expect_name("1e", "1e");
	expect_name("e3", "e3");
	expect_name("4f5a09b7c1de", "4f5a09b7c1de");
}

static void test_parse_recognises_literals(void **state)
{
	static const struct {
		const char *text, *canonical;
		int family;
	} row[] = {
		{ "127.0.0.1", "127.0.0.1", AF_INET }, /* */
		{ "::1", "::1", AF_INET6 },
		{ "[::1]", "::1", AF_INET6 },
		{ "[2001:DB8:0:0::1]", "2001:db8::1", AF_INET6 }, /* */
		{ "[::ffff:127.0.0.1]", "::ffff:127.0.0.1", AF_INET6 },
		{ "::ffff:7f00:1", "::ffff:127.0.0.1", AF_INET6 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct hostname h;
		struct addr a, want;

		assert_int_equal(hostname_parse(row[i].text, strlen(row[i].text), &h, &a),
				 HOSTNAME_ADDR);
		assert_string_equal(h.s, row[i].canonical);
		assert_int_equal(a.family, row[i].family);
		assert_true(addr_parse(h.s, h.len, &want));
		assert_true(addr_equal(&a, &want));
	}
}

static void test_parse_rejects_broken_literals(void **state)
{
	static const char *const bad[] = {
		"[",
		"]",
		"[]",
		"[::1",
		"::1]",
		"[::1]x",
		"[::1]:80",
		"[[::1]]",
		"[127.0.0.1]",
		"[good.example]",
		"fe80::1%eth0",
		"[fe80::1%25eth0]",
		"[fe80::1%1]",
		"::1%1",
		"[::1 ]",
		"[ ::1]",
		"1:2",
		":",
		"::g",
	};
	struct hostname h;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i], strlen(bad[i]), &h) != HOSTNAME_BAD)
			fail_msg("%s is taken", bad[i]);
}

static void check_names(const char *const *name, size_t n, bool (*is)(const struct hostname *h),
			bool want)
{
	for (size_t i = 0; i < n; i++) {
		struct hostname h;

		assert_int_equal(parse(name[i], strlen(name[i]), &h), HOSTNAME_NAME);
		if (is(&h) != want)
			fail_msg("%s: want %d", name[i], want);
	}
}

static void test_is_local(void **state)
{
	static const char *const yes[] = {
		"localhost",
		"LOCALHOST.",
		"a.localhost",
		"a.b.localhost",
		"localhost.localdomain",
		"localhost4",
		"localhost6.localdomain6",
		"ip6-localhost",
		"ip6-loopback",
		"loopback",
	};
	static const char *const no[] = {
		"localhost.example", "mylocalhost", "localhostx", "x-localhost", "local",
	};

	(void)state;
	check_names(yes, ARRAY_SIZE(yes), hostname_is_local, true);
	check_names(no, ARRAY_SIZE(no), hostname_is_local, false);
}

static void test_is_metadata(void **state)
{
	static const char *const yes[] = {
		"metadata.google.internal",
		"Metadata.Google.Internal.",
		"metadata",
		"instance-data",
		"instance-data.ec2.internal",
		"x.metadata.google.internal",
	};
	static const char *const no[] = {
		"google.internal",
		"xmetadata.google.internal",
		"metadata.example",
	};

	(void)state;
	check_names(yes, ARRAY_SIZE(yes), hostname_is_metadata, true);
	check_names(no, ARRAY_SIZE(no), hostname_is_metadata, false);
}

static void test_equal(void **state)
{
	struct hostname a, b, c;

	(void)state;
	(void)parse("good.example", 12, &a);
	(void)parse("Good.Example.", 13, &b);
	(void)parse("good.exampl", 11, &c);
	assert_true(hostname_equal(&a, &b));
	assert_false(hostname_equal(&a, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_rejects_bytes_and_encodings),
		cmocka_unit_test(test_parse_rejects_each_foreign_byte),
		cmocka_unit_test(test_parse_makes_one_form),
		cmocka_unit_test(test_parse_ignores_the_locale),
		cmocka_unit_test(test_parse_lengths),
		cmocka_unit_test(test_parse_rejects_huge_hosts),
		cmocka_unit_test(test_parse_rejects_numeric_spellings),
		cmocka_unit_test(test_parse_recognises_literals),
		cmocka_unit_test(test_parse_rejects_broken_literals),
		cmocka_unit_test(test_is_local),
		cmocka_unit_test(test_is_metadata),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
