#include "proxy/route.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dns/resolver.h"
#include "proxy/dial.h"
#include "proxy/forward.h"
#include "proxy/lastwords.h"
#include "proxy/parent.h"
#include "proxy/reply.h"
#include "proxy/snicheck.h"
#include "proxy/socks4.h"
#include "proxy/socks5.h"
#include "proxy/tls.h"
#include "proxy/upstream.h"

static const struct policy *policy(const struct conn *c)
{
	return *c->session->cfg.policy;
}

/* ---- judging */

/* What is strict about server names wants TLS on that port, and a plain request is none. */
static bool wants_tls(const struct conn *c)
{
	return c->proto == PROTO_HTTP && c->target.port == SNICHECK_PORT &&
	       policy_sni_check(policy(c)) == SNI_STRICT && !target_is_literal(&c->target);
}

/* The verdict of this moment; a person's answer stands where the policy would ask. */
static void decide(struct conn *c, struct decision *d)
{
	const struct session_config *cfg = &c->session->cfg;

	policy_decide(policy(c), &c->target, d);
	if (d->verdict != VERDICT_DENY && wants_tls(c)) {
		d->verdict = VERDICT_DENY;
		d->code = CODE_SNI_MISMATCH;
		return;
	}
	if (d->verdict == VERDICT_ASK && c->asked) {
		d->verdict = VERDICT_ALLOW;
		d->code = CODE_OK;
		d->by = c->by;
	}
	if (d->verdict == VERDICT_ALLOW && cfg->admit && !target_is_literal(&c->target) &&
	    !cfg->admit(cfg->arg, &c->target, d)) {
		d->verdict = VERDICT_DENY;
		d->code = CODE_LIMIT;
	}
}

/* The policy may have changed since the answer was given: then it is refused before any look-up. */
static void answered(void *arg, const struct decision *d)
{
	struct decision now = *d;
	struct conn *c = arg;

	c->question = NULL;
	if (c->state != CONN_ASK)
		return;
	if (d->verdict == VERDICT_ALLOW) {
		c->asked = true;
		c->by = d->by;
		decide(c, &now);
	}
	if (now.verdict == VERDICT_ALLOW)
		route_dial(c);
	else
		lastwords_refuse(c, &now);
	conn_run(c);
}

static void ask(struct conn *c)
{
	const struct session_config *cfg = &c->session->cfg;
	const struct decision unasked = { .verdict = VERDICT_DENY, .code = CODE_NOT_LISTED };
	struct proxy_question q = { .target = &c->target, .fd = c->t.side[CLIENT].fd };
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	void *question = NULL;

	if (getpeername(q.fd, (struct sockaddr *)&ss, &len) == 0)
		(void)addr_from_sockaddr((struct sockaddr *)&ss, &q.client, &q.client_port);
	conn_no_timer(c);
	conn_enter(c, CONN_ASK);
	if (cfg->ask)
		question = cfg->ask(cfg->arg, &q, answered, c);
	if (c->state != CONN_ASK)
		return;
	c->question = question;
	if (!question)
		lastwords_refuse(c, &unasked);
}

/* It leads nowhere: an answer, and the end. */
static bool is_canary(struct conn *c)
{
	const struct session_config *cfg = &c->session->cfg;

	if (!cfg->canary || c->proto != PROTO_CONNECT || !cfg->canary(cfg->arg, &c->target))
		return false;
	lastwords_say(c, REPLY_CONNECTED, strlen(REPLY_CONNECTED), "canary");
	return true;
}

void route_judge(struct conn *c, const struct target *t)
{
	struct decision d;

	if (!target_equal(t, &c->target)) {
		c->asked = false;
		conn_upstream_end(c, false, "eof");
		if (c->state == CONN_DEAD)
			return;
	}
	c->target = *t;
	if (is_canary(c))
		return;
	decide(c, &d);
	if (d.verdict == VERDICT_ASK)
		session_foresee(c->session, &c->target, &d);
	switch (d.verdict) {
	case VERDICT_DENY:
		lastwords_refuse(c, &d);
		break;
	case VERDICT_ASK:
		ask(c);
		break;
	case VERDICT_ALLOW:
		route_dial(c);
		break;
	}
}

/*
 * An allowed port of this machine, on which we stand ourselves: whoever goes in there could come by
 * here again, and so on without end.
 */
static void refuse_door(struct conn *c, const struct addr *a, struct decision *d)
{
	const struct session_config *cfg = &c->session->cfg;
	const struct rule *r = cfg->door ? cfg->door(cfg->arg, c->target.port) : NULL;

	if (r && addr_classify(a) == ADDR_LOOPBACK)
		*d = (struct decision){
			.verdict = VERDICT_DENY, .code = CODE_DENIED, .rule = r, .addr = *a
		};
}

