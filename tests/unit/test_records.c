#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dns/records.h"
#include "policy/recordtype.h"
#include "tests/support/fakedns.h"

#define BYTES(s) (s), (uint16_t)(sizeof(s) - 1)

static struct fakedns_msg msg; /* 64 KiB */

static struct hostname host(const char *text)
{
	struct hostname h = { .len = (uint8_t)strlen(text) };

	memcpy(h.s, text, h.len);
	return h;
}

static enum parse parse(uint16_t type, struct wire_records *out)
{
	const struct hostname name = host("a.example");

	return records_parse(msg.p, msg.len, &name, type, out);
}

/* One record with this data; whether it is taken, and then the data that is left of it. */
static bool one(uint16_t type, const char *data, uint16_t n, struct wire_records *out)
{
	fakedns_begin(&msg, 7, 0, "a.example", type);
	fakedns_rr(&msg, "a.example", type, 300, data, n);
	return parse(type, out) == PARSE_OK && out->n == 1;
}

static void expect(uint16_t type, const char *data, uint16_t n, const char *want, size_t want_n)
{
	struct wire_records got;

	assert_true(one(type, data, n, &got));
	assert_int_equal(got.ttl, 300);
	assert_int_equal(got.len, want_n + 2);
	assert_int_equal(got.data[0] << 8 | got.data[1], want_n);
	assert_memory_equal(got.data + 2, want, want_n);
}

static void test_fields_are_kept(void **state)
{
	(void)state;
	expect(RECORDTYPE_MX, BYTES("\0\12\2mx\0"), BYTES("\0\12\2mx\0"));
	/* a pointer to the question's name is written out */
	expect(RECORDTYPE_MX, BYTES("\0\12\2mx\xc0\x0c"), BYTES("\0\12\2mx\1a\7example\0"));
	expect(RECORDTYPE_SRV, BYTES("\0\1\0\2\3\xe1\xc0\x0c"),
	       BYTES("\0\1\0\2\3\xe1\1a\7example\0"));
	expect(RECORDTYPE_TXT, BYTES("\3v=1\0\2ab"), BYTES("\3v=1\0\2ab"));
	expect(RECORDTYPE_SSHFP, BYTES("\4\2abcd"), BYTES("\4\2abcd"));
	expect(RECORDTYPE_TLSA, BYTES("\3\1\1abcd"), BYTES("\3\1\1abcd"));
	expect(RECORDTYPE_CAA, BYTES("\0\5issueca.example"), BYTES("\0\5issueca.example"));
}

static void test_malformed_data_is_bad(void **state)
{
	static const struct {
		uint16_t type, n;
		const char *data;
	} rows[] = {
		{ RECORDTYPE_MX, 2, "\0\12" },
		{ RECORDTYPE_MX, 5, "\0\12\2mx" },	   /* no end */
		{ RECORDTYPE_MX, 7, "\0\12\2mx\0!" },	   /* a byte too many */
		{ RECORDTYPE_MX, 4, "\0\12\xc0\xff" },	   /* a pointer forwards */
		{ RECORDTYPE_MX, 4, "\0\12\xc0\x02" },	   /* into the header */
		{ RECORDTYPE_SRV, 7, "\0\1\0\2\3\xe1\2" }, /* a label without its bytes */
		{ RECORDTYPE_TXT, 0, "" },		   /* at least one string */
		{ RECORDTYPE_TXT, 3, "\3ab" },
		{ RECORDTYPE_SSHFP, 1, "\4" },
		{ RECORDTYPE_TLSA, 2, "\3\1" },
		{ RECORDTYPE_CAA, 3, "\0\5i" },
	};
	struct wire_records got;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(one(rows[i].type, rows[i].data, rows[i].n, &got));
}

