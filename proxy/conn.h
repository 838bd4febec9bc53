/*
 * conn.h - inside proxy/: one client connection, from accept to close
 *
 * Theory of operation and the state diagram stand in conn.c.
 */
#ifndef PROXY_CONN_H
#define PROXY_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "policy/policy.h"
#include "policy/target.h"
#include "proxy/http_head.h"
#include "proxy/session.h"
#include "proxy/tunnel.h"

struct dial;
struct forward;
struct resolver_query;

#define CLIENT	 0 /* index of side[], and of the way that begins there */
#define UPSTREAM 1

/** enum conn_state - see conn.c */
enum conn_state {
	CONN_HEAD,
	CONN_ASK,
	CONN_DIAL,
	CONN_FORWARD,
	CONN_TUNNEL,
	CONN_REPLY,
	CONN_RESET,
	CONN_DEAD,
	CONN_NUM_STATES
};

/** enum proto - what the client speaks, which says how it is answered */
enum proto {
	PROTO_NONE, /* nothing has come yet */
	PROTO_RAW,  /* captured or forwarded: it does not know of us */
	PROTO_HTTP, /* a head is due */
	PROTO_CONNECT,
	PROTO_SOCKS5_GREETING,
	PROTO_SOCKS5,
	PROTO_SOCKS4,
};

/**
 * struct inbuf - bytes from the client that nobody has understood or passed on yet
 * @p: @len bytes from @off on, room for @cap; NULL when empty
 * @borrowed: @p is the proxy's shared buffer, only until we return to the loop
 */
struct inbuf {
	uint8_t *p;
	uint32_t off, len, cap;
	bool borrowed;
};

/**
 * struct conn - owns its sockets, lookup, question, dial, timer and buffers
 * @share: whose descriptors and questions its are; a reference, until it is closed
 * @link: in the session's list, or in the proxy's dead list
 * @run_link: in the proxy's run queue while @queued
 * @query, @dial, @question: under way, or NULL
 * @timer: NULL when there is none; what it means depends on the state
 * @forward: plain HTTP, or NULL
 * @scan: how far the head in @in was looked at
 * @unsent: in CONN_TUNNEL, what the server had taken when the client had failed, or later
 * @unsent, @stalled: in CONN_RESET, what the peer has not acknowledged, and for how many ticks
 * @target: what was asked for last
 * @addr: the first refused address until a dial succeeds, then what was dialled
 * @asked: a person allowed the target; @by: who
 * @allowed: a decision to allow was told, so a close will be
 * @begun: a look-up or a dial for @target has begun, and nobody was told of any outcome
 * @joined: by conn_join(): its upstream side leads inside
 * @running: conn_run() is on the stack: it will see what else there is
 * @idle: between two requests: the next head's time starts with its first byte
 * @linger: in CONN_REPLY: read until the client ends before closing
 * @rerouted: the way out has changed since its request's head was written
 * @through: the upstream side is a proxy of ours, and @addr does not say where it leads
 * @discarded: in CONN_REPLY: bytes read so far
 * @moved, @quiet: the bytes both ways at the last tick, and for how many ticks it has been those
 */
struct conn {
	struct tunnel t;
	struct session *session;
	struct share *share;
	LIST_ENTRY(conn) link;
	TAILQ_ENTRY(conn) run_link;
	uint64_t id;
	uint64_t born_us;
	struct resolver_query *query;
	struct dial *dial;
	struct parent *parent;
	void *question;
	struct event *timer;
	struct forward *forward;
	struct snicheck *snicheck;
	struct inbuf in;
	struct http_scan scan;
	uint32_t unsent, discarded, moved;
	uint16_t stalled;
	uint8_t state; /* enum conn_state; written by conn_enter() only */
	uint8_t proto; /* enum proto */
	uint8_t moves; /* counts conn_enter() */
	uint8_t quiet;
	bool queued, running, asked, allowed, begun, joined, linger, idle, through, rerouted;
	const char *by;
	struct target target;
	struct addr addr;
};

/**
 * conn_start() - a client was accepted, and proxy_is_full() said no
 * @share: the session's, or the client's own; a reference is added
 * @fd: taken over
 * @local: it is a unix socket
 * @fixed: for LISTENER_FORWARD
 */
void conn_start(struct session *s, struct share *share, int fd, bool local, enum listener_kind kind,
		const struct target *fixed);

/** conn_join() - a tunnel between two connected sockets, which are taken over. */
void conn_join(struct session *s, int client, int server);

/** conn_run() - do what can be done now; called by every event of the connection. */
void conn_run(struct conn *c);

/** conn_enter() - the only writer of the state; asserts that the diagram has that arrow. */
void conn_enter(struct conn *c, enum conn_state next);

/** conn_close() - idempotent: end everything, close the sockets, free later. */
void conn_close(struct conn *c, const char *why);

/** conn_reset() - the same, but the peers get an RST. */
void conn_reset(struct conn *c, const char *why);

/** conn_free() - for the sweep only. */
void conn_free(struct proxy *p, struct conn *c);

/** conn_recheck() - reset it if it is a tunnel that the policy refuses now. */
void conn_recheck(struct conn *c);

/** conn_tick() - a tick of the clock: reset it if nothing has moved for too long. */
void conn_tick(struct conn *c);

/** conn_limits() - the numbers that hold for it. */
const struct limits *conn_limits(const struct conn *c);

/** conn_timer() - let the timer run out in @ms milliseconds. */
void conn_timer(struct conn *c, unsigned ms);

/** conn_no_timer() - and not any more. */
void conn_no_timer(struct conn *c);

/** conn_fill() - recv() into @c->in. Return: as recv(), EAGAIN included. */
ssize_t conn_fill(struct conn *c, size_t max);

/** conn_consume() - @n bytes of @c->in are done with. */
void conn_consume(struct conn *c, size_t n);

/** conn_tell() - report a decision. The callback may have closed @c. */
void conn_tell(struct conn *c, const struct decision *d);

/** conn_upstream_end() - close the upstream side and tell that it ended. */
void conn_upstream_end(struct conn *c, bool reset, const char *why);

/** conn_reply() - send while the client can take it, keep the rest. */
void conn_reply(struct conn *c, const void *p, size_t n);

/** conn_tunnel() - both sides are connected: from now on it is bytes only. */
void conn_tunnel(struct conn *c);

#endif
