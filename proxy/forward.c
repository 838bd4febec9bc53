/*
 * Theory of operation
 *
 * A request is judged and its target dialled as for any other way in; then the connection is in
 * CONN_FORWARD until the response is delivered, and in CONN_HEAD again for the next request.
 *
 * Both directions use the ways of the tunnel: what is framed for the receiver is sent, or kept by
 * the way; nothing more is read while something is kept, so that each direction holds at most one
 * buffer. Bodies with a length go through a pipe when they are long. Everything that was read is
 * passed on before more is read: events and interim responses are never held back.
 *
 * The request's head is kept until the response begins, because a connection that is used again
 * may be closed by the server at the very moment: then the request is sent once more on a fresh
 * one, if it has no body and is one of those that may be repeated (RFC 9110 9.2.2).
 *
 * A response may be complete before the request is; then the rest of the request is passed on all the same.
 *
 * A response that ends early ends in a reset of the client, never in a clean end; one that cannot
 * be understood is answered by our own 502 as long as nothing of it was passed on.
 */
#include "proxy/forward.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "policy/refusal.h"
#include "proxy/chunked.h"
#include "proxy/http_response.h"
#include "proxy/http_rewrite.h"
#include "proxy/lastwords.h"
#include "proxy/reply.h"
#include "proxy/route.h"
#include "proxy/upstream.h"

#define STEP	  (FORWARD_BUFFER_MAX / 2) /* bytes read at a time: re-framed they fit the scratch */
#define RAW_FIRST (8 * 1024)		   /* bytes; most response heads fit */

/** enum phase - of the response */
enum phase {
	PHASE_HEAD,
	PHASE_BODY,
	PHASE_DONE,
};

/**
 * struct forward - one request and its response
 * @head: for the server, until the response begins
 * @asked: what the response depends on
 * @queued: the head was given to the way upstream
 * @absolute: @head is in absolute-form
 * @repeatable: no body and a method that may be sent twice
 * @reused: the connection has served a request before
 * @up, @up_left, @up_chunks: the request's body as it is read
 * @up_done: it was read to its end
 * @watched: the client has said something, or has ended: no need to look again
 * @client_ended: its end was seen; the response is still delivered
 * @phase, @interims: of the response
 * @raw: bytes from the server not understood yet, @raw_len from @raw_off on, room for @raw_cap
 * @scan: how far the head in @raw was looked at
 * @down, @down_left, @down_chunks: the response's body as it is read
 * @delivery: as it is sent
 * @server_keeps: the server's connection stays open
 */
struct forward {
	struct http_text head;
	struct http_asked asked;
	bool queued, absolute, repeatable, reused;
	enum http_framing up;
	uint64_t up_left;
	struct chunked up_chunks;
	bool up_done, watched, client_ended;
	enum phase phase;
	unsigned interims;
	uint8_t *raw;
	size_t raw_off, raw_len, raw_cap;
	struct http_scan scan;
	enum http_framing down;
	uint64_t down_left;
	struct chunked down_chunks;
	struct http_delivery delivery;
	bool server_keeps;
};

static bool may_repeat(const struct http_request *req)
{
	return req->framing == HTTP_BODY_NONE &&
	       (req->head || req->options || http_slice_is(req->method, "GET"));
}

/*
 * The parent that wants this request in absolute-form, or NULL. What may become a tunnel goes
 * through CONNECT instead, for many proxies do not pass an upgrade.
 */
static const struct upstream *absolute_for(const struct conn *c, const struct http_request *req)
{
	const struct upstream *up = upstreams_for(c->session->cfg.upstream, &req->target);

	return up && up->scheme == UPSTREAM_HTTP && !req->websocket ? up : NULL;
}

