/*
 * Theory of operation
 *
 * Bytes go from socket to socket by splice(2) through a pipe that is borrowed while it holds
 * something. A small amount is cheaper copied, so each way begins with recv() into a buffer that
 * all tunnels share and turns to splice() when that buffer was filled. splice() does not go past a
 * byte that the sender has marked as urgent: it takes it for the end of what has come, or for the
 * end if there is one behind it (tcp_read_sock() of Linux). So only what recv() says counts as either.
 *
 * The sockets' events are edge-triggered: one epoll_ctl() a socket in its life, or three when its
 * send buffer was full once. So each way is moved until the sender has nothing (EAGAIN), the
 * receiver takes nothing (EAGAIN), or its turn is over; in the last case no further edge will
 * come, and the caller must call again.
 *
 * How it ends. The end of one sender, once read and once everything before it was handed over, is
 * passed on by shutdown(SHUT_WR); the other way lives on. A clean end is never invented: a side
 * whose socket failed is broken, and then the other side gets what the broken one had sent before
 * (Linux keeps the receive queue of a reset socket readable) and after that a reset. A socket
 * that failed in send() has had its error taken, and recv() then says 0: that is why 0 from a
 * broken side is no end. sockopt_stream() has made a reset of every end that side_close() did not
 * make: so it is when this process is killed.
 *
 * A client may be a unix socket (proxy.sock of `serve`). side_recv() then reads with MSG_PEEK and
 * leaves one byte behind, which is what makes a reset of close(2); so nothing is spliced from there.
 */
#include "proxy/tunnel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/xalloc.h"
#include "proxy/tls.h"

#define SIDE_EVENTS (EV_READ | EV_CLOSED | EV_PERSIST | EV_ET)

void tunnel_init(struct tunnel *t)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < 2; i++) {
		t->side[i].fd = -1;
		t->way[i].pipe = PIPE_NONE;
	}
}

static void way_forget(struct way *w, struct pipepool *pool)
{
	free(w->keep);
	w->keep = NULL;
	w->keep_off = w->keep_len = w->uncounted = 0;
	pipepool_drop(pool, &w->pipe);
	w->held = 0;
}

void tunnel_clear(struct tunnel *t, struct pipepool *pool)
{
	way_forget(&t->way[0], pool);
	way_forget(&t->way[1], pool);
}

void side_take(struct side *s, struct event_base *base, int fd, event_callback_fn cb, void *arg)
{
	s->fd = fd;
	s->readable = s->writable = true;
	s->watched = s->armed = s->broken = s->local = s->held = s->drained = s->ended = false;
	s->stirred = false;
	s->tls = NULL;
	event_assign(&s->ev, base, fd, SIDE_EVENTS, cb, arg);
}

bool side_watch(struct side *s)
{
	if (!s->watched)
		s->watched = event_add(&s->ev, NULL) == 0;
	return s->watched;
}

bool side_open(struct side *s, struct event_base *base, int fd, event_callback_fn cb, void *arg)
{
	side_take(s, base, fd, cb, arg);
	return side_watch(s);
}

void side_wrap(struct side *s, struct tls *tls)
{
	assert(!s->local); /* TLS is spoken to upstreams */
	s->tls = tls;
	s->readable = true; /* something may wait in there that the socket will not tell of */
}

void side_set_local(struct side *s)
{
	s->local = true;
}

/* With MSG_PEEK, or to take what was looked at before: the byte that was left, and @n behind it. */
static ssize_t recv_behind(const struct side *s, void *p, size_t n, int flags)
{
	char left;
	struct iovec iov[2] = { { &left, s->held }, { p, n } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t got = recvmsg(s->fd, &msg, flags);

	return got <= 0 ? got : got - s->held;
}

bool side_has_ended(const struct side *s)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLRDHUP };

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & (POLLRDHUP | POLLHUP));
}

/*
 * No look goes past a byte with descriptors, or one out of band. What is behind it would be lost:
 * that is no end.
 */
