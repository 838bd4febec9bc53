#include "dns/channel.h"

#include <arpa/nameser.h>
#include <ares.h>
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/addr.h"
#include "base/reader.h"
#include "base/xalloc.h"

#define DNS_PORT    53
#define SERVERS_MAX 8

/** struct sock - one socket of c-ares and the event that watches it, if @watched */
struct sock {
	LIST_ENTRY(sock) link;
	struct channel *channel;
	int fd;
	bool watched;
	struct event *event;
};

/**
 * struct channel - a c-ares channel
 * @timer: when c-ares wants to be woken for its own time-outs
 * @asking: depth of calls into c-ares; it may not be destroyed from its own callbacks
 * @pending: questions out
 * @dying: being freed; answers are dropped
 */
struct channel {
	struct event_base *base;
	ares_channel ares;
	LIST_HEAD(, sock) socks;
	struct event *timer;
	unsigned asking;
	size_t pending;
	bool dying;
};

/** struct channel_ask - one question; @cb is NULL once it has been forgotten */
struct channel_ask {
	struct channel *channel;
	channel_cb *cb;
	void *arg;
};

/* After each call into c-ares: arm the timer for its next time-out. */
static void settle(struct channel *c)
{
	struct timeval tv;

	if (c->asking || c->dying)
		return;
	if (ares_timeout(c->ares, NULL, &tv))
		(void)evtimer_add(c->timer, &tv);
	else
		(void)evtimer_del(c->timer);
}

static void process(struct channel *c, ares_socket_t readable, ares_socket_t writable)
{
	c->asking++;
	ares_process_fd(c->ares, readable, writable);
	c->asking--;
	settle(c);
}

/* The kernel had no room in the epoll set for some, perhaps: a question must not wait for ever. */
static void watch_again(struct channel *c)
{
	struct sock *s;

	LIST_FOREACH (s, &c->socks, link) {
		if (!s->watched)
			s->watched = event_add(s->event, NULL) == 0;
	}
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct channel *c = arg;

	(void)fd;
	(void)what;
	watch_again(c);
	process(c, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static void sock_cb(evutil_socket_t fd, short what, void *arg)
{
	struct channel *c = ((struct sock *)arg)->channel;

	process(c, what & EV_READ ? (int)fd : ARES_SOCKET_BAD,
		what & EV_WRITE ? (int)fd : ARES_SOCKET_BAD);
}

static struct sock *find_sock(struct channel *c, int fd)
{
	struct sock *s;

	LIST_FOREACH (s, &c->socks, link) {
		if (s->fd == fd)
			return s;
	}
	return NULL;
}

static void sock_free(struct sock *s)
{
	LIST_REMOVE(s, link);
	event_free(s->event);
	free(s);
}

/* c-ares says which socket it wants watched for what; (0, 0) comes before the close. */
static void sock_state(void *data, ares_socket_t fd, int readable, int writable)
{
	short what = (short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));
	struct channel *c = data;
	struct sock *s = find_sock(c, fd);

	if (s)
		sock_free(s);
	if (!what)
		return;
	s = xcalloc(1, sizeof(*s));
	s->channel = c;
	s->fd = fd;
	s->event = event_new(c->base, fd, (short)(what | EV_PERSIST), sock_cb, s);
	if (!s->event)
		die("out of memory");
	s->watched = event_add(s->event, NULL) == 0; /* else at the next time-out */
	LIST_INSERT_HEAD(&c->socks, s, link);
}

static bool parse_port(const char *p, size_t n, uint16_t *port)
{
	uint64_t v;

	if (!reader_decimal(p, n, UINT16_MAX, &v) || v == 0)
		return false;
	*port = (uint16_t)v;
	return true;
}

/* "ADDR", "ADDR:PORT", "[V6]", "[V6]:PORT" */
static bool parse_server(const char *text, struct addr *a, uint16_t *port)
{
	const char *colon = strrchr(text, ':');
	const char *close = strchr(text, ']');
	size_t len = strlen(text);

	*port = DNS_PORT;
	if (text[0] == '[') {
		if (!close || !addr_parse(text + 1, (size_t)(close - text - 1), a) ||
		    a->family != AF_INET6)
			return false;
		if (close[1] == '\0')
			return true;
		return close[1] == ':' && parse_port(close + 2, strlen(close + 2), port);
	}
	if (addr_parse(text, len, a))
		return true;
	return colon && addr_parse(text, (size_t)(colon - text), a) && a->family == AF_INET &&
	       parse_port(colon + 1, strlen(colon + 1), port);
}

static int set_servers(struct channel *c, const char *const *servers, struct error *err)
{
	struct ares_addr_port_node nodes[SERVERS_MAX] = { 0 };
	size_t n;
	int status;

	for (n = 0; servers[n]; n++) {
		struct addr a;
		uint16_t port;

		if (n == SERVERS_MAX)
			return error_set(err, 0, "more than %d DNS servers", SERVERS_MAX);
		if (!parse_server(servers[n], &a, &port))
			return error_set(err, 0, "not a DNS server address: %s", servers[n]);
		nodes[n].family = a.family;
		nodes[n].udp_port = port;
		nodes[n].tcp_port = port;
		memcpy(&nodes[n].addr, a.bytes, a.family == AF_INET ? 4 : 16);
		if (n)
			nodes[n - 1].next = &nodes[n];
	}
	if (n == 0)
		return error_set(err, 0, "no DNS server is named");
	status = ares_set_servers_ports(c->ares, nodes);
	if (status != ARES_SUCCESS)
		return error_set(err, 0, "DNS servers: %s", ares_strerror(status));
	return 0;
}

/*
 * Every setting that RES_OPTIONS, LOCALDOMAIN or the options of resolv.conf could make is made
 * here, since c-ares takes theirs only for what its caller left open. HOSTALIASES and the search
 * list are features of ares_search(), which is not used; the flags say so once more.
 */
static int open_ares(struct channel *c, const char *const *servers, const char *resolv_conf,
		     struct error *err)
{
	char lookups[] = "b";
	char none[] = "/dev/null";
	char *path = servers ? none : xstrdup(resolv_conf);
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = CHANNEL_TRY_MS,
		.tries = CHANNEL_TRIES,
		.ndots = 1,
		.ndomains = 0,
		.lookups = lookups,
		.sock_state_cb = sock_state,
		.sock_state_cb_data = c,
		.resolvconf_path = path,
	};
	int status = ares_init_options(&c->ares, &o,
				       ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
					       ARES_OPT_NDOTS | ARES_OPT_DOMAINS |
					       ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB |
					       ARES_OPT_NOROTATE | ARES_OPT_RESOLVCONF);

	if (path != none)
		free(path);
	if (status != ARES_SUCCESS) {
		c->ares = NULL;
		return error_set(err, 0, "cannot read the DNS configuration: %s",
				 ares_strerror(status));
	}
	return servers ? set_servers(c, servers, err) : 0;
}

