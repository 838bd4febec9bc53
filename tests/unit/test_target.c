/* host:port as it stands in a request line or comes apart from SOCKS. */
#include "policy/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

static enum target_parse parse(const char *text, uint16_t port, struct target *t)
{
	return target_parse_authority(text, strlen(text), port, t);
}

static void test_authority_accepts(void **state)
{
	static const struct {
		const char *text;
		uint16_t def;
		const char *formatted;
	} row[] = {
		{ "good.example:443", 0, "good.example:443" },
		{ "GOOD.example.:443", 0, "good.example:443" },
		{ "good.example", 80, "good.example:80" },
		{ "good.example:1", 80, "good.example:1" },
		{ "good.example:65535", 80, "good.example:65535" },
		{ "1.2.3.4:80", 0, "1.2.3.4:80" },
		{ "[2001:DB8:0::1]:443", 0, "[2001:db8::1]:443" },
		{ "[::1]", 80, "[::1]:80" },
		{ "[::ffff:127.0.0.1]:1", 0, "[::ffff:127.0.0.1]:1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct target t = { .via = VIA_HTTP }, again = { 0 };
		char out[TARGET_TEXT_MAX];

		if (parse(row[i].text, row[i].def, &t) != TARGET_OK)
			fail_msg("%s is refused", row[i].text);
		assert_string_equal(target_format(&t, out), row[i].formatted);
		assert_int_equal(t.via, VIA_HTTP); /* left to the caller */
		assert_int_equal(parse(out, 0, &again), TARGET_OK);
		assert_true(target_equal(&t, &again));
	}
}

/* T-001 to T-007 */
static void test_authority_rejects_bad_ports(void **state)
{
	static const char *const bad[] = {
		"good.example:0",
		"good.example:65536",
		"good.example:65616",
		"good.example:4294967376",
		"good.example:99999999999999999999",
		"good.example:http",
		"good.example:https",
		"good.example",
		"good.example:",
		"good.example:\xef\xbc\x98\xef\xbc\x90",
		"good.example:\xd9\xa8\xd9\xa0",
		"good.example:0443",
		"good.example:+443",
		"good.example: 443",
		"good.example:443 ",
		"good.example:-1",
		"good.example:0x50",
		"good.example:4e2",
		"[::1]:0",
		"[::1]:",
		"[::1]",
		"1.2.3.4:",
		"good.example:443/",
		"good.example:443@evil.test",
		"user:pw@evil.test",
	};
	struct target t = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i], 0, &t) != TARGET_BAD_PORT)
			fail_msg("%s: not a bad port", bad[i]);
	assert_int_equal(parse("good.example:", 80, &t), TARGET_BAD_PORT);
	assert_int_equal(parse("good.example:0", 80, &t), TARGET_BAD_PORT);
	assert_int_equal(target_parse_authority("a.b:44\0", 7, 0, &t), TARGET_BAD_PORT);
	assert_int_equal(t.host.len, 0); /* untouched */
}

static void test_authority_rejects_bad_hosts(void **state)
{
	static const char *const bad[] = {
		"",
		":443",
		":",
		"good.example:443:80",
		"evil.test:80.wild.example:443", /* H-022, H-027 */
		"good.example@evil.test:443",
		"evil.test/.wild.example:443",
		"::1:443",
		"::1",
		"2001:db8::1:443",
		"[::1",
		"[::1]x",
		"[::1]x:443",
		"[::1]]:443",
		"[fe80::1%eth0]:443",
		"[127.0.0.1]:443",
		"127.1:80",
		"2130706433:80",
		" a.b:80",
		"a.b :80",
		"http://good.example:80",
		"*.good.example:443",
		"%67ood.example:443",
	};
	struct target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i], 80, &t) != TARGET_BAD_HOST)
			fail_msg("%s: not a bad host", bad[i]);
}

static void test_from_host(void **state)
{
	struct target t = { .via = VIA_SOCKS5 };
	char out[TARGET_TEXT_MAX];

	(void)state;
	assert_int_equal(target_from_host("Good.Example.", 13, 443, &t), TARGET_OK);
	assert_string_equal(target_format(&t, out), "good.example:443");
	assert_false(target_is_literal(&t));
	assert_int_equal(t.via, VIA_SOCKS5);
	assert_int_equal(target_from_host("::1", 3, 443, &t), TARGET_OK); /* */
	assert_true(target_is_literal(&t));
	assert_string_equal(target_format(&t, out), "[::1]:443");
	assert_int_equal(target_from_host("good.example", 12, 0, &t), TARGET_BAD_PORT);
	assert_int_equal(target_from_host("good.example:443", 16, 443, &t), TARGET_BAD_HOST);
	assert_int_equal(target_from_host("", 0, 443, &t), TARGET_BAD_HOST);
	assert_int_equal(target_from_host("a\0b", 3, 443, &t), TARGET_BAD_HOST);
}

static void test_from_addr_and_equal(void **state)
{
	struct addr a = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
	struct target lit = { .via = VIA_CAPTURE }, text = { .via = VIA_CONNECT };

	(void)state;
	target_from_addr(&a, 80, &lit);
	assert_int_equal(lit.via, VIA_CAPTURE);
	assert_int_equal(parse("127.0.0.1:80", 0, &text), TARGET_OK);
	assert_true(target_equal(&lit, &text));
	text.port = 81;
	assert_false(target_equal(&lit, &text));
}

static void test_format_without_port(void **state)
{
	struct target t = { .port = 0, .via = VIA_DNS };
	char out[TARGET_TEXT_MAX];

	(void)state;
	assert_int_equal(hostname_parse("a.example", 9, &t.host, &t.addr), HOSTNAME_NAME);
	assert_string_equal(target_format(&t, out), "a.example");
}

static void test_format_longest(void **state)
{
	char text[HOSTNAME_MAX + 7];
	char out[TARGET_TEXT_MAX];
	struct target t;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 50; i < HOSTNAME_MAX - 1; i += 51)
		text[i] = '.';
	memcpy(text + HOSTNAME_MAX, ":65535", 7);
	assert_int_equal(parse(text, 0, &t), TARGET_OK);
	assert_string_equal(target_format(&t, out), text);
}

static void test_via_name(void **state)
{
	static const char *const name[] = { "connect", "http", "socks5", "socks4a",
					    "capture", "dns",  "forward" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		assert_string_equal(target_via_name((enum via)i), name[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_authority_accepts),
		cmocka_unit_test(test_authority_rejects_bad_ports),
		cmocka_unit_test(test_authority_rejects_bad_hosts),
		cmocka_unit_test(test_from_host),
		cmocka_unit_test(test_from_addr_and_equal),
		cmocka_unit_test(test_format_without_port),
		cmocka_unit_test(test_format_longest),
		cmocka_unit_test(test_via_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
