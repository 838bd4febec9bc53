/*
 * test_http.c - request heads, each delivered whole and byte by byte with equal results
 *
 * A result is one line of text: "STATUS [CODE]" of a refusal, or what was understood. Ids name
 * the rows of the vector list.
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
#include "tests/support/host_vectors.h"

#define RESULT_MAX 1024

static const char *const framing_name[] = { "none", "length", "chunked", "until-close" };

static void describe(const struct http_request *req, size_t rest, char out[RESULT_MAX])
{
	char target[TARGET_TEXT_MAX];

	(void)snprintf(
		out, RESULT_MAX, "%.*s %s %.*s 1.%u %s %llu%s%s%s rest=%zu", (int)req->method.n,
		(const char *)req->method.p, target_format(&req->target, target), (int)req->path.n,
		(const char *)req->path.p, req->minor, framing_name[req->framing],
		(unsigned long long)req->length, req->keep_alive ? " keep" : "",
		req->expect_continue ? " expect" : "", req->websocket ? " websocket" : "", rest);
}

static void describe_error(const struct http_error *err, char out[RESULT_MAX])
{
	assert_non_null(err->text);
	(void)snprintf(out, RESULT_MAX, "%u%s%s", err->status, err->code == CODE_OK ? "" : " ",
		       err->code == CODE_OK ? "" : policy_code_name(err->code));
}

/* @step bytes more a call, each time from a buffer of exactly that size. */
static void deliver(const char *s, size_t n, size_t step, char out[RESULT_MAX])
{
	struct http_scan scan = { 0 };
	struct http_request req;
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
		result = http_request_parse(&r, &scan, &req, &err);
		if (result == PARSE_OK)
			describe(&req, r.n + (n - have), out);
		else if (result == PARSE_BAD)
			describe_error(&err, out);
		free(copy);
		if (result != PARSE_MORE)
			return;
	} while (have < n);
	(void)snprintf(out, RESULT_MAX, "more");
}

static void assert_result(const char *id, const char *s, size_t n, const char *expected)
{
	char whole[RESULT_MAX], split[RESULT_MAX];

	deliver(s, n, n ? n : 1, whole);
	deliver(s, n, 1, split);
	if (strcmp(whole, expected) != 0)
		fail_msg("%s: %.100s: got \"%s\", expected \"%s\"", id, s, whole, expected);
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
#define GET	   "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n"
#define POST	   "POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\n"
#define CONNECT	   "CONNECT good.example:443 HTTP/1.1\r\n"
#define GET_OK	   "GET good.example:80 / 1.1 none 0 keep rest=0"
#define CONNECT_OK "CONNECT good.example:443  1.1 none 0 keep rest=0"
#define CHUNKED_OK "POST good.example:80 / 1.1 chunked 0 keep rest=0"

static void assert_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_result(rows[i].id, rows[i].s, rows[i].n, rows[i].expected);
}

#define assert_table(t) assert_rows(t, sizeof(t) / sizeof((t)[0]))

