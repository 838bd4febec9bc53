/*
 * proxyworld.h - a proxy on loopback with origins and raw clients, for unit tests of proxy/
 *
 * The proxy's loop runs in one thread, each origin in others, the test itself is the client and
 * blocks in plain socket calls (at most WAIT_S seconds each). What the session is told is counted.
 * Oracles are the origins' accept counters and what they received.
 */
#ifndef SUPPORT_PROXYWORLD_H
#define SUPPORT_PROXYWORLD_H

/* cmocka.h wants these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "dns/resolver.h"
#include "policy/policy.h"
#include "proxy/limits.h"
#include "proxy/proxy.h"

#define WAIT_S	   20
#define EVENTS_MAX 4096

/* What a session was told, without the pointers. */
struct told {
	enum proxy_event_kind kind;
	struct target target;
	enum verdict verdict;
	enum code code;
	bool has_rule;
	struct addr addr;
	uint64_t up, down;
	int client;
	char reason[32];
	char said[256];
};

struct world {
	struct event_base *base;
	struct event *control;
	int ctl[2], done[2];
	pthread_t thread;
	struct policy *policy;
	const struct policy *current;
	struct resolver *resolver;
	struct proxy *proxy;
	struct session *session;
	char hosts[64];
	int hosts_fd;
	uint16_t port;
	pthread_mutex_t lock;
	size_t ntold;
	struct told told[EVENTS_MAX];
	/* asking */
	proxy_ask_cb *ask_cb;
	void *ask_arg;
	atomic_int asked, withdrawn;
	/* capture */
	bool have_name;
	struct hostname name;
};

struct job {
	void (*fn)(struct world *w, void *arg);
	void *arg;
};

static inline void world_note(void *arg, const struct proxy_event *ev)
{
	struct world *w = arg;
	struct told t = { .kind = ev->kind,
			  .target = *ev->target,
			  .verdict = ev->decision.verdict,
			  .code = ev->decision.code,
			  .has_rule = ev->decision.rule && ev->decision.rule->text[0],
			  .addr = ev->addr,
			  .up = ev->bytes_up,
			  .down = ev->bytes_down,
			  .client = ev->client };

	if (ev->reason)
		(void)snprintf(t.reason, sizeof(t.reason), "%s", ev->reason);
	if (ev->decision.said)
		(void)snprintf(t.said, sizeof(t.said), "%s", ev->decision.said);
	pthread_mutex_lock(&w->lock);
	if (w->ntold < EVENTS_MAX)
		w->told[w->ntold++] = t;
	pthread_mutex_unlock(&w->lock);
}

static inline void *world_ask(void *arg, const struct proxy_question *q, proxy_ask_cb *cb,
			      void *cb_arg)
{
	struct world *w = arg;

	(void)q;
	w->ask_cb = cb;
	w->ask_arg = cb_arg;
	atomic_fetch_add(&w->asked, 1);
	return w;
}

static inline void world_ask_cancel(void *arg, void *question)
{
	struct world *w = arg;

	assert_ptr_equal(question, w);
	w->ask_cb = NULL;
	atomic_fetch_add(&w->withdrawn, 1);
}

static inline bool world_name(void *arg, const struct addr *dialled, uint16_t port,
			      struct hostname *out)
{
	struct world *w = arg;

	(void)dialled, (void)port;
	if (w->have_name)
		*out = w->name;
	return w->have_name;
}

static inline void world_control(evutil_socket_t fd, short what, void *arg)
{
	struct world *w = arg;
	struct job job;

	(void)what;
	if (read(fd, &job, sizeof(job)) != sizeof(job))
		return;
	if (job.fn)
		job.fn(w, job.arg);
	else
		event_base_loopbreak(w->base);
	if (write(w->done[1], "", 1) != 1)
		abort();
}

/* Runs @fn in the loop's thread and waits for it; NULL ends the loop. */
static inline void world_call(struct world *w, void (*fn)(struct world *, void *), void *arg)
{
	struct job job = { .fn = fn, .arg = arg };
	char byte;

	assert_int_equal(write(w->ctl[1], &job, sizeof(job)), sizeof(job));
	assert_int_equal(read(w->done[0], &byte, 1), 1);
}

static inline void *world_loop(void *arg)
{
	struct world *w = arg;

	event_base_dispatch(w->base);
	return NULL;
}

/* A listening socket on 127.0.0.1. */
static inline int listen_loopback(uint16_t *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(fd, 1024), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	*port = ntohs(sin.sin_port);
	return fd;
}