static void test_only_what_was_asked_for_is_taken(void **state)
{
	struct wire_records got;

	(void)state;
	fakedns_begin(&msg, 7, 0, "a.example", RECORDTYPE_TXT);
	fakedns_rr(&msg, "evil.example", RECORDTYPE_TXT, 1, BYTES("\1e"));
	fakedns_addr(&msg, "a.example", 1, "192.0.2.1");
	fakedns_cname(&msg, "a.example", 60, "b.example");
	fakedns_rr(&msg, "a.example", RECORDTYPE_TXT, 1, BYTES("\1a"));
	fakedns_rr(&msg, "b.example", RECORDTYPE_MX, 1, BYTES("\0\12\0"));
	fakedns_rr(&msg, "b.example", RECORDTYPE_TXT, 300, BYTES("\1b"));
	assert_int_equal(parse(RECORDTYPE_TXT, &got), PARSE_OK);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.ttl, 60);
	assert_memory_equal(got.data, "\0\2\1b", 4);
	assert_int_equal(parse(RECORDTYPE_MX, &got), PARSE_BAD); /* another question's answer */
}

static void test_no_record_is_an_answer(void **state)
{
	struct wire_records got;

	(void)state;
	fakedns_begin(&msg, 7, 3, "a.example", RECORDTYPE_MX);
	assert_int_equal(parse(RECORDTYPE_MX, &got), PARSE_OK);
	assert_int_equal(got.n, 0);
}

static void test_types_with_addresses_are_never_read(void **state)
{
	static const uint16_t types[] = { 1, 2, 5, 12, 28, 64, 65, 255, 0, 65535 };
	struct wire_records got;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_false(records_known(types[i]));
		assert_false(one(types[i], BYTES("\xc0\0\2\1"), &got));
	}
	assert_true(records_known(RECORDTYPE_CAA));
}

static void test_too_much_is_bad(void **state)
{
	char text[201] = { (char)200 };
	struct wire_records got;

	(void)state;
	fakedns_begin(&msg, 7, 0, "a.example", RECORDTYPE_TXT);
	for (int i = 0; i < WIRE_RECORDS_MAX; i++)
		fakedns_rr(&msg, "a.example", RECORDTYPE_TXT, 1, BYTES("\1a"));
	assert_int_equal(parse(RECORDTYPE_TXT, &got), PARSE_OK);
	assert_int_equal(got.n, WIRE_RECORDS_MAX);
	fakedns_rr(&msg, "a.example", RECORDTYPE_TXT, 1, BYTES("\1a"));
	assert_int_equal(parse(RECORDTYPE_TXT, &got), PARSE_BAD);

	fakedns_begin(&msg, 7, 0, "a.example", RECORDTYPE_TXT);
	for (size_t n = 0; n + 203 <= WIRE_RECORDS_BYTES; n += 203)
		fakedns_rr(&msg, "a.example", RECORDTYPE_TXT, 1, text, sizeof(text));
	assert_int_equal(parse(RECORDTYPE_TXT, &got), PARSE_OK);
	fakedns_rr(&msg, "a.example", RECORDTYPE_TXT, 1, text, sizeof(text));
	assert_int_equal(parse(RECORDTYPE_TXT, &got), PARSE_BAD);
}

/* What is written is read back as the same. */
static void test_round_trip(void **state)
{
	struct wire_query q = { .has_question = true, .type = RECORDTYPE_SRV, .class = WIRE_IN };
	const struct hostname name = host("a.example");
	struct wire_records first, second;
	uint8_t out[WIRE_REPLY_MAX];
	size_t n;

	(void)state;
	wire_name_from_host(&name, &q.name);
	fakedns_begin(&msg, 7, 0, "a.example", RECORDTYPE_SRV);
	fakedns_rr(&msg, "a.example", RECORDTYPE_SRV, 9, BYTES("\0\1\0\2\3\xe1\xc0\x0c"));
	fakedns_rr(&msg, "a.example", RECORDTYPE_SRV, 9, BYTES("\0\2\0\2\3\xe1\1b\0"));
	assert_int_equal(parse(RECORDTYPE_SRV, &first), PARSE_OK);
	n = wire_build_reply(&q, &(struct wire_reply){ .records = &first, .ttl = 9 },
			     WIRE_REPLY_MAX, out);
	assert_int_equal(records_parse(out, n, &name, RECORDTYPE_SRV, &second), PARSE_OK);
	assert_memory_equal(&first, &second, sizeof(first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_are_kept),
		cmocka_unit_test(test_malformed_data_is_bad),
		cmocka_unit_test(test_only_what_was_asked_for_is_taken),
		cmocka_unit_test(test_no_record_is_an_answer),
		cmocka_unit_test(test_types_with_addresses_are_never_read),
		cmocka_unit_test(test_too_much_is_bad),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
