/*
 * http_response.h - the parser of a response head that an upstream server sends
 *
 * As strict as the request parser, with what RFC 9112 grants to responses: no reason phrase,
 * blanks before a colon (removed), a Content-Length repeated on a line of its own with the same
 * value. Anything that two readers could frame differently is BAD and becomes a 502.
 */
#ifndef PROXY_HTTP_RESPONSE_H
#define PROXY_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "proxy/http_head.h"

/**
 * struct http_asked - what of the request decides how its response is read and passed on
 * @head: it was HEAD: the response has no body
 * @websocket: it asked for websocket: 101 is a valid answer
 * @minor: the client's HTTP/1.@minor
 * @keep_alive: the client would keep its connection
 *
 * Copied from a struct http_request by http_asked().
 */
struct http_asked {
	bool head;
	bool websocket;
	unsigned minor;
	bool keep_alive;
};

struct http_request;

/** http_asked() - the part of a request that outlives its buffer. */
struct http_asked http_asked(const struct http_request *req);

/**
 * struct http_response - a response head that was taken apart
 * @status: 100..999; what lies beyond 599 exists in the wild and frames like any other
 * @interim: 1xx other than 101: pass it on (to HTTP/1.1 clients) and parse the next head
 * @upgraded: 101 to a websocket request: everything behind the head is a tunnel
 * @reason: the phrase, possibly empty
 * @minor: HTTP/1.@minor of the server
 * @framing, @length: the body, as RFC 9112 6.3 orders
 * @has_length: there was a Content-Length (of interest for HEAD and 304, whose framing is NONE)
 * @content_length: its value
 * @keep_alive: the server's connection may be used again after the body
 * @fields: header lines
 */
struct http_response {
	unsigned status;
	bool interim;
	bool upgraded;
	struct http_slice reason;
	unsigned minor;
	enum http_framing framing;
	uint64_t length;
	bool has_length;
	uint64_t content_length;
	bool keep_alive;
	struct http_fields fields;
};

/**
 * http_response_parse() - one response head
 * @r: starts at the head's first byte on every call; moved behind the head on OK
 * @scan: state between calls, all zero at first and again for the next head
 * @asked: the request that it answers
 * @out: the response on OK, undefined otherwise
 * @err: status 502 on BAD
 *
 * MORE is bounded by HTTP_RESPONSE_HEAD_MAX.
 */
enum parse http_response_parse(struct reader *r, struct http_scan *scan,
			       const struct http_asked *asked, struct http_response *out,
			       struct http_error *err);

#endif
