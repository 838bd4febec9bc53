/*
 * stub.c - the sockets of the name server inside the sandbox
 *
 * Theory of operation
 *
 * The client is the confined program, so every quantity here is bounded: datagrams a wake-up,
 * questions a second over all sockets, connections, bytes a connection may send ahead. When the
 * questions of a slice of time are used up, no socket is watched until the next slice; the kernel
 * queues, and drops what is too much.
 *
 * A TCP connection answers one message at a time: it reads only when its answer has gone out.
 *
 * A question whose records are asked for outside waits (struct stub_wait); a datagram's way back is
 * kept with it, a connection reads nothing meanwhile.
 */
#include "dns/stub.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/xalloc.h"
#include "dns/answer.h"
#include "dns/datagram.h"
#include "dns/recordask.h"

#define SLICE_MS     50
#define ACCEPT_BATCH 16

/** struct stub_sock - a UDP socket or a TCP listener (@tcp) of the sandbox */
struct stub_sock {
	LIST_ENTRY(stub_sock) link;
	struct stub *stub;
	int fd;
	bool tcp;
	struct event *event;
};

/**
 * struct stub_conn - a TCP connection
 * @in: what has come and was not answered yet: at most one message and its length
 * @out: one answer and its length, of which @out_sent bytes have gone
 * @wait: the question that was read last is still being asked, or NULL
 */
struct stub_conn {
	TAILQ_ENTRY(stub_conn) link;
	struct stub *stub;
	struct stub_wait *wait;
	int fd;
	struct event *readable, *writable;
	size_t in_len, out_len, out_sent;
	uint8_t in[2 + DATAGRAM_MAX];
	uint8_t out[2 + WIRE_REPLY_MAX];
};

TAILQ_HEAD(conn_list, stub_conn);

/**
 * struct stub_wait - a question that is being asked outside
 * @conn: where it came from, or NULL: then @fd and @back are the socket and the way back
 */
struct stub_wait {
	LIST_ENTRY(stub_wait) link;
	struct stub *stub;
	struct recordask *ask;
	struct answer_wait answer;
	struct stub_conn *conn;
	int fd;
	struct datagram back;
};

/**
 * struct stub - see the theory of operation
 * @conns: the longest idle first, @nconns of them, @conns_max at most
 * @part: of how many it is one; what is asked outside is divided by it
 * @slice_tokens: questions that a slice of time may bring
 * @tokens: those left in this slice, which began at @slice_ms
 * @resume: fires at the next slice; pending while @paused
 * @asking, @asking_fd: of the question that is being answered: its datagram, or its connection
 * @waits, @nwaits: questions that are being asked outside
 * @forward_tokens: how many more may be asked outside in this second, which began at @forward_ms
 */
struct stub {
	struct event_base *base;
	struct answer_source source;
	const struct datagram *asking;
	int asking_fd;
	LIST_HEAD(, stub_sock) socks;
	struct conn_list conns;
	size_t nconns, conns_max;
	unsigned part;
	unsigned slice_tokens;
	unsigned tokens;
	uint64_t slice_ms;
	bool paused;
	struct event *resume;
	struct resolver *resolver;
	LIST_HEAD(, stub_wait) waits;
	size_t nwaits;
	unsigned forward_tokens;
	uint64_t forward_ms;
};

static void wait_free(struct stub_wait *w)
{
	LIST_REMOVE(w, link);
	w->stub->nwaits--;
	if (w->conn)
		w->conn->wait = NULL;
	free(w);
}

static void conn_close(struct stub_conn *c)
{
	if (c->wait) {
		recordask_cancel(c->wait->ask);
		wait_free(c->wait);
	}
	TAILQ_REMOVE(&c->stub->conns, c, link);
	c->stub->nconns--;
	event_free(c->readable);
	event_free(c->writable);
	fd_close_foreign(c->fd);
	free(c);
}

/* Watch for what the connection can use next, or close it; each watch begins a new idle time. */
static void conn_watch(struct stub_conn *c)
{
	struct timeval idle = { .tv_sec = STUB_TCP_IDLE_MS / 1000 };
	bool writing = c->out_sent < c->out_len;

	(void)event_del(c->readable);
	(void)event_del(c->writable);
	if ((c->stub->paused || c->wait) && !writing)
		return; /* resume_cb() or wait_cb() comes back to it */
	if (event_add(writing ? c->writable : c->readable, &idle) < 0)
		conn_close(c);
}

