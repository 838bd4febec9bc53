/*
 * test_socks4.c - SOCKS4 and SOCKS4a requests, each delivered whole and byte by byte
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/socks4.h"
#include "tests/support/host_vectors.h"

#define RESULT_MAX (TARGET_TEXT_MAX + 64)

static void deliver(const void *s, size_t n, size_t step, char out[RESULT_MAX])
{
	char text[TARGET_TEXT_MAX];
	size_t have = 0;

	do {
		struct socks4_error err = { .code = CODE_OK };
		struct target target;
		enum parse result;
		struct reader r;
		uint8_t *copy;

		have = n - have < step ? n : have + step;
		copy = malloc(have ? have : 1);
		assert_non_null(copy);
		memcpy(copy, s, have);
		r = reader_init(copy, have);
		result = socks4_parse_request(&r, &target, &err);
		if (result == PARSE_OK) {
			assert_int_equal(target.via, VIA_SOCKS4A);
			(void)snprintf(out, RESULT_MAX, "%s %s used=%zu",
				       target_format(&target, text),
				       target_is_literal(&target) ? "literal" : "name", have - r.n);
		} else {
			assert_ptr_equal(r.p, copy);
			(void)snprintf(out, RESULT_MAX, "bad%s%s", err.code == CODE_OK ? "" : " ",
				       err.code == CODE_OK ? "" : policy_code_name(err.code));
		}
		free(copy);
		if (result != PARSE_MORE)
			return;
	} while (have < n);
	(void)snprintf(out, RESULT_MAX, "more");
}

static void assert_result(const char *id, const void *s, size_t n, const char *expected)
{
	char whole[RESULT_MAX], split[RESULT_MAX];

	deliver(s, n, n ? n : 1, whole);
	deliver(s, n, 1, split);
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

static void test_parse_request_knows_both_kinds(void **state)
{
	static const struct row rows[] = {
		ROW("S-029", "\x04\x01\x01\xbb\x00\x00\x00\x01me\0a.b\0", "a.b:443 name used=15"),
		ROW("S-029", "\x04\x01\x01\xbb\x00\x00\x00\xff\0a.b\0\x16", "a.b:443 name used=13"),
		ROW("S-029", "\x04\x01\x01\xbb\x01\x02\x03\x04me\0", "1.2.3.4:443 literal used=11"),
		ROW("S-030", "\x04\x01\x01\xbb\x00\x00\x00\x00\0", "0.0.0.0:443 literal used=9"),
		ROW("S-030", "\x04\x01\x01\xbb\x00\x00\x00\x01\0", "more"),
		ROW("S-030", "\x04\x01\x01\xbb\x00\x00\x01\x01\0", "0.0.1.1:443 literal used=9"),
		ROW("S-030", "\x04\x01\x01\xbb\x7f\x00\x00\x01\0", "127.0.0.1:443 literal used=9"),
		ROW("S-029", "\x04\x01\x01\xbb\x00\x00\x00\x01\0\0", "bad bad-host"),
		ROW("S-029", "\x04\x01\x01\xbb\x00\x00\x00\x01\0a.b", "more"),
		/* a second NUL is no part of the name: it is what follows the request */
		ROW("S-029", "\x04\x01\x01\xbb\x00\x00\x00\x01\0a.b\0\0", "a.b:443 name used=13"),
		ROW("S-012", "\x04\x02\x01\xbb\x01\x02\x03\x04\0", "bad"),
		ROW("S-014", "\x04\x00\x01\xbb\x01\x02\x03\x04\0", "bad"),
		ROW("S-014", "\x04\xf0\x01\xbb\x00\x00\x00\x01\0a.b\0", "bad"),
		ROW("S-025", "\x04\x01\x00\x00\x01\x02\x03\x04\0", "bad bad-port"),
		ROW("S-010", "\x05\x01\x01\xbb\x01\x02\x03\x04\0", "bad"),
		ROW("cut", "\x04\x01\x01", "more"),
		ROW("cut", "", "more"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_result(rows[i].id, rows[i].s, rows[i].n, rows[i].expected);
}

/* S-029: strings without an end */
static void test_parse_request_is_bounded(void **state)
{
	static uint8_t s[1 << 16];
	char expected[RESULT_MAX];

	(void)state;
	memset(s, 'a', sizeof(s));
	memcpy(s, "\x04\x01\x01\xbb\x01\x02\x03\x04", 8);
	assert_result("S-029", s, 8 + SOCKS4_USERID_MAX, "more");
	assert_result("S-029", s, 8 + SOCKS4_USERID_MAX + 1, "bad");
	assert_result("S-029", s, sizeof(s), "bad");
	s[8 + SOCKS4_USERID_MAX + 1] = 0; /* one too late */
	assert_result("S-029", s, sizeof(s), "bad");
	s[8 + SOCKS4_USERID_MAX] = 0;
	s[8 + SOCKS4_USERID_MAX + 1] = 'a';
	(void)snprintf(expected, sizeof(expected), "1.2.3.4:443 literal used=%d",
		       8 + SOCKS4_USERID_MAX + 1);
	assert_result("S-029", s, sizeof(s), expected);
	memcpy(s + 4, "\0\0\0\x01", 4);
	assert_result("S-029", s, SOCKS4_REQUEST_MAX - 1, "more");
	assert_result("S-029", s, SOCKS4_REQUEST_MAX, "bad");
	s[8 + SOCKS4_USERID_MAX + 3] = '.';
	s[8 + SOCKS4_USERID_MAX + 5] = 0;
	(void)snprintf(expected, sizeof(expected), "aa.a:443 name used=%d",
		       8 + SOCKS4_USERID_MAX + 6);
	assert_result("S-029", s, sizeof(s), expected);
}

/* Every host of the list; a NUL inside ends it here, and what remains is no part of it. */
static void test_parse_request_canonicalises_or_rejects_hosts(void **state)
{
	char s[SOCKS4_REQUEST_MAX + 256] = "\x04\x01\x00\x51\x00\x00\x00\x01u",
				    expected[RESULT_MAX];

	(void)state;
	for (size_t i = 0; i < HOST_VECTORS; i++) {
		const struct host_vector *v = &host_vectors[i];

		if (v->n > SOCKS4_HOST_MAX || memchr(v->s, 0, v->n))
			continue;
		memcpy(s + 10, v->s, v->n);
		s[10 + v->n] = 0;
		(void)snprintf(expected, sizeof(expected), "bad bad-host");
		if (v->canonical) {
			struct target t;

			assert_int_equal(
				target_from_host(v->canonical, strlen(v->canonical), 81, &t),
				TARGET_OK);
			(void)target_format(&t, expected);
			(void)snprintf(expected + strlen(expected), 64, " %s used=%zu",
				       target_is_literal(&t) ? "literal" : "name", v->n + 11);
		}
		assert_result(v->id, s, v->n + 11, expected);
	}
}

static void test_format_reply_grants_or_rejects(void **state)
{
	uint8_t out[SOCKS4_REPLY_SIZE];

	(void)state;
	socks4_format_reply(true, out);
	assert_memory_equal(out, "\x00\x5a\0\0\0\0\0\0", 8);
	socks4_format_reply(false, out);
	assert_memory_equal(out, "\x00\x5b\0\0\0\0\0\0", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_request_knows_both_kinds),
		cmocka_unit_test(test_parse_request_is_bounded),
		cmocka_unit_test(test_parse_request_canonicalises_or_rejects_hosts),
		cmocka_unit_test(test_format_reply_grants_or_rejects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
