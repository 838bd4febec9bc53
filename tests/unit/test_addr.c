/* Addresses: strict text, classes by bytes, blocks. Ids are those of the test vectors. */
#include "base/addr.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

static struct addr addr(const char *text)
{
	struct addr a;

	if (!addr_parse(text, strlen(text), &a))
		fail_msg("%s does not parse", text);
	return a;
}

static struct cidr cidr(const char *text)
{
	struct cidr c;

	if (!cidr_parse(text, strlen(text), &c))
		fail_msg("%s does not parse", text);
	return c;
}

static void test_parse_accepts_strict_text(void **state)
{
	static const struct {
		const char *text, *canonical;
	} row[] = {
		{ "1.2.3.4", "1.2.3.4" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "2001:DB8:0:0::1", "2001:db8::1" }, /* */
		{ "2001:db8:0:1:0:0:0:1", "2001:db8:0:1::1" },
		{ "0:0:0:0:0:0:0:1", "::1" },
		{ "::ffff:127.0.0.1", "::ffff:127.0.0.1" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct addr a = addr(row[i].text);
		char out[ADDR_TEXT_MAX];
		struct addr again;

		assert_string_equal(addr_format(&a, out), row[i].canonical);
		again = addr(out);
		assert_true(addr_equal(&a, &again));
	}
}

/* Every value of a byte in every place, as inet_ntop(3) writes it. */
static void test_format_v4_is_that_of_inet_ntop(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 256; v++) {
		const struct addr a = {
			AF_INET,
			{ (uint8_t)v, (uint8_t)(v * 7), (uint8_t)(v * 31), (uint8_t)(255 - v) },
		};
		char out[ADDR_TEXT_MAX], theirs[INET_ADDRSTRLEN];

		assert_string_equal(addr_format(&a, out),
				    inet_ntop(AF_INET, a.bytes, theirs, sizeof(theirs)));
	}
}

static void test_parse_rejects_other_spellings(void **state)
{
	static const char *const bad[] = {
		"",
		"0",
		"127.1",
		"127.0.1",
		"2130706433",
		"0x7f.0.0.1",
		"0x7f000001",
		"0177.0.0.1",
		"0251.0376.0251.0376",
		"2852039166",
		"0xa9fea9fe", /* */
		"169.254.43518",
		"+1.2.3.4",
		"01.2.3.4",
		"1.2.3.04",
		"::ffff:01.2.3.4", /* */
		"1.2.3.4 x",
		"1.2.3.4 ",
		" 1.2.3.4",
		"1.2.3.4\n", /* */
		"127.0.0.1.",
		"1.2.3",
		"1.2.3.4.5",
		"256.0.0.1",
		"1..2.3",
		"-1.2.3.4", /* */
		"fe80::1%eth0",
		"fe80::1%25eth0",
		"fe80::1%1",
		"::1%1", /* */
		"[::1]",
		"::1]",
		"[::1",
		":::",
		"1::2::3",
		"12345::",
		"::g",
		":1",
		"1:",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"::1.2.3",
		"1.2.3.4:80",
		"a.b.c.d",
		"\xe2\x91\xa0.0.0.1", /* */
	};
	struct addr a = { .family = 77 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (addr_parse(bad[i], strlen(bad[i]), &a))
			fail_msg("%s parses", bad[i]);
	assert_false(addr_parse("1.2.3.4\0", 8, &a));
	assert_false(addr_parse("1.2.3.4\0x", 9, &a));
	assert_int_equal(a.family, 77);
	assert_true(addr_parse("1.2.3.45", 7, &a)); /* the length counts, not a terminator */
	assert_int_equal(a.bytes[3], 4);
}

struct class_row {
	const char *text;
	enum addr_class class;
};

static void check_classes(const struct class_row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct addr a = addr(row[i].text);
		enum addr_class c = addr_classify(&a);

		if (c != row[i].class)
			fail_msg("%s is %d, want %d (enum addr_class)", row[i].text, (int)c,
				 (int)row[i].class);
	}
}

