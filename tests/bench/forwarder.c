/*
 * forwarder.c - the smallest forwarder of plain HTTP/1.1, as the bound of what a proxy can do
 *
 *	forwarder ADDR:PORT
 *
 * "GET http://ADDR:PORT/PATH" goes as "GET /PATH" to ADDR:PORT, with the rest of its head as it is;
 * the answer goes back as it is. Connections stay open on both sides; another address in a later
 * request makes another connection. One request at a time, requests without a body, answers with
 * Content-Length, numeric addresses, heads in one piece: no policy, no names, no time-outs, no log.
 * For loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "tests/bench/server.h"

#define HEAD_MAX 4096
#define EVENTS	 256

struct link;

struct end {
	int fd;
	struct link *link;
};

/* A request waits in @head while its upstream is connected; @left: of the answer, -1: its head is due. */
struct link {
	struct end client, upstream;
	struct sockaddr_in to;
	bool dead, busy;
	int64_t left;
	size_t nhead;
	char head[HEAD_MAX];
	struct link *next;
};

static int ep = -1;
static struct link *graves;
static char scratch[64 * 1024];

static void kill_link(struct link *l)
{
	if (l->dead)
		return;
	l->dead = true;
	(void)close(l->client.fd);
	if (l->upstream.fd >= 0)
		(void)close(l->upstream.fd);
	l->next = graves;
	graves = l;
}

static bool watch(struct end *e)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				  .data.ptr = e };
	int one = 1;

	(void)setsockopt(e->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return epoll_ctl(ep, EPOLL_CTL_ADD, e->fd, &ev) == 0;
}

static bool dial(struct link *l)
{
	if (l->upstream.fd >= 0)
		(void)close(l->upstream.fd);
	l->upstream.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->upstream.fd < 0 || !watch(&l->upstream))
		return false;
	return connect(l->upstream.fd, (struct sockaddr *)&l->to, sizeof(l->to)) == 0 ||
	       errno == EINPROGRESS;
}

/* The request line's address; the line without it is put back behind it. Return: where, or NULL. */
static char *origin_form(char *head, struct sockaddr_in *to)
{
	char host[64];
	unsigned port;
	int used = 0;

	*to = (struct sockaddr_in){ .sin_family = AF_INET };
	if (sscanf(head, "GET http://%63[^: /]:%5u%n/", host, &port, &used) != 2 || used <= 4 ||
	    inet_pton(AF_INET, host, &to->sin_addr) != 1)
		return NULL;
	to->sin_port = htons((uint16_t)port);
	return memcpy(head + used - 4, "GET ", 4);
}

/* Return: false if the link has failed. */
static bool send_request(struct link *l)
{
	ssize_t n = send(l->upstream.fd, l->head, l->nhead, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
		return true; /* not connected yet */
	if (n != (ssize_t)l->nhead)
		return false;
	l->nhead = 0;
	l->left = -1;
	return true;
}

static bool from_client(struct link *l)
{
	struct sockaddr_in to;
	ssize_t n;
	char *line;

	if (l->busy)
		return true;
	n = recv(l->client.fd, l->head, HEAD_MAX - 1, 0);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	l->head[n] = '\0';
	line = origin_form(l->head, &to);
	if (!line || !strstr(line, "\r\n\r\n"))
		return false;
	l->nhead = (size_t)(l->head + n - line);
	memmove(l->head, line, l->nhead);
	l->busy = true;
	if (l->upstream.fd < 0 || memcmp(&to, &l->to, sizeof(to)) != 0) {
		l->to = to;
		return dial(l);
	}
	return send_request(l);
}

/* What of the answer is still to come behind its first @n bytes; -1 when nobody knows. */
static int64_t left_behind(const char *answer, size_t n)
{
	const char *end = strstr(answer, "\r\n\r\n"),
		   *field = strcasestr(answer, "\r\nContent-Length:");

	if (!end || !field || field > end)
		return -1;
	return strtoll(field + 17, NULL, 10) - (int64_t)(answer + n - end - 4);
}

static bool from_upstream(struct link *l)
{
	while (l->busy && l->nhead == 0) {
		ssize_t n = recv(l->upstream.fd, scratch, sizeof(scratch) - 1, 0);

		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		scratch[n] = '\0';
		l->left = l->left < 0 ? left_behind(scratch, (size_t)n) : l->left - n;
		if (l->left < 0 || send(l->client.fd, scratch, (size_t)n, MSG_NOSIGNAL) != n)
			return false; /* small answers: a send buffer takes them */
		l->busy = l->left > 0;
	}
	return true;
}

static void ready(struct end *e)
{
	struct link *l = e->link;

	if (l->dead)
		return;
	if ((l->nhead > 0 && e == &l->upstream && !send_request(l)) || !from_upstream(l) ||
	    !from_client(l))
		kill_link(l);
}

static void accept_all(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct link *l = xcalloc(1, sizeof(*l));

		l->client = (struct end){ .fd = fd, .link = l };
		l->upstream = (struct end){ .fd = -1, .link = l };
		if (!watch(&l->client))
			kill_link(l);
	}
}

int main(int argc, char **argv)
{
	int listener = argc == 2 ? server_listen(argv[1], false) : -1;

	if (listener < 0) {
		perror("usage: forwarder ADDR:PORT");
		return 2;
	}
	server_begin();
	ep = epoll_create1(EPOLL_CLOEXEC);
	(void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &(struct epoll_event){ .events = EPOLLIN });
	for (;;) {
		struct epoll_event ev[EVENTS];
		int n = epoll_wait(ep, ev, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			if (ev[i].data.ptr)
				ready(ev[i].data.ptr);
			else
				accept_all(listener);
		}
		while (graves) {
			struct link *l = graves;

			graves = l->next;
			free(l);
		}
	}
}