static void pause_reading(struct stub *s)
{
	struct timeval tv = { .tv_usec = SLICE_MS * 1000 };
	struct stub_sock *sock;
	struct stub_conn *c;

	if (s->paused)
		return;
	s->paused = true;
	LIST_FOREACH (sock, &s->socks, link)
		(void)event_del(sock->event);
	TAILQ_FOREACH (c, &s->conns, link)
		(void)event_del(c->readable);
	(void)evtimer_add(s->resume, &tv);
}

/* Take one question from this slice; false, and everything is paused, if there is none left. */
static bool spend(struct stub *s)
{
	uint64_t now = clock_ms();

	if (now - s->slice_ms >= SLICE_MS) {
		s->slice_ms = now;
		s->tokens = s->slice_tokens;
	}
	if (s->paused || s->tokens == 0) {
		pause_reading(s);
		return false;
	}
	s->tokens--;
	return true;
}

static void conn_put(struct stub_conn *c, const uint8_t *p, size_t n)
{
	c->out[0] = (uint8_t)(n >> 8);
	c->out[1] = (uint8_t)n;
	memcpy(c->out + 2, p, n);
	c->out_len = n + 2;
}

static bool spend_forward(struct stub *s)
{
	uint64_t now = clock_ms();

	if (now - s->forward_ms >= 1000) {
		s->forward_ms = now;
		s->forward_tokens = STUB_FORWARD_RATE / s->part;
	}
	if (!s->forward_tokens || s->nwaits >= STUB_FORWARD_MAX / s->part)
		return false;
	s->forward_tokens--;
	return true;
}

static int conn_pump(struct stub_conn *c);

static void wait_cb(void *arg, const struct wire_records *records)
{
	uint8_t out[WIRE_REPLY_MAX];
	struct stub_wait *w = arg;
	struct stub_conn *c = w->conn;
	size_t len = answer_finish(&w->answer, records, out);

	if (!c)
		datagram_reply(w->fd, &w->back, out, len);
	wait_free(w);
	if (!c)
		return;
	conn_put(c, out, len);
	if (conn_pump(c))
		conn_close(c);
	else
		conn_watch(c);
}

/* Ask outside. @d, with its socket, is the way back, unless @c is. False if that cannot be now. */
static bool wait_start(struct stub *s, const struct answer_wait *answer, struct stub_conn *c,
		       int fd, const struct datagram *d)
{
	struct stub_wait *w;

	if (!spend_forward(s))
		return false;
	w = xcalloc(1, sizeof(*w));
	*w = (struct stub_wait){ .stub = s, .answer = *answer, .conn = c, .fd = fd };
	if (d)
		datagram_copy(&w->back, d);
	w->ask = recordask_start(s->base, s->resolver, &answer->name, answer->type, wait_cb, w);
	if (!w->ask) {
		free(w);
		return false;
	}
	LIST_INSERT_HEAD(&s->waits, w, link);
	s->nwaits++;
	if (c)
		c->wait = w;
	return true;
}

static void udp_answer(struct stub_sock *sock, struct datagram *d, size_t n)
{
	uint8_t out[WIRE_REPLY_MAX];
	struct answer_wait wait;
	size_t len;

	sock->stub->asking = d;
	sock->stub->asking_fd = -1;
	len = answer_message(&sock->stub->source, d->data, n, false, &wait, out);
	sock->stub->asking = NULL;
	if (wait.wanted) {
		if (wait_start(sock->stub, &wait, NULL, sock->fd, d))
			return;
		len = answer_finish(&wait, NULL, out);
	}
	if (len)
		datagram_reply(sock->fd, d, out, len);
}

static void udp_cb(evutil_socket_t fd, short what, void *arg)
{
	struct stub_sock *sock = arg;
	struct datagram d;

	(void)what;
	for (int i = 0; i < STUB_BATCH && spend(sock->stub); i++) {
		size_t n;

		if (!datagram_receive(fd, &d, &n)) {
			sock->stub->tokens++;
			/* Woken for nothing: shut down, or errors that are never read. Don't spin. */
			if (i == 0)
				pause_reading(sock->stub);
			return;
		}
		udp_answer(sock, &d, n);
	}
}

/* Whether a whole message is there; its length to @n. A message that cannot fit is -1. */
static int conn_message(const struct stub_conn *c, size_t *n)
{
	struct reader r = reader_init(c->in, c->in_len);
	uint16_t len;

	if (!reader_u16be(&r, &len))
		return 0;
	if (len == 0 || len > DATAGRAM_MAX)
		return -1;
	*n = len;
	return r.n >= len;
}