static void test_classify_v4(void **state)
{
	static const struct class_row row[] = {
		/* */
		{ "127.0.0.1", ADDR_LOOPBACK },
		{ "127.0.0.2", ADDR_LOOPBACK },
		{ "127.255.255.254", ADDR_LOOPBACK },
		{ "0.0.0.0", ADDR_LOOPBACK },
		{ "0.1.2.3", ADDR_LOOPBACK },
		{ "126.255.255.255", ADDR_PUBLIC },
		{ "128.0.0.1", ADDR_PUBLIC },
		{ "1.0.0.0", ADDR_PUBLIC },
		/* */
		{ "224.0.0.1", ADDR_SPECIAL },
		{ "239.255.255.250", ADDR_SPECIAL },
		{ "240.0.0.1", ADDR_SPECIAL },
		{ "255.255.255.255", ADDR_SPECIAL },
		{ "223.255.255.255", ADDR_PUBLIC },
		/* */
		{ "100.64.0.1", ADDR_PRIVATE },
		{ "100.127.255.255", ADDR_PRIVATE },
		{ "100.63.255.255", ADDR_PUBLIC },
		{ "100.128.0.0", ADDR_PUBLIC },
		/* RFC 1918 and its edges */
		{ "10.0.0.0", ADDR_PRIVATE },
		{ "10.255.255.255", ADDR_PRIVATE },
		{ "9.255.255.255", ADDR_PUBLIC },
		{ "11.0.0.0", ADDR_PUBLIC },
		{ "172.16.0.0", ADDR_PRIVATE },
		{ "172.31.255.255", ADDR_PRIVATE },
		{ "172.15.255.255", ADDR_PUBLIC },
		{ "172.32.0.0", ADDR_PUBLIC },
		{ "192.168.0.0", ADDR_PRIVATE },
		{ "192.168.255.255", ADDR_PRIVATE },
		{ "192.167.255.255", ADDR_PUBLIC },
		{ "192.169.0.0", ADDR_PUBLIC },
		/* */
		{ "169.254.0.1", ADDR_LINK_LOCAL },
		{ "169.253.255.255", ADDR_PUBLIC },
		{ "169.255.0.0", ADDR_PUBLIC },
		{ "169.254.169.254", ADDR_METADATA },
		{ "169.254.170.2", ADDR_METADATA },
		{ "169.254.170.23", ADDR_METADATA },
		{ "169.254.169.253", ADDR_METADATA },
		{ "169.254.169.123", ADDR_METADATA },
		{ "169.254.42.42", ADDR_METADATA },
		{ "169.254.0.23", ADDR_METADATA },
		{ "169.254.10.10", ADDR_METADATA },
		{ "100.100.100.200", ADDR_METADATA },
		{ "168.63.129.16", ADDR_METADATA },
		{ "192.0.0.192", ADDR_METADATA },
		{ "168.63.129.17", ADDR_PUBLIC },
		/* A-024 and edges; decided (D?): refused as special-use */
		{ "192.0.0.1", ADDR_SPECIAL },
		{ "192.0.1.0", ADDR_PUBLIC },
		{ "192.0.2.1", ADDR_SPECIAL },
		{ "192.0.3.0", ADDR_PUBLIC },
		{ "198.18.0.1", ADDR_SPECIAL },
		{ "198.19.255.255", ADDR_SPECIAL },
		{ "198.17.255.255", ADDR_PUBLIC },
		{ "198.20.0.0", ADDR_PUBLIC },
		{ "198.51.100.7", ADDR_SPECIAL },
		{ "198.51.101.0", ADDR_PUBLIC },
		{ "203.0.113.7", ADDR_SPECIAL },
		{ "203.0.114.0", ADDR_PUBLIC },
		{ "192.88.99.1", ADDR_SPECIAL },
		{ "192.88.98.255", ADDR_PUBLIC },
		{ "8.8.8.8", ADDR_PUBLIC },
	};

	(void)state;
	check_classes(row, ARRAY_SIZE(row));
}

