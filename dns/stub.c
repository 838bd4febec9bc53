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
 * The sandbox makes every address local, and a client believes an answer only from the address
 * that it asked. A wildcard UDP socket would answer from an address of the kernel's choice, so
 * the destination is taken from the packet and put on the answer as its source. IPv6 refuses a
 * source that no interface has, unless the socket may bind to such: IPV6_FREEBIND.
 *
 * A TCP connection answers one message at a time: it reads only when its answer has gone out.
 */
#include "dns/stub.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/xalloc.h"
#include "dns/answer.h"

#define SLICE_MS     50
#define QUERY_MAX    WIRE_EDNS_MAX /* a question takes 275 bytes, its EDNS options the rest */
#define ACCEPT_BATCH 16

/** struct stub_sock - a UDP socket or a TCP listener of the sandbox */
struct stub_sock {
	LIST_ENTRY(stub_sock) link;
	struct stub *stub;
	int fd;
	struct event *event;
};

/**
 * struct stub_conn - a TCP connection
 * @in: what has come and was not answered yet: at most one message and its length
 * @out: one answer and its length, of which @out_sent bytes have gone
 */
struct stub_conn {
	TAILQ_ENTRY(stub_conn) link;
	struct stub *stub;
	int fd;
	struct event *readable, *writable;
	size_t in_len, out_len, out_sent;
	uint8_t in[2 + QUERY_MAX];
	uint8_t out[2 + WIRE_REPLY_MAX];
};

TAILQ_HEAD(conn_list, stub_conn);

/**
 * struct stub - see the theory of operation
 * @conns: the longest idle first
 * @slice_tokens: questions that a slice of time may bring
 * @tokens: those left in this slice, which began at @slice_ms
 * @resume: fires at the next slice; pending while @paused
 */