struct channel *channel_new(struct event_base *base, const char *const *servers,
			    const char *resolv_conf, struct error *err)
{
	static bool ready;
	struct channel *c;

	if (!ready && ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
		(void)error_set(err, 0, "cannot initialise c-ares");
		return NULL;
	}
	ready = true;

	c = xcalloc(1, sizeof(*c));
	c->base = base;
	LIST_INIT(&c->socks);
	c->timer = evtimer_new(base, timer_cb, c);
	if (!c->timer)
		die("out of memory");
	if (open_ares(c, servers, resolv_conf, err)) {
		channel_free(c);
		return NULL;
	}
	return c;
}

void channel_free(struct channel *c)
{
	struct sock *s;

	if (!c)
		return;
	assert(!c->asking);
	c->dying = true;
	if (c->ares)
		ares_destroy(c->ares); /* calls ask_cb() for each question that is out */
	while ((s = LIST_FIRST(&c->socks)))
		sock_free(s);
	event_free(c->timer);
	free(c);
}

static void ask_cb(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
	struct channel_ask *ask = arg;
	struct channel *c = ask->channel;

	(void)timeouts;
	c->pending--;
	if (ask->cb && !c->dying)
		ask->cb(ask->arg, status, msg, msg && len > 0 ? (size_t)len : 0);
	free(ask);
}

void channel_ask(struct channel *c, const char *name, int type, channel_cb *cb, void *arg,
		 struct channel_ask **out)
{
	struct channel_ask *ask = xcalloc(1, sizeof(*ask));

	ask->channel = c;
	ask->cb = cb;
	ask->arg = arg;
	*out = ask;
	c->pending++;
	c->asking++;
	ares_query(c->ares, name, ns_c_in, type, ask_cb, ask);
	c->asking--;
	settle(c);
}

void channel_forget(struct channel_ask *ask)
{
	ask->cb = NULL;
}

size_t channel_pending(const struct channel *c)
{
	return c->pending;
}
