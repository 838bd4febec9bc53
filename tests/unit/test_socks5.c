/*
 * test_socks5.c - SOCKS5 greetings and requests, each delivered whole and byte by byte
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/socks5.h"
#include "tests/support/host_vectors.h"

#define RESULT_MAX (TARGET_TEXT_MAX + 64)

static enum parse parse_once(bool greeting, const uint8_t *s, size_t n, char out[RESULT_MAX])
{
	struct reader r = reader_init(s, n);
	struct socks5_error err = { .rep = SOCKS5_SUCCEEDED };
	char text[TARGET_TEXT_MAX];
	struct target target;
	enum parse result;
	bool acceptable;

	if (greeting) {
		result = socks5_parse_greeting(&r, &acceptable);
		(void)snprintf(out, RESULT_MAX, "%s",
			       result == PARSE_OK ? (acceptable ? "yes" : "no") : "bad");
	} else {
		result = socks5_parse_request(&r, &target, &err);
		if (result == PARSE_OK) {
			assert_int_equal(target.via, VIA_SOCKS5);
			(void)snprintf(out, RESULT_MAX, "%s %s", target_format(&target, text),
				       target_is_literal(&target) ? "literal" : "name");
		} else {
			(void)snprintf(out, RESULT_MAX, "rep %u%s%s", err.rep,
				       err.code == CODE_OK ? "" : " ",
				       err.code == CODE_OK ? "" : policy_code_name(err.code));
		}
	}
	if (result == PARSE_OK)
		(void)snprintf(out + strlen(out), 32, " used=%zu", n - r.n);
	else
		assert_ptr_equal(r.p, s);
	return result;
}

static void deliver(bool greeting, const void *s, size_t n, size_t step, char out[RESULT_MAX])
{
	size_t have = 0;

	do {
		enum parse result;
		uint8_t *copy;

		have = n - have < step ? n : have + step;
		copy = malloc(have ? have : 1);
		assert_non_null(copy);
		memcpy(copy, s, have);
		result = parse_once(greeting, copy, have, out);
		free(copy);
		if (result != PARSE_MORE)
			return;
	} while (have < n);
	(void)snprintf(out, RESULT_MAX, "more");
}

static void assert_result(const char *id, bool greeting, const void *s, size_t n,
			  const char *expected)
{
	char whole[RESULT_MAX], split[RESULT_MAX];

	deliver(greeting, s, n, n ? n : 1, whole);
	deliver(greeting, s, n, 1, split);
	if (strcmp(whole, expected) != 0)
		fail_msg("%s: got \"%s\", expected \"%s\"", id, whole, expected);
	if (strcmp(whole, split) != 0)
		fail_msg("%s: whole \"%s\", byte by byte \"%s\"", id, whole, split);
}

struct row {
	const char *id;
	const char *s;
	size_t n;
	const char *expected;
};

#define ROW(id, s, expected)                   \
	{                                      \
		id, s, sizeof(s) - 1, expected \
	}

static void assert_rows(bool greeting, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_result(rows[i].id, greeting, rows[i].s, rows[i].n, rows[i].expected);
}

#define assert_table(greeting, t) assert_rows(greeting, t, sizeof(t) / sizeof((t)[0]))

static void test_parse_greeting_chooses_no_authentication(void **state)
{
	static const struct row rows[] = {
		ROW("S-001", "\x05\x01\x00", "yes used=3"),
		ROW("S-002", "\x05\x01\x00\x05\x01", "yes used=3"),
		ROW("S-005", "\x05\x01\x02", "no used=3"),
		ROW("S-007", "\x05\x02\x01\x02", "no used=4"),
		ROW("S-007", "\x05\x02\x02\x00", "yes used=4"),
		ROW("S-007", "\x05\x00", "no used=2"),
		ROW("S-006", "\x05\x05\x00\x01", "more"),
		ROW("S-006", "\x05", "more"),
		ROW("S-010", "\x04\x01\x00", "bad"),
		ROW("S-010", "\x06\x01\x00", "bad"),
		ROW("S-010", "\x00\x01\x00", "bad"),
		ROW("S-010", "GET", "bad"),
	};

	(void)state;
	assert_table(true, rows);
}

static void test_parse_greeting_takes_all_methods(void **state)
{
	uint8_t s[SOCKS5_GREETING_MAX] = { 0x05, 0xff };
	uint8_t zeros[4096] = { 0 };

	(void)state;
	memset(s + 2, 0x80, 255);
	assert_result("S-004", true, s, sizeof(s), "no used=257");
	s[256] = 0x00;
	assert_result("S-004", true, s, sizeof(s), "yes used=257");
	assert_result("S-004", true, s, sizeof(s) - 1, "more");
	assert_result("S-035", true, zeros, sizeof(zeros), "bad");
}

static void test_format_method_answers(void **state)
{
	uint8_t out[SOCKS5_METHOD_SIZE];

	(void)state;
	socks5_format_method(true, out);
	assert_memory_equal(out, "\x05\x00", 2);
	socks5_format_method(false, out);
	assert_memory_equal(out, "\x05\xff", 2);
}

static void test_parse_request_reads_addresses(void **state)
{
	static const struct row rows[] = {
		ROW("S-011",
		    "\x05\x01\x00\x03\x03"
		    "a.b\x01\xbb",
		    "a.b:443 name used=10"),
		ROW("S-011", "\x05\x01\x00\x01\x01\x02\x03\x04\x00\x50",
		    "1.2.3.4:80 literal used=10"),
		ROW("T-010", "\x05\x01\x00\x01\x01\x02\x03\x04\x50\x00",
		    "1.2.3.4:20480 literal used=10"),
		ROW("S-009",
		    "\x05\x01\x00\x03\x03"
		    "a.b\x01\xbb\x16\x03",
		    "a.b:443 name used=10"),
		ROW("S-021", "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50",
		    "127.0.0.1:80 literal used=10"),
		ROW("S-021", "\x05\x01\x00\x01\x00\x00\x00\x00\x00\x50",
		    "0.0.0.0:80 literal used=10"),
		ROW("S-022", "\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50",
		    "[::1]:80 literal used=22"),
		ROW("A-006", "\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x00\x50",
		    "[::ffff:127.0.0.1]:80 literal used=22"),
		ROW("S-024",
		    "\x05\x01\x00\x03\x07"
		    "1.2.3.4\x00\x50",
		    "1.2.3.4:80 literal used=14"),
		ROW("S-024",
		    "\x05\x01\x00\x03\x05"
		    "[::1]\x00\x50",
		    "[::1]:80 literal used=12"),
		ROW("S-024",
		    "\x05\x01\x00\x03\x05"
		    "host.\x00\x50",
		    "host:80 name used=12"),
	};

	(void)state;
	assert_table(false, rows);
}

static void test_parse_request_rejects_the_rest(void **state)
{
	static const struct row rows[] = {
		ROW("S-012", "\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50", "rep 7"),
		ROW("S-012", "\x05\x03\x00\x01\x01\x02\x03\x04\x00\x50", "rep 7"),
		ROW("S-014", "\x05\x00\x00\x01\x01\x02\x03\x04\x00\x50", "rep 7"),
		ROW("S-014", "\x05\x04\x00\x01\x01\x02\x03\x04\x00\x50", "rep 7"),
		ROW("S-014",
		    "\x05\xf0\x00\x03\x03"
		    "a.b\x00\x00",
		    "rep 7"),
		ROW("S-014", "\x05\xf1\x00\x01\x01\x02\x03\x04\x00\x00", "rep 7"),
		ROW("S-015", "\x05\x01\x01\x01\x01\x02\x03\x04\x00\x50", "rep 1"),
		ROW("S-016", "\x05\x01\x00\x00\x01\x02\x03\x04\x00\x50", "rep 8"),
		ROW("S-016", "\x05\x01\x00\x02\x01\x02\x03\x04\x00\x50", "rep 8"),
		ROW("S-016", "\x05\x01\x00\x05\x01\x02\x03\x04\x00\x50", "rep 8"),
		ROW("S-016", "\x05\x01\x00\xff\x01\x02\x03\x04\x00\x50", "rep 8"),
		ROW("S-017", "\x05\x01\x00\x03\x00\x00\x50", "rep 1 bad-host"),
		ROW("S-019",
		    "\x05\x01\x00\x03\x0a"
		    "hello",
		    "more"),
		ROW("S-019",
		    "\x05\x01\x00\x03\x03"
		    "a.b\x01",
		    "more"),
		ROW("S-020",
		    "\x05\x01\x00\x03\x17"
		    "evil.test\0.wild.example\x00\x50",
		    "rep 1 bad-host"),
		ROW("S-024",
		    "\x05\x01\x00\x03\x06"
		    "0x7f.1\x00\x50",
		    "rep 1 bad-host"),
		ROW("S-024",
		    "\x05\x01\x00\x03\x07"
		    "host:80\x00\x50",
		    "rep 1 bad-host"),
		ROW("S-025", "\x05\x01\x00\x01\x01\x02\x03\x04\x00\x00", "rep 1 bad-port"),
		ROW("S-025",
		    "\x05\x01\x00\x03\x03"
		    "a.b\x00\x00",
		    "rep 1 bad-port"),
		ROW("S-025", "\x05\x01\x00\x04\x20\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x00",
		    "rep 1 bad-port"),
		ROW("S-010", "\x04\x01\x00\x01\x01\x02\x03\x04\x00\x50", "rep 1"),
	};

	(void)state;
	assert_table(false, rows);
}

/* Every host of the list that a length byte can carry. */
static void test_parse_request_canonicalises_or_rejects_hosts(void **state)
{
	char s[SOCKS5_REQUEST_MAX] = "\x05\x01\x00\x03", expected[RESULT_MAX];

	(void)state;
	for (size_t i = 0; i < HOST_VECTORS; i++) {
		const struct host_vector *v = &host_vectors[i];

		if (v->n > 255)
			continue;
		s[4] = (char)v->n;
		memcpy(s + 5, v->s, v->n);
		memcpy(s + 5 + v->n, "\x00\x51", 2);
		(void)snprintf(expected, sizeof(expected), "rep 1 bad-host");
		if (v->canonical) {
			struct target t;

			assert_int_equal(
				target_from_host(v->canonical, strlen(v->canonical), 81, &t),
				TARGET_OK);
			(void)target_format(&t, expected);
			(void)snprintf(expected + strlen(expected), 64, " %s used=%zu",
				       target_is_literal(&t) ? "literal" : "name", v->n + 7);
		}
		assert_result(v->id, false, s, v->n + 7, expected);
	}
}