struct stub {
	struct event_base *base;
	struct answer_source source;
	LIST_HEAD(, stub_sock) socks;
	struct conn_list conns;
	size_t nconns;
	unsigned slice_tokens;
	unsigned tokens;
	uint64_t slice_ms;
	bool paused;
	struct event *resume;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void conn_close(struct stub_conn *c)
{
	TAILQ_REMOVE(&c->stub->conns, c, link);
	c->stub->nconns--;
	event_free(c->readable);
	event_free(c->writable);
	(void)close(c->fd);
	free(c);
}

/* Watch for what the connection can use next; each watch begins a new idle time. */
static void conn_watch(struct stub_conn *c)
{
	struct timeval idle = { .tv_sec = STUB_TCP_IDLE_MS / 1000 };
	bool writing = c->out_sent < c->out_len;

	(void)event_del(c->readable);
	(void)event_del(c->writable);
	if (c->stub->paused && !writing)
		return; /* resume_cb() comes back to it */
	(void)event_add(writing ? c->writable : c->readable, &idle);
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
	uint64_t now = now_ms();

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

/** struct datagram - one UDP message: where from, where to, and room for it */
struct datagram {
	struct sockaddr_storage peer;
	struct iovec iov;
	struct msghdr msg;
	union {
		char buf[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control;
	uint8_t data[QUERY_MAX];
};

static ssize_t datagram_receive(int fd, struct datagram *d)
{
	d->iov = (struct iovec){ .iov_base = d->data, .iov_len = sizeof(d->data) };
	d->msg = (struct msghdr){ .msg_name = &d->peer,
				  .msg_namelen = sizeof(d->peer),
				  .msg_iov = &d->iov,
				  .msg_iovlen = 1,
				  .msg_control = d->control.buf,
				  .msg_controllen = sizeof(d->control.buf) };
	return recvmsg(fd, &d->msg, MSG_DONTWAIT);
}

/* The address that was asked becomes the source of the answer; the route chooses the interface,
 * except for link-local addresses, which mean nothing without one. */
static void turn_round(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (!c || (msg->msg_flags & MSG_CTRUNC)) {
		msg->msg_control = NULL;
		msg->msg_controllen = 0;
	} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		info.ipi_spec_dst = info.ipi_addr;
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		if (!IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
			info.ipi6_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	}
}

static void udp_answer(struct stub_sock *sock, struct datagram *d, size_t n)
{
	uint8_t out[WIRE_REPLY_MAX];
	size_t len = answer_message(&sock->stub->source, d->data, n, false, out);

	if (!len)
		return;
	turn_round(&d->msg);
	d->msg.msg_flags = 0;
	d->iov = (struct iovec){ .iov_base = out, .iov_len = len };
	/* A full send queue loses the answer, as UDP may; the client asks again. */
	if (sendmsg(sock->fd, &d->msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("event=dns-stub-send error=%s", strerror(errno));
}

static void udp_cb(evutil_socket_t fd, short what, void *arg)
{
	struct stub_sock *sock = arg;
	struct datagram d;

	(void)what;
	for (int i = 0; i < STUB_BATCH && spend(sock->stub); i++) {
		ssize_t n = datagram_receive(fd, &d);

		if (n < 0 && errno == EAGAIN) {
			sock->stub->tokens++;
			return;
		}
		/* Other errors belong to earlier answers (a closed port): they are not ours. */
		if (n >= 0 && !(d.msg.msg_flags & MSG_TRUNC))
			udp_answer(sock, &d, (size_t)n);
	}
}

/* Whether a whole message is there; its length to @n. A message that cannot fit is -1. */
static int conn_message(const struct stub_conn *c, size_t *n)
{
	struct reader r = reader_init(c->in, c->in_len);
	uint16_t len;

	if (!reader_u16be(&r, &len))
		return 0;
	if (len == 0 || len > QUERY_MAX)
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
	size_t len = answer_message(&c->stub->source, c->in + 2, n, true, c->out + 2);

	if (!len)
		return -1; /* not a question: nothing sensible will follow */
	c->out[0] = (uint8_t)(len >> 8);
	c->out[1] = (uint8_t)len;
	c->out_len = len + 2;
	c->in_len -= n + 2;
	memmove(c->in, c->in + n + 2, c->in_len);
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
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	c->in_len += (size_t)n;
	return n == 0 ? -1 : 0;
}

static void conn_cb(evutil_socket_t fd, short what, void *arg)
{
	struct stub_conn *c = arg;

	(void)fd;
	TAILQ_REMOVE(&c->stub->conns, c, link);
	TAILQ_INSERT_TAIL(&c->stub->conns, c, link);
	if ((what & EV_TIMEOUT) || ((what & EV_READ) && conn_read(c)) || conn_pump(c))
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
	if (s->nconns > STUB_TCP_MAX)
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
		else if (errno == EAGAIN)
			return;
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
	s->slice_ms = now_ms();
	LIST_FOREACH (sock, &s->socks, link)
		(void)event_add(sock->event, NULL);
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (conn_pump(c))
			conn_close(c);
		else
			conn_watch(c);
	}
}

void stub_set_local(struct stub *s, stub_is_local *is_local)
{
	s->source.is_local = is_local;
}

void stub_set_rate(struct stub *s, unsigned rate)
{
	unsigned n = rate / (1000 / SLICE_MS);

	s->slice_tokens = n ? n : 1;
}

struct stub *stub_new(struct event_base *base, struct fakeip *names, stub_decide *decide, void *arg)
{
	struct stub *s = xcalloc(1, sizeof(*s));

	s->base = base;
	s->source = (struct answer_source){ .names = names, .decide = decide, .arg = arg };
	stub_set_rate(s, STUB_RATE);
	LIST_INIT(&s->socks);
	TAILQ_INIT(&s->conns);
	s->resume = evtimer_new(base, resume_cb, s);
	if (!s->resume)
		die("out of memory");
	return s;
}

void stub_free(struct stub *s)
{
	struct stub_sock *sock;

	if (!s)
		return;
	while (!TAILQ_EMPTY(&s->conns))
		conn_close(TAILQ_FIRST(&s->conns));
	while ((sock = LIST_FIRST(&s->socks))) {
		LIST_REMOVE(sock, link);
		event_free(sock->event);
		(void)close(sock->fd);
		free(sock);
	}
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
	sock->event = event_new(s->base, fd, EV_READ | EV_PERSIST, cb, sock);
	if (!sock->event)
		die("out of memory");
	LIST_INSERT_HEAD(&s->socks, sock, link);
	if (!s->paused)
		(void)event_add(sock->event, NULL);
	return 0;
}

/* Ask for the destination address of each packet, and may answer from any of them. */
static int prepare_udp(int fd, int family, struct error *err)
{
	int on = 1;
	bool v6 = family == AF_INET6;

	if (family != AF_INET && !v6)
		return error_set(err, EAFNOSUPPORT, "cannot use a DNS socket");
	if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, &on,
		       sizeof(on)))
		return error_set(err, errno, "cannot prepare a DNS socket");
	if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND, &on,
		       sizeof(on)))
		return error_set(err, errno, "cannot prepare a DNS socket");
	return 0;
}

int stub_add_udp(struct stub *s, int fd, struct error *err)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);

	if (getsockname(fd, (struct sockaddr *)&sa, &len))
		(void)error_set(err, errno, "cannot use a DNS socket");
	else if (!prepare_udp(fd, sa.ss_family, err) && !add_sock(s, fd, udp_cb, err))
		return 0;
	(void)close(fd);
	return -1;
}

int stub_add_tcp(struct stub *s, int fd, struct error *err)
{
	if (!add_sock(s, fd, accept_cb, err))
		return 0;
	(void)close(fd);
	return -1;
}

size_t stub_connections(const struct stub *s)
{
	return s->nconns;
}
