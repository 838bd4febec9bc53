/*
 * http.h - the strict parser of a request head that a client sends to the proxy (RFC 9112)
 *
 * Lines end in CRLF and nothing else; no folding, no blank before a colon, no NUL, single blanks
 * in the request line, HTTP/1.0 or HTTP/1.1, one Host, one meaning of the body's length. CONNECT
 * takes authority-form, every other method absolute-form with http://. What is let through is
 * written anew by http_rewrite.h, never copied.
 *
 * Methods are those of the IANA registry, and LIST, M-SEARCH, NOTIFY, PURGE, SUBSCRIBE,
 * UNSUBSCRIBE, which are in use; TRACE, PRI and unknown ones get 501.
 */
#ifndef PROXY_HTTP_H
#define PROXY_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "policy/target.h"
#include "proxy/http_head.h"

/**
 * struct http_request - a request head that was taken apart
 * @method: as sent; its letter case matters
 * @connect, @head, @options: which method it is, where that matters
 * @target: canonical, @target.via is VIA_CONNECT or VIA_HTTP
 * @path: path and query of an absolute-form target: empty, or begins with '/' or '?'
 * @minor: HTTP/1.@minor, 0 or 1
 * @framing: NONE, LENGTH or CHUNKED; always NONE for CONNECT
 * @length: for HTTP_BODY_LENGTH, at most INT64_MAX
 * @keep_alive: another request may follow on this connection
 * @expect_continue: the client waits for 100 (Continue) before it sends its body
 * @websocket: it asks to upgrade to websocket, and may (GET, HTTP/1.1, no body)
 * @max_forwards: what Max-Forwards of OPTIONS says, or -1; at 0 the request must be answered
 *                here and not forwarded (RFC 9110 7.6.2)
 * @fields: header lines
 *
 * Slices point into the buffer the head was read from.
 */
struct http_request {
	struct http_slice method;
	bool connect, head, options;
	struct target target;
	struct http_slice path;
	unsigned minor;
	enum http_framing framing;
	uint64_t length;
	bool keep_alive;
	bool expect_continue;
	bool websocket;
	int64_t max_forwards;
	struct http_fields fields;
};

/**
 * http_request_parse() - one request head
 * @r: starts at the head's first byte on every call; moved behind the head on OK
 * @scan: state between calls, all zero at first and again for the next head
 * @out: the request on OK, undefined otherwise
 * @err: what to answer on BAD; the connection must be closed afterwards
 *
 * MORE is bounded: HTTP_HEAD_MAX bytes without an end are BAD. A call costs no more than the
 * bytes that are new. A struct http_request has 10 KiB: put it on the stack, write the upstream
 * head from it (http_rewrite_request()) and keep that.
 */
enum parse http_request_parse(struct reader *r, struct http_scan *scan, struct http_request *out,
			      struct http_error *err);

#endif