static inline void world_hosts(struct world *w)
{
	static const char text[] = "127.0.0.1 good.example other.example\n"
				   "::1 six.example\n"
				   "127.0.0.1 lure.wild.example\n";

	/* no file: a test that fails, or whose process is ended, would leave it */
	w->hosts_fd = memfd_create("hosts", MFD_CLOEXEC);
	assert_true(w->hosts_fd >= 0);
	assert_int_equal(write(w->hosts_fd, text, sizeof(text) - 1), sizeof(text) - 1);
	(void)snprintf(w->hosts, sizeof(w->hosts), "/proc/self/fd/%d", w->hosts_fd);
}

/* The proxy that the next world must go through, or NULL. */
static const struct upstreams *world_upstreams;

/* Of the next world's resolver, and how long it waits; 0 for the usual. */
static size_t world_asks;
static unsigned world_dns_ms;

static inline struct world *world_start_with(const struct limits *limits)
{
	/* Nobody answers there: names outside the hosts file fail. */
	static const char *const servers[] = { "127.0.0.1:9", NULL };
	struct world *w = xcalloc(1, sizeof(*w));
	struct resolver_config rc = { .servers = servers,
				      .asks = world_asks,
				      .timeout_ms = world_dns_ms };
	struct session_config cfg = { .policy = &w->current,
				      .event = world_note,
				      .ask = world_ask,
				      .ask_cancel = world_ask_cancel,
				      .name = world_name,
				      .upstream = world_upstreams,
				      .arg = w };
	struct error err = { 0 };
	int fd;

	world_hosts(w);
	rc.hosts_file = w->hosts;
	pthread_mutex_init(&w->lock, NULL);
	w->base = event_base_new();
	w->current = w->policy = policy_new();
	w->resolver = resolver_new(w->base, &rc, &err);
	if (!w->resolver)
		fail_msg("%s", err.msg);
	w->proxy = proxy_new(w->base, w->resolver, &err);
	if (!w->proxy)
		fail_msg("%s", err.msg);
	proxy_set_limits(w->proxy, limits);
	w->session = proxy_session(w->proxy, &cfg);
	fd = listen_loopback(&w->port);
	if (session_listen(w->session, fd, LISTENER_PROXY, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(pipe(w->ctl), 0);
	assert_int_equal(pipe(w->done), 0);
	w->control = event_new(w->base, w->ctl[0], EV_READ | EV_PERSIST, world_control, w);
	event_add(w->control, NULL);
	assert_int_equal(pthread_create(&w->thread, NULL, world_loop, w), 0);
	return w;
}

static inline struct world *world_start(void)
{
	const struct limits limits = limits_default();

	return world_start_with(&limits);
}

static inline void world_stop(struct world *w)
{
	world_call(w, NULL, NULL);
	pthread_join(w->thread, NULL);
	event_free(w->control);
	proxy_free(w->proxy);
	resolver_free(w->resolver);
	event_base_free(w->base);
	policy_free(w->policy);
	for (int i = 0; i < 2; i++) {
		close(w->ctl[i]);
		close(w->done[i]);
	}
	close(w->hosts_fd);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

struct entry {
	enum list list;
	const char *pattern;
};

static inline void world_add_job(struct world *w, void *arg)
{
	struct entry *e = arg;
	struct error err = { 0 };

	if (policy_add(w->policy, e->list, e->pattern, "--allow", 0, NULL, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		abort();
	}
}

static inline void world_allow(struct world *w, const char *pattern)
{
	struct entry e = { .list = LIST_ALLOW, .pattern = pattern };

	world_call(w, world_add_job, &e);
}

static inline void world_allow_port(struct world *w, const char *host, uint16_t port)
{
	char pattern[300];

	(void)snprintf(pattern, sizeof(pattern), "%s:%u", host, port);
	world_allow(w, pattern);
}

/* How many events of a kind with this code were told. */
static inline size_t world_count(struct world *w, enum proxy_event_kind kind, enum code code)
{
	size_t n = 0;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->ntold; i++)
		n += w->told[i].kind == kind && w->told[i].code == code;
	pthread_mutex_unlock(&w->lock);
	return n;
}

static inline void world_nconns_job(struct world *w, void *arg)
{
	*(size_t *)arg = session_connections(w->session);
}

static inline size_t world_nconns(struct world *w)
{
	size_t n;

	world_call(w, world_nconns_job, &n);
	return n;
}

/* Waits until the condition holds, at most WAIT_S seconds. */
#define eventually(cond)                       \
	do {                                   \
		int left_ = WAIT_S * 200;      \
		while (!(cond) && left_-- > 0) \
			(void)usleep(5000);    \
		assert_true(cond);             \
	} while (0)

static inline size_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* ".", ".." and the directory itself */
}

/* ---- origins */

struct origin {
	int fd;
	uint16_t port;
	atomic_int accepts;
	void (*serve)(int fd, void *arg);
	void *arg;
	atomic_int busy;
	pthread_t thread;
};

struct served {
	struct origin *o;
	int fd;
};

static inline void *origin_one(void *arg)
{
	struct served *s = arg;

	s->o->serve(s->fd, s->o->arg);
	atomic_fetch_sub(&s->o->busy, 1);
	free(s);
	return NULL;
}

static inline void *origin_loop(void *arg)
{
	struct origin *o = arg;
	struct timeval tv = { .tv_sec = WAIT_S };
	pthread_attr_t attr;
	pthread_t t;
	int fd;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, (size_t)256 * 1024);
	while ((fd = accept(o->fd, NULL, NULL)) >= 0) {
		struct served *s = xmalloc(sizeof(*s));

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
		*s = (struct served){ .o = o, .fd = fd };
		atomic_fetch_add(&o->busy, 1);
		atomic_fetch_add(&o->accepts, 1);
		if (pthread_create(&t, &attr, origin_one, s) != 0)
			abort();
	}
	pthread_attr_destroy(&attr);
	return NULL;
}

/* @serve owns the descriptor that it is given. */
static inline struct origin *origin_start(void (*serve)(int fd, void *arg), void *arg)
{
	struct origin *o = xcalloc(1, sizeof(*o));

	o->fd = listen_loopback(&o->port);
	o->serve = serve;
	o->arg = arg;
	assert_int_equal(pthread_create(&o->thread, NULL, origin_loop, o), 0);
	return o;
}

static inline void origin_stop(struct origin *o)
{
	shutdown(o->fd, SHUT_RDWR);
	pthread_join(o->thread, NULL);
	eventually(atomic_load(&o->busy) == 0);
	close(o->fd);
	free(o);
}

/* One that the policy allows, by its address and port. */
static inline struct origin *origin_allowed(struct world *w, void (*serve)(int fd, void *arg),
					    void *arg)
{
	struct origin *o = origin_start(serve, arg);

	world_allow_port(w, "127.0.0.1", o->port);
	return o;
}

/* ---- plain socket helpers for both ends; they return false instead of failing the test */

static inline bool send_all(int fd, const void *p, size_t n)
{
	while (n > 0) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k <= 0)
			return false;
		p = (const char *)p + k;
		n -= (size_t)k;
	}
	return true;
}

