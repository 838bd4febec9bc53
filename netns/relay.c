/*
 * Theory of operation
 *
 * One epoll set, level-triggered, with the listeners, both sockets of every link, and a timer that
 * ticks only while somebody waits for it. A link copies both ways on its own: what was read is
 * sent at once, and what the receiver does not take is kept, during which nothing more is read.
 *
 *	CONNECTING --> OPEN --> DEAD      both ends were read and passed on, or the client broke
 *	     |           |
 *	     v           v the proxy's side broke
 *	   DEAD      RESETTING --> DEAD   when the client has what came before
 *
 * The end of one sender is passed on by shutdown(SHUT_WR) once everything before it has been sent;
 * the other way lives on. A clean end is never invented: a proxy that fails, or cannot be reached,
 * is a reset for the client, and so is the death of this process. (The other way round a unix
 * socket knows no reset: the proxy sees an end.) A receiver that takes no more ends only its own
 * way: the last words of a proxy that has stopped reading must still arrive, so the rest of what
 * its client sends is read and dropped.
 */
#include "netns/relay.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"

#define CLIENT 0 /* index of side[], and of the way that begins there */
#define PROXY  1

#define CHUNK	      (64 * 1024)
#define BATCH	      64	    /* events, or accepts, a turn */
#define TICK_MS	      10	    /* of the timer */
#define CONNECT_TICKS 1000	    /* 10 s for a proxy whose backlog is full */
#define RESET_TICKS   500	    /* 5 s for a client to take what came before a reset */
#define DISCARD_MAX   (1024 * 1024) /* bytes read from a client whose proxy reads no more */

/* What an event belongs to. */
struct source {
	enum { SOURCE_TIMER, SOURCE_LISTENER, SOURCE_SIDE } kind;
	int fd;
	uint32_t events; /* as epoll knows them; 0 when it does not */
	struct link *link;
};

struct way {
	char *keep;
	size_t off, len;
	size_t discarded;
	bool eof, done, discard;
};

enum state { CONNECTING, OPEN, RESETTING, DEAD };

struct link {
	LIST_ENTRY(link) entry;
	struct source side[2];
	struct way way[2];
	enum state state;
	unsigned ticks;
};

LIST_HEAD(link_list, link);

struct relay {
	struct sockaddr_un to;
	int epoll;
	struct source timer;
	bool ticking;
	struct source listener[RELAY_LISTENERS_MAX];
	size_t nlisteners, nlinks;
	uint64_t moved; /* bytes that clients have sent */
	bool paused;
	struct link_list links, dead;
	char chunk[CHUNK];
};

static void watch(struct relay *r, struct source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };
	int op = s->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (events == s->events)
		return;
	if (!events)
		op = EPOLL_CTL_DEL;
	if (epoll_ctl(r->epoll, op, s->fd, &ev) < 0)
		die("cannot watch a socket: %s", strerror(errno));
	s->events = events;
}

static void tick(struct relay *r)
{
	const struct itimerspec once = { .it_value.tv_nsec = TICK_MS * 1000000L };

	if (!r->ticking)
		(void)timerfd_settime(r->timer.fd, 0, &once, NULL);
	r->ticking = true;
}

/* ---- one link */

static void close_side(struct relay *r, struct source *s, bool reset)
{
	if (s->fd < 0)
		return;
	watch(r, s, 0);
	if (s == &s->link->side[CLIENT])
		fd_linger(s->fd, reset);
	(void)close(s->fd);
	s->fd = -1;
}

static void forget(struct way *w)
{
	free(w->keep);
	w->keep = NULL;
	w->off = w->len = 0;
}

/* The memory goes at the end of the turn: events of this link may still be in the batch. */
static void end(struct relay *r, struct link *l, bool reset)
{
	if (l->state == DEAD)
		return;
	l->state = DEAD;
	for (int i = 0; i < 2; i++) {
		close_side(r, &l->side[i], reset && i == CLIENT);
		forget(&l->way[i]);
	}
	LIST_REMOVE(l, entry);
	LIST_INSERT_HEAD(&r->dead, l, entry);
	r->nlinks--;
}

/* The proxy failed: a reset for the client, behind what has come so far. */
static void reset_client(struct relay *r, struct link *l)
{
	close_side(r, &l->side[PROXY], false);
	watch(r, &l->side[CLIENT], 0);
	l->state = RESETTING;
	l->ticks = 0;
	tick(r);
}

static void reset_when_sent(struct relay *r, struct link *l)
{
	int unsent = 0;

	(void)ioctl(l->side[CLIENT].fd, SIOCOUTQ, &unsent);
	if (unsent == 0 || ++l->ticks > RESET_TICKS)
		end(r, l, true);
	else
		tick(r);
}