/* Send what is left of the answer. -1 if the connection is broken, 1 if more is left. */
static int conn_flush(struct stub_conn *c)
{
	while (c->out_sent < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 1 : -1;
		c->out_sent += (size_t)n;
	}
	c->out_len = c->out_sent = 0;
	return 0;
}

static int conn_answer(struct stub_conn *c, size_t n)
{
	uint8_t out[WIRE_REPLY_MAX];
	struct answer_wait wait;
	size_t len;

	c->stub->asking_fd = c->fd;
	len = answer_message(&c->stub->source, c->in + 2, n, true, &wait, out);
	c->stub->asking_fd = -1;
	c->in_len -= n + 2;
	memmove(c->in, c->in + n + 2, c->in_len);
	if (wait.wanted) {
		if (wait_start(c->stub, &wait, c, -1, NULL))
			return 0;
		len = answer_finish(&wait, NULL, out);
	}
	if (!len)
		return -1; /* not a question: nothing sensible will follow */
	conn_put(c, out, len);
	return 0;
}

/* Answer the whole messages that are there, as far as the client takes them. -1 to close. */
static int conn_pump(struct stub_conn *c)
{
	for (;;) {
		int r = conn_flush(c);
		size_t n;

		if (r)
			return r < 0 ? -1 : 0;
		if (c->wait)
			return 0;
		r = conn_message(c, &n);
		if (r <= 0)
			return r;
		if (!spend(c->stub))
			return 0;
		if (conn_answer(c, n))
			return -1;
	}
}

static int conn_read(struct stub_conn *c)
{
	ssize_t n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? 0 : -1; /* woken for nothing: once more, and for ever */
	c->in_len += (size_t)n;
	return n == 0 ? -1 : 0;
}

/* As conn_read(). */
static int conn_write(struct stub_conn *c)
{
	size_t sent = c->out_sent;
	int r = conn_flush(c);

	return r < 0 || (r > 0 && c->out_sent == sent) ? -1 : 0;
}

static void conn_cb(evutil_socket_t fd, short what, void *arg)
{
	struct stub_conn *c = arg;

	(void)fd;
	TAILQ_REMOVE(&c->stub->conns, c, link);
	TAILQ_INSERT_TAIL(&c->stub->conns, c, link);
	if ((what & EV_TIMEOUT) || ((what & EV_READ) && conn_read(c)) ||
	    ((what & EV_WRITE) && conn_write(c)) || conn_pump(c))
		conn_close(c);
	else
		conn_watch(c);
}

static void conn_open(struct stub *s, int fd)
{
	struct stub_conn *c = xcalloc(1, sizeof(*c));

	c->stub = s;
	c->fd = fd;
	c->readable = event_new(s->base, fd, EV_READ, conn_cb, c);
	c->writable = event_new(s->base, fd, EV_WRITE, conn_cb, c);
	if (!c->readable || !c->writable)
		die("out of memory");
	TAILQ_INSERT_TAIL(&s->conns, c, link);
	s->nconns++;
	if (s->nconns > s->conns_max)
		conn_close(TAILQ_FIRST(&s->conns));
	conn_watch(c);
}

/* Without descriptors: give up the longest idle connection, or wait for a while. */
static void make_room(struct stub *s)
{
	if (TAILQ_EMPTY(&s->conns))
		pause_reading(s);
	else
		conn_close(TAILQ_FIRST(&s->conns));
}

static void sock_close(struct stub_sock *sock)
{
	LIST_REMOVE(sock, link);
	event_free(sock->event);
	fd_close_foreign(sock->fd);
	free(sock);
}

/* As in proxy/listener.c: a listener was made to block. Datagrams are never waited for. */
static void blocked(struct stub *s)
{
	struct stub_sock *sock, *next;

	log_warn("event=dns-stub reason=\"a listener that blocks, all of them are closed\"");
	for (sock = LIST_FIRST(&s->socks); sock; sock = next) {
		next = LIST_NEXT(sock, link);
		if (sock->tcp)
			sock_close(sock);
	}
}