void forward_begin(struct conn *c, const struct http_request *req)
{
	struct forward *f = c->forward;
	const struct upstream *up = absolute_for(c, req);
	bool server_keeps = f && f->server_keeps && f->absolute == (up != NULL) && !c->rerouted;

	c->rerouted = false;
	if (f) {
		free(f->head.p);
		free(f->raw);
	} else {
		c->forward = f = xmalloc(sizeof(*f));
	}
	*f = (struct forward){ .head = up ? http_rewrite_absolute(req, true, up->basic)
					  : http_rewrite_request(req, true),
			       .absolute = up != NULL,
			       .asked = http_asked(req),
			       .repeatable = may_repeat(req),
			       .up = req->framing,
			       .up_left = req->length,
			       .up_done = req->framing == HTTP_BODY_NONE ||
					  (req->framing == HTTP_BODY_LENGTH && req->length == 0),
			       .server_keeps = server_keeps };
}

void forward_free(struct forward *f)
{
	if (!f)
		return;
	free(f->head.p);
	free(f->raw);
	free(f);
}

bool forward_is_head(const struct forward *f)
{
	return f->asked.head;
}

bool forward_is_absolute(const struct forward *f)
{
	return f->absolute;
}

bool forward_has_body(const struct forward *f)
{
	return f->up != HTTP_BODY_NONE;
}

bool forward_is_sent(const struct forward *f)
{
	return f->queued && f->up_done;
}

bool forward_may_reuse(const struct forward *f)
{
	return f->server_keeps;
}

bool forward_may_repeat(const struct forward *f)
{
	return f->repeatable;
}

void forward_reuse(struct forward *f)
{
	f->reused = true;
}

/* ---- what is sent: bodies framed anew in the shared buffer */

/** struct frame - a buffer being filled */
struct frame {
	uint8_t *p;
	size_t n, cap;
};

static void put(struct frame *fr, const void *p, size_t n)
{
	assert(n <= fr->cap - fr->n);
	memcpy(fr->p + fr->n, p, n);
	fr->n += n;
}

static void put_data(struct frame *fr, struct http_slice data, bool chunked)
{
	char size[CHUNKED_SIZE_MAX];

	if (data.n == 0)
		return;
	if (chunked)
		put(fr, size, chunked_format_size(data.n, size));
	put(fr, data.p, data.n);
	if (chunked)
		put(fr, CHUNKED_DATA_END, strlen(CHUNKED_DATA_END));
}

/*
 * Decodes what @r holds, at most STEP bytes. A chunk as we write it is no longer than it was, but
 * for the two that the ends of the buffer cut: FORWARD_BUFFER_MAX is ample.
 */
static enum parse dechunk(struct chunked *dec, struct reader *r, struct frame *fr, bool chunked)
{
	struct http_slice data;
	enum parse got;

	while ((got = chunked_next(dec, r, &data)) == PARSE_OK && data.n)
		put_data(fr, data, chunked);
	if (got == PARSE_OK && chunked)
		put(fr, CHUNKED_LAST, strlen(CHUNKED_LAST));
	return got;
}

/* Sends it, or has it wait behind what waits. */
static void pass(struct conn *c, unsigned i, const void *p, size_t n)
{
	struct way *w = &c->t.way[i];

	if (w->keep || w->held)
		tunnel_keep(&c->t, i, p, n, 0);
	else if (n)
		way_send(w, &c->t.side[1 - i], p, n);
}

/* ---- our own answer to a server that cannot be understood */

static void bad_gateway(struct conn *c, const char *sentence)
{
	char reply[REPLY_HTTP_MAX];
	size_t n = reply_http(502, CODE_CONNECT_FAILED, sentence, c->forward->asked.head, reply);

	c->linger = !c->forward->up_done;
	lastwords_say(c, reply, n, "bad-response");
}

/* ---- the request's body */

