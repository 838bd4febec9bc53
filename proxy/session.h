/*
 * session.h - inside proxy/: what its files know of the proxy and of a session
 */
#ifndef PROXY_SESSION_H
#define PROXY_SESSION_H

#include <event2/event_struct.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/fairshare.h"
#include "proxy/connpool.h"
#include "proxy/limits.h"
#include "proxy/pipepool.h"
#include "proxy/proxy.h"
#include "proxy/share.h"

struct conn;
struct listener;

#define SCRATCH_SIZE (EARLY_DATA_MAX + HTTP_HEAD_MAX)

LIST_HEAD(conn_list, conn);
TAILQ_HEAD(conn_queue, conn);
LIST_HEAD(session_list, session);
LIST_HEAD(listener_list, listener);

/**
 * struct proxy
 * @next_conn: number of the next client connection
 * @nconns: client connections of all sessions
 * @stock: descriptors for them, of which @shares have taken some
 * @reserve: a descriptor kept back for the moment when there is no other, or -1
 * @runq: connections whose turn was over; @run lets them go on after the next poll
 * @dead, @dead_sessions: closed, freed by @sweep when no callback can still look at them
 * @limits: the numbers that hold
 * @head_timeout: @limits.head_ms as a common timeout: a list, no heap
 * @clock: while there are connections: looks for idle ones
 * @in: receives heads; a connection copies what it did not use before it returns to the loop
 * @scratch: for bytes that are passed on at once
 */
struct proxy {
	struct event_base *base;
	struct resolver *resolver;
	struct session_list sessions;
	struct pipepool pool;
	struct connpool conns;
	uint64_t next_conn;
	size_t nconns;
	struct fairshare stock;
	struct share_list shares;
	int reserve;
	struct conn_queue runq;
	struct event run;
	struct conn_list dead;
	struct session_list dead_sessions;
	struct event sweep;
	struct limits limits;
	const struct timeval *head_timeout;
	struct event clock;
	uint8_t in[SCRATCH_SIZE];
	uint8_t scratch[FORWARD_BUFFER_MAX];
};

/**
 * struct session
 * @share: what it has of what all need; clients of a unix socket have shares of their own
 * @conns: open client connections, @nconns of them
 */
struct session {
	LIST_ENTRY(session) link;
	struct proxy *proxy;
	struct session_config cfg;
	struct share *share;
	struct conn_list conns;
	struct listener_list listeners;
	size_t nconns;
};

/** proxy_run_soon() - @c has more to do: it goes on after the next poll for events. */
void proxy_run_soon(struct proxy *p, struct conn *c);

/** proxy_wind_clock() - there is a connection: idle ones are looked for from now on. */
void proxy_wind_clock(struct proxy *p);

/** proxy_is_full() - one more connection of @s, for @share, would be more than the limits say. */
bool proxy_is_full(const struct session *s, const struct share *share);

/** proxy_is_used_up() - nobody may have one more, whoever it is. */
bool proxy_is_used_up(const struct proxy *p);

/** session_foresee() - what is known, without asking anybody, of where @t leads: into @d. */
void session_foresee(const struct session *s, const struct target *t, struct decision *d);

/** proxy_sweep_soon() - there is something on a dead list. */
void proxy_sweep_soon(struct proxy *p);

#endif
