/*
 * fuzz_conn.c - a connection as a whole, driven by a scripted client and a scripted origin
 *
 * The first byte chooses how the client asks, the rest are steps of both ends and turns of the
 * loop. Whatever the order:
 *  - the origin is never connected to without a decision that allows it, one a tunnel;
 *  - what an end of a tunnel receives is what the other has sent, from its first byte on;
 *  - an end that sees a clean close has received everything, and the other did close cleanly;
 *  - when both ends have gone nothing is left of the connection.
 *
 * In some asks the scripted origin is the parent proxy that must be gone through: then it hears our
 * request and nothing else until it has agreed, and the client hears of no success before that.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dns/resolver.h"
#include "proxy/proxy.h"
#include "proxy/upstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FLOW_MAX (1u << 20)
#define BURST	 16000
#define TURNS	 2000 /* of the loop, until everything must have ended */

enum ask {
	ASK_CONNECT,
	ASK_SOCKS5,
	ASK_SOCKS4,
	ASK_HTTP,
	ASK_REFUSED,
	ASK_UNKNOWN,
	ASK_RAW,
	ASK_PARENT_HTTP,
	ASK_PARENT_SOCKS,
	ASK_PARENT_PLAIN,
	ASK_PARENT_REFUSED,
	ASK_N
};

#define NAMED	     "only.parent.test"
#define HEAR_CONNECT "CONNECT " NAMED ":443 HTTP/1.1\r\nHost: " NAMED ":443\r\n\r\n"
#define HEAR_SOCKS   "\5\1\0\5\1\0\3\20" NAMED "\1\273"

/* The sessions: direct, through an HTTP and through a SOCKS5 parent. */
enum { DIRECT, BY_HTTP, BY_SOCKS, NSESSIONS };

/* Bytes one way: what was sent, how many of them arrived, and how it ended. */
struct flow {
	uint8_t sent[FLOW_MAX];
	size_t nsent, ngot;
	bool shut, reset; /* by the sender */
	bool clean, gone; /* seen by the receiver */
};

static struct {
	struct event_base *base;
	const struct policy *policy;
	struct resolver *resolver;
	struct proxy *proxy;
	struct session *session[NSESSIONS];
	int listener;
	uint16_t port[NSESSIONS], origin_port;
	struct flow up, down;
	int client, origin;
	enum ask ask;
	unsigned allowed, decided, accepts;
	size_t skip; /* bytes of our own reply that the client still has to read */
	/* a parent: what it must hear first, and how much of that it has heard */
	const char *hear;
	size_t nhear, heard;
	bool replied;  /* it has agreed, in good form */
	bool garbled;  /* it has said something else, which may mean anything */
	bool refused;  /* the client was told that there is no tunnel */
	size_t nreply; /* bytes of our reply that the client has read */
	proxy_ask_cb *question;
	void *question_arg;
} f;

static void note(void *arg, const struct proxy_event *ev)
{
	(void)arg;
	if (ev->kind != PROXY_EVENT_DECISION)
		return;
	f.decided++;
	f.allowed += ev->decision.verdict == VERDICT_ALLOW;
}

static void *ask(void *arg, const struct proxy_question *q, proxy_ask_cb *cb, void *cb_arg)
{
	(void)arg;
	(void)q;
	f.question = cb;
	f.question_arg = cb_arg;
	return &f;
}

static void ask_cancel(void *arg, void *question)
{
	(void)arg;
	assert(question == &f);
	f.question = NULL;
}

