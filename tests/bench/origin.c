/*
 * origin.c - the web server of tests/bench/compare and tests/soak: the cheapest that answers
 *
 *	origin ADDR:PORT [PROCESSES]
 *
 * "GET /N" is answered by N bytes of a file in memory (sendfile), on a connection that stays open.
 * Each process has a listener of its own (SO_REUSEPORT) and one edge-triggered epoll set. It ends
 * with its parent.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "tests/bench/server.h"

#define REQUEST_MAX 2048
#define FILE_SIZE   ((size_t)64 * 1024 * 1024)
#define EVENTS	    256

struct client {
	int fd;
	size_t n;      /* bytes of the request */
	uint64_t left; /* of the body that is being sent */
	char request[REQUEST_MAX];
};

static int ep, file;

static void client_end(struct client *c)
{
	(void)close(c->fd);
	free(c);
}

/* Return: false if the socket takes no more, or the client has been freed (@c is NULL then). */
static bool send_body(struct client **c)
{
	while ((*c)->left > 0) {
		off_t at = 0;
		uint64_t want = (*c)->left < FILE_SIZE ? (*c)->left : FILE_SIZE;
		ssize_t n = sendfile((*c)->fd, file, &at, want);

		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			client_end(*c);
			*c = NULL;
			return false;
		}
		(*c)->left -= (uint64_t)n;
	}
	return true;
}

/* A small body goes with its head in one segment, as any server would see to. */
static void answer(struct client *c, size_t used)
{
	char head[256 + 1024];
	const char *slash = strchr(c->request, '/');
	uint64_t size = slash ? strtoull(slash + 1, NULL, 10) : 0;
	int n = snprintf(head, 256,
			 "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
			 "Content-Length: %llu\r\n\r\n",
			 (unsigned long long)size);

	c->left = size;
	if (size <= 1024) {
		memset(head + n, 'x', size);
		n += (int)size;
		c->left = 0;
	}
	(void)send(c->fd, head, (size_t)n, MSG_NOSIGNAL | (c->left ? MSG_MORE : 0));
	c->n -= used;
	memmove(c->request, c->request + used, c->n);
}

static void serve(struct client *c)
{
	while (send_body(&c)) {
		char *end = c->n ? memmem(c->request, c->n, "\r\n\r\n", 4) : NULL;
		ssize_t n;

		if (end) {
			answer(c, (size_t)(end - c->request) + 4);
			continue;
		}
		n = recv(c->fd, c->request + c->n, REQUEST_MAX - 1 - c->n, 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			client_end(c);
			return;
		}
		c->n += (size_t)n;
		c->request[c->n] = '\0';
	}
}

static void accept_all(int listener)
{
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct client *c = xcalloc(1, sizeof(*c));
		struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c };

		c->fd = fd;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		(void)epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	}
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1;
	int listener;

	if (argc < 2) {
		(void)fputs("usage: origin ADDR:PORT [PROCESSES]\n", stderr);
		return 2;
	}
	file = memfd_create("origin", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, (off_t)FILE_SIZE) < 0)
		return 1;
	while (--n > 0 && fork() != 0)
		;
	server_begin();
	ep = epoll_create1(EPOLL_CLOEXEC);
	listener = server_listen(argv[1], true);
	if (listener < 0) {
		perror(argv[1]);
		return 1;
	}
	(void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &(struct epoll_event){ .events = EPOLLIN });
	for (;;) {
		struct epoll_event ev[EVENTS];
		int got = epoll_wait(ep, ev, EVENTS, -1);

		for (int i = 0; i < got; i++) {
			if (ev[i].data.ptr)
				serve(ev[i].data.ptr);
			else
				accept_all(listener);
		}
	}
}
