/*
 * fakedns.h - a scripted DNS server on the loopback, in the process of the test
 *
 * One UDP socket and one TCP listener on the same port of 127.0.0.1, driven by the test's own
 * event loop. A script function sees each question and writes the whole answer, so that it can lie
 * in every way a server can. Included by one .c file each; everything is static.
 */
#ifndef TESTS_SUPPORT_FAKEDNS_H
#define TESTS_SUPPORT_FAKEDNS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#define FAKEDNS_MSG_MAX 65535
#define FAKEDNS_A	1
#define FAKEDNS_CNAME	5
#define FAKEDNS_AAAA	28

/** struct fakedns_msg - an answer being written */
struct fakedns_msg {
	size_t len;
	uint8_t p[FAKEDNS_MSG_MAX];
};

/** struct fakedns_question - what was asked */
struct fakedns_question {
	uint16_t id, type;
	char name[256];
	bool tcp;
};

/** typedef fakedns_script - write the answer; leaving @out->len 0 keeps silent */
typedef void fakedns_script(void *arg, const struct fakedns_question *q, struct fakedns_msg *out);

/**
 * struct fakedns - the server
 * @questions: how many have arrived; @tcp_questions of them over TCP
 * @last: the last question
 */
struct fakedns {
	struct event_base *base;
	struct event *udp_event, *tcp_event;
	int udp, tcp;
	uint16_t port;
	char server[32];
	fakedns_script *script;
	void *arg;
	unsigned questions, tcp_questions;
	struct fakedns_question last;
};

static inline void fakedns_u16(struct fakedns_msg *m, unsigned v)
{
	if (m->len + 2 > sizeof(m->p))
		abort();
	m->p[m->len++] = (uint8_t)(v >> 8);
	m->p[m->len++] = (uint8_t)v;
}

static inline void fakedns_u32(struct fakedns_msg *m, uint32_t v)
{
	fakedns_u16(m, v >> 16);
	fakedns_u16(m, v & 0xffff);
}

static inline void fakedns_bytes(struct fakedns_msg *m, const void *p, size_t n)
{
	if (m->len + n > sizeof(m->p))
		abort();
	memcpy(m->p + m->len, p, n);
	m->len += n;
}

/* "a.example" as labels; "" is the root */
static inline void fakedns_name(struct fakedns_msg *m, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");
		uint8_t len = (uint8_t)n;

		fakedns_bytes(m, &len, 1);
		fakedns_bytes(m, name, n);
		name += n + (name[n] == '.');
	}
	fakedns_bytes(m, "", 1);
}

/* Header and question; the answer count is raised by fakedns_rr_*(). */
static inline void fakedns_begin(struct fakedns_msg *m, uint16_t id, unsigned flags,
				 const char *qname, uint16_t type)
{
	m->len = 0;
	fakedns_u16(m, id);
	fakedns_u16(m, 0x8180 | flags);
	fakedns_u16(m, 1);
	fakedns_u16(m, 0);
	fakedns_u32(m, 0);
	fakedns_name(m, qname);
	fakedns_u16(m, type);
	fakedns_u16(m, 1);
}

static inline void fakedns_rr(struct fakedns_msg *m, const char *name, uint16_t type, uint32_t ttl,
			      const void *data, uint16_t n)
{
	unsigned count = (unsigned)(m->p[6] << 8 | m->p[7]) + 1;

	m->p[6] = (uint8_t)(count >> 8);
	m->p[7] = (uint8_t)count;
	fakedns_name(m, name);
	fakedns_u16(m, type);
	fakedns_u16(m, 1);
	fakedns_u32(m, ttl);
	fakedns_u16(m, n);
	fakedns_bytes(m, data, n);
}

/* An A or AAAA record, as the text of the address says. */
static inline void fakedns_addr(struct fakedns_msg *m, const char *name, uint32_t ttl,
				const char *text)
{
	bool v6 = strchr(text, ':');
	uint8_t b[16];

	if (inet_pton(v6 ? AF_INET6 : AF_INET, text, b) != 1)
		abort();
	fakedns_rr(m, name, v6 ? FAKEDNS_AAAA : FAKEDNS_A, ttl, b, v6 ? 16 : 4);
}

static inline void fakedns_cname(struct fakedns_msg *m, const char *name, uint32_t ttl,
				 const char *to)
{
	struct fakedns_msg *tmp = calloc(1, sizeof(*tmp));

	if (!tmp)
		abort();
	fakedns_name(tmp, to);
	fakedns_rr(m, name, FAKEDNS_CNAME, ttl, tmp->p, (uint16_t)tmp->len);
	free(tmp);
}