static inline bool recv_all(int fd, void *p, size_t n)
{
	while (n > 0) {
		ssize_t k = recv(fd, p, n, 0);

		if (k <= 0)
			return false;
		p = (char *)p + k;
		n -= (size_t)k;
	}
	return true;
}

/* Up to and with the first empty line; terminated. Return: its length, 0 if it never came. */
static inline size_t recv_head(int fd, char *out, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && recv(fd, out + n, 1, 0) == 1) {
		out[++n] = '\0';
		if (n >= 4 && memcmp(out + n - 4, "\r\n\r\n", 4) == 0)
			return n;
	}
	return 0;
}

/* Until the end; terminated. Return: how many, or -1 with errno if it was no clean end. */
static inline ssize_t recv_rest(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t k;

	while ((k = recv(fd, out + n, size - 1 - n, 0)) > 0)
		n += (size_t)k;
	out[n] = '\0';
	return k < 0 ? -1 : (ssize_t)n;
}

static inline void close_reset(int fd)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

/* Byte @i of the test pattern: no period that a buffer size divides. */
static inline uint8_t pattern_byte(uint64_t i)
{
	return (uint8_t)((i * 2654435761u) >> 13);
}

static inline uint64_t fnv(uint64_t h, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

#define FNV_START 14695981039346656037u

static inline uint64_t pattern_hash(uint64_t n)
{
	uint64_t h = FNV_START;

	for (uint64_t i = 0; i < n; i++) {
		uint8_t b = pattern_byte(i);

		h = fnv(h, &b, 1);
	}
	return h;
}

/* The bytes of the pattern from @off up to @end. */
static inline bool send_pattern_part(int fd, uint64_t off, uint64_t end)
{
	uint8_t buf[8192];

	while (off < end) {
		size_t k = end - off < sizeof(buf) ? (size_t)(end - off) : sizeof(buf);

		for (size_t i = 0; i < k; i++)
			buf[i] = pattern_byte(off + i);
		if (!send_all(fd, buf, k))
			return false;
		off += k;
	}
	return true;
}

static inline bool send_pattern(int fd, uint64_t n)
{
	return send_pattern_part(fd, 0, n);
}

/* The byte at @mark goes as urgent data. */
static inline bool send_pattern_marked(int fd, uint64_t n, uint64_t mark)
{
	const uint8_t byte = pattern_byte(mark);

	return send_pattern_part(fd, 0, mark) && send(fd, &byte, 1, MSG_OOB | MSG_NOSIGNAL) == 1 &&
	       send_pattern_part(fd, mark + 1, n);
}

/* ---- clients */

static inline int dial_port(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval tv = { .tv_sec = WAIT_S };
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return fd;
}

enum way_in { IN_CONNECT, IN_SOCKS5_NAME, IN_SOCKS5_V4, IN_SOCKS4A, IN_SOCKS4, IN_NUM };

static const char *const way_in_name[IN_NUM] = { "CONNECT", "SOCKS5 name", "SOCKS5 IPv4", "SOCKS4a",
						 "SOCKS4" };

/* The request's bytes; a SOCKS5 greeting is in front. @host is an IPv4 literal for the v4 ways. */
static inline size_t request_bytes(enum way_in in, const char *host, uint16_t port,
				   uint8_t out[512])
{
	size_t len = strlen(host);
	uint8_t *p = out;

	switch (in) {
	case IN_CONNECT:
		return (size_t)snprintf((char *)out, 512,
					"CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host, port,
					host, port);
	case IN_SOCKS5_NAME:
		memcpy(p, "\5\1\0\5\1\0\3", 7);
		p[7] = (uint8_t)len;
		memcpy(p + 8, host, len);
		p += 8 + len;
		break;
	case IN_SOCKS5_V4:
		memcpy(p, "\5\1\0\5\1\0\1", 7);
		assert_int_equal(inet_pton(AF_INET, host, p + 7), 1);
		p += 11;
		break;
	case IN_SOCKS4A:
	case IN_SOCKS4:
		p[0] = 4;
		p[1] = 1;
		p[2] = (uint8_t)(port >> 8);
		p[3] = (uint8_t)port;
		if (in == IN_SOCKS4) {
			assert_int_equal(inet_pton(AF_INET, host, p + 4), 1);
			p[8] = 0;
			return 9;
		}
		memcpy(p + 4, "\0\0\0\1", 5);
		memcpy(p + 9, host, len + 1);
		return 9 + len + 1;
	case IN_NUM:
		break;
	}
	p[0] = (uint8_t)(port >> 8);
	p[1] = (uint8_t)port;
	return (size_t)(p + 2 - out);
}

/*
 * Reads the answer. Return: 0 when the tunnel is up, else the HTTP status, SOCKS5 reply or SOCKS4
 * status; -1 when there was no answer.
 */
static inline int read_answer(int fd, enum way_in in)
{
	char head[4096];
	uint8_t s[12];
	int status;

	switch (in) {
	case IN_CONNECT:
		if (!recv_head(fd, head, sizeof(head)) || sscanf(head, "HTTP/1.1 %d", &status) != 1)
			return -1;
		return status == 200 ? 0 : status;
	case IN_SOCKS5_NAME:
	case IN_SOCKS5_V4:
		if (!recv_all(fd, s, 12) || s[0] != 5 || s[1] != 0 || s[2] != 5)
			return -1;
		return s[3];
	case IN_SOCKS4A:
	case IN_SOCKS4:
		if (!recv_all(fd, s, 8) || s[0] != 0)
			return -1;
		return s[1] == 0x5a ? 0 : s[1];
	case IN_NUM:
		break;
	}
	return -1;
}

/* Asks for a tunnel. Return: read_answer()'s; the socket in @fd is open in any case. */
static inline int try_tunnel(struct world *w, enum way_in in, const char *host, uint16_t port,
			     int *fd)
{
	uint8_t req[512];
	size_t n = request_bytes(in, host, port, req);

	*fd = dial_port(w->port);
	return send_all(*fd, req, n) ? read_answer(*fd, in) : -1;
}

static inline int open_tunnel(struct world *w, enum way_in in, uint16_t port)
{
	int fd;

	assert_int_equal(try_tunnel(w, in, "127.0.0.1", port, &fd), 0);
	return fd;
}

#endif