/* Return: whether the receiver still takes bytes. */
static bool put(struct way *w, int to, const char *p, size_t n)
{
	ssize_t sent = send(to, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	n -= sent > 0 ? (size_t)sent : 0;
	if (w->keep) {
		w->off += sent > 0 ? (size_t)sent : 0;
		w->len = n;
		if (n == 0)
			forget(w);
	} else if (n > 0) {
		w->keep = xmalloc(n);
		memcpy(w->keep, p + (sent > 0 ? sent : 0), n);
		w->len = n;
	}
	return true;
}

/* One read, or what is left of the last one. Return: false if side @i has failed. */
static bool move(struct relay *r, struct link *l, unsigned i)
{
	struct way *w = &l->way[i];
	int from = l->side[i].fd, to = l->side[1 - i].fd;
	ssize_t n;

	if (w->keep) {
		if (!put(w, to, w->keep + w->off, w->len))
			w->discard = true;
	} else if (!w->eof) {
		n = recv(from, r->chunk, CHUNK, MSG_DONTWAIT);
		r->moved += i == CLIENT && n > 0 ? (uint64_t)n : 0;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		w->eof = n == 0;
		if (w->discard)
			w->discarded += (size_t)n;
		else if (n > 0 && !put(w, to, r->chunk, (size_t)n))
			w->discard = true;
	}
	if (w->discard)
		forget(w);
	if (w->eof && !w->keep && !w->done) {
		w->done = true;
		(void)shutdown(to, SHUT_WR);
	}
	return w->discarded <= DISCARD_MAX;
}

/* EPOLLERR stands for "only errors and hang-ups": those are reported in any case. */
static void interest(struct relay *r, struct link *l)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t events = EPOLLERR;

		if (!l->way[i].eof && !l->way[i].keep)
			events |= EPOLLIN;
		if (l->way[1 - i].keep)
			events |= EPOLLOUT;
		/* A proxy that has closed would hang up for ever. */
		if (i == PROXY && l->way[PROXY].eof && l->way[CLIENT].discard)
			events = 0;
		watch(r, &l->side[i], events);
	}
}

/* The proxy has closed and the client has all of it, but has not ended itself. */
static bool lingers(const struct link *l)
{
	return l->state == OPEN && l->way[PROXY].done && l->way[CLIENT].discard;
}

static void pump(struct relay *r, struct link *l)
{
	if (!move(r, l, CLIENT)) {
		end(r, l, true);
		return;
	}
	if (!move(r, l, PROXY)) {
		reset_client(r, l);
		return;
	}
	/* A client that takes no more has gone: nothing of this can be of use to it. */
	if (l->way[PROXY].discard)
		end(r, l, true);
	else if (l->way[CLIENT].done && l->way[PROXY].done)
		end(r, l, false);
	else
		interest(r, l);
}

/* After its end was read, a side can only fail or hang up. */
static void side_event(struct relay *r, struct source *s, uint32_t events)
{
	struct link *l = s->link;
	unsigned i = s == &l->side[PROXY] ? PROXY : CLIENT;
	bool gone = l->way[i].eof && (events & (EPOLLERR | EPOLLHUP));

	if (l->state != OPEN)
		return;
	if (gone && i == CLIENT) {
		end(r, l, true);
		return;
	}
	if (gone)
		l->way[CLIENT].discard = true;
	pump(r, l);
	if (lingers(l))
		tick(r);
}

static void start(struct relay *r, struct link *l)
{
	int fd = l->side[PROXY].fd;

	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	l->side[PROXY].fd = fd;
	if (fd >= 0 && connect(fd, (struct sockaddr *)&r->to, sizeof(r->to)) == 0) {
		l->state = OPEN;
		l->ticks = 0;
		interest(r, l);
		return;
	}
	/* A unix socket with a full backlog says EAGAIN, and there is nothing to wait on. */
	if ((fd < 0 || errno == EAGAIN || errno == EINTR) && ++l->ticks < CONNECT_TICKS)
		tick(r);
	else
		end(r, l, true);
}

/* ---- listeners */

static void pause_listeners(struct relay *r, bool paused)
{
	r->paused = paused;
	for (size_t i = 0; i < r->nlisteners; i++)
		watch(r, &r->listener[i], paused ? 0 : EPOLLIN);
	if (paused)
		tick(r);
}

