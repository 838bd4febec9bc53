/*
 * Theory of operation
 *
 * One struct conn is one accepted client, from accept4() to the sweep. It owns two sockets
 * (c->t.side), and for as long as each is needed a lookup, a dial, a question, a timer, a buffer.
 *
 *	accept
 *	   |
 *	   v           DENY, or a bad head
 *	 HEAD --------------------------------------------> REPLY ---> DEAD
 *	   |  \ ASK                                          ^   (last words, then close)
 *	   |   v         asked: no                           |
 *	   |  ASK -------------------------------------------+
 *	   |   | asked: yes                                  |
 *	   v   v         no vetted address, no connection    |
 *	  DIAL ----------------------------------------------+
 *	   |  \ plain HTTP                                   |
 *	   |   v         next request: HEAD; malformed: REPLY|
 *	   |  FORWARD ---------------------------------------+
 *	   v   | 101
 *	 TUNNEL <+ --- cut by an error ---> RESET ---> DEAD (when the last bytes are acknowledged)
 *	   |
 *	   v both ends passed on
 *	  DEAD
 *
 * handshake.c takes a connection from HEAD to a target, route.c from a target to a connected
 * upstream side, forward.c moves the messages of plain HTTP, tunnel.c the bytes of everything
 * else; lastwords.c says why where a connection ends before that.
 *
 * Events. Each socket has one edge-triggered event for life, but a client's is added only at the
 * end of the first conn_run(): one that is refused at once costs no epoll_ctl(). The callback only
 * notes what became ready and calls conn_run(), which does what the state can do; so a state that is entered must
 * look at its sockets once by itself (conn_run() loops for that reason), for an edge that was
 * seen in the state before does not come again.
 *
 * Lifetime. conn_close() stops every source and puts the connection on the dead list; the memory
 * is freed by the sweep event, after the callbacks of this round. Callbacks into the session
 * (event, ask) may close this connection or free its session: after each of them the state is
 * looked at again.
 *
 * Decisions are made under the policy of the moment and told in the same breath, for a reload
 * may free the policy at any return to the loop; that is why the target is decided again when the
 * dial has succeeded. A name is resolved only after it was allowed, each address is vetted before
 * it is dialled, and what was reached is vetted once more.
 */
#include "proxy/conn.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "dns/resolver.h"
#include "proxy/dial.h"
#include "proxy/forward.h"
#include "proxy/handshake.h"
#include "proxy/lastwords.h"
#include "proxy/parent.h"
#include "proxy/route.h"
#include "proxy/snicheck.h"

#define RESET_TICK_MS 20

static const char *const state_name[] = { "head",   "ask",   "dial",  "forward",
					  "tunnel", "reply", "reset", "dead" };
static_assert(ARRAY_SIZE(state_name) == CONN_NUM_STATES, "one name a state");

#define TO(s) (1u << CONN_##s)

static const unsigned arrows[] = {
	[CONN_HEAD] = TO(ASK) | TO(DIAL) | TO(FORWARD) | TO(TUNNEL) | TO(REPLY) | TO(DEAD),
	[CONN_ASK] = TO(DIAL) | TO(FORWARD) | TO(REPLY) | TO(DEAD),
	[CONN_DIAL] = TO(FORWARD) | TO(TUNNEL) | TO(REPLY) | TO(DEAD),
	[CONN_FORWARD] =
		TO(HEAD) | TO(ASK) | TO(DIAL) | TO(TUNNEL) | TO(REPLY) | TO(RESET) | TO(DEAD),
	[CONN_TUNNEL] = TO(RESET) | TO(DEAD),
	[CONN_REPLY] = TO(DEAD),
	[CONN_RESET] = TO(DEAD),
	[CONN_DEAD] = 0,
};
static_assert(ARRAY_SIZE(arrows) == CONN_NUM_STATES, "each state has its arrows");

void conn_enter(struct conn *c, enum conn_state next)
{
	assert(arrows[c->state] & (1u << next));
	log_debug("conn=%" PRIx64 " %s -> %s", c->id, state_name[c->state], state_name[next]);
	c->state = (uint8_t)next;
	c->moves++;
}

const struct limits *conn_limits(const struct conn *c)
{
	return &c->session->proxy->limits;
}

/* ---- the bytes that came in */

static void inbuf_clear(struct inbuf *in)
{
	if (!in->borrowed)
		free(in->p);
	*in = (struct inbuf){ 0 };
}

