/*
 * forward.h - inside proxy/: the messages of plain HTTP, one request at a time
 */
#ifndef PROXY_FORWARD_H
#define PROXY_FORWARD_H

#include "proxy/conn.h"
#include "proxy/http.h"

struct forward;

/** forward_begin() - remember a request; its body follows in @c->in and from the client. */
void forward_begin(struct conn *c, const struct http_request *req);

/** forward_free() - NULL is allowed. */
void forward_free(struct forward *f);

/** forward_run() - in CONN_FORWARD: pass on request body and response. */
void forward_run(struct conn *c);

/** forward_is_head() - the request is HEAD: no answer of ours may have a body. */
bool forward_is_head(const struct forward *f);

/** forward_is_absolute() - it goes to a proxy of ours, which wants the whole URL. */
bool forward_is_absolute(const struct forward *f);

/** forward_has_body() - the client may be about to send a body. */
bool forward_has_body(const struct forward *f);

/** forward_is_sent() - the request was read to its end, and given to the way upstream. */
bool forward_is_sent(const struct forward *f);

/** forward_may_reuse() - the server said that its connection may serve another request. */
bool forward_may_reuse(const struct forward *f);

/** forward_may_repeat() - it may be sent twice: no body, and a method that changes nothing. */
bool forward_may_repeat(const struct forward *f);

/** forward_reuse() - and it will serve this one. */
void forward_reuse(struct forward *f);

#endif
