/*
 * test_tls_hello.c - server names in ClientHellos built here, cut into records and pieces
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/tls_hello.h"

#define RESULT_MAX  512
#define MESSAGE_MAX (128 * 1024)

/* A handshake message under construction, and its records. */
struct message {
	uint8_t p[MESSAGE_MAX];
	size_t n;
};

static struct message msg, wire;

static void put(struct message *m, const void *p, size_t n)
{
	assert_true(m->n + n <= MESSAGE_MAX);
	memcpy(m->p + m->n, p, n);
	m->n += n;
}

static void put_u16(struct message *m, size_t v)
{
	uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(m, b, 2);
}

static void begin(void)
{
	static const uint8_t zeros[32];

	msg.n = 0;
	put(&msg, "\x01\0\0\0\x03\x03", 6);
	put(&msg, zeros, 32);
	put(&msg, "\x00\x00\x02\x13\x01\x01\x00", 7); /* session, suites, compressions */
	put(&msg, "\0\0", 2);			      /* length of the extensions */
}

static void extension(unsigned type, const void *p, size_t n)
{
	put_u16(&msg, type);
	put_u16(&msg, n);
	put(&msg, p, n);
}

static void padding(size_t n)
{
	static uint8_t zeros[64 * 1024];

	extension(21, zeros, n);
}

static void server_name(const void *name, size_t n)
{
	put_u16(&msg, 0);
	put_u16(&msg, n + 5);
	put_u16(&msg, n + 3);
	put(&msg, "", 1);
	put_u16(&msg, n);
	put(&msg, name, n);
}

/* Lengths into the message, then records of @size bytes. */
static void finish(size_t size)
{
	size_t ext = msg.n - 4 - 2 - 32 - 7 - 2, body = msg.n - 4;

	msg.p[45] = (uint8_t)(ext >> 8);
	msg.p[46] = (uint8_t)ext;
	msg.p[1] = (uint8_t)(body >> 16);
	msg.p[2] = (uint8_t)(body >> 8);
	msg.p[3] = (uint8_t)body;
	wire.n = 0;
	for (size_t at = 0; at < msg.n; at += size) {
		size_t n = msg.n - at < size ? msg.n - at : size;

		put(&wire, "\x16\x03\x01", 3);
		put_u16(&wire, n);
		put(&wire, msg.p + at, n);
	}
}

static void deliver(size_t step, char out[RESULT_MAX])
{
	static const char *const kinds[] = { "none", "name", "literal" };
	struct tls_hello_scan scan = { 0 };
	struct tls_hello hello;
	size_t have = 0;

	do {
		enum parse result;
		uint8_t *copy;

		have = wire.n - have < step ? wire.n : have + step;
		copy = malloc(have ? have : 1);
		assert_non_null(copy);
		memcpy(copy, wire.p, have);
		result = tls_hello_parse(&scan, copy, have, &hello);
		free(copy);
		if (result == PARSE_OK)
			(void)snprintf(out, RESULT_MAX, "%s %s%s%s", kinds[hello.kind],
				       hello.name.s, hello.exact ? " exact" : "",
				       hello.ech ? " ech" : "");
		else
			(void)snprintf(out, RESULT_MAX, "bad");
		if (result != PARSE_MORE)
			return;
	} while (have < wire.n);
	(void)snprintf(out, RESULT_MAX, "more");
}

static void assert_wire(const char *id, const char *expected)
{
	char whole[RESULT_MAX], split[RESULT_MAX];

	deliver(wire.n, whole);
	deliver(wire.n > 4096 ? 61 : 1, split);
	if (strcmp(whole, expected) != 0)
		fail_msg("%s: got \"%s\", expected \"%s\"", id, whole, expected);
	if (strcmp(whole, split) != 0)
		fail_msg("%s: whole \"%s\", in pieces \"%s\"", id, whole, split);
}

static void assert_name(const char *id, const void *name, size_t n, const char *expected)
{
	begin();
	extension(10, "\0\x02\0\x1d", 4);
	server_name(name, n);
	finish(16384);
	assert_wire(id, expected);
}

#define assert_sni(id, s, expected) assert_name(id, s, sizeof(s) - 1, expected)

static void test_parse_finds_the_name(void **state)
{
	(void)state;
	assert_sni("control", "good.example", "name good.example exact");
	assert_sni("Q-085", "GOOD.example", "name good.example");
	assert_sni("Q-085", "good.example.", "name good.example");
	assert_sni("Q-082", "1.2.3.4", "literal 1.2.3.4 exact");
	begin();
	finish(16384);
	assert_wire("Q-082", "none ");
	msg.n -= 2; /* a hello without the extensions' length */
	msg.p[3] -= 2;
	wire.n -= 2;
	wire.p[4] -= 2;
	memcpy(wire.p + 5, msg.p, msg.n);
	assert_wire("Q-082", "none ");
	begin();
	extension(0xfe0d, "x", 1);
	server_name("a.b", 3);
	finish(16384);
	assert_wire("ech", "name a.b exact ech");
}