/* H-025: 255 bytes are carried whole; a length is never taken for another. */
static void test_parse_request_takes_the_longest_name(void **state)
{
	uint8_t s[SOCKS5_REQUEST_MAX + 100];

	(void)state;
	memset(s, 'a', sizeof(s));
	memcpy(s, "\x05\x01\x00\x03\xff", 5);
	assert_result("H-025", false, s, SOCKS5_REQUEST_MAX - 1, "more");
	assert_result("H-025", false, s, sizeof(s), "rep 1 bad-host");
}

static void test_parse_request_leaves_target_on_failure(void **state)
{
	static const char text[] = "\x05\x01\x00\x03\x03"
				   "a b\x01\xbb";
	struct reader r = reader_init(text, sizeof(text) - 1);
	struct target target = { .port = 7 };
	struct socks5_error err;

	(void)state;
	assert_int_equal(socks5_parse_request(&r, &target, &err), PARSE_BAD);
	assert_int_equal(target.port, 7);
}

/* S-026: the reply tells nothing of the host */
static void test_format_reply_has_no_address(void **state)
{
	uint8_t out[SOCKS5_REPLY_SIZE];

	(void)state;
	socks5_format_reply(SOCKS5_SUCCEEDED, out);
	assert_memory_equal(out, "\x05\x00\x00\x01\0\0\0\0\0\0", 10);
	socks5_format_reply(SOCKS5_NOT_ALLOWED, out);
	assert_memory_equal(out, "\x05\x02\x00\x01\0\0\0\0\0\0", 10);
}