static void up_bytes(struct conn *c)
{
	struct forward *f = c->forward;
	struct proxy *p = c->session->proxy;
	struct way *w = &c->t.way[CLIENT];
	struct side *to = &c->t.side[UPSTREAM];
	size_t n = c->in.len < STEP ? c->in.len : STEP;
	const uint8_t *from = c->in.p + c->in.off;
	struct frame fr = { .p = p->scratch, .cap = sizeof(p->scratch) };
	struct reader r;

	if (f->up == HTTP_BODY_LENGTH) {
		if (n > f->up_left)
			n = (size_t)f->up_left;
		way_send(w, to, from, n);
		f->up_left -= n;
		f->up_done = f->up_left == 0;
		conn_consume(c, n);
		return;
	}
	r = reader_init(from, n);
	switch (dechunk(&f->up_chunks, &r, &fr, true)) {
	case PARSE_BAD:
		conn_reset(c, "bad-request");
		return;
	case PARSE_OK:
		f->up_done = true;
		break;
	case PARSE_MORE:
		break;
	}
	if (fr.n)
		way_send(w, to, fr.p, fr.n);
	conn_consume(c, n - r.n);
}

/* Return: true if a turn was used up. */
static bool move_up(struct conn *c)
{
	struct forward *f = c->forward;
	struct side *from = &c->t.side[CLIENT];
	struct side *to = &c->t.side[UPSTREAM];
	uint64_t start = c->t.way[CLIENT].bytes;

	while (!to->broken && way_flush(&c->t.way[CLIENT], to) && !f->up_done) {
		if (c->t.way[CLIENT].bytes - start > TUNNEL_TURN)
			return true;
		if (c->in.len == 0) {
			if (!from->readable || c->t.way[CLIENT].eof)
				break;
			ssize_t n = conn_fill(c, STEP);

			if (n < 0 && errno == EAGAIN)
				break;
			if (n <= 0) {
				conn_reset(c, "client-gone");
				return false;
			}
		}
		up_bytes(c);
		if (c->state != CONN_FORWARD)
			return false;
	}
	if (!f->up_done && c->t.way[CLIENT].eof && c->in.len == 0)
		conn_reset(c, "client-gone");
	return false;
}

/* Looks what the client has sent, without taking it. Return: false if it was reset. */
static bool watch(struct forward *f, struct side *client)
{
	uint8_t byte;
	ssize_t n;

	do
		n = side_recv(client, &byte, 1, MSG_PEEK);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		client->readable = false;
		return errno == EAGAIN;
	}
	f->watched = true;
	f->client_ended = n == 0;
	return true;
}

/*
 * The request is complete. A client that ends now may only have half-closed, so it still gets its
 * answer, but not for ever.
 */
static void watch_client(struct conn *c)
{
	struct forward *f = c->forward;
	struct side *client = &c->t.side[CLIENT];

	if (c->t.way[CLIENT].eof)
		f->client_ended = f->watched = true;
	if ((f->up_done && client->readable &&
	     (f->watched ? side_has_error(client) : !watch(f, client))) ||
	    (!f->up_done && c->t.way[CLIENT].keep && side_notice(client)))
		conn_reset(c, "client-gone");
	else if (f->client_ended && !c->timer)
		conn_timer(c, conn_limits(c)->response_ms);
}

/* ---- the response */

static void read_nothing(struct side *from, ssize_t n)
{
	from->readable = false;
	if (n < 0 && errno != EAGAIN)
		from->broken = true;
}

static void raw_room(struct forward *f)
{
	size_t want = f->phase == PHASE_BODY ? STEP : RAW_FIRST;

	if (f->raw_off) {
		memmove(f->raw, f->raw + f->raw_off, f->raw_len);
		f->raw_off = 0;
	}
	if (f->raw_len == f->raw_cap)
		want = f->raw_cap * 2 > want ? f->raw_cap * 2 : want;
	if (f->raw_cap >= want)
		return;
	f->raw_cap = want;
	f->raw = xreallocarray(f->raw, want, 1);
}