static ssize_t local_end(const struct side *s)
{
	int unread = 0;

	if (ioctl(s->fd, SIOCINQ, &unread) == 0 && unread <= s->held)
		return 0;
	errno = ECONNRESET;
	return -1;
}

static ssize_t local_recv(struct side *s, void *p, size_t n, int flags)
{
	bool ended = false;
	ssize_t got;

	for (;;) {
		got = recv_behind(s, p, n, MSG_PEEK);
		if (got < 0 || (got == 0 && !s->held))
			return got;
		if (got > 0)
			break;
		if (ended)
			return local_end(s);
		if (!side_has_ended(s)) {
			errno = EAGAIN;
			return -1;
		}
		ended = true; /* what came before the end is to be seen now */
	}
	if (flags & MSG_PEEK)
		return got;
	if (s->held || got > 1)
		(void)recv_behind(s, p, (size_t)got - 1, 0);
	s->held = true;
	return got;
}

ssize_t side_recv(struct side *s, void *p, size_t n, int flags)
{
	ssize_t got;

	if (s->local)
		return local_recv(s, p, n, flags);
	if (s->tls)
		return flags & MSG_PEEK ? tls_peek(s->tls, p, n) : tls_recv(s->tls, p, n);
	got = recv(s->fd, p, n, flags);
	s->drained = got > 0 && (size_t)got < n && !(flags & MSG_PEEK);
	return got;
}

void side_settle(struct side *s)
{
	if (s->drained && !s->ended)
		s->readable = false;
}

static ssize_t side_send(struct side *s, const void *p, size_t n)
{
	return s->tls ? tls_send(s->tls, p, n) : send(s->fd, p, n, MSG_NOSIGNAL);
}

/* Return: false if the peer will not see the end, which it would be waited for in vain then. */
static bool side_shutdown(struct side *s)
{
	if (!s->tls)
		return shutdown(s->fd, SHUT_WR) == 0;
	tls_shutdown(s->tls, false);
	return true;
}

void side_ready(struct side *s, short what)
{
	if (what & (EV_READ | EV_CLOSED)) {
		s->readable = s->stirred = true;
		s->drained = false;
	}
	if (what & EV_CLOSED)
		s->ended = true;
	if (what & EV_WRITE)
		s->writable = true;
}

static void side_failed(struct side *s)
{
	s->broken = true;
	s->readable = true; /* what came before the error is still to be read */
}

/* Adding a descriptor to an epoll set reports what is ready already: no edge is lost. */
void side_want_write(struct side *s)
{
	struct event_base *base = event_get_base(&s->ev);

	s->writable = false;
	if (s->armed)
		return;
	s->armed = true;
	event_del(&s->ev);
	event_assign(&s->ev, base, s->fd, SIDE_EVENTS | EV_WRITE, event_get_callback(&s->ev),
		     event_get_callback_arg(&s->ev));
	s->watched = event_add(&s->ev, NULL) == 0;
	if (!s->watched)
		side_failed(s);
}

void side_close(struct side *s, bool reset)
{
	char last;

	if (s->fd < 0)
		return;
	event_del(&s->ev);
	if (s->tls && !reset)
		tls_shutdown(s->tls, true);
	tls_free(s->tls);
	s->tls = NULL;
	if (!s->local)
		fd_linger(s->fd, reset); /* a listener from outside may have passed on anything */
	else if (!reset && s->held)
		(void)recv(s->fd, &last, 1, MSG_DONTWAIT);
	(void)close(s->fd);
	s->fd = -1;
	s->readable = s->writable = false;
}

bool side_has_error(const struct side *s)
{
	struct pollfd pfd = { .fd = s->fd };

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & (POLLERR | POLLNVAL));
}

bool side_notice(struct side *s)
{
	if (s->stirred && !s->broken && side_has_error(s))
		side_failed(s);
	s->stirred = false;
	return s->broken;
}