static void test_request_parse_accepts_what_is_right(void **state)
{
	static const struct row rows[] = {
		ROW("Q-001", CONNECT "Host: good.example:443\r\n\r\n", CONNECT_OK),
		ROW("Q-001", GET "\r\n", GET_OK),
		ROW("Q-024", CONNECT "\r\n", CONNECT_OK),
		ROW("Q-024", "GET http://good.example/ HTTP/1.0\r\n\r\n",
		    "GET good.example:80 / 1.0 none 0 rest=0"),
		ROW("Q-026", "GET http://good.example/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		    GET_OK),
		ROW("Q-027", CONNECT "Host: evil.test:443\r\n\r\n", CONNECT_OK),
		ROW("Q-031", "\r\n" GET "\r\n", GET_OK),
		ROW("Q-039", "GET http://good.example/%0d%0aX:%20y HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "GET good.example:80 /%0d%0aX:%20y 1.1 none 0 keep rest=0"),
		ROW("Q-052", GET "\r\n" GET "\r\n",
		    "GET good.example:80 / 1.1 none 0 keep rest=57"),
		ROW("Q-055", CONNECT "\r\n\x16\x03\x01",
		    "CONNECT good.example:443  1.1 none 0 keep"
		    " rest=3"),
		ROW("Q-070",
		    "GET http://[2001:DB8::1]:81/ HTTP/1.1\r\nHost: [2001:db8::1]:81\r\n\r\n",
		    "GET [2001:db8::1]:81 / 1.1 none 0 keep rest=0"),
		ROW("Q-071",
		    "GET http://good.example//evil.test/../x?y HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "GET good.example:80 //evil.test/../x?y 1.1 none 0 keep rest=0"),
		ROW("T-011", "GET http://good.example:443/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "GET good.example:443 / 1.1 none 0 keep rest=0"),
		ROW("T-012",
		    "GET HTTP://good.example?q=http://evil.test/ HTTP/1.1\r\n"
		    "Host: a.b\r\n\r\n",
		    "GET good.example:80 ?q=http://evil.test/ 1.1 none 0 keep rest=0"),
		ROW("T-012", "OPTIONS http://good.example HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "OPTIONS good.example:80  1.1 none 0 keep rest=0"),
		ROW("value", GET "X:\r\nY: \t a b\xc3\xa4\t \r\n\r\n", GET_OK),
		ROW("cut", GET, "more"),
		ROW("cut", "", "more"),
	};

	(void)state;
	assert_table(rows);
}

static void test_request_parse_rejects_bad_line_ends_and_bytes(void **state)
{
	static const struct row rows[] = {
		ROW("Q-002", "GET http://good.example/ HTTP/1.1\nHost: good.example\n\n", "400"),
		ROW("Q-002", GET "X: y\n\r\n", "400"),
		ROW("Q-002", GET "X: y\r\n\n", "400"),
		ROW("Q-003", GET "X: y\rZ: z\r\n\r\n", "400"),
		ROW("Q-003", GET "X: y\r\r\n\r\n", "400"),
		ROW("Q-003", GET "\r\r\n", "400"),
		ROW("Q-004", GET "X: y\r\n z\r\n\r\n", "400"),
		ROW("Q-004", GET "X: y\r\n\tz\r\n\r\n", "400"),
		ROW("Q-004", GET "X: y\r\n \r\n\r\n", "400"),
		ROW("Q-005", POST "Transfer-Encoding:\r\n chunked\r\n\r\n", "400"),
		ROW("Q-006", "GET http://good.example/ HTTP/1.1\r\nHost : good.example\r\n\r\n",
		    "400"),
		ROW("Q-006", POST "Content-Length : 5\r\n\r\n", "400"),
		ROW("Q-006", POST "Content-Length\t: 5\r\n\r\n", "400"),
		ROW("Q-007", "GET http://good.example/ HTTP/1.1\r\n Host: good.example\r\n\r\n",
		    "400"),
		ROW("Q-007", POST " Content-Length: 5\r\n\r\n", "400"),
		ROW("Q-007", " " GET "\r\n", "400"),
		ROW("Q-009", GET "no colon\r\n\r\n", "400"),
		ROW("Q-009", GET ": empty\r\n\r\n", "400"),
		ROW("Q-009", GET "a(b: c\r\n\r\n", "400"),
		ROW("Q-009", GET "a\x80: c\r\n\r\n", "400"),
		ROW("Q-009", GET "a b: c\r\n\r\n", "400"),
		ROW("Q-020", GET "\0X: y\r\nContent-Length: 5\r\n\r\n", "400"),
		ROW("Q-021", GET "X: a\0b\r\n\r\n", "400"),
		ROW("Q-021", GET "X\0: a\r\n\r\n", "400"),
	};

	(void)state;
	assert_table(rows);
}

static void test_request_parse_rejects_doubtful_framing(void **state)
{
	static const struct row rows[] = {
		ROW("Q-010", POST "Content-Length: 5\r\n\r\nhello",
		    "POST good.example:80 / 1.1 length 5"
		    " keep rest=5"),
		ROW("Q-010", POST "Transfer-Encoding: chunked\r\n\r\n", CHUNKED_OK),
		ROW("Q-010", POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
		ROW("Q-010", POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", "400"),
		ROW("Q-010", POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", "400"),
		ROW("Q-011", POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "400"),
		ROW("Q-012", POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", "400"),
		ROW("Q-012", POST "Content-Length: 3, 3\r\n\r\n", "400"),
		ROW("Q-013", POST "Content-Length: +3\r\n\r\n", "400"),
		ROW("Q-013", POST "Content-Length: -1\r\n\r\n", "400"),
		ROW("Q-013", POST "Content-Length: 0x3\r\n\r\n", "400"),
		ROW("Q-013", POST "Content-Length: 3 \r\n\r\n",
		    "POST good.example:80 / 1.1 length 3"
		    " keep rest=0"),
		ROW("Q-013", POST "Content-Length: 3 4\r\n\r\n", "400"),
		ROW("Q-013", POST "Content-Length: 03\r\n\r\n", "400"),
		ROW("Q-013", POST "Content-Length:\r\n\r\n", "400"),
		ROW("R-021", POST "Content-Length: 9223372036854775807\r\n\r\n",
		    "POST good.example:80 / 1.1 length 9223372036854775807 keep rest=0"),
		ROW("R-021", POST "Content-Length: 9223372036854775808\r\n\r\n", "400"),
		ROW("R-021", POST "Content-Length: 18446744073709551621\r\n\r\n", "400"),
		ROW("Q-014", POST "transfer-ENCODING: \tchunked \r\n\r\n", CHUNKED_OK),
		ROW("Q-014", POST "Transfer-Encoding: Chunked\r\n\r\n", CHUNKED_OK),
		ROW("Q-014", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", "400"),
		ROW("Q-014", POST "Transfer-Encoding: identity\r\n\r\n", "400"),
		ROW("Q-014", POST "Transfer-Encoding: xchunked\r\n\r\n", "400"),
		ROW("Q-014", POST "Transfer-Encoding: chunked, chunked\r\n\r\n", "400"),
		ROW("Q-014", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", "400"),
		ROW("Q-014",
		    POST "Transfer-Encoding: \x0b"
			 "chunked\r\n\r\n",
		    "400"),
		ROW("Q-014", POST "Transfer-Encoding:\r\n\r\n", "400"),
		ROW("Q-014", POST "Transfer-Encoding: chunked;x\r\n\r\n", "400"),
		ROW("Q-015",
		    POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
		    "400"),
		ROW("Q-015",
		    POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
		ROW("Q-016",
		    "POST http://good.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		    "400"),
		ROW("Q-054", CONNECT "Content-Length: 5\r\n\r\nhello", "400"),
		ROW("Q-054", CONNECT "Transfer-Encoding: chunked\r\n\r\n", "400"),
		ROW("Q-054", CONNECT "Content-Length: 0\r\n\r\n", CONNECT_OK),
	};

	(void)state;
	assert_table(rows);
}

static void test_request_parse_rejects_bad_host_fields(void **state)
{
	static const struct row rows[] = {
		ROW("Q-024", "GET http://good.example/ HTTP/1.1\r\n\r\n", "400"),
		ROW("Q-025", GET "Host: good.example\r\n\r\n", "400"),
		ROW("Q-025", CONNECT "Host: a.b\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.1\r\nHost: a:1:2\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.1\r\nHost: u@a.b\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.1\r\nHost: a.b/c\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.1\r\nHost: a.b, c.d\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.1\r\nHost: a\x01.b\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.1\r\nHost:\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.1\r\nHost: a.b:0\r\n\r\n", "400"),
		ROW("Q-025", "GET http://good.example/ HTTP/1.0\r\nHost: a b\r\n\r\n", "400"),
		ROW("Q-025", CONNECT "Host: a b\r\n\r\n", "400"),
	};

	(void)state;
	assert_table(rows);
}

static void test_request_parse_rejects_bad_first_lines(void **state)
{
	static const struct row rows[] = {
		ROW("Q-029", "OPTIONS * HTTP/1.1\r\nHost: good.example\r\n\r\n", "400"),
		ROW("Q-029", "GET * HTTP/1.1\r\nHost: good.example\r\n\r\n", "400"),
		ROW("Q-030", "GET good.example:443 HTTP/1.1\r\nHost: good.example\r\n\r\n", "400"),
		ROW("Q-030", "CONNECT http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "400 bad-port"),
		ROW("Q-030", "CONNECT / HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("origin", "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "400"),
		ROW("Q-031", "GET  http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-031", "GET http://good.example/  HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-031", "GET\thttp://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-031", "GET http://good.example/\tHTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-031", "\r\n\r\n" GET "\r\n", "400"),
		ROW("Q-031", "\n" GET "\r\n", "400"),
		ROW("Q-031", "GET http://good.example/ HTTP/1.1 \r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-031", "GET http://good.example/\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-031", "GET\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.9\r\nHost: a.b\r\n\r\n", "505"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.2\r\nHost: a.b\r\n\r\n", "505"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.10\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/0.9\r\nHost: a.b\r\n\r\n", "505"),
		ROW("Q-032", "GET http://good.example/ HTTP/2.0\r\nHost: a.b\r\n\r\n", "505"),
		ROW("Q-032", "GET http://good.example/ http/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.1\x0b\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/4294967297.1\r\nHost: a.b\r\n\r\n",
		    "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/x.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.x\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/1/1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTQ/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/:.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.:\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-032", "GET http://good.example/ HTTP/1.1garbage\r\nHost: a.b\r\n\r\n",
		    "400"),
		ROW("Q-031", " http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-031", "GET  HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-037", "FOO http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "501"),
		ROW("Q-037", "TRACE http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "501"),
		ROW("Q-037", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "501"),
		ROW("Q-037", "CONNECTX good.example:443 HTTP/1.1\r\n\r\n", "501"),
		ROW("Q-037", "connect good.example:443 HTTP/1.1\r\n\r\n", "501"),
		ROW("Q-037", "get http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "501"),
		ROW("Q-037", "G=\":<> http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-037", "PROPFIND http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "PROPFIND good.example:80 / 1.1 none 0 keep rest=0"),
		ROW("Q-037", "M-SEARCH http://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "M-SEARCH good.example:80 / 1.1 none 0 keep rest=0"),
		ROW("Q-070", "GET http://good.example/#x HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("Q-070", "GET http://u:p@good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "400 bad-port"),
		ROW("Q-070", "GET http://u@good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "400 bad-host"),
		ROW("Q-070", "GET http:/// HTTP/1.1\r\nHost: a.b\r\n\r\n", "400 bad-host"),
		ROW("Q-070", "GET http://?x HTTP/1.1\r\nHost: a.b\r\n\r\n", "400 bad-host"),
		ROW("Q-070", "GET http:// HTTP/1.1\r\nHost: a.b\r\n\r\n", "400 bad-host"),
		ROW("Q-070", "GET http://good.example:80:80/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "400 bad-host"),
		ROW("Q-071", "GET http://good.example\\@evil.test/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "400 bad-host"),
		ROW("target", "GET http://good.example/\xc3\xa4 HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "GET good.example:80 /\xc3\xa4 1.1 none 0 keep rest=0"),
		ROW("H-006", "GET http://\xc3\xa4.good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "400 bad-host"),
		ROW("T-011", "GET https://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "501"),
		ROW("T-012", "GET ftp://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("T-012", "GET ws://good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("T-012", "GET file:///x HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("T-012", "GET http:/x HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("T-012", "GET //good.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
		ROW("T-012", "GET http:good.example HTTP/1.1\r\nHost: a.b\r\n\r\n", "400"),
	};

	(void)state;
	assert_table(rows);
}

static void test_request_parse_judges_ports(void **state)
{
	static const struct row rows[] = {
		ROW("T-001", "CONNECT good.example:0 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-002", "CONNECT good.example:65535 HTTP/1.1\r\n\r\n",
		    "CONNECT good.example:65535  1.1 none 0 keep rest=0"),
		ROW("T-002", "CONNECT good.example:65536 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-002", "CONNECT good.example:65616 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-002", "CONNECT good.example:4294967376 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-002", "CONNECT good.example:99999999999999999999 HTTP/1.1\r\n\r\n",
		    "400 bad-port"),
		ROW("T-003", "CONNECT good.example:+80 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-003", "CONNECT good.example:-1 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-003", "CONNECT good.example:0443 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-003", "CONNECT good.example:0x50 HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-004", "CONNECT good.example:https HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-005", "CONNECT good.example HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-006", "CONNECT good.example: HTTP/1.1\r\n\r\n", "400 bad-port"),
		ROW("T-006", "GET http://good.example:/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		    "400 bad-port"),
		ROW("T-007", "CONNECT good.example:\xef\xbc\x94\xef\xbc\x94 HTTP/1.1\r\n\r\n",
		    "400 bad-port"),
		ROW("H-027", "CONNECT :443 HTTP/1.1\r\n\r\n", "400 bad-host"),
		ROW("A-037", "CONNECT ::1:443 HTTP/1.1\r\n\r\n", "400 bad-host"),
	};

	(void)state;
	assert_table(rows);
}

static void test_request_parse_understands_connection_options(void **state)
{
	static const struct row rows[] = {
		ROW("close", GET "Connection: foo,, Close\r\n\r\n",
		    "GET good.example:80 / 1.1 none 0"
		    " rest=0"),
		ROW("1.0", "GET http://good.example/ HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
		    "GET good.example:80 / 1.0 none 0 keep rest=0"),
		ROW("1.0",
		    "GET http://good.example/ HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
		    "GET good.example:80 / 1.0 none 0 rest=0"),
		ROW("Q-064", GET "Connection: close, X-Secret\r\nX-Secret: 1\r\n\r\n",
		    "GET good.example:80 / 1.1 none 0 rest=0"),
		ROW("Q-064", GET "Connection: Host\r\n\r\n", "400"),
		ROW("Q-064", GET "Connection: close, content-length\r\n\r\n", "400"),
		ROW("Q-064", GET "Connection: close\r\nConnection: x,Transfer-Encoding\r\n\r\n",
		    "400"),
		ROW("Q-064", GET "Connection: a b\r\n\r\n", "400"),
		ROW("Q-064", GET "Connection: \"close\"\r\n\r\n", "400"),
		ROW("Q-065",
		    "OPTIONS http://good.example/ HTTP/1.1\r\nHost: a.b\r\n"
		    "Max-Forwards: 0\r\n\r\n",
		    "OPTIONS good.example:80 / 1.1 none 0 keep rest=0"),
		ROW("Q-065",
		    "OPTIONS http://good.example/ HTTP/1.1\r\nHost: a.b\r\n"
		    "Max-Forwards: x\r\n\r\n",
		    "400"),
		ROW("Q-065",
		    "OPTIONS http://good.example/ HTTP/1.1\r\nHost: a.b\r\n"
		    "Max-Forwards: 1\r\n\r\n",
		    "OPTIONS good.example:80 / 1.1 none 0 keep rest=0"),
		ROW("Q-065", GET "Max-Forwards: 0\r\n\r\n", GET_OK),
		ROW("Q-066", POST "Content-Length: 5\r\nExpect: 100-Continue\r\n\r\n",
		    "POST good.example:80 / 1.1 length 5 keep expect rest=0"),
		ROW("Q-066", GET "Expect: 100-continue\r\n\r\n", GET_OK),
		ROW("Q-066",
		    "POST http://good.example/ HTTP/1.0\r\nContent-Length: 5\r\n"
		    "Expect: foo\r\n\r\n",
		    "POST good.example:80 / 1.0 length 5 rest=0"),
		ROW("Q-067", POST "Content-Length: 5\r\nExpect: foo\r\n\r\n", "417"),
		ROW("Q-067", POST "Content-Length: 5\r\nExpect: 100-continue\r\nExpect: a\r\n\r\n",
		    "417"),
		ROW("Q-067", GET "Expect:\r\n\r\n", "417"),
	};

	(void)state;
	assert_table(rows);
}

static void test_request_parse_recognises_only_clean_websocket(void **state)
{
	static const struct row rows[] = {
		ROW("Q-035", GET "Connection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n",
		    "GET good.example:80 / 1.1 none 0 keep websocket rest=0"),
		ROW("Q-035", GET "Connection: keep-alive, upgrade\r\nUpgrade: websocket\r\n\r\n",
		    "GET good.example:80 / 1.1 none 0 keep websocket rest=0"),
		ROW("Q-034",
		    GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
			"HTTP2-Settings: x\r\n\r\n",
		    GET_OK),
		ROW("Q-034", GET "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n", GET_OK),
		ROW("Q-034",
		    GET "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n",
		    GET_OK),
		ROW("Q-034",
		    GET "Connection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n\r\n",
		    GET_OK),
		ROW("Q-035", GET "Upgrade: websocket\r\n\r\n", GET_OK),
		ROW("Q-035", POST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		    "POST good.example:80 / 1.1 none 0 keep rest=0"),
		ROW("Q-035",
		    GET "Connection: Upgrade\r\nUpgrade: websocket\r\n"
			"Content-Length: 1\r\n\r\n",
		    "GET good.example:80 / 1.1 length 1 keep rest=0"),
		ROW("Q-035",
		    "GET http://good.example/ HTTP/1.0\r\nConnection: Upgrade\r\n"
		    "Upgrade: websocket\r\n\r\n",
		    "GET good.example:80 / 1.0 none 0 rest=0"),
	};

	(void)state;
	assert_table(rows);
}

/* Every host of the list, through CONNECT and through a URL. */
static void test_request_parse_canonicalises_or_rejects_hosts(void **state)
{
	char head[1024], expected[RESULT_MAX], result[RESULT_MAX];

	(void)state;
	for (size_t i = 0; i < HOST_VECTORS; i++) {
		const struct host_vector *v = &host_vectors[i];
		size_t n = 0;

		for (int url = 0; url <= 1; url++) {
			const char *front = url ? "GET http://" : "CONNECT ";
			const char *back = url ? ":81/x HTTP/1.1\r\nHost: a.b\r\n\r\n"
					       : ":81 HTTP/1.1\r\n\r\n";
			bool v6 = v->canonical && strchr(v->canonical, ':');

			if (!v->in_authority || (url && !v->in_url))
				continue;
			n = strlen(front);
			memcpy(head, front, n);
			memcpy(head + n, v->s, v->n);
			n += v->n;
			memcpy(head + n, back, strlen(back));
			n += strlen(back);
			if (v->canonical) {
				(void)snprintf(expected, sizeof(expected),
					       "%s %s%s%s:81 %s 1.1 none 0 keep rest=0",
					       url ? "GET" : "CONNECT", v6 ? "[" : "", v->canonical,
					       v6 ? "]" : "", url ? "/x" : "");
				assert_result(v->id, head, n, expected);
				continue;
			}
			deliver(head, n, n, result);
			if (strncmp(result, "400", 3) != 0)
				fail_msg("%s: %.*s is \"%s\"", v->id, (int)n, head, result);
			assert_result(v->id, head, n, result);
		}
	}
}

/* H-005, H-006: each byte that no host has, in the host */
static void test_request_parse_rejects_every_odd_byte_in_a_host(void **state)
{
	char head[] = "CONNECT go?od.example:443 HTTP/1.1\r\n\r\n";
	char *at = strchr(head, '?');
	unsigned accepted = 0;

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		char result[RESULT_MAX];

		*at = (char)c;
		deliver(head, sizeof(head) - 1, sizeof(head) - 1, result);
		if (result[0] == 'C')
			accepted++;
		else
			assert_int_equal(strncmp(result, "400", 3), 0);
		assert_result("H-005", head, sizeof(head) - 1, result);
	}
	assert_int_equal(accepted, 26 + 26 + 10 + 3); /* letters, digits, - _ . */
}

/* the bytes of a token, and no other, make a header name */
static void test_request_parse_takes_tokens_as_names(void **state)
{
	char head[] = GET "A?b: c\r\n\r\n";
	char *at = strchr(head, '?');
	unsigned accepted = 0;

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		char result[RESULT_MAX];

		*at = (char)c;
		deliver(head, sizeof(head) - 1, sizeof(head) - 1, result);
		accepted += strcmp(result, GET_OK) == 0;
		assert_true(strcmp(result, GET_OK) == 0 || strcmp(result, "400") == 0);
		assert_int_equal(http_is_tchar((uint8_t)c) || c == ':',
				 strcmp(result, GET_OK) == 0);
	}
	assert_int_equal(accepted, 26 + 26 + 10 + 15 + 1); /* 15 signs (RFC 9110 5.6.2), a colon */
}

static char *repeat(const char *front, const char *unit, size_t count, const char *back, size_t *n)
{
	size_t f = strlen(front), u = strlen(unit), b = strlen(back);
	char *s = malloc(f + u * count + b + 1);

	assert_non_null(s);
	memcpy(s, front, f);
	for (size_t i = 0; i < count; i++)
		memcpy(s + f + i * u, unit, u);
	memcpy(s + f + u * count, back, b + 1);
	*n = f + u * count + b;
	return s;
}

static void assert_long(const char *id, const char *front, const char *unit, size_t count,
			const char *back, const char *expected)
{
	size_t n;
	char *s = repeat(front, unit, count, back, &n);

	assert_result(id, s, n, expected);
	free(s);
}

static void test_request_parse_is_bounded(void **state)
{
	size_t room = HTTP_HEAD_MAX - strlen(GET "X: \r\n\r\n");

	(void)state;
	assert_long("R-005", GET "X: ", "a", room, "\r\n\r\n", GET_OK);
	assert_long("R-005", GET "X: ", "a", room + 1, "\r\n\r\n", "431");
	assert_long("R-005", GET "X: ", "a", 64 * 1024, "", "431");
	assert_long("R-005", GET, "X: y\r\n", HTTP_FIELDS_MAX - 1, "\r\n", GET_OK);
	assert_long("R-005", GET, "X: y\r\n", HTTP_FIELDS_MAX, "\r\n", "431");
	assert_long("R-005", GET, "a:\r\n", 3000, "", "431");
	assert_long("R-005", "GET http://good.example/", "a", 16 * 1024, "", "414");
	assert_long("Q-037", "", "G", 64 * 1024, "", "414");
	assert_long("H-026", "CONNECT ", "a", 64 * 1024, "", "414");
	assert_long("H-026", "CONNECT ", "a", 1024, ":443 HTTP/1.1\r\n\r\n", "400 bad-host");
	assert_long("Q-064", GET "Connection: ", "a,", HTTP_CONNECTION_TOKENS_MAX, "\r\n\r\n",
		    GET_OK);
	assert_long("Q-064", GET "Connection: ", "a,", HTTP_CONNECTION_TOKENS_MAX + 1, "\r\n\r\n",
		    "431");
}

static void test_request_parse_leaves_reader_on_more_and_bad(void **state)
{
	static const char *const heads[] = { GET, GET "X : y\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct reader r = reader_init(heads[i], strlen(heads[i]));
		struct http_scan scan = { 0 };
		struct http_request req;
		struct http_error err;

		assert_int_not_equal(http_request_parse(&r, &scan, &req, &err), PARSE_OK);
		assert_ptr_equal(r.p, heads[i]);
		assert_int_equal(r.n, strlen(heads[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_parse_accepts_what_is_right),
		cmocka_unit_test(test_request_parse_rejects_bad_line_ends_and_bytes),
		cmocka_unit_test(test_request_parse_rejects_doubtful_framing),
		cmocka_unit_test(test_request_parse_rejects_bad_host_fields),
		cmocka_unit_test(test_request_parse_rejects_bad_first_lines),
		cmocka_unit_test(test_request_parse_judges_ports),
		cmocka_unit_test(test_request_parse_understands_connection_options),
		cmocka_unit_test(test_request_parse_recognises_only_clean_websocket),
		cmocka_unit_test(test_request_parse_canonicalises_or_rejects_hosts),
		cmocka_unit_test(test_request_parse_rejects_every_odd_byte_in_a_host),
		cmocka_unit_test(test_request_parse_takes_tokens_as_names),
		cmocka_unit_test(test_request_parse_is_bounded),
		cmocka_unit_test(test_request_parse_leaves_reader_on_more_and_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
