/*
 * test_chunked.c - bodies in chunks, each delivered whole and byte by byte
 *
 * A result is "DATA" and how it ended: done (and what is left), more or bad.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/chunked.h"

#define RESULT_MAX 512

static bool lenient;

static void deliver(const char *s, size_t n, size_t step, char out[RESULT_MAX])
{
	struct chunked c = { .lenient = lenient };
	struct http_slice data;
	size_t len = 0, have = 0;

	out[0] = '\0';
	while (have < n) {
		size_t part = n - have < step ? n - have : step;
		struct reader r = reader_init(s + have, part);
		enum parse result;

		while ((result = chunked_next(&c, &r, &data)) == PARSE_OK && data.n) {
			if (len + data.n < RESULT_MAX - 64) {
				memcpy(out + len, data.p, data.n);
				len += data.n;
			}
		}
		have += part - r.n;
		if (result == PARSE_BAD) {
			assert_false(chunked_done(&c));
			assert_int_equal(chunked_next(&c, &r, &data), PARSE_BAD);
			(void)strcpy(out, "bad"); /* data before it is not compared */
			return;
		}
		if (result == PARSE_OK) {
			assert_true(chunked_done(&c));
			(void)snprintf(out + len, RESULT_MAX - len, "|done %zu", n - have);
			return;
		}
		assert_int_equal(r.n, 0);
	}
	(void)strcpy(out + len, "|more");
}

static void assert_result(const char *id, const char *s, size_t n, const char *expected)
{
	char whole[RESULT_MAX], split[RESULT_MAX];

	deliver(s, n, n ? n : 1, whole);
	deliver(s, n, 1, split);
	if (strcmp(whole, expected) != 0)
		fail_msg("%s: %.60s: got \"%s\", expected \"%s\"", id, s, whole, expected);
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

static void assert_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_result(rows[i].id, rows[i].s, rows[i].n, rows[i].expected);
}

#define assert_table(t) assert_rows(t, sizeof(t) / sizeof((t)[0]))