size_t side_unsent(const struct side *s)
{
	int n = 0;

	if (s->fd < 0 || ioctl(s->fd, SIOCOUTQ, &n) < 0 || n < 0)
		return SIZE_MAX;
	return (size_t)n;
}

size_t side_unread(const struct side *s)
{
	int n = 0;

	if (s->fd < 0 || ioctl(s->fd, SIOCINQ, &n) < 0 || n <= s->held)
		return 0;
	return (size_t)(n - s->held);
}

void tunnel_keep(struct tunnel *t, unsigned i, const void *p, size_t n, size_t uncounted)
{
	struct way *w = &t->way[i];

	if (n == 0)
		return;
	w->keep = xreallocarray(w->keep, w->keep_len + n, 1);
	memcpy(w->keep + w->keep_len, p, n);
	w->keep_len += (uint32_t)n;
	w->uncounted += (uint32_t)uncounted;
}

/* After a failed send(): false if the receiver is only full. */
static bool send_failed(struct side *to)
{
	if (errno == EAGAIN || errno == EINTR) {
		if (errno == EAGAIN)
			side_want_write(to);
		return to->broken;
	}
	side_failed(to);
	return true;
}

static void count(struct way *w, size_t n)
{
	size_t ours = n < w->uncounted ? n : w->uncounted;

	w->uncounted -= (uint32_t)ours;
	w->bytes += n - ours;
}

static void flush_keep(struct way *w, struct side *to)
{
	ssize_t n = side_send(to, w->keep + w->keep_off, w->keep_len - w->keep_off);

	if (n < 0) {
		send_failed(to);
		return;
	}
	count(w, (size_t)n);
	w->keep_off += (uint32_t)n;
	if (w->keep_off == w->keep_len) {
		free(w->keep);
		w->keep = NULL;
		w->keep_off = w->keep_len = 0;
	}
}

static void flush_pipe(struct way *w, struct side *to)
{
	ssize_t n =
		splice(w->pipe.rd, NULL, to->fd, NULL, w->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n <= 0) {
		if (n == 0)
			errno = EPIPE; /* cannot be: the pipe holds something */
		send_failed(to);
		return;
	}
	w->held -= (uint32_t)n;
	w->bytes += (size_t)n;
}

bool way_flush(struct way *w, struct side *to)
{
	while ((w->keep || w->held) && to->writable && !to->broken) {
		if (w->keep)
			flush_keep(w, to);
		else
			flush_pipe(w, to);
	}
	return !w->keep && !w->held;
}

/* The receive queue is empty, or the sender has ended or failed. */
static void read_stopped(struct way *w, struct side *from, ssize_t n)
{
	if (n < 0 && errno == EINTR)
		return;
	from->readable = false;
	if (n == 0)
		w->eof = !from->broken;
	else if (errno != EAGAIN)
		from->broken = true;
}

ssize_t way_read(struct way *w, struct side *from, void *p, size_t n)
{
	ssize_t got = side_recv(from, p, n, 0);

	if (got <= 0)
		read_stopped(w, from, got);
	return got;
}

void way_send(struct way *w, struct side *to, const void *p, size_t n)
{
	ssize_t sent = to->writable ? side_send(to, p, n) : 0;

	if (sent < 0) {
		if (send_failed(to))
			return;
		sent = 0;
	}
	w->bytes += (size_t)sent;
	if ((size_t)sent == n)
		return;
	w->keep_off = 0;
	w->keep_len = (uint32_t)(n - (size_t)sent);
	w->keep = xmalloc(w->keep_len);
	memcpy(w->keep, (const uint8_t *)p + sent, w->keep_len);
}

/* Return: bytes taken from the sender. */
static size_t copy(struct way *w, struct side *from, struct side *to, uint8_t *scratch)
{
	ssize_t n = way_read(w, from, scratch, TUNNEL_COPY);

	if (n <= 0)
		return 0;
	way_send(w, to, scratch, (size_t)n);
	w->bulk = n == TUNNEL_COPY;
	return (size_t)n;
}

