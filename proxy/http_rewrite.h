/*
 * http_rewrite.h - the heads that we send, written anew from parsed ones
 *
 * Dropped: hop-by-hop fields, fields that Connection names, Proxy-*, Upgrade (but for websocket).
 * Stated by us: Host (from the target), body framing, Connection, Expect. Everything else is
 * passed in its order, duplicates included. Nothing is added that tells of us.
 */
#ifndef PROXY_HTTP_REWRITE_H
#define PROXY_HTTP_REWRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/http.h"
#include "proxy/http_response.h"

/**
 * struct http_text - a head ready to be sent
 * @p: the bytes, which the caller frees
 * @n: how many
 */
struct http_text {
	char *p;
	size_t n;
};

/**
 * http_rewrite_request() - the head for the origin server, HTTP/1.1 in origin-form
 * @req: any method but CONNECT
 * @keep_alive: whether we mean to reuse the upstream connection ("Connection: close" otherwise)
 *
 * The body follows as @req->framing says; a chunked one must be decoded and encoded again
 * (chunked.h).
 */
struct http_text http_rewrite_request(const struct http_request *req, bool keep_alive);

/**
 * http_rewrite_absolute() - the same for a proxy on the way: absolute-form (RFC 9112 3.2.2)
 * @authorization: value of Proxy-Authorization, empty for none
 */
struct http_text http_rewrite_absolute(const struct http_request *req, bool keep_alive,
				       const char *authorization);

/**
 * struct http_delivery - how a response goes to the client
 * @framing: of the body we send: NONE, LENGTH (pass @length bytes), CHUNKED (encode) or
 *           UNTIL_CLOSE (the body bare, then close)
 * @keep_alive: whether the client's connection stays open after the body
 */
struct http_delivery {
	enum http_framing framing;
	bool keep_alive;
};

/**
 * http_rewrite_response() - the head for the client
 * @resp: an interim one must not go to a client of HTTP/1.0 (do not call this for it)
 * @asked: the request that it answers
 * @out: what the head says about the body; follow it
 *
 * The upstream framing (@resp->framing) says how to read the body, @out->framing how to send it:
 * a chunked response goes bare to a client of HTTP/1.0.
 */
struct http_text http_rewrite_response(const struct http_response *resp,
				       const struct http_asked *asked, struct http_delivery *out);

#endif
