/*
 * test_http_rewrite.c - what is sent on, byte for byte, for what came in
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/http_rewrite.h"

static void assert_request(const char *id, const char *in, bool keep_alive, const char *expected)
{
	struct reader r = reader_init(in, strlen(in));
	struct http_scan scan = { 0 };
	struct http_request req;
	struct http_error err;
	struct http_text out;

	if (http_request_parse(&r, &scan, &req, &err) != PARSE_OK)
		fail_msg("%s: does not parse", id);
	out = http_rewrite_request(&req, keep_alive);
	if (out.n != strlen(expected) || memcmp(out.p, expected, out.n) != 0)
		fail_msg("%s: got\n%.*sexpected\n%s", id, (int)out.n, out.p, expected);
	free(out.p);
}

static void test_rewrite_request_states_target_and_framing(void **state)
{
	(void)state;
	assert_request("Q-026", "GET http://Good.Example/a?b HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		       true, "GET /a?b HTTP/1.1\r\nHost: good.example\r\n\r\n");
	assert_request("host", "GET http://good.example.:8080 HTTP/1.0\r\n\r\n", false,
		       "GET / HTTP/1.1\r\nHost: good.example:8080\r\nConnection: close\r\n\r\n");
	assert_request("host", "GET http://[2001:DB8::1]?x HTTP/1.1\r\nHost: a\r\n\r\n", true,
		       "GET /?x HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n");
	assert_request("3.2.4", "OPTIONS http://a.b:81 HTTP/1.1\r\nHost: a\r\n\r\n", true,
		       "OPTIONS * HTTP/1.1\r\nHost: a.b:81\r\n\r\n");
	assert_request("3.2.4",
		       "OPTIONS http://a.b/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 3\r\n\r\n", true,
		       "OPTIONS / HTTP/1.1\r\nHost: a.b\r\nMax-Forwards: 2\r\n\r\n");
	assert_request("Q-039", "GET http://a.b/%0d%0aX:%20y HTTP/1.1\r\nHost: a\r\n\r\n", true,
		       "GET /%0d%0aX:%20y HTTP/1.1\r\nHost: a.b\r\n\r\n");
	assert_request("length",
		       "POST http://a.b/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
		       "Expect: 100-continue\r\nA: b\r\n\r\n",
		       true,
		       "POST / HTTP/1.1\r\nHost: a.b\r\nA: b\r\nContent-Length: 5\r\n"
		       "Expect: 100-continue\r\n\r\n");
	assert_request("chunked",
		       "POST http://a.b/ HTTP/1.1\r\nHost: a\r\n"
		       "Transfer-Encoding: CHUNKED\r\nTrailer: x\r\n\r\n",
		       true, "POST / HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n");
}

static void test_rewrite_request_strips_hop_by_hop(void **state)
{
	(void)state;
	assert_request("Q-064",
		       "GET http://a.b/ HTTP/1.1\r\nHost: a\r\nConnection: close, X-Secret\r\n"
		       "x-secret: 1\r\nX-Secrets: 2\r\nX-SECRET: 3\r\nX-Sekret: 4\r\n\r\n",
		       true, "GET / HTTP/1.1\r\nHost: a.b\r\nX-Secrets: 2\r\nX-Sekret: 4\r\n\r\n");
	assert_request(
		"Q-065",
		"GET http://a.b/ HTTP/1.1\r\nHost: a\r\nKeep-Alive: 1\r\nTE: trailers\r\n"
		"Trailer: x\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\n"
		"Proxy-Foo: y\r\nVia: 1.1 me\r\nCookie: a=b\r\nMax-Forwards: 0\r\n\r\n",
		true,
		"GET / HTTP/1.1\r\nHost: a.b\r\nVia: 1.1 me\r\nCookie: a=b\r\n"
		"Max-Forwards: 0\r\n\r\n");
	assert_request(
		"Q-034",
		"GET http://a.b/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		"Upgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n",
		true, "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n");
	assert_request(
		"Q-034",
		"GET http://a.b/ HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: A\r\n\r\n",
		true, "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n");
	assert_request("Q-035",
		       "GET http://a.b/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
		       "Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n",
		       true,
		       "GET / HTTP/1.1\r\nHost: a.b\r\nSec-WebSocket-Key: k\r\n"
		       "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	assert_request("order",
		       "GET http://a.b/ HTTP/1.1\r\nA:  1 \r\nHost: a\r\nB:\r\nA: 2\r\n\r\n", true,
		       "GET / HTTP/1.1\r\nHost: a.b\r\nA: 1\r\nB: \r\nA: 2\r\n\r\n");
}

struct answer {
	const char *id;
	struct http_asked asked;
	const char *in;
	const char *expected;
	enum http_framing framing;
	bool keep_alive;
};

static void assert_response(const struct answer *a)
{
	struct reader r = reader_init(a->in, strlen(a->in));
	struct http_delivery delivery;
	struct http_scan scan = { 0 };
	struct http_response resp;
	struct http_error err;
	struct http_text out;

	if (http_response_parse(&r, &scan, &a->asked, &resp, &err) != PARSE_OK)
		fail_msg("%s: does not parse", a->id);
	out = http_rewrite_response(&resp, &a->asked, &delivery);
	if (out.n != strlen(a->expected) || memcmp(out.p, a->expected, out.n) != 0)
		fail_msg("%s: got\n%.*sexpected\n%s", a->id, (int)out.n, out.p, a->expected);
	assert_int_equal(delivery.framing, a->framing);
	assert_int_equal(delivery.keep_alive, a->keep_alive);
	free(out.p);
}

static void test_rewrite_response_restates_framing(void **state)
{
	static const struct http_asked new = { .minor = 1, .keep_alive = true };
	static const struct http_asked last = { .minor = 1 };
	static const struct http_asked head = { .minor = 1, .keep_alive = true, .head = true };
	static const struct http_asked old = { .minor = 0, .keep_alive = true };
	static const struct http_asked websocket = { .minor = 1,
						     .keep_alive = true,
						     .websocket = true };
	const struct answer answers[] = {
		{ "cookies", new,
		  "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nContent-Length : 5\r\nKeep-Alive: 9\r\n"
		  "Set-Cookie: b\r\nConnection: x, close\r\nX: y\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 5\r\n\r\n",
		  HTTP_BODY_LENGTH, true },
		{ "close", last, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
		  HTTP_BODY_LENGTH, false },
		{ "chunked", new,
		  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BODY_CHUNKED,
		  true },
		{ "chunked to 1.0", old, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", HTTP_BODY_UNTIL_CLOSE, false },
		{ "length to 1.0", old, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n",
		  HTTP_BODY_LENGTH, true },
		{ "until close", new, "HTTP/1.0 200\r\n\r\n",
		  "HTTP/1.1 200 \r\nConnection: close\r\n\r\n", HTTP_BODY_UNTIL_CLOSE, false },
		{ "HEAD", head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP_BODY_NONE, true },
		{ "HEAD", head, "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
		  HTTP_BODY_NONE, true },
		{ "204", new, "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
		  "HTTP/1.1 204 No\r\n\r\n", HTTP_BODY_NONE, true },
		{ "interim", new, "HTTP/1.1 103 Hints\r\nLink: a\r\nConnection: close\r\n\r\n",
		  "HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n", HTTP_BODY_NONE, true },
		{ "Q-035", websocket,
		  "HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n"
		  "Sec-WebSocket-Accept: k\r\n\r\n",
		  "HTTP/1.1 101 Go\r\nSec-WebSocket-Accept: k\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\n\r\n",
		  HTTP_BODY_NONE, true },
		{ "Q-089", new,
		  "HTTP/1.1 426 x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n"
		  "Proxy-Authenticate: Basic\r\n\r\n",
		  "HTTP/1.1 426 x\r\nContent-Length: 0\r\n\r\n", HTTP_BODY_LENGTH, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		assert_response(&answers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rewrite_request_states_target_and_framing),
		cmocka_unit_test(test_rewrite_request_strips_hop_by_hop),
		cmocka_unit_test(test_rewrite_response_restates_framing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
