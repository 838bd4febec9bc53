#include "proxy/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "proxy/conn.h"
#include "proxy/sockopt.h"
#include "proxy/turnaway.h"

/* So many back-offs in a row without one accept: tell the waiting that they wait in vain. */
#define STARVED_ROUNDS 10

/**
 * struct listener
 * @ev: level-triggered: a batch may leave some behind
 * @backoff: ends a pause
 * @local: a unix socket: only our own user's processes may come
 * @starved: pauses in a row, for want of descriptors or of room
 */
struct listener {
	LIST_ENTRY(listener) link;
	struct session *session;
	struct event ev, backoff;
	struct target fixed;
	enum listener_kind kind;
	unsigned starved;
	bool local;
	int fd;
};

static void pause_accepting(struct listener *l)
{
	const struct timeval tv = { .tv_usec = ACCEPT_BACKOFF_MS * 1000 };

	event_del(&l->ev);
	event_add(&l->backoff, &tv);
}

/* The kernel may have no memory for that: then later, or nobody would ever be heard again. */
static void backoff_cb(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	if (event_add(&l->ev, NULL) < 0)
		pause_accepting(l);
}

static void listener_close(struct listener *l)
{
	if (l->fd < 0)
		return;
	event_del(&l->ev);
	event_del(&l->backoff);
	fd_close_foreign(l->fd);
	l->fd = -1;
}

void listener_close_all(struct session *s)
{
	struct listener *l;

	LIST_FOREACH (l, &s->listeners, link)
		listener_close(l);
}

/*
 * Nothing that does not block is interrupted: whoever handed the listener over has kept a copy, and
 * made it block. Each such wait is lost for every other session, so this one hears no more.
 */
static void blocked(struct listener *l)
{
	log_warn("event=accept reason=\"a listener that blocks, the session's are closed\"");
	listener_close_all(l->session);
}

/*
 * No descriptor is left. Clients wait in the backlog, where a burst is served as soon as others
 * have finished. After a second of that the reserve descriptor is spent to turn one batch away:
 * a reset is an answer, silence is none.
 */
static void starve(struct listener *l)
{
	struct proxy *p = l->session->proxy;
	int fd;

	pipepool_clear(&p->pool);
	pause_accepting(l);
	if (++l->starved < STARVED_ROUNDS)
		return;
	log_warn("event=accept reason=\"no descriptor left, turning clients away\"");
	l->starved = 0;
	if (p->reserve < 0)
		return;
	(void)close(p->reserve);
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && errno == EINTR)
			blocked(l);
		if (fd < 0)
			break;
		fd_linger(fd, true);
		(void)close(fd);
	}
	p->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool peer_is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

/*
 * The session or the proxy has as many connections as it may. Clients wait in the backlog, as
 * above, and after a second a batch of them is told so.
 */
static void crowded(struct listener *l)
{
	int fd[ACCEPT_BATCH], n = 0;

	pause_accepting(l);
	if (++l->starved < STARVED_ROUNDS)
		return;
	l->starved = 0;
	/* All of them first: who comes because another was turned away has not waited. */
	while (n < ACCEPT_BATCH &&
	       (fd[n] = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		n++;
	if (n < ACCEPT_BATCH && errno == EINTR)
		blocked(l);
	for (int i = 0; i < n; i++) {
		if (l->local && !peer_is_ours(fd[i]))
			(void)close(fd[i]);
		else
			turnaway(l->session, fd[i], l->kind, &l->fixed);
	}
}

/* @woken: nothing was accepted although the socket was said to be ready; it would be said again. */
static void accept_failed(struct listener *l, int error, bool woken)
{
	switch (error) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
		starve(l);
		break;
	case EINTR:
		blocked(l);
		break;
	case EAGAIN:
	case ECONNABORTED:
		if (woken)
			pause_accepting(l);
		break;
	default:
		/* Errors of the new connection are reported here too (accept(2)); never spin. */
		pause_accepting(l);
	}
}

/*
 * Anybody of ours may come here, from whichever sandbox: what one may have is for its own connections
 * only, and who has that much already is told at once, for others wait behind it.
 */
static void start_local(struct listener *l, int fd)
{
	struct session *s = l->session;
	struct share *share;

	if (!peer_is_ours(fd)) {
		(void)close(fd);
		return;
	}
	share = share_get(s->proxy, fd_netns(fd));
	if (proxy_is_full(s, share))
		turnaway(s, fd, l->kind, &l->fixed);
	else
		conn_start(s, share, fd, true, l->kind, &l->fixed);
	share_put(share);
}

static void accept_cb(evutil_socket_t sock, short what, void *arg)
{
	struct listener *l = arg;

	(void)what;
	for (int i = 0; i < ACCEPT_BATCH && l->fd >= 0; i++) {
		int fd;

		if (l->local ? proxy_is_used_up(l->session->proxy)
			     : proxy_is_full(l->session, l->session->share)) {
			crowded(l);
			return;
		}
		fd = accept4(sock, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			accept_failed(l, errno, i == 0);
			return;
		}
		l->starved = 0;
		if (l->local)
			start_local(l, fd);
		else
			conn_start(l->session, l->session->share, fd, false, l->kind, &l->fixed);
	}
}

int listener_open(struct session *s, int fd, enum listener_kind kind, const struct target *fixed,
		  struct error *err)
{
	struct event_base *base = s->proxy->base;
	struct listener *l;
	int saved, domain = 0;
	socklen_t len = sizeof(domain);

	if (fd_set_nonblock(fd) < 0) {
		saved = errno;
		fd_close_foreign(fd);
		return error_set(err, saved, "cannot listen on descriptor %d", fd);
	}
	sockopt_stream(fd);
	if (kind == LISTENER_PROXY)
		sockopt_client_first(fd);
	sockopt_near(fd); /* a sandbox's: on the loopback of its namespace, or a unix socket */
	l = xcalloc(1, sizeof(*l));
	l->session = s;
	l->kind = kind;
	l->fd = fd;
	l->local = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain == AF_UNIX;
	if (fixed)
		l->fixed = *fixed;
	event_assign(&l->ev, base, fd, EV_READ | EV_PERSIST, accept_cb, l);
	evtimer_assign(&l->backoff, base, backoff_cb, l);
	LIST_INSERT_HEAD(&s->listeners, l, link);
	if (event_add(&l->ev, NULL) < 0)
		return error_set(err, 0, "cannot watch the listening descriptor %d", fd);
	return 0;
}

void listener_free_all(struct session *s)
{
	struct listener *l;

	while ((l = LIST_FIRST(&s->listeners))) {
		LIST_REMOVE(l, link);
		listener_close(l);
		free(l);
	}
}