/* The pipe is empty: EAGAIN can only mean the socket. */
ssize_t way_fill(struct way *w, struct side *from, size_t max)
{
	ssize_t n =
		splice(from->fd, NULL, w->pipe.wr, NULL, max < w->pipe.size ? max : w->pipe.size,
		       SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0)
		w->held = (uint32_t)n;
	return n;
}

/* Return: as copy(). An end, or that there is nothing, counts only if recv() says so, too. */
static size_t fill(struct way *w, struct side *from, struct side *to, uint8_t *scratch)
{
	ssize_t n = way_fill(w, from, SIZE_MAX);

	if (n > 0)
		return (size_t)n;
	if (n < 0 &&
	    errno != EAGAIN) { /* the socket has told its error, and will not tell it again */
		read_stopped(w, from, n);
		return 0;
	}
	n = (ssize_t)copy(w, from, to, scratch);
	w->bulk = true;
	return (size_t)n;
}

/* Return: true if the turn was used up. */
static bool move(struct tunnel *t, unsigned i, struct pipepool *pool, uint8_t *scratch)
{
	struct side *from = &t->side[i];
	struct side *to = &t->side[1 - i];
	struct way *w = &t->way[i];
	bool plain = !from->tls && !to->tls && !from->local; /* splice() cannot encrypt */
	size_t moved = 0;

	if (w->shut && !to->broken)
		return false;
	while (way_flush(w, to) && from->readable && !w->eof && !to->broken &&
	       moved < TUNNEL_TURN) {
		if (w->bulk && plain && (w->pipe.rd >= 0 || pipepool_get(pool, &w->pipe)))
			moved += fill(w, from, to, scratch);
		else
			moved += copy(w, from, to, scratch);
	}
	if (to->broken) {
		way_forget(w, pool);
		return false;
	}
	if (w->held == 0)
		pipepool_put(pool, &w->pipe);
	if (moved < TUNNEL_COPY && !from->readable) /* else the receiver was full */
		w->bulk = false;
	if (w->eof && !w->done && !w->keep && !w->held) {
		w->done = true;
		if (!t->way[1 - i].done && !side_shutdown(to)) /* else they are closed next */
			side_failed(to);
	}
	return moved >= TUNNEL_TURN && from->readable;
}

/*
 * A side whose end was read gives no sign in recv() when it is reset later, and if there is
 * nothing to send, not in send() either.
 */
static void look_for_error(struct side *s)
{
	s->readable = false;
	if (side_has_error(s))
		s->broken = true;
}

/*
 * A sender whose bytes the receiver does not take is not read, and so not heard to fail. Return: true if
 * one has.
 */
static bool notice(struct tunnel *t)
{
	bool any = false;

	for (unsigned i = 0; i < 2; i++) {
		if ((t->way[i].keep || t->way[i].held) && !t->side[i].broken)
			any |= side_notice(&t->side[i]);
	}
	return any;
}

static bool delivered(const struct tunnel *t, unsigned i)
{
	const struct way *w = &t->way[i];

	return t->side[1 - i].broken || (!w->keep && !w->held && (!t->side[i].readable || w->eof));
}

enum tunnel_status tunnel_pump(struct tunnel *t, struct pipepool *pool, uint8_t *scratch)
{
	bool again = false;

	for (unsigned i = 0; i < 2; i++) {
		if (t->way[i].eof && t->side[i].readable && !t->side[i].broken)
			look_for_error(&t->side[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		again |= move(t, i, pool, scratch);
	if (t->way[0].done && t->way[1].done)
		return TUNNEL_DONE;
	/* The second move may have broken what the first one reads from. */
	if (t->side[0].broken && !again)
		again |= move(t, 0, pool, scratch);
	again |= notice(t);
	for (unsigned i = 0; i < 2; i++) {
		if (t->side[i].broken && delivered(t, i))
			return TUNNEL_CUT;
	}
	return again ? TUNNEL_AGAIN : TUNNEL_WAIT;
}
