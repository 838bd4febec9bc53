/*
 * proxy.h - the filtering proxy: listeners in, vetted connections out
 *
 * The proxy owns no policy: a session brings it. Everything that must be told to the outside
 * (audit records, refusals, questions) leaves by the function pointers of the session.
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/policy.h"
#include "policy/target.h"

#define PROXY_SSH_PORT 22 /* a refused captured connection is told why there, not reset */

struct event_base;
struct limits;
struct resolver;
struct proxy;
struct session;
struct upstreams;

/** enum proxy_event_kind - what a session is told */
enum proxy_event_kind {
	PROXY_EVENT_DECISION, /* a target was judged (once a CONNECT, once a plain request) */
	PROXY_EVENT_CLOSE,    /* a connection that had been allowed has ended */
};

/**
 * struct proxy_event - one thing that happened; every pointer is valid during the call only
 * @conn: number of the client connection, unique in the process
 * @decision: verdict, code and rule. A target that was allowed and could not be reached has
 *            VERDICT_ALLOW with CODE_DNS_FAILED, CODE_CONNECT_FAILED or CODE_CONNECT_TIMEOUT, and
 *            no CLOSE follows; so has one that nobody waits for any more (error ECANCELED). A request without a valid target has an empty @target
 * @addr, @addr_port: what was dialled (CLOSE, or a failed dial); family AF_UNSPEC if nothing was
 * @bytes_up, @bytes_down: payload from and to the client (CLOSE)
 * @duration_us: from the accept to the end (CLOSE)
 * @client: the client's socket while it is open, only to be looked at; else -1
 * @asker, @asker_port: of a name that was looked up by a datagram: where that came from; family
 *                       AF_UNSPEC otherwise
 * @program, @pid: who connected, for whoever passes the event on and knows; NULL and 0
 * @hint: what may have been overlooked in a refusal, likewise; NULL
 * @reason: one word or two for how it ended (CLOSE): "eof", "reset", "idle", "client-gone", ...
 */
struct proxy_event {
	enum proxy_event_kind kind;
	uint64_t conn;
	const struct target *target;
	struct decision decision;
	struct addr addr;
	uint16_t addr_port;
	uint64_t bytes_up, bytes_down;
	uint64_t duration_us;
	int client;
	struct addr asker;
	uint16_t asker_port;
	const char *program;
	uint64_t pid;
	const char *hint;
	const char *reason;
};

typedef void proxy_event_cb(void *arg, const struct proxy_event *ev);

/**
 * typedef proxy_ask_cb - a question has been answered
 * @d: VERDICT_ALLOW or VERDICT_DENY; valid during the call only, but @d->by outlives the session
 */
typedef void proxy_ask_cb(void *arg, const struct decision *d);

/**
 * typedef proxy_name_cb - the name behind the address that a captured connection dialled
 * @port: that it dialled there
 * Return: false if the address stands for no name (it is then judged as a literal).
 */
typedef bool proxy_name_cb(void *arg, const struct addr *dialled, uint16_t port,
			   struct hostname *out);

/** typedef proxy_same_cb - see struct session_config */
typedef bool proxy_same_cb(void *arg, const struct target *t, const struct hostname *asked);

/**
 * struct proxy_question - what an asker is told about a held connection
 * @target: who it wants to reach
 * @client, @client_port: the client's end of its socket (inside the command's namespace)
 * @fd: the client's socket, only to be looked at
 */
struct proxy_question {
	const struct target *target;
	struct addr client;
	uint16_t client_port;
	int fd;
};

/**
 * struct session_config - one run behind the proxy
 * @policy: points to the caller's pointer, so that a reload swaps it for new connections; the
 *          policy that a decision came from is not used after the callback that reports it
 * @own: this machine's addresses, kept current by the caller, or NULL
 * @event: told of every decision and close; NULL for nobody
 * @hint: what may have been overlooked in a refusal that @event has just been told of, or NULL: it
 *        is said with it, and valid until the next event; NULL for nobody who knows
 * @ask: start a question for VERDICT_ASK; it must call @cb(@cb_arg) exactly once later (never
 *       before it returns) unless cancelled; NULL makes ASK a refusal with code "not-listed"
 * @ask_cancel: withdraw the question that @ask returned
 * @admit: a last word on an allowed name before it is looked up (false: code "limit"), or NULL
 * @name: for captured connections; NULL when there are none
 * @same: whether a TLS client in a tunnel to @t may ask for the server @asked instead; or NULL
 * @door: the rule that refuses a port of this machine's loopback, on which a listener of ours leads
 *        back to this session (NULL: there is none); or NULL
 * @canary: a target that the proxy answers a CONNECT for itself, to show that it is there; or NULL
 * @self: this machine's own name, or NULL
 * @peer: whose it is, by fd_netns(): all sessions of one peer share what it may have; 0: nobody else's
 * @upstream: the proxy that we ourselves must go through, or NULL; outlives the session, or is
 *            replaced by session_set_upstream()
 * @arg: passed to each of the above
 */
