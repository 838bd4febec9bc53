#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "dns/wire.h"

/* Header of a query with RD: id 0x1234, counts qd, an, ns, ar */
#define HEAD(qd, ar) "\x12\x34\x01\x00\x00" qd "\x00\x00\x00\x00\x00" ar
#define NAME      \
	"\x01"    \
	"a"       \
	"\x07"    \
	"example" \
	"\x00"
#define Q_A NAME "\x00\x01\x00\x01"
#define OPT "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"

/** struct row - a message with its length, since zero bytes are part of it */
struct row {
	const char *p;
	size_t n;
	enum wire_verdict verdict;
	enum wire_rcode rcode;
};

#define ROW(text, v, r)                      \
	{                                    \
		text, sizeof(text) - 1, v, r \
	}

static void test_parse_query_verdicts(void **state)
{
	static const struct row rows[] = {
		ROW(HEAD("\x01", "\x00") Q_A, WIRE_QUERY, 0),
		ROW(HEAD("\x01", "\x01") Q_A OPT, WIRE_QUERY, 0),
		/* a cookie in the options */
		ROW(HEAD("\x01", "\x01") Q_A
		    "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x05\x00\x0a\x00\x01x",
		    WIRE_QUERY, 0),
		ROW(HEAD("\x01", "\x00") "\x00\x00\x02\x00\x01", WIRE_QUERY, 0), /* root NS */
		/* no header; an answer */
		ROW("", WIRE_DROP, 0),
		ROW("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00", WIRE_DROP, 0),
		ROW("\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" Q_A, WIRE_DROP, 0),
		/* opcodes: STATUS, UPDATE */
		ROW("\x12\x34\x10\x00\x00\x01\x00\x00\x00\x00\x00\x00" Q_A, WIRE_ERROR,
		    WIRE_NOTIMP),
		ROW("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00" Q_A, WIRE_ERROR,
		    WIRE_NOTIMP),
		/* no question, two, one that is promised */
		ROW(HEAD("\x00", "\x00"), WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x02", "\x00") Q_A Q_A, WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x00"), WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x00") NAME "\x00\x01\x00", WIRE_ERROR, WIRE_FORMERR),
		/* bytes left over */
		ROW(HEAD("\x01", "\x00") Q_A "\x00", WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x00") Q_A OPT, WIRE_ERROR, WIRE_FORMERR),
		/* an answer record in a query */
		ROW("\x12\x34\x01\x00\x00\x01\x00\x01\x00\x00\x00\x00" Q_A, WIRE_ERROR,
		    WIRE_FORMERR),
		/* compression, the reserved label types, a label beyond the end */
		ROW(HEAD("\x01", "\x00") "\xc0\x0c\x00\x01\x00\x01", WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x00") "\x40"
					 "a\x00\x00\x01\x00\x01",
		    WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x00") "\x80"
					 "a\x00\x00\x01\x00\x01",
		    WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x00") "\x3f"
					 "a\x00\x00\x01\x00\x01",
		    WIRE_ERROR, WIRE_FORMERR),
		/* EDNS: two, not at the root, another type, version 1, options beyond the end */
		ROW(HEAD("\x01", "\x02") Q_A OPT OPT, WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x01") Q_A NAME "\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00",
		    WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x01") Q_A "\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00",
		    WIRE_ERROR, WIRE_FORMERR),
		ROW(HEAD("\x01", "\x01") Q_A "\x00\x00\x29\x04\xd0\x00\x01\x00\x00\x00\x00",
		    WIRE_ERROR, WIRE_BADVERS),
		ROW(HEAD("\x01", "\x01") Q_A "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x05",
		    WIRE_ERROR, WIRE_FORMERR),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum wire_rcode rcode = 0;
		struct wire_query q;

		assert_int_equal(wire_parse_query(rows[i].p, rows[i].n, &q, &rcode),
				 rows[i].verdict);
		if (rows[i].verdict == WIRE_ERROR)
			assert_int_equal(rcode, rows[i].rcode);
	}
}

static void test_parse_query_reads_all_fields(void **state)
{
	static const char msg[] = HEAD("\x01", "\x01") Q_A OPT;
	enum wire_rcode rcode;
	struct hostname h;
	struct wire_query q;

	(void)state;
	assert_int_equal(wire_parse_query(msg, sizeof(msg) - 1, &q, &rcode), WIRE_QUERY);
	assert_int_equal(q.id, 0x1234);
	assert_true(q.rd && q.edns && q.has_question);
	assert_int_equal(q.type, WIRE_A);
	assert_int_equal(q.class, WIRE_IN);
	assert_int_equal(q.udp_size, 1232);
	assert_true(wire_name_host(&q.name, &h));
	assert_string_equal(h.s, "a.example");
}

static void test_parse_query_bounds_names(void **state)
{
	uint8_t msg[12 + 300] = { 0x12, 0x34, 1, 0, 0, 1 };
	enum wire_rcode rcode;
	struct wire_query q;
	size_t n = 12;

	(void)state;
	for (int i = 0; i < 127; i++) { /* 127 labels of one byte and the root: 255 bytes */
		msg[n++] = 1;
		msg[n++] = 'a';
	}
	n += 1 + 1;
	msg[n++] = 1;
	n += 1;
	msg[n++] = 1;
	assert_int_equal(wire_parse_query(msg, n, &q, &rcode), WIRE_QUERY);
	assert_int_equal(q.name.len, 255);

	msg[12 + 254 - 2] = 2; /* the last label one byte longer: 256 */
	msg[12 + 254] = 'b';
	n++;
	memcpy(msg + 12 + 255, "\0\0\1\0\1", 5);
	assert_int_equal(wire_parse_query(msg, n, &q, &rcode), WIRE_ERROR);
}

static struct wire_name name_of(const char *p, size_t n)
{
	struct wire_name name = { .len = (uint8_t)n };

	memcpy(name.p, p, n);
	return name;
}

#define WIRE_NAME(text) name_of(text "\0", sizeof(text))

static void test_name_host_refuses_what_is_no_host(void **state)
{
	const struct wire_name good[] = { WIRE_NAME("\x01"
						    "A\x07"
						    "eXample"),
					  WIRE_NAME("\x04_srv") };
	const struct wire_name bad[] = {
		WIRE_NAME("\x03"
			  "a.b"), /* a dot inside a label */
		WIRE_NAME("\x01.\x01"
			  "a"),
		WIRE_NAME("\x01"
			  "a\x01"
			  "\0"),
		WIRE_NAME("\x03"
			  "a b"),
		WIRE_NAME("\x02"
			  "\xc3\xa9"),
		WIRE_NAME("\x03"
			  "127\x01"
			  "0\x01"
			  "0\x01"
			  "1"), /* a literal */
		WIRE_NAME("\x01"
			  "a\x01"
			  "1"),
		WIRE_NAME(""),
	};
	struct hostname h;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(wire_name_host(&good[i], &h));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(wire_name_host(&bad[i], &h));
}

static struct wire_name from_text(const char *text)
{
	struct hostname h = { .len = (uint8_t)strlen(text) };
	struct wire_name name;

	memcpy(h.s, text, h.len);
	wire_name_from_host(&h, &name);
	return name;
}

static void test_name_reverse(void **state)
{
	static const char *const good[][2] = {
		{ "4.3.2.1.in-addr.arpa", "1.2.3.4" },
		{ "255.0.18.198.in-addr.arpa", "198.18.0.255" },
		{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		  "2001:db8::1" },
	};
	static const char *const bad[] = {
		"in-addr.arpa",
		"3.2.1.in-addr.arpa",
		"5.4.3.2.1.in-addr.arpa",
		"256.3.2.1.in-addr.arpa",
		"04.3.2.1.in-addr.arpa",
		"a.3.2.1.in-addr.arpa",
		"4.3.2.1.in-addr.example",
		"4.3.2.1.ip6.arpa",
		"4.3.2.1.xin-addr.arpa",
		"g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		"11.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		"a.example",
	};
	char text[ADDR_TEXT_MAX];
	struct wire_name name;
	struct addr a;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		name = from_text(good[i][0]);
		assert_true(wire_name_reverse(&name, &a));
		assert_string_equal(addr_format(&a, text), good[i][1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		name = from_text(bad[i]);
		assert_false(wire_name_reverse(&name, &a));
	}
}

static void query_for(struct wire_query *q, const char *name, uint16_t type)
{
	*q = (struct wire_query){ .id = 7, .rd = true, .has_question = true };
	q->type = type;
	q->class = WIRE_IN;
	q->name = from_text(name);
}

static void test_build_reply_is_what_parse_answer_reads(void **state)
{
	static const char *const texts[] = { "198.18.0.1", "2001:db8::7" };
	struct hostname h = { .len = 9, .s = "a.example" };
	uint8_t out[WIRE_REPLY_MAX];
	struct wire_addrs found;
	struct wire_query q;
	struct addr a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct wire_reply r = { .addr = &a, .ttl = 10 };
		uint16_t type = i ? WIRE_AAAA : WIRE_A;
		size_t n;

		assert_true(addr_parse(texts[i], strlen(texts[i]), &a));
		query_for(&q, "A.eXample", type);
		n = wire_build_reply(&q, &r, WIRE_UDP_MAX, out);
		assert_memory_equal(out + 13,
				    "A\x07"
				    "eXample",
				    9); /* the case is kept */
		assert_int_equal(wire_parse_answer(out, n, &h, type, &found), PARSE_OK);
		assert_int_equal(found.n, 1);
		assert_int_equal(found.ttl, 10);
		assert_true(addr_equal(&found.v[0], &a));
	}
}

static void test_build_reply_without_data_has_soa(void **state)
{
	struct wire_reply r = { .rcode = WIRE_NXDOMAIN, .soa_ttl = 3 };
	uint8_t out[WIRE_REPLY_MAX];
	struct wire_query q;

	(void)state;
	query_for(&q, "a.example", WIRE_AAAA);
	(void)wire_build_reply(&q, &r, WIRE_UDP_MAX, out);
	assert_int_equal(out[2], 0x85); /* QR, AA, RD */
	assert_int_equal(out[3], 0x83); /* RA, NXDOMAIN */
	assert_int_equal(out[7], 0);
	assert_int_equal(out[9], 1);
	r.rcode = WIRE_REFUSED;
	(void)wire_build_reply(&q, &r, WIRE_UDP_MAX, out);
	assert_int_equal(out[2], 0x81);
	assert_int_equal(out[9], 0);
}

static void test_build_reply_truncates(void **state)
{
	struct hostname target = { .len = 253 };
	struct wire_reply r = { .ptr = &target, .ttl = 10 };
	uint8_t out[WIRE_REPLY_MAX];
	struct wire_query q;
	size_t n;

	(void)state;
	memset(target.s, 'a', 253);
	for (int i = 63; i < 253; i += 64)
		target.s[i] = '.';
	query_for(&q, "a.example", WIRE_PTR);
	q.name = from_text(target.s);
	q.edns = true;
	n = wire_build_reply(&q, &r, WIRE_UDP_MAX, out);
	assert_true(n <= WIRE_UDP_MAX);
	assert_int_equal(out[2] & 2, 2); /* TC */
	assert_int_equal(out[7], 0);
	n = wire_build_reply(&q, &r, WIRE_EDNS_MAX, out);
	assert_true(n > WIRE_UDP_MAX && n <= WIRE_REPLY_MAX);
	assert_int_equal(out[2] & 2, 0);
	assert_int_equal(out[7], 1);
}

static void test_build_reply_says_badvers_in_opt(void **state)
{
	struct wire_reply r = { .rcode = WIRE_BADVERS };
	uint8_t out[WIRE_REPLY_MAX];
	struct wire_query q;
	size_t n;

	(void)state;
	query_for(&q, "a.example", WIRE_A);
	q.edns = true;
	n = wire_build_reply(&q, &r, WIRE_UDP_MAX, out);
	assert_int_equal(out[3] & 0xf, 0);
	assert_int_equal(out[n - 6], 1); /* upper eight bits of the code */
}

#define ANSWER(an)			"\x00\x07\x81\x80\x00\x01\x00" an "\x00\x00\x00\x00" Q_A
#define RR(owner, type, ttl, len, data) owner "\x00" type "\x00\x01\x00\x00\x00" ttl "\x00" len data

static void test_parse_answer_tables(void **state)
{
	static const struct {
		const char *p;
		size_t n;
		enum parse result;
		size_t addrs;
		uint32_t ttl;
	} rows[] = {
#define R(text, ...) { text, sizeof(text) - 1, __VA_ARGS__ }
		R(ANSWER("\x01") RR("\xc0\x0c", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_OK, 1, 60),
		R(ANSWER("\x00"), PARSE_OK, 0, UINT32_MAX),
		/* an alias, then its address; the smaller TTL holds */
		R(ANSWER("\x02") RR("\xc0\x0c", "\x05", "\x05", "\x04",
				    "\x01"
				    "b\xc0\x0e") RR("\x01"
						    "B\xc0\x0e",
						    "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_OK, 1, 5),
		/* the address of the old name after the alias; of a name that nothing leads to */
		R(ANSWER("\x02") RR("\xc0\x0c", "\x05", "\x05", "\x04",
				    "\x01"
				    "b\xc0\x0e")
			  RR("\xc0\x0c", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_OK, 0, UINT32_MAX),
		R(ANSWER("\x01") RR("\x01"
				    "b\xc0\x0e",
				    "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_OK, 0, UINT32_MAX),
		/* AAAA in an answer to A; class CH */
		R(ANSWER("\x01") RR("\xc0\x0c", "\x1c", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_OK, 0, UINT32_MAX),
		R(ANSWER("\x01") "\xc0\x0c\x00\x01\x00\x03\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01",
		  PARSE_OK, 0, UINT32_MAX),
		/* a TTL with the top bit is zero */
		R(ANSWER("\x01") "\xc0\x0c\x00\x01\x00\x01\xff\xff\xff\xff\x00\x04\xc0\x00\x02\x01",
		  PARSE_OK, 1, 0),
		/* wrong length, cut off, fewer records than promised */
		R(ANSWER("\x01") RR("\xc0\x0c", "\x01", "\x3c", "\x05", "\xc0\x00\x02\x01\x00"),
		  PARSE_BAD, 0, 0),
		R(ANSWER("\x01") RR("\xc0\x0c", "\x01", "\x3c", "\x04", "\xc0\x00\x02"), PARSE_BAD,
		  0, 0),
		R(ANSWER("\x02") RR("\xc0\x0c", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_BAD, 0, 0),
		/* pointers: at itself, forward, into the header, beyond the end */
		R(ANSWER("\x01") RR("\xc0\x1b", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_BAD, 0, 0),
		R(ANSWER("\x01") RR("\xc0\x1d", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_BAD, 0, 0),
		R(ANSWER("\x01") RR("\xc0\x00", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_BAD, 0, 0),
		R(ANSWER("\x01") RR("\xff\xff", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_BAD, 0, 0),
		/* a pointer at a pointer at itself, which stands in data that is skipped */
		R(ANSWER("\x02") RR("\xc0\x0c", "\x10", "\x3c", "\x02", "\xc0\x27")
			  RR("\xc0\x27", "\x01", "\x3c", "\x04", "\xc0\x00\x02\x01"),
		  PARSE_BAD, 0, 0),
		/* an alias with bytes behind it */
		R(ANSWER("\x01") RR("\xc0\x0c", "\x05", "\x05", "\x05",
				    "\x01"
				    "b\xc0\x0e\x00"),
		  PARSE_BAD, 0, 0),
		/* not an answer; no question; another one */
		R("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" Q_A, PARSE_BAD, 0, 0),
		R("\x00\x07\x81\x80\x00\x00\x00\x00\x00\x00\x00\x00", PARSE_BAD, 0, 0),
		R("\x00\x07\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" NAME "\x00\x1c\x00\x01",
		  PARSE_BAD, 0, 0),
		R("\x00\x07\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00\x01"
		  "b\x00\x00\x01\x00\x01",
		  PARSE_BAD, 0, 0),
#undef R
	};
	struct hostname h = { .len = 9, .s = "a.example" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_addrs found = { .n = 99 };

		assert_int_equal(wire_parse_answer(rows[i].p, rows[i].n, &h, WIRE_A, &found),
				 rows[i].result);
		if (rows[i].result == PARSE_OK) {
			assert_int_equal(found.n, rows[i].addrs);
			assert_int_equal(found.ttl, rows[i].ttl);
		} else {
			assert_int_equal(found.n, 99); /* untouched */
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_query_verdicts),
		cmocka_unit_test(test_parse_query_reads_all_fields),
		cmocka_unit_test(test_parse_query_bounds_names),
		cmocka_unit_test(test_name_host_refuses_what_is_no_host),
		cmocka_unit_test(test_name_reverse),
		cmocka_unit_test(test_build_reply_is_what_parse_answer_reads),
		cmocka_unit_test(test_build_reply_without_data_has_soa),
		cmocka_unit_test(test_build_reply_truncates),
		cmocka_unit_test(test_build_reply_says_badvers_in_opt),
		cmocka_unit_test(test_parse_answer_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