static bool vet(struct conn *c, const struct addr *a, struct decision *d)
{
	policy_vet(policy(c), &c->target, a, c->session->cfg.own, d);
	if (d->verdict == VERDICT_ALLOW)
		refuse_door(c, a, d);
	return d->verdict == VERDICT_ALLOW;
}

/*
 * Every address was refused. The first is vetted again, because the rule of that decision may
 * have gone with its policy.
 */
static void no_address(struct conn *c)
{
	struct decision d;

	if (c->addr.family == AF_UNSPEC)
		lastwords_fail(c, CODE_DNS_FAILED, 0);
	else if (!vet(c, &c->addr, &d))
		lastwords_refuse(c, &d);
	else
		lastwords_fail(c, CODE_CONNECT_FAILED, 0); /* a reload between two answers */
}

/* ---- the connection stands */

/*
 * What was reached, as the kernel says it. A connection whose two ends have one address leads to
 * this machine, whatever the list of its addresses said when the target was vetted.
 */
static bool reached_is_vetted(struct conn *c, int fd, struct addr *peer, struct decision *d)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct addr local;
	const struct addr_set own = { .v = &local, .n = 1 };

	*d = (struct decision){ .verdict = VERDICT_DENY, .code = CODE_CONNECT_FAILED };
	if (getpeername(fd, (struct sockaddr *)&ss, &len) < 0 ||
	    !addr_from_sockaddr((struct sockaddr *)&ss, peer, NULL))
		return false;
	if (!vet(c, peer, d))
		return false;
	len = sizeof(ss);
	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0 ||
	    !addr_from_sockaddr((struct sockaddr *)&ss, &local, NULL))
		return false;
	if (!addr_equal(&local, peer))
		return true;
	policy_vet(policy(c), &c->target, peer, &own, d);
	return d->verdict == VERDICT_ALLOW;
}

static void upstream_cb(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	side_ready(&c->t.side[UPSTREAM], what);
	conn_run(c);
}

/* Tells the client and lets the bytes go. */
static void connected(struct conn *c)
{
	uint8_t socks[SOCKS5_REPLY_SIZE];

	switch ((enum proto)c->proto) {
	case PROTO_HTTP:
		conn_enter(c, CONN_FORWARD);
		return;
	case PROTO_CONNECT:
		conn_reply(c, REPLY_CONNECTED, sizeof(REPLY_CONNECTED) - 1);
		break;
	case PROTO_SOCKS5:
		socks5_format_reply(SOCKS5_SUCCEEDED, socks);
		conn_reply(c, socks, SOCKS5_REPLY_SIZE);
		break;
	case PROTO_SOCKS4:
		socks4_format_reply(true, socks);
		conn_reply(c, socks, SOCKS4_REPLY_SIZE);
		break;
	case PROTO_RAW:
	case PROTO_NONE:
	case PROTO_SOCKS5_GREETING:
		break;
	}
	conn_tunnel(c);
}

/* @tls is taken over like @fd. */
static void adopt(struct conn *c, int fd, struct tls *tls)
{
	struct decision d;
	struct addr peer = { .family = AF_UNSPEC };

	if (c->through || reached_is_vetted(c, fd, &peer, &d))
		decide(c, &d);
	if (d.verdict != VERDICT_ALLOW) {
		tls_free(tls);
		(void)close(fd);
		if (d.code == CODE_CONNECT_FAILED)
			lastwords_fail(c, CODE_CONNECT_FAILED, 0);
		else
			lastwords_refuse(c, &d);
		return;
	}
	c->addr = peer;
	if (!side_open(&c->t.side[UPSTREAM], c->session->proxy->base, fd, upstream_cb, c)) {
		tls_free(tls);
		lastwords_fail(c, CODE_CONNECT_FAILED, 0);
		return;
	}
	c->t.side[UPSTREAM].readable = false; /* most servers speak second; else the event says */
	if (tls)
		side_wrap(&c->t.side[UPSTREAM], tls);
	conn_tell(c, &d);
	if (c->state == CONN_DIAL)
		connected(c);
}

/* Runs inside dial_add() or from the loop; whoever is behind us calls conn_run(). */
static void dialled(void *arg, int fd, const struct addr *addr, int error)
{
	struct conn *c = arg;

	if (fd < 0)
		c->addr = *addr;
	dial_free(c->dial);
	c->dial = NULL;
	if (c->query)
		resolver_cancel(c->query);
	c->query = NULL;
	if (fd >= 0)
		adopt(c, fd, NULL);
	else
		lastwords_fail(c, error == ETIMEDOUT ? CODE_CONNECT_TIMEOUT : CODE_CONNECT_FAILED,
			       error);
	conn_run(c);
}

