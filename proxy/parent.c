/*
 * Theory of operation: lookup -> dial -> TLS, if the parent wants it -> handshake. A step's end
 * starts the next one; any failure ends it all. What the parent answers is looked at with MSG_PEEK and then taken up to the byte
 * where the answer ends, so that bytes of the target behind it stay in the socket for the tunnel.
 */
#include "proxy/parent.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "dns/resolver.h"
#include "proxy/dial.h"
#include "proxy/share.h"
#include "proxy/tls.h"

#define PEEK_MAX 4096 /* bytes looked at a time */

/**
 * struct parent
 * @up: a copy of the plan's
 * @fd: the connected socket during the handshakes, else -1
 * @tls: on top of @fd, or NULL
 * @secret: the TLS handshake is over, or there is none
 * @in, @in_n, @in_cap: of the answer, what was taken already
 */
struct parent {
	struct parent_plan plan;
	struct upstream up;
	parent_cb *cb;
	void *arg;
	struct resolver_query *query;
	struct dial *dial;
	int fd;
	struct tls *tls;
	bool secret;
	struct event ev, timer;
	struct upstream_talk talk;
	uint8_t *in;
	size_t in_n, in_cap;
};

static void fail(struct parent *p, enum code code, int error)
{
	p->cb(p->arg, -1, NULL, code, error);
}

/* Hands over the socket; nothing of @p may be touched afterwards. */
static void succeed(struct parent *p, int fd)
{
	struct tls *tls = p->tls;

	if (event_initialized(&p->ev))
		event_del(&p->ev);
	event_del(&p->timer);
	p->fd = -1;
	p->tls = NULL;
	p->cb(p->arg, fd, tls, CODE_OK, 0);
}

static void refused(struct parent *p)
{
	log_info("the upstream proxy refused a connection (%s %u)",
		 p->up.scheme == UPSTREAM_HTTP ? "status" : "reply", p->talk.status);
	fail(p, CODE_CONNECT_FAILED, p->talk.error);
}

/* A fresh socket takes the few hundred bytes of a message at once. Return: false after failing. */
static ssize_t send_all(struct parent *p, const void *data, size_t n)
{
	return p->tls ? tls_send(p->tls, data, n) : send(p->fd, data, n, MSG_NOSIGNAL);
}

static bool say(struct parent *p)
{
	size_t n = p->talk.say_n;
	ssize_t sent = n ? send_all(p, p->talk.say, n) : 0;

	explicit_bzero(p->talk.say, n);
	p->talk.say_n = 0;
	if (sent == (ssize_t)n)
		return true;
	fail(p, CODE_CONNECT_FAILED, sent < 0 ? errno : EIO);
	return false;
}

static ssize_t receive(struct parent *p, size_t n, int flags)
{
	void *to = p->in + p->in_n;

	if (!p->tls)
		return recv(p->fd, to, n, flags);
	return flags & MSG_PEEK ? tls_peek(p->tls, to, n) : tls_recv(p->tls, to, n);
}

static void take(struct parent *p, size_t n)
{
	while (n) {
		ssize_t k = receive(p, n, 0);

		if (k <= 0)
			return; /* cannot be: it was peeked at */
		p->in_n += (size_t)k;
		n -= (size_t)k;
	}
}

/* One look at what has come. Return: false if there is no more to do now, or nothing left. */
static bool hear(struct parent *p)
{
	size_t used = 0;
	ssize_t n;

	if (p->in_cap < p->in_n + PEEK_MAX) {
		p->in_cap = p->in_n + PEEK_MAX;
		p->in = xreallocarray(p->in, p->in_cap, 1);
	}
	n = receive(p, PEEK_MAX, MSG_PEEK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		fail(p, CODE_CONNECT_FAILED, n < 0 ? errno : ECONNRESET);
		return false;
	}
	switch (upstream_talk_hear(&p->talk, p->in, p->in_n + (size_t)n, &used)) {
	case PARSE_MORE:
		take(p, (size_t)n);
		return true;
	case PARSE_BAD:
		refused(p);
		return false;
	case PARSE_OK:
		break;
	}
	take(p, used - p->in_n);
	p->in_n = 0;
	if (p->talk.step != UPSTREAM_STEP_THROUGH)
		return say(p);
	succeed(p, p->fd);
	return false;
}

static bool limit(struct parent *p, unsigned ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	if (event_add(&p->timer, &tv) == 0)
		return true;
	fail(p, CODE_CONNECT_FAILED, ENOMEM);
	return false;
}

static void talk(struct parent *p)
{
	if (p->plan.bare) {
		succeed(p, p->fd);
		return;
	}
	if (!limit(p, p->plan.talk_ms))
		return;
	upstream_talk_start(&p->talk, &p->up, p->plan.target);
	(void)say(p);
}

static void ready_cb(evutil_socket_t fd, short what, void *arg);

