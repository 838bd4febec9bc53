/*
 * fuzz_http.c - request heads
 *
 * Byte by byte says the same as whole. What was accepted, rewritten and read again names the same
 * target and frames the same body, and rewriting it again changes nothing: nothing was smuggled.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/http_rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OWN_FIELDS_MAX 6 /* lines that the rewriting may add */

struct outcome {
	enum parse result;
	struct http_request req;
	struct http_error err;
	size_t used;
};

static void parse_in_steps(const uint8_t *data, size_t size, size_t step, struct outcome *out)
{
	struct http_scan scan = { 0 };
	size_t have = 0;

	do {
		struct reader r;

		have = size - have < step ? size : have + step;
		r = reader_init(data, have);
		out->result = http_request_parse(&r, &scan, &out->req, &out->err);
		out->used = (size_t)(r.p - data);
	} while (out->result == PARSE_MORE && have < size);
}

static void assert_same_request(const struct http_request *a, const struct http_request *b)
{
	assert(target_equal(&a->target, &b->target));
	assert(a->method.n == b->method.n && !memcmp(a->method.p, b->method.p, a->method.n));
	assert(a->framing == b->framing && a->length == b->length);
	assert(a->expect_continue == b->expect_continue && a->websocket == b->websocket);
}

/* "METHOD /path HTTP/1.1" CRLF "Host: h" -> "METHOD http://target/path HTTP/1.1" CRLF ... */
static char *to_absolute(const struct http_request *req, const struct http_text *head, size_t *n)
{
	size_t at = req->method.n + 1;
	size_t skip = head->p[at] == '*';
	char target[TARGET_TEXT_MAX];
	size_t len;
	char *s;

	(void)target_format(&req->target, target);
	len = strlen(target);
	s = malloc(head->n + len + strlen("http://"));
	assert(s);
	memcpy(s, head->p, at);
	memcpy(s + at, "http://", 7);
	memcpy(s + at + 7, target, len);
	memcpy(s + at + 7 + len, head->p + at + skip, head->n - at - skip);
	*n = head->n + 7 + len - skip;
	return s;
}

static void check_rewritten(const struct http_request *req)
{
	struct http_text head = http_rewrite_request(req, true), again;
	struct http_scan scan = { 0 };
	static struct outcome second;
	struct http_error err;
	enum parse scanned;
	char *absolute;
	size_t n;

	/* RESPONSE: its limits are wider, its rules on bytes and line ends the same */
	scanned = http_head_scan(&scan, head.p, head.n, HTTP_HEAD_RESPONSE, &err);
	assert(scanned == PARSE_OK && scan.off == head.n);
	absolute = to_absolute(req, &head, &n);
	if (n <= HTTP_HEAD_MAX && req->fields.n + OWN_FIELDS_MAX <= HTTP_FIELDS_MAX &&
	    req->max_forwards < 0) {
		parse_in_steps((const uint8_t *)absolute, n, n, &second);
		assert(second.result == PARSE_OK && second.used == n);
		assert_same_request(req, &second.req);
		again = http_rewrite_request(&second.req, true);
		assert(again.n == head.n && !memcmp(again.p, head.p, head.n));
		free(again.p);
	}
	free(absolute);
	free(head.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome whole, split;

	parse_in_steps(data, size, size ? size : 1, &whole);
	parse_in_steps(data, size, 1, &split);
	assert(whole.result == split.result);
	if (whole.result == PARSE_BAD) {
		assert(whole.err.status == split.err.status && whole.err.code == split.err.code);
		assert(whole.err.status >= 400 && whole.err.status <= 505 && whole.err.text);
	}
	if (whole.result != PARSE_OK)
		return 0;
	assert(whole.used == split.used && whole.used <= HTTP_HEAD_MAX);
	assert_same_request(&whole.req, &split.req);
	assert(whole.req.target.port && whole.req.target.host.len);
	if (!whole.req.connect)
		check_rewritten(&whole.req);
	return 0;
}