static void test_classify_v6(void **state)
{
	static const struct class_row row[] = {
		/* */
		{ "::1", ADDR_LOOPBACK },
		{ "0:0:0:0:0:0:0:1", ADDR_LOOPBACK },
		{ "::0.0.0.1", ADDR_LOOPBACK },
		{ "::", ADDR_LOOPBACK },
		/* */
		{ "fe80::1", ADDR_LINK_LOCAL },
		{ "febf:ffff::1", ADDR_LINK_LOCAL },
		{ "fec0::1", ADDR_PRIVATE },
		{ "feff::1", ADDR_PRIVATE },
		{ "fc00::1", ADDR_PRIVATE },
		{ "fdff::1", ADDR_PRIVATE },
		{ "fbff::1", ADDR_SPECIAL },
		{ "fe00::1", ADDR_SPECIAL },
		/* */
		{ "ff02::1", ADDR_SPECIAL },
		{ "ff0e::1", ADDR_SPECIAL },
		/* */
		{ "fd00:ec2::254", ADDR_METADATA },
		{ "fd00:ec2::253", ADDR_METADATA },
		{ "fd00:ec2::23", ADDR_METADATA },
		{ "fd20:ce::254", ADDR_METADATA },
		{ "fd00:c1::a9fe:a9fe", ADDR_METADATA },
		{ "fd00:a9fe:a9fe::1", ADDR_METADATA },
		{ "fd00:100::100:200", ADDR_METADATA },
		{ "fd00:100::100:201", ADDR_PRIVATE },
		{ "fe80::a9fe:a9fe", ADDR_METADATA },
		{ "fd00:42::42", ADDR_METADATA },
		{ "fd00:ec2::255", ADDR_PRIVATE },
		{ "fe80::a9fe:a9ff", ADDR_LINK_LOCAL },
		/* */
		{ "2001:db8::1", ADDR_SPECIAL },
		{ "2001:db9::1", ADDR_PUBLIC },
		{ "100::1", ADDR_SPECIAL },
		{ "3fff:0fff::1", ADDR_SPECIAL },
		{ "3fff:1000::1", ADDR_PUBLIC },
		{ "5f00::1", ADDR_SPECIAL },
		{ "2001:1ff:ffff::1", ADDR_SPECIAL },
		{ "2001:200::1", ADDR_PUBLIC },
		{ "4000::1", ADDR_SPECIAL },
		{ "2606:2800:220:1::1", ADDR_PUBLIC },
		{ "2a00:1450:4001::1", ADDR_PUBLIC },
	};

	(void)state;
	check_classes(row, ARRAY_SIZE(row));
}

static void test_classify_unwraps_embedded_v4(void **state)
{
	static const struct class_row row[] = {
		/* */
		{ "::ffff:127.0.0.1", ADDR_LOOPBACK },
		{ "::ffff:7f00:1", ADDR_LOOPBACK },
		{ "::ffff:127.9.9.9", ADDR_LOOPBACK },
		{ "::ffff:0.0.0.0", ADDR_LOOPBACK },
		{ "::ffff:169.254.169.254", ADDR_METADATA },
		{ "::ffff:10.0.0.1", ADDR_PRIVATE },
		{ "::ffff:8.8.8.8", ADDR_PUBLIC },
		{ "::127.0.0.1", ADDR_LOOPBACK },
		{ "::169.254.169.254", ADDR_METADATA },
		{ "::8.8.8.8", ADDR_SPECIAL },
		/* */
		{ "64:ff9b::7f00:1", ADDR_LOOPBACK },
		{ "64:ff9b::a9fe:a9fe", ADDR_METADATA },
		{ "64:ff9b::a00:1", ADDR_PRIVATE },
		{ "64:ff9b::808:808", ADDR_PUBLIC },
		{ "64:ff9b:1::808:808", ADDR_SPECIAL },
		{ "64:ff9b:1:ffff::7f00:1", ADDR_SPECIAL },
		{ "64:ff9b:0:0:0:1:808:808", ADDR_SPECIAL },
		/* A-012; 6to4 and Teredo are special-use even around a public address */
		{ "2002:7f00:1::", ADDR_LOOPBACK },
		{ "2002:a9fe:a9fe::1", ADDR_METADATA },
		{ "2002:808:808::1", ADDR_SPECIAL },
		{ "2001:0:808:808:0:0:80ff:fffe", ADDR_LOOPBACK }, /* client ~127.0.0.1 */
		{ "2001:0:7f00:1:0:0:f7f7:f7f7", ADDR_LOOPBACK },  /* server 127.0.0.1 */
		{ "2001:0:808:808:0:0:f7f7:f7f7", ADDR_SPECIAL },
		/* */
		{ "fe80::5efe:7f00:1", ADDR_LINK_LOCAL },
		{ "fe80::200:5efe:a9fe:a9fe", ADDR_METADATA },
		{ "2001:db8::5efe:a00:1", ADDR_SPECIAL },
		{ "2606:2800::5efe:a00:1", ADDR_PRIVATE },
		{ "2606:2800::200:5efe:7f00:1", ADDR_LOOPBACK },
		{ "2606:2800::5efe:808:808", ADDR_PUBLIC },
		{ "2606:2800::5eff:7f00:1", ADDR_PUBLIC },
		/* 6to4 around one address, ISATAP with a worse one below */
		{ "2002:808:808::5efe:a9fe:a9fe", ADDR_METADATA },
	};

	(void)state;
	check_classes(row, ARRAY_SIZE(row));
}