/* Reads into @raw behind what is there. Return: as recv(). */
static ssize_t raw_fill(struct forward *f, struct side *from)
{
	size_t max;
	ssize_t n;

	raw_room(f);
	max = f->raw_cap - f->raw_len < STEP ? f->raw_cap - f->raw_len : STEP;
	do
		n = side_recv(from, f->raw + f->raw_len, max, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		f->raw_len += (size_t)n;
	else
		read_nothing(from, n);
	return n;
}

static void raw_consume(struct forward *f, size_t n)
{
	f->raw_off += n;
	f->raw_len -= n;
}

/*
 * After a recv() that gave @n, or none because there is nothing to read (-1). A side that could
 * not be sent to has no more to say than what is here: it never got all of the request.
 */
static bool has_ended(const struct side *from, ssize_t n)
{
	if (n > 0)
		return false;
	return n == 0 || from->broken;
}

/* The server has ended before its head was complete. */
static void no_response(struct conn *c)
{
	struct forward *f = c->forward;
	const struct target t = c->target;

	if (!f->reused || !f->repeatable || f->raw_len || f->interims) {
		bad_gateway(c, "the server closed the connection without a response");
		return;
	}
	f->reused = f->queued = f->server_keeps = false;
	tunnel_clear(&c->t, &c->session->proxy->pool);
	conn_upstream_end(c, false, "eof");
	/* A new connection is judged anew: the policy may have changed since the first. */
	if (c->state != CONN_DEAD)
		route_judge(c, &t);
}

static void send_head(struct conn *c, struct http_text head)
{
	tunnel_keep(&c->t, UPSTREAM, head.p, head.n, 0);
	free(head.p);
}

/* Behind 101 nobody parses any more: the client speaks to this one server. */
static void upgrade(struct conn *c)
{
	struct forward *f = c->forward;

	tunnel_keep(&c->t, UPSTREAM, f->raw + f->raw_off, f->raw_len, 0);
	conn_tunnel(c);
	forward_free(f);
	c->forward = NULL;
}

/* What is in @raw goes out, framed as the delivery says and behind a head that waits. */
static void down_bytes(struct conn *c)
{
	struct forward *f = c->forward;
	struct proxy *p = c->session->proxy;
	bool chunked = f->delivery.framing == HTTP_BODY_CHUNKED;
	size_t n = f->raw_len < STEP ? f->raw_len : STEP;
	struct http_slice all = { .p = f->raw + f->raw_off, .n = n };
	struct reader r = reader_init(all.p, n);
	struct frame fr = { .p = p->scratch, .cap = sizeof(p->scratch) };

	switch (f->down) {
	case HTTP_BODY_LENGTH:
		if (all.n > f->down_left)
			all.n = (size_t)f->down_left;
		f->down_left -= all.n;
		put_data(&fr, all, chunked);
		raw_consume(f, all.n);
		if (f->down_left == 0)
			f->phase = PHASE_DONE;
		break;
	case HTTP_BODY_CHUNKED:
		switch (dechunk(&f->down_chunks, &r, &fr, chunked)) {
		case PARSE_BAD:
			conn_reset(c, "bad-response");
			return;
		case PARSE_OK:
			f->phase = PHASE_DONE;
			break;
		case PARSE_MORE:
			break;
		}
		raw_consume(f, n - r.n);
		break;
	case HTTP_BODY_UNTIL_CLOSE:
		put_data(&fr, all, chunked);
		raw_consume(f, n);
		break;
	case HTTP_BODY_NONE:
		f->phase = PHASE_DONE;
		return;
	}
	pass(c, UPSTREAM, fr.p, fr.n);
}

static void response(struct conn *c, const struct http_response *resp)
{
	struct forward *f = c->forward;

	if (f->absolute && resp->status == 407) {
		bad_gateway(c, "the upstream proxy wants other credentials");
		return;
	}
	if (resp->interim) {
		if (f->asked.minor > 0)
			send_head(c, http_rewrite_response(resp, &f->asked, &f->delivery));
		if (++f->interims > HTTP_INTERIM_MAX)
			bad_gateway(c, "the server sent too many interim responses");
		return;
	}
	send_head(c, http_rewrite_response(resp, &f->asked, &f->delivery));
	free(f->head.p);
	f->head = (struct http_text){ 0 };
	if (resp->upgraded) {
		upgrade(c);
		return;
	}
	f->server_keeps = resp->keep_alive && resp->framing != HTTP_BODY_UNTIL_CLOSE;
	f->down = resp->framing;
	f->down_left = resp->length;
	f->down_chunks = (struct chunked){ .lenient = true };
	f->phase = resp->framing == HTTP_BODY_NONE ||
				   (resp->framing == HTTP_BODY_LENGTH && resp->length == 0)
			   ? PHASE_DONE
			   : PHASE_BODY;
	if (f->phase == PHASE_BODY && f->raw_len)
		down_bytes(c); /* in one segment with the head */
}

/* Return: false if more bytes are needed and there are none. */
static bool down_head(struct conn *c)
{
	struct forward *f = c->forward;
	struct side *from = &c->t.side[UPSTREAM];
	struct reader r = reader_init(f->raw ? f->raw + f->raw_off : NULL, f->raw_len);
	struct http_response resp UNINITIALIZED;
	struct http_error err;
	ssize_t n;

	switch (f->raw_len ? http_response_parse(&r, &f->scan, &f->asked, &resp, &err)
			   : PARSE_MORE) {
	case PARSE_BAD:
		bad_gateway(c, err.text);
		return false;
	case PARSE_OK:
		f->scan = (struct http_scan){ 0 };
		raw_consume(f, f->raw_len - r.n);
		response(c, &resp);
		return true;
	case PARSE_MORE:
		break;
	}
	n = from->readable ? raw_fill(f, from) : -1;
	if (has_ended(from, n))
		no_response(c);
	return n > 0;
}

/* The server has ended: that is right for one kind of body only. */
static void down_ended(struct conn *c, bool clean)
{
	struct forward *f = c->forward;
	struct side *client = &c->t.side[CLIENT];

	if (!clean || f->down != HTTP_BODY_UNTIL_CLOSE || c->t.side[UPSTREAM].broken) {
		conn_reset(c, "reset");
		return;
	}
	if (f->delivery.framing == HTTP_BODY_CHUNKED)
		way_send(&c->t.way[UPSTREAM], client, CHUNKED_LAST, strlen(CHUNKED_LAST));
	f->phase = PHASE_DONE;
}

/* A long body of known length need not be looked at. Return: as recv(), or 0 if that is to say. */
static ssize_t down_splice(struct conn *c)
{
	struct forward *f = c->forward;
	struct way *w = &c->t.way[UPSTREAM];
	struct side *from = &c->t.side[UPSTREAM];
	size_t max = f->down_left < SIZE_MAX ? (size_t)f->down_left : SIZE_MAX;
	ssize_t n;

	do
		n = way_fill(w, from, max);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		f->down_left -= (size_t)n;
		if (f->down_left == 0)
			f->phase = PHASE_DONE;
	} else if (n < 0 && errno != EAGAIN) {
		read_nothing(from, n);
		return n;
	}
	return n > 0 ? n : 0;
}

