#include "proxy/handshake.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "policy/refusal.h"
#include "proxy/forward.h"
#include "proxy/http.h"
#include "proxy/lastwords.h"
#include "proxy/reply.h"
#include "proxy/route.h"
#include "proxy/sniff.h"
#include "proxy/socks4.h"
#include "proxy/socks5.h"

/* The answer of the last hop that a request may take (RFC 9110 7.6.2): it stops at us. */
#define NO_CONTENT "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"

/*
 * A target that is none was asked for, or none could be read: that is a decision too.
 * @code: CODE_OK if it is no target that is wrong; @said: the text of one; @text: our sentence
 */
static void tell_bad(struct conn *c, enum code code, enum via via, const char *said,
		     const char *text)
{
	const struct decision d = { .verdict = VERDICT_DENY,
				    .code = code == CODE_OK ? CODE_BAD_REQUEST : code,
				    .said = code == CODE_OK ? text : said };

	c->target = (struct target){ .via = via };
	conn_tell(c, &d);
}

static void http_bad(struct conn *c, const struct http_error *err, enum via via)
{
	const struct decision d = { .code = err->code, .said = err->said };
	char reply[REPLY_HTTP_MAX], sentence[REFUSAL_MAX];
	const char *text = err->text;

	conn_upstream_end(c, false, "eof");
	if (c->state != CONN_DEAD)
		tell_bad(c, err->code, via, err->said, err->text);
	if (c->state == CONN_DEAD)
		return;
	c->linger = true;
	if (err->code != CODE_OK)
		text = refusal_format(&c->target, &d, sentence);
	lastwords_say(c, reply, reply_http(err->status, err->code, text, false, reply),
		      "bad-request");
}

static void http(struct conn *c)
{
	struct reader r = reader_init(c->in.p + c->in.off, c->in.len);
	struct http_request req UNINITIALIZED;
	struct http_error err;

	switch (http_request_parse(&r, &c->scan, &req, &err)) {
	case PARSE_MORE:
		return;
	case PARSE_BAD:
		http_bad(c, &err, VIA_HTTP);
		return;
	case PARSE_OK:
		break;
	}
	c->scan = (struct http_scan){ 0 };
	if (req.connect) {
		c->proto = PROTO_CONNECT;
		conn_upstream_end(c, false, "eof");
	} else {
		forward_begin(c, &req);
	}
	if (c->state == CONN_DEAD)
		return;
	conn_consume(c, c->in.len - r.n);
	if (req.max_forwards == 0)
		lastwords_say(c, NO_CONTENT, sizeof(NO_CONTENT) - 1, "eof");
	else
		route_judge(c, &req.target);
}

static void socks5_greeting(struct conn *c)
{
	struct reader r = reader_init(c->in.p + c->in.off, c->in.len);
	uint8_t method[SOCKS5_METHOD_SIZE];
	bool acceptable;

	switch (socks5_parse_greeting(&r, &acceptable)) {
	case PARSE_MORE:
		return;
	case PARSE_BAD:
		tell_bad(c, CODE_OK, VIA_SOCKS5, NULL, "SOCKS5 greeting is malformed");
		conn_close(c, "bad-request");
		return;
	case PARSE_OK:
		break;
	}
	socks5_format_method(acceptable, method);
	if (!acceptable) {
		tell_bad(c, CODE_OK, VIA_SOCKS5, NULL, "SOCKS5 offers no method that is served");
		if (c->state == CONN_DEAD)
			return;
		lastwords_say(c, method, sizeof(method), "bad-request");
		return;
	}
	conn_reply(c, method, sizeof(method));
	c->proto = PROTO_SOCKS5;
	conn_consume(c, c->in.len - r.n);
}

static void socks5(struct conn *c)
{
	struct reader r = reader_init(c->in.p + c->in.off, c->in.len);
	uint8_t reply[SOCKS5_REPLY_SIZE];
	struct socks5_error err;
	struct target target;

	switch (socks5_parse_request(&r, &target, &err)) {
	case PARSE_MORE:
		return;
	case PARSE_BAD:
		tell_bad(c, err.code, VIA_SOCKS5, err.said, err.text);
		if (c->state == CONN_DEAD)
			return;
		socks5_format_reply(err.rep, reply);
		lastwords_say(c, reply, sizeof(reply), "bad-request");
		return;
	case PARSE_OK:
		break;
	}
	conn_consume(c, c->in.len - r.n);
	route_judge(c, &target);
}

static void socks4(struct conn *c)
{
	struct reader r = reader_init(c->in.p + c->in.off, c->in.len);
	uint8_t reply[SOCKS4_REPLY_SIZE];
	struct socks4_error err;
	struct target target;

	switch (socks4_parse_request(&r, &target, &err)) {
	case PARSE_MORE:
		return;
	case PARSE_BAD:
		tell_bad(c, err.code, VIA_SOCKS4A, err.said, err.text);
		if (c->state == CONN_DEAD)
			return;
		socks4_format_reply(false, reply);
		lastwords_say(c, reply, sizeof(reply), "bad-request");
		return;
	case PARSE_OK:
		break;
	}
	conn_consume(c, c->in.len - r.n);
	if (!handshake_refuses_early(c))
		route_judge(c, &target);
}