static void test_classify_without_family_is_not_public(void **state)
{
	struct addr none = { .family = AF_UNSPEC };

	(void)state;
	assert_int_equal(addr_classify(&none), ADDR_SPECIAL);
}

static void test_unwrap(void **state)
{
	static const struct {
		const char *outer, *inner;
	} row[] = {
		{ "::ffff:1.2.3.4", "1.2.3.4" },
		{ "::1.2.3.4", "1.2.3.4" },
		{ "64:ff9b::102:304", "1.2.3.4" },
		{ "2002:102:304::9", "1.2.3.4" },
		{ "2001:0:a0a:a0a:0:0:fefd:fcfb", "1.2.3.4" },
		{ "fe80::5efe:102:304", "1.2.3.4" },
		{ "::1", NULL },
		{ "::", NULL },
		{ "2606:2800::1", NULL },
		{ "1.2.3.4", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct addr a = addr(row[i].outer), got, want;

		assert_int_equal(addr_unwrap(&a, &got), row[i].inner != NULL);
		if (!row[i].inner)
			continue;
		want = addr(row[i].inner);
		assert_true(addr_equal(&got, &want));
	}
}

static void test_sockaddr_round_trip(void **state)
{
	static const char *const text[] = { "1.2.3.4", "2001:db8::1", "::ffff:1.2.3.4" };
	struct sockaddr unix_sa = { .sa_family = AF_UNIX };
	struct addr got = { .family = 77 };
	struct sockaddr_storage none;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		struct addr a = addr(text[i]);
		struct sockaddr_storage ss;
		uint16_t port = 0;
		socklen_t len = addr_to_sockaddr(&a, 8443, &ss);

		assert_int_equal(len, a.family == AF_INET ? sizeof(struct sockaddr_in)
							  : sizeof(struct sockaddr_in6));
		assert_true(addr_from_sockaddr((const struct sockaddr *)&ss, &got, &port));
		assert_true(addr_equal(&a, &got));
		assert_int_equal(port, 8443);
		assert_true(addr_from_sockaddr((const struct sockaddr *)&ss, &got, NULL));
	}
	assert_false(addr_from_sockaddr(&unix_sa, &got, NULL));
	got.family = AF_UNSPEC;
	assert_int_equal(addr_to_sockaddr(&got, 80, &none), 0);
	assert_int_equal(none.ss_family, AF_UNSPEC);
}