static int listen_loopback(uint16_t *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert(fd >= 0 && bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	assert(listen(fd, 64) == 0 && getsockname(fd, (struct sockaddr *)&sin, &len) == 0);
	*port = ntohs(sin.sin_port);
	return fd;
}

static const struct upstreams *parent(const char *scheme)
{
	struct upstream up;
	struct error err;
	char url[64];

	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u", scheme, f.origin_port);
	assert(upstream_parse(url, &up, &err) == 0);
	return upstreams_one(&up);
}

static void set_up(void)
{
	static const char *const servers[] = { "127.0.0.1:9", NULL };
	static const char *const schemes[NSESSIONS] = { NULL, "http", "socks5h" };
	/* no such file: the same as an empty one */
	const struct resolver_config rc = { .servers = servers,
					    .hosts_file = "/nonexistent/hosts" };
	struct policy *p = policy_new();
	struct error err;
	char pattern[32];

	f.listener = listen_loopback(&f.origin_port);
	(void)snprintf(pattern, sizeof(pattern), "127.0.0.1:%u", f.origin_port);
	assert(policy_add(p, LIST_ALLOW, pattern, "fuzz", 0, NULL, &err) == 0);
	assert(policy_add(p, LIST_ALLOW, NAMED, "fuzz", 0, NULL, &err) == 0);
	policy_set_unknown(p, VERDICT_ASK);
	f.policy = p;
	f.base = event_base_new();
	assert((f.resolver = resolver_new(f.base, &rc, &err)));
	assert((f.proxy = proxy_new(f.base, f.resolver, &err)));
	for (int i = 0; i < NSESSIONS; i++) {
		const struct session_config cfg = { .policy = &f.policy,
						    .event = note,
						    .ask = ask,
						    .ask_cancel = ask_cancel,
						    .upstream = schemes[i] ? parent(schemes[i])
									   : NULL };

		f.session[i] = proxy_session(f.proxy, &cfg);
		assert(session_listen(f.session[i], listen_loopback(&f.port[i]), LISTENER_PROXY,
				      NULL, &err) == 0);
	}
}

static size_t connections(void)
{
	size_t n = 0;

	for (int i = 0; i < NSESSIONS; i++)
		n += session_connections(f.session[i]);
	return n;
}

static void turn(void)
{
	(void)event_base_loop(f.base, EVLOOP_NONBLOCK);
}

static void close_end(int *fd, bool reset)
{
	struct linger l = { .l_onoff = reset };

	if (*fd < 0)
		return;
	(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	(void)close(*fd);
	*fd = -1;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void send_flow(struct flow *fl, int fd, const uint8_t *p, size_t n)
{
	ssize_t k;

	if (fd < 0 || fl->shut)
		return;
	k = send(fd, p, min(n, FLOW_MAX - fl->nsent), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (k < 0 && errno != EAGAIN) /* that told the error: recv() will say 0 */
		(fl == &f.up ? &f.down : &f.up)->gone = true;
	if (k <= 0)
		return;
	memcpy(fl->sent + fl->nsent, p, (size_t)k);
	fl->nsent += (size_t)k;
}

static void send_pattern(struct flow *fl, int fd, size_t n)
{
	static uint8_t buf[BURST];

	n = min(n, sizeof(buf));
	for (size_t i = 0; i < n; i++)
		buf[i] = (uint8_t)((fl->nsent + i) * 2654435761u >> 11);
	send_flow(fl, fd, buf, n);
}

static bool by_parent(void)
{
	return f.ask == ASK_PARENT_HTTP || f.ask == ASK_PARENT_SOCKS;
}

/* Only a tunnel is transparent. */
static bool is_tunnel(void)
{
	return f.ask == ASK_CONNECT || f.ask == ASK_SOCKS5 || f.ask == ASK_SOCKS4 ||
	       (by_parent() && !f.garbled && !f.refused);
}

static void got(struct flow *fl, const uint8_t *p, size_t n)
{
	if (!is_tunnel())
		return;
	assert(fl->ngot + n <= fl->nsent);
	assert(memcmp(fl->sent + fl->ngot, p, n) == 0);
	fl->ngot += n;
}

/* The parent hears our request, and behind that the client, but only once it has agreed. */
static size_t hear(const uint8_t *p, size_t n)
{
	size_t ours = min(f.nhear - f.heard, n);

	if (ours)
		assert(memcmp(f.hear + f.heard, p, ours) == 0);
	f.heard += ours;
	if (by_parent() && n > ours)
		assert(f.replied || f.garbled);
	return ours;
}

/* The client hears our reply first: 200 only when the parent has agreed. */
static size_t reply(const uint8_t *p, size_t n)
{
	size_t ours = min(f.skip, n);

	for (size_t i = 0; by_parent() && i < ours; i++) {
		if (f.nreply + i != 9)
			continue;
		f.refused = p[i] != '2';
		assert(f.refused || f.replied || f.garbled);
	}
	f.nreply += ours;
	f.skip -= ours;
	return ours;
}

static void read_flow(struct flow *fl, int fd, size_t max)
{
	static uint8_t buf[BURST];
	bool down = fl == &f.down;
	ssize_t n;
	size_t ours;

	if (fd < 0 || fl->clean || fl->gone)
		return;
	n = recv(fd, buf, min(max, sizeof(buf)), MSG_DONTWAIT);
	if (n > 0) {
		ours = down ? reply(buf, (size_t)n) : hear(buf, (size_t)n);
		got(fl, buf + ours, (size_t)n - ours);
	} else if (n == 0) {
		fl->clean = true;
		if (is_tunnel() && (down ? f.skip == 0 : f.heard == f.nhear))
			assert(fl->shut && !fl->reset && fl->ngot == fl->nsent);
	} else if (errno != EAGAIN) {
		fl->gone = true;
	}
}

/* The parent agrees, if it has said nothing else before. */
static void agree(void)
{
	static const char http[] = "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n";
	static const char socks[] = "\5\0\5\0\0\1\0\0\0\0\0\0";
	const char *p = f.ask == ASK_PARENT_SOCKS ? socks : http;
	size_t n = f.ask == ASK_PARENT_SOCKS ? sizeof(socks) - 1 : sizeof(http) - 1;

	if (!by_parent() || f.origin < 0 || f.replied || f.garbled || f.down.shut)
		return;
	if (send(f.origin, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n)
		f.replied = true;
	else
		f.garbled = true;
}

/* What is not in good form may mean anything: then only the bounds and the end are looked at. */
static void say(const uint8_t *p, size_t n, bool pattern)
{
	if (by_parent() && !f.replied)
		f.garbled = true;
	if (pattern)
		send_pattern(&f.down, f.origin, n);
	else
		send_flow(&f.down, f.origin, p, n);
}

static void accept_origin(void)
{
	int fd = accept(f.listener, NULL, NULL);

	if (fd < 0)
		return;
	f.accepts++;
	/* through a parent the decision is told when the parent has agreed */
	assert(f.accepts <= f.allowed || f.hear || f.ask == ASK_PARENT_PLAIN);
	assert(f.ask != ASK_PARENT_REFUSED);
	close_end(&f.origin, true); /* only HTTP comes more than once */
	f.origin = fd;
}

static int session_of(uint8_t how)
{
	switch (how % ASK_N) {
	case ASK_PARENT_HTTP:
	case ASK_PARENT_PLAIN:
	case ASK_PARENT_REFUSED:
		return BY_HTTP;
	case ASK_PARENT_SOCKS:
		return BY_SOCKS;
	default:
		return DIRECT;
	}
}

static void begin(uint8_t how)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(f.port[session_of(how)]),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char hi = (char)(f.origin_port >> 8), lo = (char)f.origin_port;
	char text[256];
	size_t n = 0;

	f.up.nsent = f.up.ngot = f.down.nsent = f.down.ngot = 0;
	f.up.shut = f.up.reset = f.up.clean = f.up.gone = false;
	f.down.shut = f.down.reset = f.down.clean = f.down.gone = false;
	f.allowed = f.decided = f.accepts = 0;
	f.origin = -1;
	f.ask = how % ASK_N;
	f.skip = f.nhear = f.heard = f.nreply = 0;
	f.hear = NULL;
	f.replied = f.garbled = f.refused = false;
	f.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(f.client >= 0);
	assert(connect(f.client, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	switch (f.ask) {
	case ASK_CONNECT:
		n = (size_t)snprintf(text, sizeof(text), "CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n",
				     f.origin_port);
		f.skip = 39;
		break;
	case ASK_SOCKS5:
		n = 13;
		memcpy(text, "\5\1\0\5\1\0\1\x7f\0\0\1", 11);
		text[11] = hi;
		text[12] = lo;
		f.skip = 12;
		break;
	case ASK_SOCKS4:
		n = 9;
		memcpy(text, (char[]){ 4, 1, hi, lo, 0x7f, 0, 0, 1, 0 }, 9);
		f.skip = 8;
		break;
	case ASK_HTTP:
		n = (size_t)snprintf(text, sizeof(text),
				     "%s http://127.0.0.1:%u/ HTTP/1.1\r\nHost: a\r\n%s\r\n",
				     how & 0x40 ? "POST" : "GET", f.origin_port,
				     how & 0x40 ? "Transfer-Encoding: chunked\r\n" : "");
		break;
	case ASK_REFUSED:
		n = (size_t)snprintf(text, sizeof(text), "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n");
		break;
	case ASK_UNKNOWN:
		n = (size_t)snprintf(text, sizeof(text),
				     "CONNECT unknown.example:443 HTTP/1.1\r\n\r\n");
		break;
	case ASK_PARENT_HTTP:
	case ASK_PARENT_SOCKS:
		n = (size_t)snprintf(text, sizeof(text), "CONNECT " NAMED ":443 HTTP/1.1\r\n\r\n");
		f.skip = 39;
		f.hear = f.ask == ASK_PARENT_HTTP ? HEAR_CONNECT : HEAR_SOCKS;
		f.nhear = f.ask == ASK_PARENT_HTTP ? sizeof(HEAR_CONNECT) - 1
						   : sizeof(HEAR_SOCKS) - 1;
		break;
	case ASK_PARENT_PLAIN:
		n = (size_t)snprintf(text, sizeof(text),
				     "GET http://" NAMED "/ HTTP/1.1\r\nHost: a\r\n\r\n");
		break;
	case ASK_PARENT_REFUSED:
		n = (size_t)snprintf(text, sizeof(text), "CONNECT 10.0.0.1:%u HTTP/1.1\r\n\r\n",
				     f.origin_port);
		break;
	case ASK_RAW:
	case ASK_N:
		break;
	}
	assert(send(f.client, text, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static void step(uint8_t op, const uint8_t **data, size_t *size)
{
	size_t arg = *size ? **data : 0;
	size_t raw;

	if (*size) {
		(*data)++;
		(*size)--;
	}
	raw = min(arg, *size);
	switch (op % 15) {
	case 0:
		send_pattern(&f.up, f.client, arg + 1);
		break;
	case 1:
		send_flow(&f.up, f.client, *data, raw);
		*data += raw;
		*size -= raw;
		break;
	case 2:
		if (f.client >= 0 && shutdown(f.client, SHUT_WR) == 0)
			f.up.shut = true;
		break;
	case 3:
		f.up.reset = f.up.reset || !f.up.shut; /* behind an end it changes nothing */
		close_end(&f.client, true);
		break;
	case 4:
		say(NULL, arg * 64 + 1, true);
		break;
	case 5:
		say(*data, raw, false);
		*data += raw;
		*size -= raw;
		break;
	case 6:
		if (f.origin >= 0 && shutdown(f.origin, SHUT_WR) == 0)
			f.down.shut = true;
		break;
	case 7:
		f.down.reset = f.down.reset || (f.origin >= 0 && !f.down.shut);
		close_end(&f.origin, true);
		break;
	case 8:
		read_flow(&f.down, f.client, arg * 256 + 1);
		break;
	case 9:
		read_flow(&f.up, f.origin, arg * 256 + 1);
		break;
	case 10:
		send_pattern(&f.up, f.client, BURST);
		break;
	case 11:
		say(NULL, BURST, true);
		break;
	case 12:
		if (f.question) {
			const struct decision d = { .verdict = VERDICT_DENY,
						    .code = CODE_ASKED_NO };
			proxy_ask_cb *cb = f.question;

			f.question = NULL;
			cb(f.question_arg, &d);
		}
		break;
	case 13:
		agree();
		break;
	default:
		session_recheck(f.session[session_of((uint8_t)f.ask)]);
		break;
	}
	turn();
	accept_origin();
}

static void end(void)
{
	for (int i = 0; i < 8; i++) {
		turn();
		accept_origin();
		read_flow(&f.down, f.client, BURST);
		read_flow(&f.up, f.origin, BURST);
	}
	if (is_tunnel())
		assert(f.decided <= 1);
	if (f.ask == ASK_REFUSED || f.ask == ASK_UNKNOWN)
		assert(f.accepts == 0);
	close_end(&f.client, true);
	for (int i = 0; i < TURNS && connections(); i++) {
		accept_origin();
		close_end(&f.origin, true);
		if (i > 20)
			(void)usleep(1000);
		turn();
	}
	assert(connections() == 0);
	accept_origin();
	close_end(&f.origin, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!f.base)
		set_up();
	if (size == 0 || size > 4096)
		return 0;
	begin(*data++);
	size--;
	turn();
	accept_origin();
	while (size > 0) {
		uint8_t op = *data++;

		size--;
		step(op, &data, &size);
	}
	end();
	return 0;
}
