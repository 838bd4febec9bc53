#include "proxy/proxy.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "dns/resolver.h"
#include "proxy/conn.h"
#include "proxy/listener.h"
#include "proxy/session.h"
#include "proxy/sockopt.h"
#include "proxy/undelivered.h"
#include "proxy/upstream.h"

static void sweep(struct proxy *p)
{
	struct session *s;
	struct conn *c;

	while ((c = LIST_FIRST(&p->dead))) {
		LIST_REMOVE(c, link);
		conn_free(p, c);
	}
	while ((s = LIST_FIRST(&p->dead_sessions))) {
		LIST_REMOVE(s, link);
		listener_free_all(s);
		share_put(s->share);
		free(s);
	}
}

static void sweep_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	sweep(arg);
}

void proxy_sweep_soon(struct proxy *p)
{
	event_active(&p->sweep, EV_TIMEOUT, 1);
}

void proxy_run_soon(struct proxy *p, struct conn *c)
{
	const struct timeval now = { 0 };

	if (c->queued)
		return;
	if (TAILQ_EMPTY(&p->runq))
		event_add(&p->run, &now);
	TAILQ_INSERT_TAIL(&p->runq, c, run_link);
	c->queued = true;
}

/* Those that join the queue meanwhile wait for the next round, behind a poll for events. */
static void run_cb(evutil_socket_t fd, short what, void *arg)
{
	struct proxy *p = arg;
	const struct timeval again = { 0 };
	struct conn *c;
	size_t n = 0;

	(void)fd;
	(void)what;
	TAILQ_FOREACH (c, &p->runq, run_link)
		n++;
	while (n-- > 0 && (c = TAILQ_FIRST(&p->runq))) {
		TAILQ_REMOVE(&p->runq, c, run_link);
		c->queued = false;
		conn_run(c);
	}
	if (!TAILQ_EMPTY(&p->runq))
		event_add(&p->run, &again);
}

static struct timeval from_ms(unsigned ms)
{
	return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };
}

/*
 * One clock for all connections, wound up while there are any. To look at twenty thousand of them
 * every quarter of an hour costs less than to note each byte's time as it passes.
 */
static void clock_cb(evutil_socket_t fd, short what, void *arg)
{
	struct proxy *p = arg;
	struct session *s;
	struct conn *c, *next;

	(void)fd;
	(void)what;
	/* What hears of a close may end sessions: they stay readable until the sweep. */
	LIST_FOREACH (s, &p->sessions, link) {
		for (c = LIST_FIRST(&s->conns); c; c = next) {
			next = LIST_NEXT(c, link);
			conn_tick(c);
		}
	}
	if (p->nconns)
		proxy_wind_clock(p);
}

void proxy_wind_clock(struct proxy *p)
{
	const struct timeval tick = from_ms(p->limits.idle_ms / IDLE_TICKS);

	if (!event_pending(&p->clock, EV_TIMEOUT, NULL))
		event_add(&p->clock, &tick);
}

bool proxy_is_used_up(const struct proxy *p)
{
	return p->nconns >= p->limits.connections ||
	       p->stock.taken + CONNECTION_DESCRIPTORS > p->stock.max;
}

bool proxy_is_full(const struct session *s, const struct share *share)
{
	const struct limits *l = &s->proxy->limits;

	/* Where each client has a share of its own, the session is everybody's. */
	return (share == s->share && s->nconns >= l->session_connections) ||
	       proxy_is_used_up(s->proxy) || !share_may(share, CONNECTION_DESCRIPTORS);
}

void proxy_set_limits(struct proxy *p, const struct limits *limits)
{
	const struct timeval head = from_ms(limits->head_ms);

	p->limits = *limits;
	p->stock.max = limits->descriptors;
	p->pool.max = limits->pipes;
	p->head_timeout = event_base_init_common_timeout(p->base, &head);
}

struct proxy *proxy_new(struct event_base *base, struct resolver *resolver, struct error *err)
{
	const struct limits limits = limits_default();
	struct proxy *p;