static void accept_some(struct relay *r, int listener)
{
	const int one = 1;

	for (int i = 0; i < BATCH; i++) {
		struct link *l;
		int fd = -1;

		if (r->nlinks < RELAY_CONNECTIONS_MAX)
			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (r->nlinks >= RELAY_CONNECTIONS_MAX ||
			    (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED))
				pause_listeners(r, true);
			return;
		}
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		l = xcalloc(1, sizeof(*l));
		for (int k = 0; k < 2; k++)
			l->side[k] = (struct source){ .kind = SOURCE_SIDE, .fd = -1, .link = l };
		l->side[CLIENT].fd = fd;
		LIST_INSERT_HEAD(&r->links, l, entry);
		r->nlinks++;
		start(r, l);
	}
}

static void ticked(struct relay *r)
{
	struct link *next;
	uint64_t count;

	(void)!read(r->timer.fd, &count, sizeof(count));
	r->ticking = false;
	for (struct link *l = LIST_FIRST(&r->links); l; l = next) {
		next = LIST_NEXT(l, entry);
		if (l->state == CONNECTING)
			start(r, l);
		else if (l->state == RESETTING)
			reset_when_sent(r, l);
		else if (lingers(l) && ++l->ticks > RESET_TICKS)
			end(r, l, false);
		else if (lingers(l))
			tick(r);
	}
	if (r->paused)
		pause_listeners(r, false);
}

/* ---- the whole */

struct relay *relay_new(const char *path, struct error *err)
{
	struct relay *r = xcalloc(1, sizeof(*r));
	size_t n = strlen(path);

	LIST_INIT(&r->links);
	LIST_INIT(&r->dead);
	r->to.sun_family = AF_UNIX;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->timer = (struct source){ .kind = SOURCE_TIMER,
				    .fd = timerfd_create(CLOCK_MONOTONIC,
							 TFD_CLOEXEC | TFD_NONBLOCK) };
	if (n >= sizeof(r->to.sun_path)) {
		(void)error_set(err, 0,
				"the path of a socket has at most %zu bytes, and '%s' has %zu",
				sizeof(r->to.sun_path) - 1, path, n);
	} else if (r->epoll < 0 || r->timer.fd < 0) {
		(void)error_set(err, errno, "cannot set up a relay");
	} else {
		memcpy(r->to.sun_path, path, n);
		watch(r, &r->timer, EPOLLIN);
		return r;
	}
	relay_free(r);
	return NULL;
}

int relay_listen(struct relay *r, int fd, struct error *err)
{
	struct source *s = &r->listener[r->nlisteners];
	const int one = 1;

	if (r->nlisteners == RELAY_LISTENERS_MAX || fd_set_nonblock(fd) < 0) {
		(void)close(fd);
		return error_set(err, 0, "cannot listen on one more socket");
	}
	fd_linger(fd, true); /* of all that are accepted, until close_side() ends one well */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &one,
			 sizeof(one)); /* of those, too (RFC 6093) */
	*s = (struct source){ .kind = SOURCE_LISTENER, .fd = fd };
	r->nlisteners++;
	watch(r, s, EPOLLIN);
	return 0;
}

int relay_fd(const struct relay *r)
{
	return r->epoll;
}

size_t relay_connections(const struct relay *r)
{
	return r->nlinks;
}

/* What is not in the proxy's socket, where it stays until that is read. */
static bool is_undelivered(const struct link *l)
{
	const struct way *w = &l->way[CLIENT];
	int unread = 0;

	if (w->discard || l->state == RESETTING)
		return false;
	if (w->keep)
		return true;
	return !w->eof && ioctl(l->side[CLIENT].fd, SIOCINQ, &unread) == 0 && unread > 0;
}

size_t relay_undelivered(const struct relay *r, uint64_t *moved)
{
	const struct link *l;
	size_t n = 0;

	*moved = r->moved;
	LIST_FOREACH (l, &r->links, entry)
		n += is_undelivered(l);
	return n;
}

static void sweep(struct relay *r)
{
	struct link *l;

	while ((l = LIST_FIRST(&r->dead))) {
		LIST_REMOVE(l, entry);
		free(l);
	}
}

void relay_turn(struct relay *r)
{
	struct epoll_event ev[BATCH];
	int n = epoll_wait(r->epoll, ev, BATCH, 0);

	for (int i = 0; i < n; i++) {
		struct source *s = ev[i].data.ptr;

		switch (s->kind) {
		case SOURCE_TIMER:
			ticked(r);
			break;
		case SOURCE_LISTENER:
			accept_some(r, s->fd);
			break;
		case SOURCE_SIDE:
			side_event(r, s, ev[i].events);
			break;
		}
	}
	sweep(r);
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	while (!LIST_EMPTY(&r->links))
		end(r, LIST_FIRST(&r->links), true);
	sweep(r);
	for (size_t i = 0; i < r->nlisteners; i++)
		cleanup_close(&r->listener[i].fd);
	cleanup_close(&r->timer.fd);
	cleanup_close(&r->epoll);
	free(r);
}
