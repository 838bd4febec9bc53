/*
 * relay.c - the smallest CONNECT relays, as the bounds of what a proxy can do
 *
 *	relay epoll|libevent ADDR:PORT|fd:N
 *
 * Both move bytes by splice(2) through pipes of 1 MiB that a way borrows while something is in it;
 * they differ in who tells of readiness. Nothing else is here: numeric targets, no policy, no
 * time-outs, no log, heads in one piece. For loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "tests/bench/server.h"

#define PIPE_BYTES (1024 * 1024)
#define POOL	   64
#define TURN	   ((size_t)1024 * 1024) /* bytes of one way before the next gets its turn */
#define EVENTS	   256

struct link;

struct end {
	struct event ev;
	int fd;
	bool readable, writable; /* an edge sets them, EAGAIN clears them */
	struct link *link;
};

struct link {
	struct end end[2];
	int pipe[2][2];
	size_t held[2];
	bool eof[2], done[2];
	bool up, queued, dead;
	struct link *next;
};

static int ep = -1, listener, pool[POOL][2];
static size_t npool;
static struct event_base *base;
static struct event again;
static struct link *queue; /* those with work left, or dead */

static void ready(struct end *e);

static void event_cb(evutil_socket_t fd, short what, void *arg)
{
	struct end *e = arg;

	(void)fd;
	e->readable |= (what & EV_READ) != 0;
	e->writable |= (what & EV_WRITE) != 0;
	ready(e);
}

static void arm(struct link *l, int i, int fd)
{
	struct end *e = &l->end[i];
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				  .data.ptr = e };

	e->fd = fd;
	e->link = l;
	if (base) {
		event_assign(&e->ev, base, fd, EV_READ | EV_WRITE | EV_PERSIST | EV_ET, event_cb,
			     e);
		event_add(&e->ev, NULL);
	} else {
		(void)epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	}
}

static void enqueue(struct link *l)
{
	const struct timeval now = { 0 };

	if (l->queued)
		return;
	if (base && !queue)
		event_add(&again, &now);
	l->queued = true;
	l->next = queue;
	queue = l;
}