static void test_next_takes_blanks_of_a_server(void **state)
{
	static const struct row rows[] = {
		ROW("padded", "3   \r\nabc\r\n0 \t\r\n\r\nGET", "abc|done 3"),
		ROW("extension", "3 ;a=b\r\nabc\r\n0\t; x \r\n\r\n", "abc|done 0"),
		ROW("before", " 3\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("between", "1 0\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("other", "3\v\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("bare", "3 \nabc\r\n0\r\n\r\n", "bad"),
		ROW("none", " \r\n\r\n", "bad"),
	};

	(void)state;
	lenient = true;
	assert_table(rows);
	lenient = false; /* and none of a client */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_result(rows[i].id, rows[i].s, rows[i].n, "bad");
}

static void test_next_decodes(void **state)
{
	static const struct row rows[] = {
		ROW("control", "3\r\nabc\r\n0\r\n\r\n", "abc|done 0"),
		ROW("control", "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\nGET",
		    "abc0123456789|done 3"),
		ROW("control", "0\r\n\r\n", "|done 0"),
		ROW("control", "A\r\n0123456789\r\n000\r\n\r\n", "0123456789|done 0"),
		ROW("control", "00000003\r\n\r\n\n\r\n0\r\n\r\n", "\r\n\n|done 0"),
		ROW("control", "f\r\n0123456789abcde\r\nF\r\n0123456789abcde\r\n0\r\n\r\n",
		    "0123456789abcde0123456789abcde|done 0"),
		ROW("extension", "3;a=b;c=\"d\"\r\nabc\r\n0;x\r\n\r\n", "abc|done 0"),
		ROW("Q-022",
		    "3\r\nabc\r\n0\r\nHost: evil\r\nContent-Length: 9\r\n"
		    "Proxy-Authorization: x\r\n\r\nGET",
		    "abc|done 3"),
		ROW("R-021", "7fffffffffffffff\r\nab", "ab|more"),
		ROW("cut", "3\r\nab", "ab|more"),
		ROW("cut", "3\r\nabc\r\n", "abc|more"),
		ROW("cut", "3\r\nabc\r\n0\r\n", "abc|more"),
	};

	(void)state;
	assert_table(rows);
}

static void test_next_rejects_bad_sizes(void **state)
{
	static const struct row rows[] = {
		ROW("Q-017", "0x3\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "g\r\n\r\n", "bad"),
		ROW("Q-017", "G\r\n\r\n", "bad"),
		ROW("Q-017", "3 junk\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "3 \r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "3 ;a\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", " 3\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "\t3\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "-1\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "+3\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "3_\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", ";a\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "ffffffffffffffff\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "8000000000000000\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "100000000000000000\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "00000000000000003\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "3\0\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-017", "3;a\0\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-019", "3\nabc\n0\n\n", "bad"),
		ROW("Q-019", "3\r\nabcX0\r\n\r\n", "bad"),
		ROW("Q-019", "3\r\nabc\n0\r\n\r\n", "bad"),
		ROW("Q-019", "3\r\nabc\rX0\r\n\r\n", "bad"),
		ROW("Q-019", "3\r\nabc\r\n\r\n0\r\n\r\n", "bad"),
		ROW("Q-019", "3\rabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-019", "3;a\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-019", "3;a\rbc\r\nabc\r\n0\r\n\r\n", "bad"),
		ROW("Q-019", "\r\n3\r\nabc\r\n0\r\n\r\n", "bad"),
	};

	(void)state;
	assert_table(rows);
}

static void test_next_rejects_bad_trailers(void **state)
{
	static const struct row rows[] = {
		ROW("Q-022", "0\r\nX: y\r\n\r\n", "|done 0"),
		ROW("Q-022", "0\r\nX: y\n\r\n", "bad"),
		ROW("Q-022", "0\r\nX: y\r\n z\r\n\r\n", "bad"),
		ROW("Q-022", "0\r\nX : y\r\n\r\n", "bad"),
		ROW("Q-022", "0\r\n: y\r\n\r\n", "bad"),
		ROW("Q-022", "0\r\nX\r\n\r\n", "bad"),
		ROW("Q-022", "0\r\nX: \0y\r\n\r\n", "bad"),
		ROW("Q-022", "0\r\nX: y\rz\r\n\r\n", "bad"),
		ROW("Q-022", "0\r\n\n", "bad"),
		ROW("Q-022", "0\r\n\rX", "bad"),
		ROW("Q-022", "0\n\n", "bad"),
	};

	(void)state;
	assert_table(rows);
}

static void assert_repeated(const char *front, char c, size_t count, const char *back,
			    const char *expected)
{
	size_t n = strlen(front), b = strlen(back);
	char *s = malloc(n + count + b + 1);

	assert_non_null(s);
	memcpy(s, front, n);
	memset(s + n, c, count);
	memcpy(s + n + count, back, b + 1);
	assert_result("bounds", s, n + count + b, expected);
	free(s);
}

static void test_next_is_bounded(void **state)
{
	(void)state;
	assert_repeated("", '0', CHUNKED_SIZE_DIGITS_MAX, "\r\n\r\n", "|done 0");
	assert_repeated("", '0', CHUNKED_SIZE_DIGITS_MAX + 1, "\r\n\r\n", "bad");
	assert_repeated("", '0', 4096, "\r\n\r\n", "bad");
	assert_repeated("0;", 'a', CHUNKED_LINE_MAX - 4, "\r\n\r\n", "|done 0");
	assert_repeated("0;", 'a', CHUNKED_LINE_MAX - 3, "\r\n\r\n", "bad");
	assert_repeated("0\r\nX:", 'a', CHUNKED_TRAILERS_MAX - 6, "\r\n\r\n", "|done 0");
	assert_repeated("0\r\nX:", 'a', CHUNKED_TRAILERS_MAX - 5, "\r\n\r\n", "bad");
	assert_repeated("0\r\nX:", 'a', 100000, "", "bad");
}

static void test_format_size_is_read_back(void **state)
{
	static const size_t sizes[] = { 1, 9, 10, 15, 16, 65536, SIZE_MAX >> 1 };
	char line[CHUNKED_SIZE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = chunked_format_size(sizes[i], line);
		struct reader r = reader_init(line, n);
		struct chunked c = { 0 };
		struct http_slice data;

		assert_int_equal(chunked_next(&c, &r, &data), PARSE_MORE);
		assert_true(c.left == sizes[i]);
	}
	assert_int_equal(chunked_format_size(255, line), 4);
	assert_string_equal(line, "ff\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_takes_blanks_of_a_server),
		cmocka_unit_test(test_next_decodes),
		cmocka_unit_test(test_next_rejects_bad_sizes),
		cmocka_unit_test(test_next_rejects_bad_trailers),
		cmocka_unit_test(test_next_is_bounded),
		cmocka_unit_test(test_format_size_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