static bool is_long(const struct forward *f)
{
	return f->down == HTTP_BODY_LENGTH && f->delivery.framing == HTTP_BODY_LENGTH &&
	       f->down_left >= FORWARD_BUFFER_MAX;
}

static bool down_body(struct conn *c)
{
	struct forward *f = c->forward;
	struct way *w = &c->t.way[UPSTREAM];
	struct side *from = &c->t.side[UPSTREAM];
	ssize_t n = -1;

	if (f->raw_len) {
		down_bytes(c);
		return true;
	}
	if (from->readable) {
		n = 0;
		if (is_long(f) && !from->tls &&
		    (w->pipe.rd >= 0 || pipepool_get(&c->session->proxy->pool, &w->pipe)))
			n = down_splice(c);
		if (n == 0)
			n = raw_fill(f, from);
	}
	if (has_ended(from, n))
		down_ended(c, n == 0);
	return n > 0;
}

/* Return: true if a turn was used up. */
static bool move_down(struct conn *c)
{
	struct forward *f = c->forward;
	struct way *w = &c->t.way[UPSTREAM];
	struct side *client = &c->t.side[CLIENT];
	uint64_t start = w->bytes;
	bool more = true;

	while (more && way_flush(w, client) && !client->broken && f->phase != PHASE_DONE) {
		if (w->bytes - start > TUNNEL_TURN)
			return true;
		more = f->phase == PHASE_HEAD ? down_head(c) : down_body(c);
		if (c->state != CONN_FORWARD)
			return false;
	}
	if (!w->held)
		pipepool_put(&c->session->proxy->pool, &w->pipe);
	if (client->broken)
		conn_reset(c, "client-gone");
	return false;
}