static void test_parse_rejects_bad_names(void **state)
{
	(void)state;
	assert_sni("Q-085", "evil\0.example", "bad");
	assert_sni("Q-085", "a b", "bad");
	assert_sni("Q-085", "", "bad");
	assert_sni("Q-085", "\xc3\xa4.example", "bad");
	assert_sni("Q-085", "0x7f.1", "bad");
	begin();
	server_name("a.b", 3);
	server_name("a.b", 3);
	finish(16384);
	assert_wire("Q-085", "bad");
	begin(); /* a list of two */
	extension(0,
		  "\0\x0c\0\0\x03"
		  "a.b\0\0\x03"
		  "c.d",
		  14);
	finish(16384);
	assert_wire("Q-085", "bad");
	begin(); /* the same with one, as a control */
	extension(0,
		  "\0\x06\0\0\x03"
		  "a.b",
		  8);
	finish(16384);
	assert_wire("control", "name a.b exact");
	begin(); /* of another type */
	extension(0,
		  "\0\x06\x01\0\x03"
		  "a.b",
		  8);
	finish(16384);
	assert_wire("Q-085", "bad");
	begin(); /* bytes behind the list, an empty extension, lengths too long */
	extension(0,
		  "\0\x06\0\0\x03"
		  "a.bx",
		  9);
	finish(16384);
	assert_wire("Q-085", "bad");
	begin();
	extension(0, "", 0);
	finish(16384);
	assert_wire("Q-085", "bad");
	begin();
	extension(0,
		  "\0\x07\0\0\x03"
		  "a.b",
		  8);
	finish(16384);
	assert_wire("Q-085", "bad");
	begin();
	extension(0,
		  "\0\x06\0\0\x04"
		  "a.b",
		  8);
	finish(16384);
	assert_wire("Q-085", "bad");
}

static void test_parse_joins_records(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 5, 7, 60 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin();
		server_name("good.example", 12);
		finish(sizes[i]);
		assert_wire("Q-084", "name good.example exact");
	}
	begin();
	padding(20 * 1024);
	server_name("good.example", 12);
	finish(16384);
	assert_wire("Q-084", "name good.example exact");
	begin();
	padding(60 * 1024);
	server_name("good.example", 12);
	finish(16384);
	assert_wire("Q-084", "name good.example exact");
	begin();
	padding(8 * 1024);
	server_name("good.example", 12);
	finish(1);
	assert_wire("Q-084", "name good.example exact");
}

static void test_parse_is_bounded(void **state)
{
	(void)state;
	begin();
	server_name("a.b", 3);
	padding(65480);
	finish(16384);
	assert_true(wire.n > TLS_HELLO_MAX);
	assert_wire("Q-084", "bad");
	begin();
	server_name("a.b", 3);
	padding(20 * 1024);
	finish(1); /* six bytes on the wire for each */
	assert_true(wire.n > TLS_HELLO_MAX);
	assert_wire("Q-084", "bad");
	memcpy(wire.p, "\x16\x03\x01\x00\x04\x01\x01\x00\x00", 9); /* claims 64 KiB and more */
	wire.n = 9;
	assert_wire("Q-084", "bad");
	memcpy(wire.p, "\x16\x03\x01\x00\x04\x01\x00\xff\x00", 9);
	assert_wire("Q-084", "more");
}

static void assert_bytes(const char *id, const char *s, size_t n, const char *expected)
{
	wire.n = 0;
	put(&wire, s, n);
	assert_wire(id, expected);
}

#define assert_raw(id, s, expected) assert_bytes(id, s, sizeof(s) - 1, expected)

static void test_parse_rejects_what_is_no_hello(void **state)
{
	(void)state;
	assert_raw("Q-086", "GET / HTTP/1.1\r\n", "bad");
	assert_raw("Q-086", "SSH-2.0-x\r\n", "bad");
	assert_raw("Q-086", "\x17", "bad"); /* at the first byte that is wrong */
	assert_raw("Q-086", "\x16\x02", "bad");
	assert_raw("Q-086", "\x80\x2e\x01\x03\x01", "bad");
	assert_raw("Q-086", "\x15\x03\x01\x00\x02\x01\x00", "bad");
	assert_raw("Q-086", "\x16\x02\x01", "bad");
	assert_raw("Q-086", "\x16\x03\x01\x00\x00", "bad");
	assert_raw("Q-086", "\x16\x03\x01\x40\x01", "bad");
	assert_raw("Q-086", "\x16\x03\x01\x00\x04\x02\x00\x00\x10", "bad");
	assert_raw("Q-084", "\x16\x03\x01\x40\x00", "more");
	assert_raw("Q-084", "\x16", "more");
	assert_raw("Q-084", "", "more");
}