	if (!(event_base_get_features(base) & EV_FEATURE_ET)) {
		error_set(err, 0, "the event loop cannot report edges (%s)",
			  event_base_get_method(base));
		return NULL;
	}
	/* splice(2) to a closed connection knows no MSG_NOSIGNAL. */
	(void)signal(SIGPIPE, SIG_IGN);
	p = xcalloc(1, sizeof(*p));
	p->base = base;
	p->resolver = resolver;
	proxy_set_limits(p, &limits);
	p->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	LIST_INIT(&p->sessions);
	LIST_INIT(&p->shares);
	LIST_INIT(&p->dead);
	LIST_INIT(&p->dead_sessions);
	TAILQ_INIT(&p->runq);
	evtimer_assign(&p->run, base, run_cb, p);
	evtimer_assign(&p->clock, base, clock_cb, p);
	event_assign(&p->sweep, base, -1, 0, sweep_cb, p);
	return p;
}

void proxy_free(struct proxy *p)
{
	struct session *s;

	if (!p)
		return;
	while ((s = LIST_FIRST(&p->sessions)))
		session_free(s);
	sweep(p);
	event_del(&p->run);
	event_del(&p->clock);
	event_del(&p->sweep);
	pipepool_clear(&p->pool);
	connpool_clear(&p->conns);
	if (p->reserve >= 0)
		(void)close(p->reserve);
	free(p);
}

struct session *proxy_session(struct proxy *p, const struct session_config *cfg)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->proxy = p;
	s->cfg = *cfg;
	s->share = share_get(p, cfg->peer);
	LIST_INIT(&s->conns);
	LIST_INIT(&s->listeners);
	LIST_INSERT_HEAD(&p->sessions, s, link);
	return s;
}

/* May be called from a callback of one of its connections: the memory goes with the sweep. */
void session_free(struct session *s)
{
	if (!s)
		return;
	LIST_REMOVE(s, link);
	LIST_INSERT_HEAD(&s->proxy->dead_sessions, s, link);
	listener_close_all(s);
	while (!LIST_EMPTY(&s->conns))
		undelivered_end(LIST_FIRST(&s->conns));
	proxy_sweep_soon(s->proxy);
}

int session_listen(struct session *s, int fd, enum listener_kind kind, const struct target *fixed,
		   struct error *err)
{
	return listener_open(s, fd, kind, fixed, err);
}

void session_join(struct session *s, int client, int server)
{
	if (!proxy_is_full(s, s->share)) {
		sockopt_stream(client);
		sockopt_stream(server);
		sockopt_near(client); /* from the host's loopback to the sandbox's */
		sockopt_near(server);
		conn_join(s, client, server);
		return;
	}
	(void)close(client);
	(void)close(server);
}

void session_set_upstream(struct session *s, const struct upstreams *up)
{
	const struct upstreams *old = s->cfg.upstream;
	struct conn *c;

	s->cfg.upstream = up;
	LIST_FOREACH (c, &s->conns, link)
		c->rerouted |= !upstream_equal(upstreams_for(old, &c->target),
					       upstreams_for(up, &c->target));
}

void session_close_listeners(struct session *s)
{
	listener_close_all(s);
}

/* A name of the hosts file may lead where an entry for the name will not do: then say both. */
void session_foresee(const struct session *s, const struct target *t, struct decision *d)
{
	const struct session_config *cfg = &s->cfg;
	struct addr v[RESOLVER_ADDRS_MAX] UNINITIALIZED;
	size_t n = 0;

	if (!t->host.len)
		return;
	if (!target_is_literal(t))
		n = resolver_known(s->proxy->resolver, &t->host, v, ARRAY_SIZE(v));
	policy_foresee(*cfg->policy, t, v, n, cfg->own, d);
	d->own_name = n == 0 && cfg->self && hostname_equal(&t->host, cfg->self) &&
		      d->code != CODE_DENIED;
}

void session_explain(const struct session *s, const struct target *t, struct decision *out)
{
	policy_decide(*s->cfg.policy, t, out);
	session_foresee(s, t, out);
}

size_t session_connections(const struct session *s)
{
	return s->nconns;
}

void session_bytes(const struct session *s, uint64_t *up, uint64_t *down)
{
	const struct conn *c;

	*up = *down = 0;
	LIST_FOREACH (c, &s->conns, link) {
		if (!c->allowed)
			continue;
		*up += c->t.way[CLIENT].bytes;
		*down += c->t.way[UPSTREAM].bytes;
	}
}

void session_recheck(struct session *s)
{
	struct conn *next;

	for (struct conn *c = LIST_FIRST(&s->conns); c; c = next) {
		next = LIST_NEXT(c, link);
		conn_recheck(c);
	}
}
