/*
 * Theory of operation
 *
 * A socket belongs to the namespace it was made in, so for each connection from the host pid 1
 * makes one inside and passes it out, and we connect it: to 127.0.0.1:PORT inside, and if nobody
 * listens there, to [::1]:PORT. Then both ends are the proxy's to carry, as any tunnel.
 *
 *	WAITING --- asked ---> ASKED --- the socket has come ---> CONNECTING ---> the session's
 *	   ^                                                          | refused, IPv4
 *	   +----------------------------------------------------------+
 *
 * Pid 1 answers in order. Few questions are under way at a time (launcher.h says why); the others
 * wait, and beyond a port's part of PENDING_MAX clients wait in the kernel: a server inside that takes nobody
 * keeps no other port from being served.
 */
#include "cli/publish.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "launcher/launcher.h"
#include "proxy/proxy.h"

#define PENDING_MAX 512
#define BATCH	    64 /* accepts a turn */
#define PAUSE_MS    100
#define TIMEOUT_S   10
#define BACKLOG	    1024

enum state { WAITING, ASKED, CONNECTING };

/** struct pending - a client from the host without a socket inside */
struct pending {
	TAILQ_ENTRY(pending) entry;
	struct publish *p;
	struct door *door;
	enum state state;
	int client, server;
	int family;
	int error;
	uint16_t port;
	struct event ev, timer;
};

TAILQ_HEAD(pending_list, pending);

/** struct door - one listener on the host's loopback */
struct door {
	struct publish *p;
	int fd;
	uint16_t port;
	size_t npending;
	struct event ev, again;
};

struct publish {
	struct event_base *base;
	struct launcher *launcher;
	struct session *session;
	struct door *doors;
	size_t ndoors;
	struct pending_list pending;
	size_t nasked;
	struct event answer;
};

static const struct addr loopback4 = { AF_INET, { 127, 0, 0, 1 } };
static const struct addr loopback6 = { AF_INET6, { [15] = 1 } };

static void ask_more(struct publish *p);

/* ---- one client */

/* Without a server inside it is told as a closed port would: by a reset. */
static void give_up(struct pending *q)
{
	struct publish *p = q->p;

	if (q->state == ASKED)
		p->nasked--;
	if (q->state == CONNECTING)
		(void)event_del(&q->ev);
	(void)event_del(&q->timer);
	if (q->client >= 0)
		fd_linger(q->client, true);
	cleanup_close(&q->client);
	cleanup_close(&q->server);
	TAILQ_REMOVE(&p->pending, q, entry);
	q->door->npending--;
	free(q);
}

/* One that was asked about keeps its place until the answer comes. */
static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct pending *q = arg;

	(void)fd, (void)what;
	if (q->state != ASKED) {
		give_up(q);
		return;
	}
	cleanup_close(&q->client);
	q->client = -1;
}

static void connected_cb(evutil_socket_t fd, short what, void *arg)
{
	struct pending *q = arg;
	struct publish *p = q->p;
	int error = q->error;
	socklen_t len = sizeof(error);

	(void)what;
	if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == 0 && fd_is_its_own_peer(fd))
		error = ECONNREFUSED;
	if (error == 0) {
		int client = take_fd(&q->client), server = take_fd(&q->server);

		(void)event_del(&q->ev);
		give_up(q); /* of its memory only: the sockets have left */
		session_join(p->session, client, server);
	} else if (q->family == AF_INET) {
		(void)event_del(&q->ev);
		cleanup_close(&q->server);
		q->server = -1;
		q->family = AF_INET6;
		q->state = WAITING;
	} else {
		give_up(q);
	}
	ask_more(p);
}

static void dial_inside(struct pending *q, int fd)
{
	struct sockaddr_storage sa;
	socklen_t len =
		addr_to_sockaddr(q->family == AF_INET ? &loopback4 : &loopback6, q->port, &sa);

	q->server = fd;
	if (fd < 0 || q->client < 0) {
		give_up(q);
		return;
	}
	q->p->nasked--;
	q->state = CONNECTING;
	q->error = connect(fd, (struct sockaddr *)&sa, len) < 0 && errno != EINPROGRESS ? errno : 0;
	(void)event_assign(&q->ev, q->p->base, fd, EV_WRITE, connected_cb, q);
	if (event_add(&q->ev, NULL) < 0)
		give_up(q);
	else if (q->error)
		event_active(&q->ev, EV_WRITE, 1);
}

/* ---- pid 1 */

static struct pending *first(const struct publish *p, enum state state)
{
	struct pending *q;

	TAILQ_FOREACH (q, &p->pending, entry) {
		if (q->state == state)
			return q;
	}
	return NULL;
}

static void ask_more(struct publish *p)
{
	struct pending *q;

	while (p->nasked < LAUNCHER_SOCKETS_MAX && (q = first(p, WAITING))) {
		if (!launcher_ask_socket(p->launcher, q->family)) {
			give_up(q);
			continue;
		}
		/* To the end: answers come in the order of the questions. */
		TAILQ_REMOVE(&p->pending, q, entry);
		TAILQ_INSERT_TAIL(&p->pending, q, entry);
		q->state = ASKED;
		p->nasked++;
	}
}