static void add(struct conn *c, const struct addr *v, size_t n, bool more)
{
	if (!c->dial)
		c->dial = dial_new(c->session->proxy->base, c->share, c->target.port, dialled, c);
	dial_add(c->dial, v, n, more);
}

/* ---- addresses */

/* No question has been asked, so that nothing is known of the name. */
static void too_many_lookups(struct conn *c)
{
	const struct decision d = { .verdict = VERDICT_DENY, .code = CODE_LIMIT, .error = EBUSY };

	lastwords_refuse(c, &d);
}

static void resolved(void *arg, enum resolver_status status, const struct addr *v, size_t n)
{
	struct conn *c = arg;
	struct addr good[RESOLVER_ADDRS_MAX];
	struct decision d;
	size_t ngood = 0;
	bool more = status == RESOLVER_MORE;

	if (!more)
		c->query = NULL;
	for (size_t i = 0; i < n && ngood < RESOLVER_ADDRS_MAX; i++) {
		if (vet(c, &v[i], &d))
			good[ngood++] = v[i];
		else if (c->addr.family == AF_UNSPEC)
			c->addr = v[i];
	}
	if (ngood || (c->dial && !more))
		add(c, good, ngood, more);
	else if (status == RESOLVER_BUSY)
		too_many_lookups(c);
	else if (!more)
		no_address(c);
	conn_run(c);
}

/* ---- by way of the proxy that we ourselves must use */

static void through_parent(void *arg, int fd, struct tls *tls, enum code code, int error)
{
	struct conn *c = arg;

	parent_free(c->parent);
	c->parent = NULL;
	if (fd >= 0)
		adopt(c, fd, tls);
	else
		lastwords_fail(c, code, error);
	conn_run(c);
}

/* The parent looks the name up, so that only what we know is judged here: name and literal. */
static void dial_parent(struct conn *c, const struct upstream *up)
{
	const struct parent_plan plan = {
		.base = c->session->proxy->base,
		.resolver = c->session->proxy->resolver,
		.share = c->share,
		.up = up,
		.trust = upstreams_trust(c->session->cfg.upstream),
		.target = &c->target,
		.tls_ms = conn_limits(c)->upstream_tls_ms,
		.talk_ms = conn_limits(c)->upstream_ms,
		.bare = c->proto == PROTO_HTTP && forward_is_absolute(c->forward),
	};
	struct decision d;

	if (target_is_literal(&c->target) && !vet(c, &c->target.addr, &d)) {
		lastwords_refuse(c, &d);
		return;
	}
	c->through = true;
	c->parent = parent_new(&plan, through_parent, c);
	parent_start(c->parent);
}

/*
 * The connection of the client's last request may serve this one too. A reset that came together
 * with the last response has made no event of its own: it is looked for where the request could
 * not be sent once more.
 */
static bool reuse(struct conn *c)
{
	struct decision d;

	if (c->t.side[UPSTREAM].fd < 0 || !c->forward)
		return false;
	if (!forward_may_reuse(c->forward) || (!c->through && !vet(c, &c->addr, &d)) ||
	    (!forward_may_repeat(c->forward) && side_has_error(&c->t.side[UPSTREAM]))) {
		conn_upstream_end(c, false, "eof");
		return false;
	}
	decide(c, &d);
	conn_tell(c, &d);
	if (c->state == CONN_DEAD)
		return true;
	forward_reuse(c->forward);
	conn_enter(c, CONN_FORWARD);
	return true;
}

/*
 * The head was written for another way out, with that proxy's credentials perhaps: it must not be
 * sent this way. The client may ask again.
 */
static void rerouted(struct conn *c)
{
	conn_upstream_end(c, false, "eof");
	if (c->state != CONN_DEAD)
		lastwords_fail(c, CODE_CONNECT_FAILED, 0);
}

void route_dial(struct conn *c)
{
	const struct upstream *up = upstreams_for(c->session->cfg.upstream, &c->target);
	struct decision d;

	conn_no_timer(c);
	if (c->rerouted && c->proto == PROTO_HTTP) {
		rerouted(c);
		return;
	}
	if (reuse(c) || c->state == CONN_DEAD)
		return;
	conn_enter(c, CONN_DIAL);
	c->begun = true;
	c->addr = (struct addr){ .family = AF_UNSPEC };
	c->through = false;
	if (up)
		dial_parent(c, up);
	else if (!target_is_literal(&c->target))
		c->query = resolver_start(c->session->proxy->resolver, c->share->lookups,
					  &c->target.host, resolved, c);
	else if (vet(c, &c->target.addr, &d))
		add(c, &c->target.addr, 1, false);
	else
		lastwords_refuse(c, &d);
}