/* A message of these bytes behind its header, in one record. */
static void assert_body(const char *id, const char *front, size_t n, const char *back, size_t m,
			const char *expected)
{
	static const uint8_t zeros[32];

	msg.n = 0;
	put(&msg, "\x01\0\0\0", 4);
	put(&msg, front, n);
	if (m)
		put(&msg, zeros, 32);
	put(&msg, back, m);
	msg.p[3] = (uint8_t)(msg.n - 4);
	wire.n = 0;
	put(&wire, "\x16\x03\x01", 3);
	put_u16(&wire, msg.n);
	put(&wire, msg.p, msg.n);
	assert_wire(id, expected);
}

#define assert_tail(back, expected) \
	assert_body(back, "\x03\x03", 2, back, sizeof(back) - 1, expected)

static void test_parse_rejects_malformed_messages(void **state)
{
	static char session[1 + 33 + 6] = { 32, [33] = 0, 2, 0, 1, 1, 0 };

	(void)state;
	assert_tail("\x00\x00\x02\x13\x01\x01\x00", "none ");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x00", "none ");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x04\x00\x0a\x00\x00", "none ");
	assert_body("empty", "", 0, "", 0, "bad");
	assert_body("random", "\x03\x03", 2, "", 0, "bad");
	assert_tail("\x01", "bad");
	assert_tail("\x00", "bad");
	assert_tail("\x00\x00\x00\x01\x00", "bad");		/* no suites */
	assert_tail("\x00\x00\x03\x13\x01\x13\x01\x00", "bad"); /* an odd number of bytes */
	assert_tail("\x00\x00\x02\x13", "bad");
	assert_tail("\x00\x00\x02\x13\x01", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x00", "bad"); /* no compressions */
	assert_tail("\x00\x00\x02\x13\x01\x02\x00", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x01", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x00\x00", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x01\x00", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x03\x00\x0a\x00", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x04\x00\x0a\x00\x01", "bad");
	assert_tail("\x00\x00\x02\x13\x01\x01\x00\x00\x05\x00\x00\x00\x01\x00", "bad");
	assert_body("session", "\x03\x03", 2, session, 1 + 32 + 6, "none ");
	session[0] = 33;
	memcpy(session + 34, "\x00\x02\x00\x01\x01\x00", 6);
	assert_body("session", "\x03\x03", 2, session, sizeof(session), "bad");
}

/* Behind a good hello: in the same record is BAD, in the next is the connection's business. */
/* A scan that was made of other bytes leads nowhere. */
static void test_parse_stays_within_other_bytes(void **state)
{
	static uint8_t other[MESSAGE_MAX];
	struct tls_hello hello;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct tls_hello_scan scan = { 0 };
		size_t n = i == 2 ? 100 : 5 + 16384 + 5 + 4;
		uint8_t *copy;

		memset(other, 0, sizeof(other));
		memcpy(other, "\x16\x03\x01\x40\x00\x01\x00\x40\x00", 9);
		assert_int_equal(tls_hello_parse(&scan, other, 5 + 16384, &hello), PARSE_MORE);
		memset(other, i == 0 ? 0 : 0xff, sizeof(other));
		memcpy(other + 5 + 16384, "\x16\x03\x01\x00\x04", 5);
		copy = malloc(n);
		memcpy(copy, other, n);
		assert_int_equal(tls_hello_parse(&scan, copy, n, &hello), PARSE_BAD);
		free(copy);
	}
}

static void test_parse_stops_at_the_end(void **state)
{
	(void)state;
	begin();
	server_name("a.b", 3);
	finish(16384);
	put(&wire, "\x14\x03\x03\x00\x01\x01", 6);
	assert_wire("control", "name a.b exact");
	finish(16384);
	put(&wire, "x", 1);
	wire.p[4]++;
	assert_wire("8446 5.1", "bad");
	finish(16384);
	wire.p[5 + 3]--; /* the body ends before its extensions do */
	wire.p[4]--;
	wire.n--;
	assert_wire("length", "bad");
	finish(16384);
	wire.n--;
	assert_wire("cut", "more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_finds_the_name),
		cmocka_unit_test(test_parse_rejects_bad_names),
		cmocka_unit_test(test_parse_joins_records),
		cmocka_unit_test(test_parse_is_bounded),
		cmocka_unit_test(test_parse_rejects_what_is_no_hello),
		cmocka_unit_test(test_parse_rejects_malformed_messages),
		cmocka_unit_test(test_parse_stays_within_other_bytes),
		cmocka_unit_test(test_parse_stops_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