static uint32_t next_random(void)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

/* S-036: a million inputs of at most 600 bytes; half of them begin as a request does. */
static void test_random_inputs_are_refused_or_well_formed(void **state)
{
	unsigned taken = 0;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint8_t s[600];
		size_t n = next_random() % 40 ? next_random() % 24 : next_random() % 601;
		struct reader r = reader_init(s, n);
		struct socks5_error err;
		struct target t;
		bool acceptable;

		for (size_t k = 0; k < n; k++)
			s[k] = (uint8_t)(next_random() >> 11);
		if (n > 3 && i % 2) {
			memcpy(s, "\5\1\0", 3);
			s[3] &= 7;
		}
		if (socks5_parse_request(&r, &t, &err) == PARSE_OK) {
			assert_true(s[0] == 5 && s[1] == 1 && s[2] == 0 && t.port != 0);
			assert_true(s[3] == 1 || s[3] == 3 || s[3] == 4);
			assert_int_equal(t.port, s[n - r.n - 2] << 8 | s[n - r.n - 1]);
			assert_true(t.host.len > 0 && strlen(t.host.s) == t.host.len);
			taken++;
		}
		r = reader_init(s, n);
		if (socks5_parse_greeting(&r, &acceptable) == PARSE_OK) {
			assert_int_equal(s[0], 5);
			assert_int_equal(acceptable, memchr(s + 2, 0, s[1]) != NULL);
		}
	}
	assert_true(taken > 1000); /* the rows that are well formed were among them */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_greeting_chooses_no_authentication),
		cmocka_unit_test(test_parse_greeting_takes_all_methods),
		cmocka_unit_test(test_format_method_answers),
		cmocka_unit_test(test_parse_request_reads_addresses),
		cmocka_unit_test(test_parse_request_rejects_the_rest),
		cmocka_unit_test(test_parse_request_canonicalises_or_rejects_hosts),
		cmocka_unit_test(test_parse_request_takes_the_longest_name),
		cmocka_unit_test(test_parse_request_leaves_target_on_failure),
		cmocka_unit_test(test_format_reply_has_no_address),
		cmocka_unit_test(test_random_inputs_are_refused_or_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