/* The response is delivered: the next request, or the end. */
static void finish(struct conn *c)
{
	struct forward *f = c->forward;
	bool clean = f->up_done && f->raw_len == 0 && !c->t.side[UPSTREAM].broken;

	f->server_keeps = f->server_keeps && clean;
	if (clean)
		side_settle(&c->t.side[UPSTREAM]);
	if (!f->delivery.keep_alive || !f->up_done || (f->client_ended && c->in.len == 0)) {
		c->linger = !f->up_done;
		conn_upstream_end(c, false, "eof");
		if (c->state == CONN_DEAD)
			return;
		lastwords_say(c, "", 0, "eof");
		return;
	}
	if (!f->server_keeps)
		conn_upstream_end(c, false, "eof");
	if (c->state == CONN_DEAD)
		return;
	free(f->raw);
	f->raw = NULL;
	f->raw_off = f->raw_len = f->raw_cap = 0;
	conn_enter(c, CONN_HEAD);
	c->idle = c->in.len == 0;
	conn_timer(c, c->idle ? conn_limits(c)->keep_alive_ms : conn_limits(c)->head_ms);
}

/*
 * The response is delivered and the request is not, for the server did not wait for its end. It may go
 * on reading, for the sake of the bytes or of a client that reads when it has written all: so does the
 * client's body go on, for as long as the server takes it (RFC 9112 9.6). Return: false if it does not.
 */
static bool goes_on(struct conn *c, bool moved)
{
	struct forward *f = c->forward;

	if (f->up_done || c->t.side[UPSTREAM].broken || side_notice(&c->t.side[UPSTREAM]))
		return false;
	if (!f->delivery.keep_alive && !c->t.way[UPSTREAM].done) {
		(void)shutdown(c->t.side[CLIENT].fd, SHUT_WR);
		c->t.way[UPSTREAM].done = true;
	}
	if (moved || !c->timer)
		conn_timer(c, conn_limits(c)->response_ms);
	return true;
}

void forward_run(struct conn *c)
{
	struct forward *f = c->forward;
	uint64_t before = c->t.way[UPSTREAM].bytes, sent = c->t.way[CLIENT].bytes;
	bool again;

	if (!f->queued) {
		f->queued = true;
		pass(c, CLIENT, f->head.p, f->head.n);
	}
	again = move_up(c);
	if (c->state == CONN_FORWARD)
		watch_client(c);
	if (c->state == CONN_FORWARD)
		again |= move_down(c);
	if (c->state != CONN_FORWARD)
		return;
	if (f->client_ended && c->t.way[UPSTREAM].bytes != before)
		conn_timer(c, conn_limits(c)->response_ms);
	if (f->phase == PHASE_DONE && way_flush(&c->t.way[UPSTREAM], &c->t.side[CLIENT]) &&
	    !goes_on(c, c->t.way[CLIENT].bytes != sent))
		finish(c);
	else if (again)
		proxy_run_soon(c->session->proxy, c);
}