static bool wait_for(struct parent *p, short what)
{
	if (event_initialized(&p->ev))
		event_del(&p->ev);
	event_assign(&p->ev, p->plan.base, p->fd, what | EV_PERSIST, ready_cb, p);
	if (event_add(&p->ev, NULL) == 0)
		return true;
	fail(p, CODE_CONNECT_FAILED, ENOMEM);
	return false;
}

static void secure(struct parent *p)
{
	char name[TARGET_TEXT_MAX], why[256];
	int error;

	switch (tls_handshake(p->tls, why)) {
	case TLS_STEP_READ:
		(void)wait_for(p, EV_READ);
		return;
	case TLS_STEP_WRITE:
		(void)wait_for(p, EV_WRITE);
		return;
	case TLS_STEP_FAILED:
		error = errno;
		log_info("upstream proxy %s: %s", target_format(&p->up.at, name), why);
		fail(p, CODE_CONNECT_FAILED, error);
		return;
	case TLS_STEP_DONE:
		break;
	}
	p->secret = true;
	if (wait_for(p, EV_READ))
		talk(p);
}

static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
	struct parent *p = arg;

	(void)fd, (void)what;
	if (!p->secret) {
		secure(p);
		return;
	}
	while (hear(p))
		;
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	fail(arg, CODE_CONNECT_TIMEOUT, ETIMEDOUT);
}

static void handshake(struct parent *p, int fd)
{
	p->fd = fd;
	p->secret = !p->up.tls;
	if (p->secret) {
		if (wait_for(p, EV_READ))
			talk(p);
		return;
	}
	p->tls = p->plan.trust ? tls_new(p->plan.trust, fd, &p->up.at) : NULL;
	if (!p->tls)
		fail(p, CODE_CONNECT_FAILED, ENOMEM);
	else if (limit(p, p->plan.tls_ms))
		secure(p);
}

/* ENOTCONN: it is the proxy that is not there; of the target nobody knows. */
static void missed(struct parent *p, int error)
{
	char name[TARGET_TEXT_MAX];

	log_info("upstream proxy %s: %s", target_format(&p->up.at, name), strerror(error));
	if (error == ETIMEDOUT)
		fail(p, CODE_CONNECT_TIMEOUT, error);
	else
		fail(p, CODE_CONNECT_FAILED, ENOTCONN);
}

static void dialled(void *arg, int fd, const struct addr *addr, int error)
{
	struct parent *p = arg;

	(void)addr;
	dial_free(p->dial);
	p->dial = NULL;
	if (p->query)
		resolver_cancel(p->query);
	p->query = NULL;
	if (fd < 0)
		missed(p, error);
	else if (p->plan.bare && !p->up.tls)
		succeed(p, fd);
	else
		handshake(p, fd);
}

static void dial(struct parent *p, const struct addr *v, size_t n, bool more)
{
	if (!p->dial)
		p->dial = dial_new(p->plan.base, p->plan.share, p->up.at.port, dialled, p);
	dial_add(p->dial, v, n, more);
}

static void resolved(void *arg, enum resolver_status status, const struct addr *v, size_t n)
{
	struct parent *p = arg;
	bool more = status == RESOLVER_MORE;

	if (!more)
		p->query = NULL;
	if (n || (p->dial && !more))
		dial(p, v, n, more);
	else if (!more)
		missed(p, EHOSTUNREACH);
}

struct parent *parent_new(const struct parent_plan *plan, parent_cb *cb, void *arg)
{
	struct parent *p = xcalloc(1, sizeof(*p));

	p->plan = *plan;
	p->up = *plan->up;
	p->plan.up = &p->up;
	p->plan.trust = tls_trust_ref(plan->trust);
	p->cb = cb;
	p->arg = arg;
	p->fd = -1;
	evtimer_assign(&p->timer, plan->base, timer_cb, p);
	return p;
}

void parent_start(struct parent *p)
{
	const struct target *at = &p->up.at;

	if (target_is_literal(at))
		dial(p, &at->addr, 1, false);
	else
		p->query = resolver_start(p->plan.resolver,
					  p->plan.share ? p->plan.share->lookups : NULL, &at->host,
					  resolved, p);
}

void parent_free(struct parent *p)
{
	if (!p)
		return;
	if (p->query)
		resolver_cancel(p->query);
	dial_free(p->dial);
	event_del(&p->timer);
	tls_free(p->tls);
	tls_trust_free(p->plan.trust);
	if (p->fd >= 0) {
		if (event_initialized(&p->ev))
			event_del(&p->ev);
		/* A tunnel may stand behind it by now: nobody has ended it. */
		fd_linger(p->fd, true);
		(void)close(p->fd);
	}
	explicit_bzero(&p->talk, sizeof(p->talk));
	explicit_bzero(&p->up, sizeof(p->up));
	free(p->in);
	free(p);
}