struct session_config {
	const struct policy *const *policy;
	const struct addr_set *own;
	proxy_event_cb *event;
	const char *(*hint)(void *arg, const struct target *t, const struct decision *d);
	void *(*ask)(void *arg, const struct proxy_question *q, proxy_ask_cb *cb, void *cb_arg);
	void (*ask_cancel)(void *arg, void *question);
	bool (*admit)(void *arg, const struct target *t, const struct decision *d);
	proxy_name_cb *name;
	proxy_same_cb *same;
	const struct rule *(*door)(void *arg, uint16_t port);
	bool (*canary)(void *arg, const struct target *t);
	const struct upstreams *upstream;
	const struct hostname *self;
	uint64_t peer;
	void *arg;
};

/**
 * enum listener_kind - what arrives on a listener
 */
enum listener_kind {
	LISTENER_PROXY,	  /* explicit proxying: HTTP or SOCKS, sniffed by the first byte */
	LISTENER_CAPTURE, /* getsockname() is the target (AnyIP) */
	LISTENER_FORWARD, /* a fixed target */
};

/** proxy_new() - NULL with @err on failure. The base and resolver must outlive the proxy. */
struct proxy *proxy_new(struct event_base *base, struct resolver *resolver, struct error *err);

/** proxy_set_limits() - use others for connections to come. */
void proxy_set_limits(struct proxy *p, const struct limits *limits);

/** proxy_free() - closes every connection and listener. */
void proxy_free(struct proxy *p);

/** proxy_session() - a session; @cfg is copied. Freed by session_free() or with the proxy. */
struct session *proxy_session(struct proxy *p, const struct session_config *cfg);

/** session_free() - its listeners and connections are closed at once. */
void session_free(struct session *s);

/**
 * session_listen() - accept on a listening socket for this session
 * @fd: taken over in any case; made non-blocking; on a unix socket our own user's peers only
 * @fixed: the target for LISTENER_FORWARD (copied), else NULL
 *
 * Return: 0, or -1 with @err.
 */
int session_listen(struct session *s, int fd, enum listener_kind kind, const struct target *fixed,
		   struct error *err);

/**
 * session_join() - carry bytes between two connected sockets, without any policy
 *
 * For connections from the host to a server inside. Both are non-blocking and taken over; when the
 * session is full they are closed.
 */
void session_join(struct session *s, int client, int server);

/**
 * session_set_upstream() - another way out, for connections and requests to come
 * @up: as in struct session_config; the one before it is not used any more
 *
 * A plain request that was read and is not connected yet is answered by 502.
 */
void session_set_upstream(struct session *s, const struct upstreams *up);

/** session_close_listeners() - accept no more; connections that are open go on. */
void session_close_listeners(struct session *s);

/** session_connections() - how many client connections are open. */
size_t session_connections(const struct session *s);

/**
 * struct undelivered - what has come from inside and is not passed on yet
 * @connections: those that it has come by
 * @moved: changes whenever some of it moves
 */
struct undelivered {
	size_t connections;
	uint64_t moved;
};

/** session_undelivered() - what that is now; costs a system call for each connection. */
void session_undelivered(const struct session *s, struct undelivered *out);

/** session_bytes() - payload of connections whose end has not been told yet, each way. */
void session_bytes(const struct session *s, uint64_t *up, uint64_t *down);

/**
 * session_explain() - what a connection to @t would be told now, before its name is looked up
 *
 * VERDICT_ASK where a person would be asked, whatever was answered before for one connection.
 */
void session_explain(const struct session *s, const struct target *t, struct decision *out);

/** session_recheck() - judge live tunnels again under the current policy and reset refused ones. */
void session_recheck(struct session *s);

#endif
