#include "proxy/dial.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "proxy/limits.h"
#include "proxy/share.h"
#include "proxy/sockopt.h"

/**
 * struct attempt - one socket that is connecting
 * @fd: -1 when this place is free
 */
struct attempt {
	struct event ev;
	struct dial *dial;
	struct addr addr;
	int fd;
};

/**
 * struct dial
 * @v: addresses, @next[0] is the next IPv6 one and @next[1] the next IPv4 one of them
 * @share: see dial_new(); @extra: descriptors of it, for all attempts but one
 * @turn: the family whose turn it is, 0 for IPv6
 * @total: ends it all; @stagger: starts the next attempt
 * @error, @failed: the first failure
 */
struct dial {
	struct event_base *base;
	struct share *share;
	dial_cb *cb;
	void *arg;
	uint16_t port;
	size_t extra;
	bool more, started;
	unsigned turn;
	struct addr *v;
	size_t n;
	size_t next[2];
	struct event total, stagger;
	struct attempt try[CONNECT_ATTEMPTS_MAX];
	int error;
	struct addr failed;
};

static void run(struct dial *d);

static void set_timer(struct event *ev, unsigned ms)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	event_add(ev, &tv);
}

static void total_cb(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;

	(void)fd;
	(void)what;
	for (size_t i = 0; d->failed.family == AF_UNSPEC && i < CONNECT_ATTEMPTS_MAX; i++) {
		if (d->try[i].fd >= 0)
			d->failed = d->try[i].addr;
	}
	d->cb(d->arg, -1, &d->failed, ETIMEDOUT);
}

static void stagger_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	run(arg);
}

struct dial *dial_new(struct event_base *base, struct share *share, uint16_t port, dial_cb *cb,
		      void *arg)
{
	struct dial *d = xcalloc(1, sizeof(*d));

	d->base = base;
	d->share = share;
	d->port = port;
	d->cb = cb;
	d->arg = arg;
	for (size_t i = 0; i < CONNECT_ATTEMPTS_MAX; i++)
		d->try[i].fd = -1;
	evtimer_assign(&d->total, base, total_cb, d);
	evtimer_assign(&d->stagger, base, stagger_cb, d);
	return d;
}

static size_t in_flight(const struct dial *d)
{
	size_t n = 0;

	for (size_t i = 0; i < CONNECT_ATTEMPTS_MAX; i++)
		n += d->try[i].fd >= 0;
	return n;
}

/* An attempt has ended, or could not begin: the one that is left, or comes next, is counted already. */
static void give_back(struct dial *d)
{
	size_t n = in_flight(d), extra = n > 1 ? n - 1 : 0;

	if (!d->share || d->extra <= extra)
		return;
	share_give(d->share, d->extra - extra);
	d->extra = extra;
}

/* Whether another attempt may begin; it is counted. */
static bool take_one(struct dial *d)
{
	if (in_flight(d) == 0 || !d->share)
		return true;
	if (!share_may(d->share, 1))
		return false;
	share_take(d->share, 1);
	d->extra++;
	return true;
}

static void attempt_close(struct attempt *a)
{
	if (a->fd < 0)
		return;
	if (event_initialized(&a->ev))
		event_del(&a->ev);
	(void)close(a->fd);
	a->fd = -1;
	give_back(a->dial);
}

void dial_free(struct dial *d)
{
	if (!d)
		return;
	event_del(&d->total);
	event_del(&d->stagger);
	for (size_t i = 0; i < CONNECT_ATTEMPTS_MAX; i++)
		attempt_close(&d->try[i]);
	give_back(d);
	free(d->v);
	free(d);
}

/* The next address of a family, or NULL. */
static const struct addr *peek(struct dial *d, unsigned which)
{
	const sa_family_t family = which == 0 ? AF_INET6 : AF_INET;

	while (d->next[which] < d->n && d->v[d->next[which]].family != family)
		d->next[which]++;
	return d->next[which] < d->n ? &d->v[d->next[which]] : NULL;
}

/* IPv6 and IPv4 in turn; when one family has run out, the other goes on (RFC 8305 section 4). */
static const struct addr *next_addr(struct dial *d)
{
	unsigned which = peek(d, d->turn) ? d->turn : 1 - d->turn;
	const struct addr *a = peek(d, which);

	if (!a)
		return NULL;
	d->next[which]++;
	d->turn = 1 - which;
	return a;
}

static bool have_addr(struct dial *d)
{
	return peek(d, 0) || peek(d, 1);
}

static void note_failure(struct dial *d, const struct addr *a, int error)
{
	if (d->error)
		return;
	d->error = error ? error : EIO;
	d->failed = *a;
}