static void test_cidr_parse(void **state)
{
	static const char *const good[] = {
		"10.0.0.0/8",	   "0.0.0.0/0",	  "1.2.3.4/32",
		"fd00::/8",	   "[fd00::]/8",  "::/0",
		"2001:db8::1/128", "128.0.0.0/1", "::ffff:10.0.0.0/104",
	};
	static const char *const bad[] = {
		"",
		"/",
		"/8",
		"10.0.0.0",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/08",
		"10.0.0.0/+8",
		"10.0.0.1/8",
		"10.0.0.0/8/8",
		"10.0.0.0/8 ",
		"10/8",
		"fd00::/129",
		"[fd00::/8",
		"fd00::]/8",
		"[]/8",
		"[10.0.0.0]/8",
		"[fd00::/8]",
		"fd00::1/8",
		"fe80::%1/10",
		"010.0.0.0/8",
		"10.0.0.0/99999999999999999999",
		"[",
		"[/",
		"]/8",
	};
	struct cidr c;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		(void)cidr(good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (cidr_parse(bad[i], strlen(bad[i]), &c))
			fail_msg("%s parses", bad[i]);
}

static void test_cidr_contains(void **state)
{
	static const struct {
		const char *block, *addr;
		bool inside;
	} row[] = {
		{ "10.0.0.0/8", "10.255.0.1", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true },
		{ "10.0.0.0/8", "::10.1.1.1", false },
		{ "::ffff:10.0.0.0/104", "10.1.1.1", true },
		{ "1.2.3.4/32", "1.2.3.4", true },
		{ "1.2.3.4/32", "1.2.3.5", false },
		{ "1.2.3.4/31", "1.2.3.5", true },
		{ "0.0.0.0/0", "255.1.1.1", true },
		{ "0.0.0.0/0", "2001:db8::1", false },
		{ "::/0", "2001:db8::1", true },
		{ "::/0", "1.2.3.4", false },
		{ "::/0", "::ffff:1.2.3.4", false },
		{ "fd00::/8", "fdff::1", true },
		{ "fd00::/8", "fc00::1", false },
		{ "2001:db8:8000::/33", "2001:db8:8000::1", true },
		{ "2001:db8:8000::/33", "2001:db8:7fff::1", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct cidr c = cidr(row[i].block);
		struct addr a = addr(row[i].addr);

		if (cidr_contains(&c, &a) != row[i].inside)
			fail_msg("%s in %s", row[i].addr, row[i].block);
	}
}

static void test_addr_set_contains(void **state)
{
	struct addr own[] = { addr("192.0.2.7"), addr("2001:db8::7") };
	struct cidr blocks[] = { { addr("198.51.100.0"), 24 }, { addr("2001:db8:1::"), 64 } };
	struct addr_set set = { own, ARRAY_SIZE(own), blocks, ARRAY_SIZE(blocks) };
	struct addr_set empty = { 0 };
	struct addr mapped = addr("::ffff:192.0.2.7"), other = addr("192.0.2.8");
	struct addr in_block[] = { addr("198.51.100.255"), addr("::ffff:198.51.100.1"),
				   addr("2001:db8:1::9") };
	struct addr beside = addr("198.51.101.0"), beside6 = addr("2001:db8:1:1::9");

	(void)state;
	assert_true(addr_set_contains(&set, &own[0]));
	assert_true(addr_set_contains(&set, &own[1]));
	assert_true(addr_set_contains(&set, &mapped));
	assert_false(addr_set_contains(&set, &other));
	assert_false(addr_set_contains(&empty, &own[0]));
	for (size_t i = 0; i < ARRAY_SIZE(in_block); i++)
		assert_true(addr_set_contains(&set, &in_block[i]));
	assert_false(addr_set_contains(&set, &beside));
	assert_false(addr_set_contains(&set, &beside6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_accepts_strict_text),
		cmocka_unit_test(test_format_v4_is_that_of_inet_ntop),
		cmocka_unit_test(test_parse_rejects_other_spellings),
		cmocka_unit_test(test_classify_v4),
		cmocka_unit_test(test_classify_v6),
		cmocka_unit_test(test_classify_unwraps_embedded_v4),
		cmocka_unit_test(test_classify_without_family_is_not_public),
		cmocka_unit_test(test_unwrap),
		cmocka_unit_test(test_sockaddr_round_trip),
		cmocka_unit_test(test_cidr_parse),
		cmocka_unit_test(test_cidr_contains),
		cmocka_unit_test(test_addr_set_contains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