static inline bool fakedns_parse(const uint8_t *p, size_t n, struct fakedns_question *q)
{
	size_t at = 12, out = 0;

	if (n < 17)
		return false;
	q->id = (uint16_t)(p[0] << 8 | p[1]);
	while (at < n && p[at]) {
		size_t len = p[at++];

		if (at + len + 5 > n || out + len + 2 > sizeof(q->name))
			return false;
		if (out)
			q->name[out++] = '.';
		memcpy(q->name + out, p + at, len);
		out += len;
		at += len;
	}
	q->name[out] = '\0';
	q->type = (uint16_t)(p[at + 1] << 8 | p[at + 2]);
	return true;
}

static inline bool fakedns_serve(struct fakedns *d, const uint8_t *p, size_t n, bool tcp,
				 struct fakedns_msg *out)
{
	struct fakedns_question q = { .tcp = tcp };

	out->len = 0;
	if (!fakedns_parse(p, n, &q))
		return false;
	d->questions++;
	d->tcp_questions += tcp;
	d->last = q;
	d->script(d->arg, &q, out);
	return out->len > 0;
}

static inline void fakedns_udp_cb(evutil_socket_t fd, short what, void *arg)
{
	struct fakedns_msg *out = malloc(sizeof(*out));
	struct sockaddr_storage peer;
	socklen_t peer_len = sizeof(peer);
	uint8_t buf[2048];
	ssize_t n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&peer, &peer_len);

	(void)what;
	if (!out)
		abort();
	if (n > 0 && fakedns_serve(arg, buf, (size_t)n, false, out))
		(void)sendto(fd, out->p, out->len, 0, (struct sockaddr *)&peer, peer_len);
	free(out);
}

/* One question a connection, read whole: the client is in this process and sends it at once. */
static inline void fakedns_conn_cb(evutil_socket_t fd, short what, void *arg)
{
	struct fakedns_msg *out = malloc(sizeof(*out));
	uint8_t buf[2048];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	(void)what;
	if (!out)
		abort();
	if (n > 2 && fakedns_serve(arg, buf + 2, (size_t)n - 2, true, out)) {
		uint8_t len[2] = { (uint8_t)(out->len >> 8), (uint8_t)out->len };

		(void)send(fd, len, 2, MSG_NOSIGNAL);
		(void)send(fd, out->p, out->len, MSG_NOSIGNAL);
	}
	free(out);
	(void)close(fd);
}

static inline void fakedns_accept_cb(evutil_socket_t fd, short what, void *arg)
{
	struct fakedns *d = arg;
	int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)what;
	if (c < 0)
		return;
	if (event_base_once(d->base, c, EV_READ, fakedns_conn_cb, d, NULL))
		abort();
}

/* On @host (127.0.0.1 and the like) and @port, 0 for one that is free. */
static inline void fakedns_start_at(struct fakedns *d, struct event_base *base, uint32_t host,
				    uint16_t port, fakedns_script *script, void *arg)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);

	memset(d, 0, sizeof(*d));
	d->base = base;
	d->script = script;
	d->arg = arg;
	sa.sin_addr.s_addr = htonl(host);
	for (int tries = 0;; tries++) {
		sa.sin_port = htons(port);
		d->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		d->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (bind(d->udp, (struct sockaddr *)&sa, sizeof(sa)) ||
		    getsockname(d->udp, (struct sockaddr *)&sa, &len) || tries > 100)
			abort();
		if (!bind(d->tcp, (struct sockaddr *)&sa, sizeof(sa)) && !listen(d->tcp, 16))
			break;
		(void)close(d->udp);
		(void)close(d->tcp);
	}
	d->port = ntohs(sa.sin_port);
	(void)snprintf(d->server, sizeof(d->server), "127.0.0.1:%u", d->port);
	d->udp_event = event_new(base, d->udp, EV_READ | EV_PERSIST, fakedns_udp_cb, d);
	d->tcp_event = event_new(base, d->tcp, EV_READ | EV_PERSIST, fakedns_accept_cb, d);
	if (!d->udp_event || !d->tcp_event || event_add(d->udp_event, NULL) ||
	    event_add(d->tcp_event, NULL))
		abort();
}

static inline void fakedns_start(struct fakedns *d, struct event_base *base, fakedns_script *script,
				 void *arg)
{
	fakedns_start_at(d, base, INADDR_LOOPBACK, 0, script, arg);
}

static inline void fakedns_stop(struct fakedns *d)
{
	event_free(d->udp_event);
	event_free(d->tcp_event);
	(void)close(d->udp);
	(void)close(d->tcp);
}

#endif