/* Hands over the socket; nothing of @d may be touched afterwards. */
static void succeed(struct attempt *a)
{
	struct dial *d = a->dial;
	struct addr addr = a->addr;
	int fd = a->fd;

	if (event_initialized(&a->ev))
		event_del(&a->ev);
	a->fd = -1;
	give_back(d);
	d->cb(d->arg, fd, &addr, 0);
}

/* Loopback where nothing listens may answer all the same: with ourselves. */
static bool met_itself(const struct attempt *a)
{
	return addr_classify(&a->addr) != ADDR_PUBLIC && fd_is_its_own_peer(a->fd);
}

static int error_of(const struct attempt *a)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	return error == 0 && met_itself(a) ? ECONNREFUSED : error;
}

static void attempt_cb(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *a = arg;
	struct dial *d = a->dial;
	int error = error_of(a);

	(void)fd, (void)what;
	if (!error) {
		succeed(a);
		return;
	}
	note_failure(d, &a->addr, error);
	attempt_close(a);
	run(d);
}

static struct attempt *free_place(struct dial *d)
{
	for (size_t i = 0; i < CONNECT_ATTEMPTS_MAX; i++) {
		if (d->try[i].fd < 0)
			return &d->try[i];
	}
	return NULL;
}

enum begin { BEGIN_FAILED, BEGIN_WAITS, BEGIN_UP };

/*
 * A non-blocking connect() over loopback says EINPROGRESS although the handshake is over when it
 * returns; asking saves a turn of the loop and two epoll_ctl().
 */
static enum begin begin(struct dial *d, struct attempt *a, const struct addr *addr)
{
	struct sockaddr_storage ss;
	socklen_t len = addr_to_sockaddr(addr, d->port, &ss);
	socklen_t peer_len = sizeof(ss);

	a->dial = d;
	a->addr = *addr;
	a->fd = socket(addr->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0)
		return BEGIN_FAILED;
	memset(&a->ev, 0, sizeof(a->ev));
	sockopt_stream(a->fd);
	if (connect(a->fd, (struct sockaddr *)&ss, len) < 0 && errno != EINPROGRESS)
		return BEGIN_FAILED;
	if (getpeername(a->fd, (struct sockaddr *)&ss, &peer_len) == 0) {
		errno = ECONNREFUSED;
		return met_itself(a) ? BEGIN_FAILED : BEGIN_UP;
	}
	event_assign(&a->ev, d->base, a->fd, EV_WRITE, attempt_cb, a);
	return event_add(&a->ev, NULL) < 0 ? BEGIN_FAILED : BEGIN_WAITS;
}

/*
 * Starts one attempt; those that fail at once (no route, no IPv6) are followed by the next
 * without waiting. Every call back is the last act.
 */
static void run(struct dial *d)
{
	const struct addr *addr;
	struct attempt *a;

	while ((a = free_place(d)) && have_addr(d) && take_one(d) && (addr = next_addr(d))) {
		switch (begin(d, a, addr)) {
		case BEGIN_UP:
			succeed(a);
			return;
		case BEGIN_WAITS:
			if (have_addr(d) || d->more)
				set_timer(&d->stagger, CONNECT_ATTEMPT_DELAY_MS);
			return;
		case BEGIN_FAILED:
			note_failure(d, addr, errno);
			attempt_close(a);
			give_back(d); /* there may not even have been a socket */
			break;
		}
	}
	if (in_flight(d) == 0 && !have_addr(d) && !d->more)
		d->cb(d->arg, -1, &d->failed, d->error ? d->error : EADDRNOTAVAIL);
}

void dial_add(struct dial *d, const struct addr *v, size_t n, bool more)
{
	bool idle = in_flight(d) == 0;

	if (n) {
		d->v = xreallocarray(d->v, d->n + n, sizeof(*v));
		memcpy(d->v + d->n, v, n * sizeof(*v));
		d->n += n;
	}
	d->more = more;
	if (!d->started && d->n) {
		d->started = true;
		set_timer(&d->total, CONNECT_TIMEOUT_MS);
		if (more && !peek(d, 0)) {
			set_timer(&d->stagger, CONNECT_AAAA_WAIT_MS);
			return;
		}
	}
	/* With an attempt under way the stagger timer brings the next one. */
	if (idle)
		run(d);
	else if (have_addr(d) && !event_pending(&d->stagger, EV_TIMEOUT, NULL))
		set_timer(&d->stagger, CONNECT_ATTEMPT_DELAY_MS);
}