static bool borrow(int pipe[2])
{
	if (pipe[0] >= 0)
		return true;
	if (npool > 0) {
		npool--;
		pipe[0] = pool[npool][0];
		pipe[1] = pool[npool][1];
		return true;
	}
	if (pipe2(pipe, O_NONBLOCK | O_CLOEXEC) < 0)
		return false;
	(void)fcntl(pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return true;
}

static void give_back(int pipe[2], bool empty)
{
	if (pipe[0] >= 0 && empty && npool < POOL) {
		pool[npool][0] = pipe[0];
		pool[npool++][1] = pipe[1];
	} else if (pipe[0] >= 0) {
		(void)close(pipe[0]);
		(void)close(pipe[1]);
	}
	pipe[0] = pipe[1] = -1;
}

static void kill_link(struct link *l)
{
	if (l->dead)
		return;
	l->dead = true;
	for (int i = 0; i < 2; i++) {
		if (base && l->end[i].fd >= 0)
			event_del(&l->end[i].ev);
		if (l->end[i].fd >= 0)
			(void)close(l->end[i].fd);
		give_back(l->pipe[i], l->held[i] == 0);
	}
	enqueue(l);
}

/* Fills the pipe of way @i. Return: false if the link has failed. */
static bool fill(struct link *l, int i)
{
	ssize_t n;

	if (!borrow(l->pipe[i]))
		return false;
	n = splice(l->end[i].fd, NULL, l->pipe[i][1], NULL, PIPE_BYTES,
		   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0)
		l->held[i] = (size_t)n;
	else if (n == 0)
		l->eof[i] = true;
	else if (errno == EAGAIN)
		l->end[i].readable = false;
	return n >= 0 || errno == EAGAIN;
}

static bool drain(struct link *l, int i, size_t *moved)
{
	ssize_t n = splice(l->pipe[i][0], NULL, l->end[1 - i].fd, NULL, l->held[i],
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0) {
		l->held[i] -= (size_t)n;
		*moved += (size_t)n;
	} else if (n < 0 && errno == EAGAIN) {
		l->end[1 - i].writable = false;
	}
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static bool move(struct link *l, int i)
{
	size_t moved = 0;

	for (;;) {
		if (l->held[i] == 0 && !l->eof[i] && l->end[i].readable) {
			if (moved >= TURN) {
				enqueue(l);
				break;
			}
			if (!fill(l, i))
				return false;
		}
		if (l->held[i] == 0 || !l->end[1 - i].writable)
			break;
		if (!drain(l, i, &moved))
			return false;
	}
	if (l->held[i] == 0)
		give_back(l->pipe[i], true);
	if (l->eof[i] && l->held[i] == 0 && !l->done[i]) {
		(void)shutdown(l->end[1 - i].fd, SHUT_WR);
		l->done[i] = true;
	}
	return true;
}

static void nodelay(int fd)
{
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* "CONNECT ADDR:PORT HTTP/1.1"; the whole head is there. */
static bool dial(struct link *l)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char head[2048], host[64];
	unsigned port;
	ssize_t n = recv(l->end[0].fd, head, sizeof(head) - 1, 0);
	int fd;

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	head[n] = '\0';
	if (sscanf(head, "CONNECT %63[^: ]:%5u HTTP/1.", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &to.sin_addr) != 1)
		return false;
	to.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	nodelay(fd);
	arm(l, 1, fd);
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno == EINPROGRESS;
}

static void ready(struct end *e)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\n\r\n";
	struct link *l = e->link;

	if (l->dead)
		return;
	if (l->end[1].fd < 0) {
		if (!dial(l))
			kill_link(l);
		return;
	}
	if (!l->up && l->end[1].writable) {
		l->up = true;
		if (send(l->end[0].fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL) < 0)
			kill_link(l);
	}
	if (l->up && !l->dead && (!move(l, 0) || !move(l, 1) || (l->done[0] && l->done[1])))
		kill_link(l);
}

static void accept_all(void)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct link *l = xcalloc(1, sizeof(*l));

		nodelay(fd);
		l->end[1].fd = -1;
		for (int i = 0; i < 2; i++)
			l->pipe[i][0] = l->pipe[i][1] = -1;
		arm(l, 0, fd);
	}
}

static void accept_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	accept_all();
}

static void run_queue(void)
{
	struct link *l = queue, *next;

	for (queue = NULL; l; l = next) {
		next = l->next;
		l->queued = false;
		if (l->dead)
			free(l);
		else
			ready(&l->end[0]);
	}
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	run_queue();
}

static void loop_epoll(void)
{
	ep = epoll_create1(EPOLL_CLOEXEC);
	(void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &(struct epoll_event){ .events = EPOLLIN });
	for (;;) {
		struct epoll_event ev[EVENTS];
		int n = epoll_wait(ep, ev, EVENTS, queue ? 0 : -1);

		for (int i = 0; i < n; i++) {
			struct end *e = ev[i].data.ptr;

			if (!e) {
				accept_all();
				continue;
			}
			e->readable |= (ev[i].events & ~(uint32_t)EPOLLOUT) != 0;
			e->writable |= (ev[i].events & ~(uint32_t)(EPOLLIN | EPOLLRDHUP)) != 0;
			ready(e);
		}
		run_queue();
	}
}

static void loop_libevent(void)
{
	struct event ev;

	base = event_base_new();
	event_assign(&ev, base, listener, EV_READ | EV_PERSIST, accept_cb, NULL);
	event_add(&ev, NULL);
	evtimer_assign(&again, base, again_cb, NULL);
	(void)event_base_dispatch(base);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		(void)fputs("usage: relay epoll|libevent ADDR:PORT|fd:N\n", stderr);
		return 2;
	}
	listener = server_listen(argv[2], false);
	if (listener < 0) {
		perror(argv[2]);
		return 1;
	}
	server_begin();
	if (strcmp(argv[1], "epoll") == 0)
		loop_epoll();
	else
		loop_libevent();
	return 1;
}