/* Before we return to the loop: others will use the shared buffer. */
static void inbuf_settle(struct inbuf *in)
{
	uint8_t *own;

	if (!in->borrowed)
		return;
	own = xmalloc(in->len);
	memcpy(own, in->p + in->off, in->len);
	*in = (struct inbuf){ .p = own, .len = in->len, .cap = in->len };
}

/* Room for some more, at most SCRATCH_SIZE in all. */
static void inbuf_grow(struct inbuf *in)
{
	size_t cap = in->cap < 1024 ? 2048 : (size_t)in->cap * 2;

	if (in->off) {
		memmove(in->p, in->p + in->off, in->len);
		in->off = 0;
	}
	if (in->borrowed || in->len < in->cap)
		return;
	in->cap = (uint32_t)(cap < SCRATCH_SIZE ? cap : SCRATCH_SIZE);
	in->p = xreallocarray(in->p, in->cap, 1);
}

ssize_t conn_fill(struct conn *c, size_t max)
{
	struct side *client = &c->t.side[CLIENT];
	struct inbuf *in = &c->in;
	ssize_t n;

	if (!in->p)
		*in = (struct inbuf){ .p = c->session->proxy->in,
				      .cap = SCRATCH_SIZE,
				      .borrowed = true };
	inbuf_grow(in);
	if (max > in->cap - in->len)
		max = in->cap - in->len;
	assert(max > 0);
	do
		n = side_recv(client, in->p + in->len, max, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		in->len += (uint32_t)n;
	else
		client->readable = false;
	if (in->len == 0)
		inbuf_clear(in);
	return n;
}

void conn_consume(struct conn *c, size_t n)
{
	assert(n <= c->in.len);
	c->in.off += (uint32_t)n;
	c->in.len -= (uint32_t)n;
	if (c->in.len == 0)
		inbuf_clear(&c->in);
}

/*
 * Whether it has come while a person is asked, or with nothing behind the request for a tunnel: then
 * nobody waits any more. One that does not know of us, and whose server speaks first, may have half-closed
 * as soon as it was connected: no recv() tells that from an end, so its end is passed on to the server.
 */
static bool end_means_gone(const struct conn *c)
{
	return c->state == CONN_ASK ||
	       (c->in.len == 0 && c->proto != PROTO_HTTP && c->proto != PROTO_RAW);
}

/*
 * While the target is asked about or dialled: what the client sends meanwhile is kept, up to a
 * bound. An end behind which nobody waits is not answered by a clean one: a client that has half-closed
 * after all would take that for the server's.
 */
static void early(struct conn *c)
{
	struct side *client = &c->t.side[CLIENT];

	while (client->readable && c->in.len < EARLY_DATA_MAX && !c->t.way[CLIENT].eof) {
		ssize_t n = conn_fill(c, EARLY_DATA_MAX - c->in.len);

		if (n > 0 && handshake_refuses_early(c))
			return;
		if (n > 0)
			continue;
		if (n < 0 && errno != EAGAIN) {
			conn_reset(c, "client-gone");
			return;
		}
		if (n == 0 && end_means_gone(c)) {
			conn_reset(c, "client-gone");
			return;
		}
		c->t.way[CLIENT].eof = n == 0;
		return;
	}
	if (client->readable && side_has_error(client))
		conn_reset(c, "client-gone");
}

/* ---- timer */

static void timer_cb(evutil_socket_t fd, short what, void *arg);

static void timer_start(struct conn *c, const struct timeval *tv)
{
	if (!c->timer)
		c->timer = evtimer_new(c->session->proxy->base, timer_cb, c);
	if (!c->timer)
		die("out of memory");
	event_add(c->timer, tv);
}

void conn_timer(struct conn *c, unsigned ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	timer_start(c, &tv);
}

void conn_no_timer(struct conn *c)
{
	if (c->timer)
		event_free(c->timer);
	c->timer = NULL;
}

static struct side *survivor(struct conn *c)
{
	return &c->t.side[c->t.side[CLIENT].fd >= 0 ? CLIENT : UPSTREAM];
}

/* Resets the surviving side once the peer has all that the broken one had sent. */
static void reset_when_sent(struct conn *c)
{
	struct side *s = survivor(c);
	size_t unsent = side_unsent(s);

	c->stalled = unsent < c->unsent ? 0 : (uint16_t)(c->stalled + 1);
	c->unsent = unsent > UINT32_MAX ? UINT32_MAX : (uint32_t)unsent;
	if (unsent == 0 || c->stalled > conn_limits(c)->reply_ms / RESET_TICK_MS ||
	    side_has_error(s))
		conn_reset(c, "reset");
	else
		conn_timer(c, RESET_TICK_MS);
}

/*
 * The client has failed. What it had said is still delivered, as long as the server takes some of it:
 * one that takes nothing would hold the tunnel for as long as TCP_USER_TIMEOUT is.
 */
static void deliver_rest(struct conn *c)
{
	const uint32_t taken = (uint32_t)c->t.way[CLIENT].bytes;

	if (c->timer && evtimer_pending(c->timer, NULL))
		return;
	if (c->timer && c->unsent == taken) {
		conn_reset(c, "client-gone");
		return;
	}
	c->unsent = taken;
	conn_timer(c, conn_limits(c)->reply_ms);
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	switch ((enum conn_state)c->state) {
	case CONN_HEAD:
		handshake_timeout(c);
		break;
	case CONN_RESET:
		reset_when_sent(c);
		break;
	case CONN_FORWARD:
		conn_reset(c, "timeout");
		break;
	case CONN_REPLY:
		if (c->t.way[UPSTREAM].keep)
			conn_reset(c, "timeout"); /* never half a reply and a clean end */
		else
			conn_close(c, "timeout");
		break;
	case CONN_TUNNEL:
		deliver_rest(c);
		break;
	case CONN_ASK:
	case CONN_DIAL:
	case CONN_DEAD:
	case CONN_NUM_STATES:
		break;
	}
}

/* The bytes are counted anyway, so that a tunnel's clock costs nothing while they flow. */
void conn_tick(struct conn *c)
{
	uint32_t moved = (uint32_t)(c->t.way[CLIENT].bytes + c->t.way[UPSTREAM].bytes);

	if ((c->state != CONN_TUNNEL && c->state != CONN_FORWARD) || moved != c->moved)
		c->quiet = 0;
	else
		c->quiet++;
	c->moved = moved;
	if (c->quiet > IDLE_TICKS)
		conn_reset(c, "idle"); /* an end that nobody sent must not look like one */
}

/* ---- telling the session */

static void tell(struct conn *c, struct proxy_event *ev)
{
	const struct session_config *cfg = &c->session->cfg;

	ev->conn = c->id;
	ev->target = &c->target;
	ev->client = c->t.side[CLIENT].fd;
	ev->addr = c->addr;
	ev->addr_port = c->addr.family == AF_UNSPEC ? 0 : c->target.port;
	if (cfg->event)
		cfg->event(cfg->arg, ev);
}

void conn_tell(struct conn *c, const struct decision *d)
{
	struct proxy_event ev = { .kind = PROXY_EVENT_DECISION, .decision = *d };

	c->begun = false;
	c->allowed = d->verdict == VERDICT_ALLOW && d->code == CODE_OK;
	tell(c, &ev);
}

/*
 * It ends before anybody knows whether the target can be reached; but a question for the name, a SYN or
 * the request to a parent has left, so that the decision has taken effect.
 */
static void tell_begun(struct conn *c, bool looking_up)
{
	struct decision d;

	if (!c->begun)
		return;
	policy_decide(*c->session->cfg.policy, &c->target, &d);
	conn_tell(c, &(struct decision){
			     .verdict = VERDICT_ALLOW,
			     .code = looking_up ? CODE_DNS_FAILED : CODE_CONNECT_FAILED,
			     .rule = d.verdict == VERDICT_ALLOW ? d.rule : NULL,
			     .by = c->asked ? c->by : NULL,
			     .error = ECANCELED,
		     });
}

static void tell_close(struct conn *c, const char *why)
{
	struct proxy_event ev = { .kind = PROXY_EVENT_CLOSE,
				  .decision = { .verdict = VERDICT_ALLOW, .code = CODE_OK },
				  .bytes_up = c->t.way[CLIENT].bytes,
				  .bytes_down = c->t.way[UPSTREAM].bytes,
				  .duration_us = clock_us() - c->born_us,
				  .reason = why };

	if (!c->allowed)
		return;
	c->allowed = false;
	tell(c, &ev);
}

void conn_upstream_end(struct conn *c, bool reset, const char *why)
{
	if (c->t.side[UPSTREAM].fd < 0)
		return;
	side_close(&c->t.side[UPSTREAM], reset);
	tell_close(c, why);
	c->t.way[CLIENT].bytes = c->t.way[UPSTREAM].bytes = 0;
	c->addr = (struct addr){ .family = AF_UNSPEC };
}

/* ---- the end */

static void stop(struct conn *c)
{
	struct proxy *p = c->session->proxy;

	if (c->query)
		resolver_cancel(c->query);
	c->query = NULL;
	dial_free(c->dial);
	c->dial = NULL;
	parent_free(c->parent);
	c->parent = NULL;
	snicheck_free(c->snicheck);
	c->snicheck = NULL;
	if (c->question && c->session->cfg.ask_cancel)
		c->session->cfg.ask_cancel(c->session->cfg.arg, c->question);
	c->question = NULL;
	conn_no_timer(c);
	if (c->queued)
		TAILQ_REMOVE(&p->runq, c, run_link);
	c->queued = false;
	tunnel_clear(&c->t, &p->pool);
	inbuf_clear(&c->in);
}

static void end(struct conn *c, bool reset, const char *why)
{
	struct proxy *p = c->session->proxy;
	bool looking_up = c->query && !c->dial;

	if (c->state == CONN_DEAD)
		return;
	conn_enter(c, CONN_DEAD);
	stop(c);
	side_close(&c->t.side[CLIENT], reset);
	side_close(&c->t.side[UPSTREAM], reset);
	LIST_REMOVE(c, link);
	LIST_INSERT_HEAD(&p->dead, c, link);
	c->session->nconns--;
	p->nconns--;
	share_give(c->share, CONNECTION_DESCRIPTORS);
	share_put(c->share);
	c->share = NULL;
	proxy_sweep_soon(p);
	tell_begun(c, looking_up);
	tell_close(c, why);
}

void conn_close(struct conn *c, const char *why)
{
	end(c, false, why);
}

void conn_reset(struct conn *c, const char *why)
{
	end(c, true, why);
}

void conn_free(struct proxy *p, struct conn *c)
{
	forward_free(c->forward);
	connpool_put(&p->conns, c);
}

/* ---- moving bytes */

void conn_reply(struct conn *c, const void *p, size_t n)
{
	ssize_t sent = 0;

	if (!c->t.way[UPSTREAM].keep)
		sent = send(c->t.side[CLIENT].fd, p, n, MSG_NOSIGNAL);
	if (sent < 0)
		sent = 0; /* full, or gone: the next attempt will tell */
	tunnel_keep(&c->t, UPSTREAM, (const char *)p + sent, n - (size_t)sent, n - (size_t)sent);
}

static void cut(struct conn *c)
{
	struct side *client = &c->t.side[CLIENT];
	struct side *upstream = &c->t.side[UPSTREAM];
	const char *why = client->broken ? "client-gone" : "reset";

	if (client->broken && upstream->broken) {
		conn_reset(c, why);
		return;
	}
	tunnel_clear(&c->t, &c->session->proxy->pool);
	side_close(client->broken ? client : upstream, true);
	c->unsent = UINT32_MAX;
	conn_enter(c, CONN_RESET);
	reset_when_sent(c);
}

/*
 * What the client says first is looked at before any of it goes out; what the server says goes its
 * way meanwhile. Return: false if the connection is at its end.
 */
static bool first_bytes(struct conn *c)
{
	struct proxy *p = c->session->proxy;
	const struct decision d = { .verdict = VERDICT_DENY, .code = CODE_SNI_MISMATCH };

	switch (snicheck_turn(c->snicheck, &c->t, p->in, sizeof(p->in))) {
	case SNICHECK_AGAIN:
		proxy_run_soon(p, c);
		return true;
	case SNICHECK_WAIT:
		if (!c->t.side[CLIENT].broken)
			return true;
		conn_reset(c, "client-gone"); /* nobody will say whether its bytes may go */
		return false;
	case SNICHECK_REFUSE:
		conn_tell(c, &d);
		c->allowed = true; /* the tunnel stood, so its end is told, too */
		conn_reset(c, policy_code_name(d.code));
		return false;
	case SNICHECK_PASS:
		break;
	}
	snicheck_free(c->snicheck);
	c->snicheck = NULL;
	return true;
}

static void pump(struct conn *c)
{
	struct proxy *p = c->session->proxy;

	if (c->snicheck && !first_bytes(c))
		return;
	switch (tunnel_pump(&c->t, &p->pool, p->scratch)) {
	case TUNNEL_WAIT:
		if (c->t.side[CLIENT].broken)
			deliver_rest(c);
		break;
	case TUNNEL_AGAIN:
		proxy_run_soon(p, c);
		break;
	case TUNNEL_DONE:
		conn_close(c, "eof");
		break;
	case TUNNEL_CUT:
		cut(c);
		break;
	}
}

void conn_tunnel(struct conn *c)
{
	const uint8_t *early = c->in.p ? c->in.p + c->in.off : NULL;

	conn_no_timer(c);
	c->snicheck = snicheck_new(policy_sni_check(*c->session->cfg.policy), &c->target);
	if (c->snicheck && c->session->cfg.same)
		snicheck_same(c->snicheck, c->session->cfg.same, c->session->cfg.arg);
	if (c->snicheck)
		snicheck_begin(c->snicheck, &c->t, early, c->in.len);
	else
		tunnel_keep(&c->t, CLIENT, early, c->in.len, 0);
	inbuf_clear(&c->in);
	conn_enter(c, CONN_TUNNEL);
}

static void step(struct conn *c)
{
	switch ((enum conn_state)c->state) {
	case CONN_HEAD:
		handshake_run(c);
		break;
	case CONN_ASK:
	case CONN_DIAL:
		early(c);
		break;
	case CONN_FORWARD:
		forward_run(c);
		break;
	case CONN_TUNNEL:
		pump(c);
		break;
	case CONN_REPLY:
		lastwords_run(c);
		break;
	case CONN_RESET:
		if (side_has_error(survivor(c)))
			conn_reset(c, "reset");
		break;
	case CONN_DEAD:
	case CONN_NUM_STATES:
		break;
	}
}

/*
 * A step that changed the state has left the new state's sockets unseen. What is called back
 * while a step runs (a dial over loopback) does not nest: requests in a pipeline would pile up on
 * the stack.
 */
void conn_run(struct conn *c)
{
	uint8_t moves;

	if (c->running)
		return;
	c->running = true;
	do {
		moves = c->moves;
		step(c);
	} while (c->moves != moves);
	c->running = false;
	if (c->t.side[CLIENT].fd >= 0 && !side_watch(&c->t.side[CLIENT]))
		conn_reset(c, "no-memory");
	inbuf_settle(&c->in);
}

static void client_cb(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	side_ready(&c->t.side[CLIENT], what);
	conn_run(c);
}

static struct conn *conn_new(struct session *s, struct share *share)
{
	struct proxy *p = s->proxy;
	struct conn *c = connpool_get(&p->conns);

	tunnel_init(&c->t);
	c->session = s;
	c->share = share_ref(share);
	share_take(share, CONNECTION_DESCRIPTORS);
	c->id = ++p->next_conn;
	c->born_us = clock_us();
	LIST_INSERT_HEAD(&s->conns, c, link);
	s->nconns++;
	p->nconns++;
	proxy_wind_clock(p);
	return c;
}

static void upstream_cb(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	side_ready(&c->t.side[UPSTREAM], what);
	conn_run(c);
}

/* From HEAD to TUNNEL at once: nobody asks for a target here. */
void conn_join(struct session *s, int client, int server)
{
	struct event_base *base = s->proxy->base;
	struct conn *c = conn_new(s, s->share);
	bool ok;

	c->joined = true;
	ok = side_open(&c->t.side[CLIENT], base, client, client_cb, c);

	ok = side_open(&c->t.side[UPSTREAM], base, server, upstream_cb, c) && ok;
	if (ok)
		conn_enter(c, CONN_TUNNEL);
	else
		conn_reset(c, "no-memory");
	conn_run(c);
}

void conn_start(struct session *s, struct share *share, int fd, bool local, enum listener_kind kind,
		const struct target *fixed)
{
	struct proxy *p = s->proxy;
	struct conn *c = conn_new(s, share);

	side_take(&c->t.side[CLIENT], p->base, fd, client_cb, c);
	if (local)
		side_set_local(&c->t.side[CLIENT]);
	if (kind == LISTENER_PROXY)
		timer_start(c, p->head_timeout);
	else
		handshake_raw(c, kind, fixed);
	conn_run(c);
}

/* ---- a new policy */

void conn_recheck(struct conn *c)
{
	const struct session_config *cfg = &c->session->cfg;
	struct decision d;

	if (c->state == CONN_DEAD || c->t.side[UPSTREAM].fd < 0)
		return;
	if (c->joined) /* nothing was judged */
		return;
	policy_decide(*cfg->policy, &c->target, &d);
	if (d.verdict != VERDICT_DENY && !c->through)
		policy_vet(*cfg->policy, &c->target, &c->addr, cfg->own, &d);
	if (d.verdict == VERDICT_DENY)
		conn_reset(c, "revoked");
}
