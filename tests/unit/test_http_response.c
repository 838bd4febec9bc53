/*
 * test_http_response.c - response heads, each delivered whole and byte by byte
 *
 * A result is one line of text. RFC numbers name the rule where no vector row does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/http.h"
#include "proxy/http_response.h"

#define RESULT_MAX 256

static const char *const framing_name[] = { "none", "length", "chunked", "until-close" };

static const struct http_asked get = { .minor = 1, .keep_alive = true };
static const struct http_asked head = { .minor = 1, .keep_alive = true, .head = true };
static const struct http_asked websocket = { .minor = 1, .keep_alive = true, .websocket = true };

static void describe(const struct http_response *resp, size_t rest, char out[RESULT_MAX])
{
	(void)snprintf(out, RESULT_MAX, "%u (%.*s) %s %llu%s%s%s rest=%zu", resp->status,
		       (int)resp->reason.n, (const char *)resp->reason.p,
		       framing_name[resp->framing], (unsigned long long)resp->length,
		       resp->keep_alive ? " keep" : "", resp->interim ? " interim" : "",
		       resp->upgraded ? " upgraded" : "", rest);
}

static void deliver(const struct http_asked *asked, const char *s, size_t n, size_t step,
		    char out[RESULT_MAX])
{
	struct http_scan scan = { 0 };
	struct http_response resp;
	struct http_error err;
	size_t have = 0;

	do {
		char *copy;
		struct reader r;
		enum parse result;

		have = n - have < step ? n : have + step;
		copy = malloc(have ? have : 1);
		assert_non_null(copy);
		memcpy(copy, s, have);
		r = reader_init(copy, have);
		result = http_response_parse(&r, &scan, asked, &resp, &err);
		if (result == PARSE_OK)
			describe(&resp, r.n + (n - have), out);
		else if (result == PARSE_BAD)
			(void)snprintf(out, RESULT_MAX, "%u", err.status);
		free(copy);
		if (result != PARSE_MORE)
			return;
	} while (have < n);
	(void)snprintf(out, RESULT_MAX, "more");
}

static void assert_result(const char *id, const struct http_asked *asked, const char *s, size_t n,
			  const char *expected)
{
	char whole[RESULT_MAX], split[RESULT_MAX];

	deliver(asked, s, n, n ? n : 1, whole);
	deliver(asked, s, n, 1, split);
	if (strcmp(whole, expected) != 0)
		fail_msg("%s: %.100s: got \"%s\", expected \"%s\"", id, s, whole, expected);
	if (strcmp(whole, split) != 0)
		fail_msg("%s: whole \"%s\", byte by byte \"%s\"", id, whole, split);
}

struct row {
	const char *id;
	const struct http_asked *asked;
	const char *s;
	size_t n;
	const char *expected;
};

#define ROW(id, asked, s, expected)                   \
	{                                             \
		id, asked, s, sizeof(s) - 1, expected \
	}
#define OK "HTTP/1.1 200 OK\r\n"

static void assert_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_result(rows[i].id, rows[i].asked, rows[i].s, rows[i].n, rows[i].expected);
}

#define assert_table(t) assert_rows(t, sizeof(t) / sizeof((t)[0]))

static void test_response_parse_frames_as_the_rfc_says(void **state)
{
	static const struct row rows[] = {
		ROW("6.3", &get, OK "Content-Length: 5\r\n\r\nhello",
		    "200 (OK) length 5 keep rest=5"),
		ROW("6.3", &get, OK "Transfer-Encoding: chunked\r\n\r\n0",
		    "200 (OK) chunked 0 keep rest=1"),
		ROW("6.3", &get, OK "\r\n", "200 (OK) until-close 0 rest=0"),
		ROW("6.3", &get, OK "Content-Length: 0\r\n\r\n", "200 (OK) length 0 keep rest=0"),
		ROW("6.3", &get, OK "Connection: close\r\nContent-Length: 5\r\n\r\n",
		    "200 (OK) length 5 rest=0"),
		ROW("6.3", &get, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n",
		    "200 (OK) length 5 rest=0"),
		ROW("6.3", &get,
		    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n",
		    "200 (OK) length 5 keep rest=0"),
		ROW("6.3", &get, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
		    "200 (OK) until-close 0 rest=0"),
		ROW("Q-069", &head, OK "Content-Length: 5\r\n\r\n", "200 (OK) none 0 keep rest=0"),
		ROW("Q-069", &head, OK "Transfer-Encoding: chunked\r\n\r\n",
		    "200 (OK) none 0 keep rest=0"),
		ROW("Q-069", &get, "HTTP/1.1 204 No Content\r\n\r\nxx",
		    "204 (No Content) none 0 keep rest=2"),
		ROW("Q-069", &get, "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nxx",
		    "204 (No Content) none 0 rest=2"),
		ROW("Q-069", &get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		    "304 (Not Modified) none 0 keep rest=0"),
		ROW("Q-059", &get,
		    "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\n"
		    "Content-Length: 0\r\n\r\n",
		    "407 (x) length 0 keep rest=0"),
		ROW("interim", &get, "HTTP/1.1 100 Continue\r\n\r\n" OK,
		    "100 (Continue) none 0 keep interim rest=17"),
		ROW("interim", &get, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
		    "103 (Early Hints) none 0 keep interim rest=0"),
		ROW("reason", &get, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
		    "200 () length 0 keep rest=0"),
		ROW("reason", &get, "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
		    "200 () length 0 keep rest=0"),
		ROW("reason", &get, "HTTP/1.1 999 g\xc3\xb6 \t x\r\nContent-Length: 0\r\n\r\n",
		    "999 (g\xc3\xb6 \t x) length 0 keep rest=0"),
		ROW("5.1", &get, OK "Content-Length \t: 5\r\n\r\n",
		    "200 (OK) length 5 keep rest=0"),
		ROW("8.6", &get, OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
		    "200 (OK) length 5 keep rest=0"),
		ROW("cut", &get, OK, "more"),
	};

	(void)state;
	assert_table(rows);
}

static void test_response_parse_rejects_what_two_readers_would_split(void **state)
{
	static const struct row rows[] = {
		ROW("Q-010", &get, OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		    "502"),
		ROW("Q-010", &head, OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		    "502"),
		ROW("Q-011", &get, OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "502"),
		ROW("Q-012", &get, OK "Content-Length: 5, 5\r\n\r\n", "502"),
		ROW("Q-013", &get, OK "Content-Length: -5\r\n\r\n", "502"),
		ROW("R-021", &get, OK "Content-Length: 9223372036854775808\r\n\r\n", "502"),
		ROW("Q-014", &get, OK "Transfer-Encoding: gzip, chunked\r\n\r\n", "502"),
		ROW("Q-014", &get, OK "Transfer-Encoding: identity\r\n\r\n", "502"),
		ROW("Q-015", &get,
		    OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "502"),
		ROW("Q-016", &get, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "502"),
		ROW("Q-002", &get, "HTTP/1.1 200 OK\nContent-Length: 5\n\n", "502"),
		ROW("Q-003", &get, OK "X: a\rb\r\n\r\n", "502"),
		ROW("Q-004", &get, OK "X: a\r\n b\r\n\r\n", "502"),
		ROW("Q-009", &get, OK "no colon\r\n\r\n", "502"),
		ROW("Q-009", &get, OK "a b: c\r\n\r\n", "502"),
		ROW("Q-021", &get, OK "X: a\0b\r\n\r\n", "502"),
		ROW("Q-064", &get, OK "Connection: Content-Length\r\nContent-Length: 5\r\n\r\n",
		    "502"),
		ROW("status", &get, "\r\n" OK "\r\n", "502"),
		ROW("status", &get, "ICY 200 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/2.0 200 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.2 200 OK\r\n\r\n", "502"),
		ROW("status", &get, "http/1.1 200 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1  200 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 20 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 2000 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 099 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 +20 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 200\tOK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1\r\n\r\n", "502"),
		ROW("status", &get, "SSH-2.0-x\r\nfoo: a\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 x00 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 2x0 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 20x OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1_200 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.x 200 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 :00 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 2/0 OK\r\n\r\n", "502"),
		ROW("status", &get, "HTTP/1.1 200OK\r\n\r\n", "502"),
		ROW("interim", &get, "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n", "502"),
		ROW("interim", &get, "HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n", "502"),
	};

	(void)state;
	assert_table(rows);
}

static void test_response_parse_upgrades_only_what_was_asked(void **state)
{
	static const struct row rows[] = {
#define SWITCH "HTTP/1.1 101 Switching Protocols\r\n"
		ROW("Q-035", &websocket,
		    SWITCH "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81",
		    "101 (Switching Protocols) none 0 keep upgraded rest=1"),
		ROW("Q-035", &get, SWITCH "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
		    "502"),
		ROW("Q-034", &websocket, SWITCH "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
		    "502"),
		ROW("Q-035", &websocket, SWITCH "Upgrade: websocket\r\n\r\n", "502"),
		ROW("Q-035", &websocket, SWITCH "Connection: Upgrade\r\n\r\n", "502"),
		ROW("Q-036", &websocket, OK "Upgrade: websocket\r\nContent-Length: 0\r\n\r\n",
		    "200 (OK) length 0 keep rest=0"),
		ROW("Q-036", &websocket, "HTTP/1.1 400 no\r\nContent-Length: 0\r\n\r\n",
		    "400 (no) length 0 keep rest=0"),
	};

	(void)state;
	assert_table(rows);
}

static void assert_fields(size_t count, const char *expected)
{
	static const char front[] = OK "Content-Length: 0\r\n", back[] = "\r\n",
			  unit[] = "a: b\r\n";
	size_t u = sizeof(unit) - 1, n = sizeof(front) - 1;
	char *s = malloc(sizeof(front) + sizeof(back) + u * count);

	assert_non_null(s);
	memcpy(s, front, n);
	for (size_t i = 0; i < count; i++, n += u)
		memcpy(s + n, unit, u);
	memcpy(s + n, back, sizeof(back));
	assert_result("bounds", &get, s, n + sizeof(back) - 1, expected);
	free(s);
}

static void test_response_parse_is_bounded(void **state)
{
	size_t n = HTTP_RESPONSE_HEAD_MAX;
	char *s = malloc(n);

	(void)state;
	assert_fields(HTTP_RESPONSE_FIELDS_MAX - 1, "200 (OK) length 0 keep rest=0");
	assert_fields(HTTP_RESPONSE_FIELDS_MAX, "502");
	assert_non_null(s);
	memset(s, 'a', n);
	memcpy(s, OK "X:", strlen(OK "X:"));
	memcpy(s + n - 4, "\r\n\r\n", 4);
	assert_result("bounds", &get, s, n, "200 (OK) until-close 0 rest=0");
	s[n - 4] = 'a'; /* no longer an end */
	s[n - 3] = 'a';
	s[n - 2] = 'a';
	s[n - 1] = 'a';
	assert_result("bounds", &get, s, n, "502");
	free(s);
}

static void test_asked_copies_what_matters(void **state)
{
	static const char text[] = "HEAD http://a.b/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
	struct reader r = reader_init(text, sizeof(text) - 1);
	struct http_scan scan = { 0 };
	struct http_request req;
	struct http_error err;
	struct http_asked asked;

	(void)state;
	assert_int_equal(http_request_parse(&r, &scan, &req, &err), PARSE_OK);
	asked = http_asked(&req);
	assert_true(asked.head && asked.keep_alive && !asked.websocket);
	assert_int_equal(asked.minor, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_response_parse_frames_as_the_rfc_says),
		cmocka_unit_test(test_response_parse_rejects_what_two_readers_would_split),
		cmocka_unit_test(test_response_parse_upgrades_only_what_was_asked),
		cmocka_unit_test(test_response_parse_is_bounded),
		cmocka_unit_test(test_asked_copies_what_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