static void answer_cb(evutil_socket_t sock, short what, void *arg)
{
	struct publish *p = arg;
	struct pending *q;
	int fd, rc = launcher_take_socket(p->launcher, &fd);

	(void)sock, (void)what;
	if (rc < 0)
		(void)event_del(&p->answer); /* the run has ended */
	if (rc <= 0)
		return;
	q = first(p, ASKED);
	if (q)
		dial_inside(q, fd);
	else
		cleanup_close(&fd);
	ask_more(p);
}

/* ---- the host's side */

static void door_pause(struct door *d)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };

	(void)event_del(&d->ev);
	(void)event_add(&d->again, &pause);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;

	(void)fd, (void)what;
	if (event_add(&d->ev, NULL) < 0)
		door_pause(d); /* later, or nobody would ever be heard again */
}

static void door_cb(evutil_socket_t sock, short what, void *arg)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct door *d = arg;
	struct publish *p = d->p;
	size_t most = PENDING_MAX / p->ndoors ? PENDING_MAX / p->ndoors : 1;

	(void)what;
	for (int i = 0; i < BATCH; i++) {
		struct pending *q;
		int fd = -1;

		if (d->npending < most)
			fd = accept4(sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (d->npending >= most || (errno != EAGAIN && errno != EINTR))
				door_pause(d);
			break;
		}
		q = xcalloc(1, sizeof(*q));
		*q = (struct pending){
			.p = p, .door = d, .client = fd, .server = -1, .family = AF_INET
		};
		q->port = d->port;
		(void)event_assign(&q->timer, p->base, -1, 0, timer_cb, q);
		(void)event_add(&q->timer, &timeout);
		TAILQ_INSERT_TAIL(&p->pending, q, entry);
		d->npending++;
	}
	ask_more(p);
}

static int listen_on(const struct addr *a, uint16_t port, struct error *err)
{
	CLEANUP_CLOSE int fd =
		socket(a->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	const int one = 1;
	struct sockaddr_storage sa;
	socklen_t len = addr_to_sockaddr(a, port, &sa);

	if (fd < 0)
		return error_set(err, errno, "--publish %u: no socket", port);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	fd_linger(fd, true); /* of what is accepted: killed before the rest is set, we reset */
	if (bind(fd, (struct sockaddr *)&sa, len) == 0 && listen(fd, BACKLOG) == 0)
		return take_fd(&fd);
	if (errno == EACCES)
		return error_set(err, 0,
				 "--publish: cannot listen on port %u of the host (%s): low ports, "
				 "below 1024 as a rule, need privileges; take a higher one",
				 port, strerror(EACCES));
	return error_set(err, errno, "--publish: cannot listen on port %u of the host", port);
}

/* A host without IPv6 is served over IPv4 alone; a port that is taken in either is an error. */
static int add_doors(struct publish *p, const struct option_publish *v, struct error *err)
{
	const struct addr *const where[] = { &loopback4, &loopback6 };

	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		int fd = listen_on(where[i], v->host_port, err);

		if (fd < 0 && i == 1 && (err->code == EAFNOSUPPORT || err->code == EADDRNOTAVAIL))
			return 0;
		if (fd < 0)
			return -1;
		p->doors[p->ndoors++] = (struct door){ .p = p, .fd = fd, .port = v->port };
	}
	return 0;
}

struct publish *publish_new(const struct option_publish *v, size_t n, struct error *err)
{
	struct publish *p = xcalloc(1, sizeof(*p));

	TAILQ_INIT(&p->pending);
	p->doors = xcalloc(2 * n + 1, sizeof(*p->doors));
	for (size_t i = 0; i < n; i++) {
		if (add_doors(p, &v[i], err) < 0) {
			publish_free(p);
			return NULL;
		}
	}
	return p;
}

int publish_start(struct publish *p, struct event_base *base, struct launcher *l, struct session *s,
		  struct error *err)
{
	p->base = base;
	p->launcher = l;
	p->session = s;
	(void)event_assign(&p->answer, base, launcher_socket_fd(l), EV_READ | EV_PERSIST, answer_cb,
			   p);
	if (event_add(&p->answer, NULL) < 0)
		return error_set(err, 0, "cannot watch pid 1");
	for (size_t i = 0; i < p->ndoors; i++) {
		struct door *d = &p->doors[i];

		(void)event_assign(&d->ev, base, d->fd, EV_READ | EV_PERSIST, door_cb, d);
		(void)event_assign(&d->again, base, -1, 0, again_cb, d);
		if (event_add(&d->ev, NULL) < 0)
			return error_set(err, 0, "cannot watch a port of the host");
	}
	return 0;
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	while (!TAILQ_EMPTY(&p->pending))
		give_up(TAILQ_FIRST(&p->pending));
	if (p->base)
		(void)event_del(&p->answer);
	for (size_t i = 0; i < p->ndoors; i++) {
		if (event_initialized(&p->doors[i].ev)) {
			(void)event_del(&p->doors[i].ev);
			(void)event_del(&p->doors[i].again);
		}
		cleanup_close(&p->doors[i].fd);
	}
	free(p->doors);
	free(p);
}