static void accept_cb(evutil_socket_t fd, short what, void *arg)
{
	struct stub_sock *sock = arg;

	(void)what;
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (c >= 0)
			conn_open(sock->stub, c);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			make_room(sock->stub);
		else if (errno == EINTR)
			return blocked(sock->stub);
		else if (errno == EAGAIN && i > 0)
			return;
		else /* whoever handed the listener over can make it ready for ever */
			return pause_reading(sock->stub);
	}
}

/* The next slice: watch the sockets again, and serve what connections had sent before. */
static void resume_cb(evutil_socket_t fd, short what, void *arg)
{
	struct stub *s = arg;
	struct stub_sock *sock;
	struct stub_conn *c, *next;

	(void)fd;
	(void)what;
	s->paused = false;
	s->tokens = s->slice_tokens;
	s->slice_ms = clock_ms();
	LIST_FOREACH (sock, &s->socks, link) {
		if (event_add(sock->event, NULL) < 0) {
			pause_reading(s); /* once more later */
			break;
		}
	}
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (conn_pump(c))
			conn_close(c);
		else
			conn_watch(c);
	}
}

int stub_client(const struct stub *s, struct addr *out, uint16_t *port)
{
	*out = (struct addr){ .family = AF_UNSPEC };
	if (s->asking)
		(void)addr_from_sockaddr((const struct sockaddr *)&s->asking->peer, out, port);
	return s->asking_fd;
}

void stub_set_local(struct stub *s, stub_is_local *is_local)
{
	s->source.is_local = is_local;
}

void stub_set_forward(struct stub *s, struct resolver *r, stub_forwards *forwards)
{
	s->resolver = r;
	s->source.forwards = forwards;
}

void stub_set_rate(struct stub *s, unsigned rate)
{
	unsigned n = rate / (1000 / SLICE_MS);

	s->slice_tokens = n ? n : 1;
}

void stub_set_part(struct stub *s, unsigned n)
{
	s->part = n;
	stub_set_rate(s, STUB_RATE / n);
}

void stub_set_connections(struct stub *s, size_t max)
{
	s->conns_max = max;
}

struct stub *stub_new(struct event_base *base, struct fakeip *names, stub_decide *decide, void *arg)
{
	struct stub *s = xcalloc(1, sizeof(*s));

	s->base = base;
	s->asking_fd = -1;
	s->conns_max = STUB_TCP_MAX;
	s->source = (struct answer_source){ .names = names, .decide = decide, .arg = arg };
	stub_set_part(s, 1);
	LIST_INIT(&s->socks);
	LIST_INIT(&s->waits);
	TAILQ_INIT(&s->conns);
	s->resume = evtimer_new(base, resume_cb, s);
	if (!s->resume)
		die("out of memory");
	return s;
}

void stub_free(struct stub *s)
{
	struct stub_sock *sock;
	struct stub_wait *w;

	if (!s)
		return;
	while (!TAILQ_EMPTY(&s->conns))
		conn_close(TAILQ_FIRST(&s->conns));
	while ((w = LIST_FIRST(&s->waits))) {
		recordask_cancel(w->ask);
		wait_free(w);
	}
	while ((sock = LIST_FIRST(&s->socks)))
		sock_close(sock);
	event_free(s->resume);
	free(s);
}

static int add_sock(struct stub *s, int fd, event_callback_fn cb, struct error *err)
{
	struct stub_sock *sock;

	if (fd_set_nonblock(fd))
		return error_set(err, errno, "cannot use a DNS socket");
	sock = xcalloc(1, sizeof(*sock));
	sock->stub = s;
	sock->fd = fd;
	sock->tcp = cb == accept_cb;
	sock->event = event_new(s->base, fd, EV_READ | EV_PERSIST, cb, sock);
	if (!sock->event)
		die("out of memory");
	LIST_INSERT_HEAD(&s->socks, sock, link);
	if (!s->paused && event_add(sock->event, NULL) < 0) {
		(void)error_set(err, errno, "cannot watch a DNS socket");
		sock->fd = -1; /* stays the caller's */
		sock_close(sock);
		return -1;
	}
	return 0;
}

int stub_add_udp(struct stub *s, int fd, struct error *err)
{
	if (!datagram_prepare(fd, err) && !add_sock(s, fd, udp_cb, err))
		return 0;
	fd_close_foreign(fd);
	return -1;
}

int stub_add_tcp(struct stub *s, int fd, struct error *err)
{
	if (!add_sock(s, fd, accept_cb, err))
		return 0;
	fd_close_foreign(fd);
	return -1;
}

size_t stub_connections(const struct stub *s)
{
	return s->nconns;
}