/*
 * A zero byte behind a SOCKS4 request is a second end of a string, so that two readers of the
 * request could differ about the host. Nothing that speaks first begins like that unasked.
 */
bool handshake_refuses_early(struct conn *c)
{
	uint8_t reply[SOCKS4_REPLY_SIZE];

	if (c->proto != PROTO_SOCKS4 || !c->in.len || c->in.p[c->in.off])
		return false;
	tell_bad(c, CODE_BAD_HOST, VIA_SOCKS4A, NULL, NULL);
	if (c->state == CONN_DEAD)
		return true;
	socks4_format_reply(false, reply);
	lastwords_say(c, reply, sizeof(reply), "bad-request");
	return true;
}

static void sniff(struct conn *c)
{
	switch (sniff_first_byte(c->in.p[c->in.off])) {
	case SNIFF_BAD: /* it looked like nothing: HTTP is what is usual here */
		tell_bad(c, CODE_OK, VIA_HTTP, NULL, "neither HTTP nor SOCKS");
		conn_close(c, "bad-request");
		break;
	case SNIFF_HTTP:
		c->proto = PROTO_HTTP;
		break;
	case SNIFF_SOCKS5:
		c->proto = PROTO_SOCKS5_GREETING;
		break;
	case SNIFF_SOCKS4:
		c->proto = PROTO_SOCKS4;
		break;
	}
}

/* Return: true when it got further with what is there. */
static bool understand(struct conn *c)
{
	uint8_t before = c->proto;

	switch ((enum proto)c->proto) {
	case PROTO_NONE:
		sniff(c);
		break;
	case PROTO_HTTP:
		http(c);
		break;
	case PROTO_SOCKS5_GREETING:
		socks5_greeting(c);
		break;
	case PROTO_SOCKS5:
		socks5(c);
		break;
	case PROTO_SOCKS4:
		socks4(c);
		break;
	case PROTO_CONNECT:
	case PROTO_RAW:
		break;
	}
	return c->proto != before;
}

/* Between two requests of a client the upstream connection has nothing to say. */
static void watch_upstream(struct conn *c)
{
	struct side *up = &c->t.side[UPSTREAM];
	uint8_t byte;

	if (up->fd < 0 || !up->readable)
		return;
	if (side_recv(up, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN)
		up->readable = false;
	else
		conn_upstream_end(c, false, "eof");
}

void handshake_run(struct conn *c)
{
	struct side *client = &c->t.side[CLIENT];
	bool begun = false;
	ssize_t n;

	watch_upstream(c);
	while (c->state == CONN_HEAD) {
		if (c->in.len && understand(c))
			continue;
		if (c->state != CONN_HEAD || !client->readable)
			break;
		n = conn_fill(c, SCRATCH_SIZE);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			conn_reset(c, "client-gone");
		else if (n == 0)
			conn_close(c, "eof");
		begun |= c->idle;
		c->idle = false;
	}
	if (begun && c->state == CONN_HEAD) /* most heads come whole and need no clock */
		conn_timer(c, conn_limits(c)->head_ms);
}

void handshake_timeout(struct conn *c)
{
	char reply[REPLY_HTTP_MAX];

	if (c->proto == PROTO_HTTP && c->in.len)
		lastwords_say(c, reply,
			      reply_http(408, CODE_OK, "the request took too long", false, reply),
			      "timeout");
	else
		conn_close(c, "idle");
}

bool handshake_captured(const struct session *s, int fd, struct target *out)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	struct addr dialled;
	uint16_t port;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0 ||
	    !addr_from_sockaddr((struct sockaddr *)&ss, &dialled, &port))
		return false;
	dialled = addr_unmapped(&dialled); /* a listener on [::] reports IPv4 in its mapped form */
	target_from_addr(&dialled, port, out);
	out->via = VIA_CAPTURE;
	if (s->cfg.name && s->cfg.name(s->cfg.arg, &dialled, port, &out->host))
		out->addr = (struct addr){ .family = AF_UNSPEC };
	return true;
}

void handshake_raw(struct conn *c, enum listener_kind kind, const struct target *fixed)
{
	struct target t;

	c->proto = PROTO_RAW;
	if (kind == LISTENER_FORWARD) {
		t = *fixed;
		t.via = VIA_FORWARD;
	} else if (!handshake_captured(c->session, c->t.side[CLIENT].fd, &t)) {
		conn_reset(c, "bad-request");
		return;
	}
	if (c->state != CONN_DEAD)
		route_judge(c, &t);
}
