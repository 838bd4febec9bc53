/*
 * load.c - the load client of tests/bench/compare and tests/soak
 *
 *	load get     -t HOST:PORT [-p PROXY]   connect, GET /BYTES, read all of it, close
 *	load refuse  -t HOST:PORT  -p PROXY    connect, CONNECT, read a whole refusal: to its length,
 *	                                       or to the end if it has none
 *	load idle    -t HOST:PORT [-p PROXY]   open -n tunnels, say "ready", hold them -s seconds
 *	load forward -t HOST:PORT  -p PROXY    GET http://HOST:PORT/BYTES again and again on -c
 *	                                       connections; without -p the same as "GET /BYTES"
 *	load inside  -t HOST:PORT  -p PROXY    the same through a CONNECT tunnel each
 *
 *	-c N  at once (1)    -n N  stop after so many    -s SECONDS  stop after that time (1)
 *	-b BYTES  of each body (66)    -T SECONDS  for one operation (30)
 *	-f ADDR  connect from there, and from the addresses behind it when its ports are used up
 *
 * PROXY is ADDR:PORT or unix:PATH; without it HOST is an address; all of them IPv4. One thread, one epoll set, edge-triggered.
 * Bodies are thrown away by the kernel (MSG_TRUNC), so that the client is not the bound. Prints one
 * line of JSON; exit status 1 if anything went wrong, and then what, first.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define HEAD_ROOM   4096
#define CHUNK	    ((size_t)1024 * 1024)
#define LATENCIES   (1u << 20) /* so many operations are timed; the rest only counted */
#define ERRORS_MAX  1000
#define EVENTS	    256
#define TO_END	    UINT64_MAX
#define FROM_MAX    16	  /* addresses from the one of -f on */
#define PORT_BLOCKS 27000 /* connections from one source address; TIME_WAIT keeps them a minute */

enum mode { GET, REFUSE, IDLE, FORWARD, INSIDE };

/* CONNECT is sent, its answer read; then the same for GET. HELD: an idle tunnel. */
enum state { FREE, ASK, ANSWER, REQUEST, HEAD, BODY, HELD };

struct slot {
	int fd;
	enum state state;
	uint64_t born_ns;
	uint64_t left; /* of the body, or TO_END */
	size_t nhead;
	char head[HEAD_ROOM];
};

static struct {
	enum mode mode;
	const char *target;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_un un;
	} peer;
	socklen_t peer_len;
	bool proxied;
	unsigned at_once;
	uint64_t ops_max, bytes;
	uint32_t from; /* in host order, or 0 */
	double seconds, patience;
	char connect[512], get[1024];
} o = { .at_once = 1, .seconds = 1, .patience = 30, .bytes = 66 };

static struct {
	uint64_t ops, started, errors, bytes, lost;
	uint64_t truncated; /* bodies that ended too early, and cleanly */
	char first_error[128];
	uint32_t *us;
	size_t nus;
} st;

static int ep;
static struct slot *slots;
static unsigned nslots;
static char *bin;

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void slot_close(struct slot *s)
{
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = -1;
	s->state = FREE;
}

static void failed(struct slot *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void failed(struct slot *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (st.errors++ == 0)
		(void)vsnprintf(st.first_error, sizeof(st.first_error), fmt, ap);
	va_end(ap);
	slot_close(s);
}

static void finished(struct slot *s)
{
	if (st.nus < LATENCIES)
		st.us[st.nus++] = (uint32_t)((now_ns() - s->born_ns) / 1000);
	st.ops++;
}

/* A source address for each block of connections, or the ports of one would run out. */
static int bind_source(int fd)
{
	const uint32_t block = (uint32_t)(st.started / PORT_BLOCKS);
	struct sockaddr_in from = { .sin_family = AF_INET };
	int one = 1;

	if (o.peer.sa.sa_family != AF_INET)
		return 0;
	if (o.from)
		from.sin_addr.s_addr = htonl(o.from + block % FROM_MAX);
	else if (block > 0 && (ntohl(o.peer.in.sin_addr.s_addr) >> 24) == 127)
		from.sin_addr.s_addr = htonl(0x7f4d0001u + block % 200);
	else
		return 0;
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	return bind(fd, (struct sockaddr *)&from, sizeof(from));
}

static void begin(struct slot *s)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				  .data.ptr = s };
	int one = 1;

	s->born_ns = now_ns();
	s->nhead = 0;
	s->state = o.proxied && o.mode != FORWARD ? ASK : REQUEST;
	s->fd = socket(o.peer.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	st.started++;
	if (s->fd < 0 || bind_source(s->fd) < 0) {
		failed(s, "socket: %s", strerror(errno));
		return;
	}
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(s->fd, &o.peer.sa, o.peer_len) < 0 && errno != EINPROGRESS)
		failed(s, "connect: %s", strerror(errno));
	else if (epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev) < 0)
		failed(s, "epoll_ctl: %s", strerror(errno));
}

/* Requests are far smaller than a send buffer: they go in one piece. Return: whether it went. */
static bool put(struct slot *s, const char *text)
{
	ssize_t n = send(s->fd, text, strlen(text), MSG_NOSIGNAL);

	if (n == (ssize_t)strlen(text)) {
		s->nhead = 0;
		return true;
	}
	if (n >= 0 || (errno != EAGAIN && errno != ENOTCONN))
		failed(s, "send: %s", n < 0 ? strerror(errno) : "a part");
	return false;
}

/*
 * Reads a head; what follows it stays behind it in s->head. Return: its length, or 0 when there is
 * more to come or the slot has failed.
 */
static size_t get_head(struct slot *s, int *status)
{
	for (;;) {
		char *end = s->nhead ? memmem(s->head, s->nhead, "\r\n\r\n", 4) : NULL;
		ssize_t n;

		if (end) {
			*status = s->nhead > 12 ? atoi(s->head + 9) : 0;
			return (size_t)(end - s->head) + 4;
		}
		n = recv(s->fd, s->head + s->nhead, HEAD_ROOM - 1 - s->nhead, 0);
		if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
			return 0;
		if (n <= 0) {
			failed(s, "no answer: %s", n < 0 ? strerror(errno) : "end");
			return 0;
		}
		s->nhead += (size_t)n;
		s->head[s->nhead] = '\0';
	}
}

/* What the head of @n bytes announces; TO_END when it announces nothing. */
static uint64_t length_of(const struct slot *s, size_t n)
{
	const char *field = strcasestr(s->head, "\r\nContent-Length:");

	return field && field < s->head + n ? strtoull(field + 17, NULL, 10) : TO_END;
}

/* Return: false if more of the body is there than there may be. */
static bool begin_body(struct slot *s, size_t n)
{
	const size_t here = s->nhead - n;

	s->left = length_of(s, n);
	st.bytes += here;
	if (s->left < here) {
		failed(s, "a body of more than was announced");
		return false;
	}
	s->left -= s->left == TO_END ? 0 : here;
	s->state = BODY;
	return true;
}

static void do_answer(struct slot *s)
{
	int status;
	size_t n = get_head(s, &status);

	if (n == 0)
		return;
	if (o.mode == REFUSE) {
		if (status / 100 == 2)
			failed(s, "it was allowed");
		else
			(void)begin_body(s, n);
		return;
	}
	if (status != 200) {
		failed(s, "CONNECT: status %d", status);
		return;
	}
	s->state = o.mode == IDLE ? HELD : REQUEST;
	if (o.mode == IDLE)
		finished(s);
}

static void do_head(struct slot *s)
{
	int status;
	size_t n = get_head(s, &status);

	if (n == 0)
		return;
	if (status != 200 || length_of(s, n) == TO_END)
		failed(s, "GET: status %d%s", status, status == 200 ? ", no length" : "");
	else
		(void)begin_body(s, n);
}

static void body_done(struct slot *s)
{
	finished(s);
	if (o.mode != FORWARD && o.mode != INSIDE) {
		slot_close(s);
		return;
	}
	s->born_ns = now_ns();
	s->state = REQUEST;
}

static void do_body(struct slot *s)
{
	while (s->state == BODY) {
		ssize_t n;

		if (s->left == 0) {
			body_done(s);
			return;
		}
		n = recv(s->fd, bin, CHUNK, MSG_TRUNC);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n == 0 && s->left == TO_END) {
			body_done(s);
		} else if (n <= 0) {
			st.truncated += n == 0;
			failed(s, "body: %s", n < 0 ? strerror(errno) : "end");
		} else if ((uint64_t)n > s->left) {
			failed(s, "body: more than was announced");
		} else {
			s->left -= s->left == TO_END ? 0 : (uint64_t)n;
			st.bytes += (uint64_t)n;
		}
	}
}

/* An idle tunnel says nothing until its end. */
static void do_held(struct slot *s)
{
	char byte;

	if (recv(s->fd, &byte, 1, 0) >= 0 || errno != EAGAIN) {
		st.lost++;
		failed(s, "an idle tunnel has ended");
	}
}

static void step(struct slot *s)
{
	for (;;) {
		enum state before = s->state;

		switch (s->state) {
		case ASK:
			if (put(s, o.connect))
				s->state = ANSWER;
			break;
		case ANSWER:
			do_answer(s);
			break;
		case REQUEST:
			if (o.mode == IDLE) {
				s->state = HELD;
				finished(s);
			} else if (put(s, o.get)) {
				s->state = HEAD;
			}
			break;
		case HEAD:
			do_head(s);
			break;
		case BODY:
			do_body(s);
			break;
		case HELD:
			do_held(s);
			break;
		case FREE:
			return;
		}
		if (s->state == before)
			return;
	}
}

static void turn(int ms)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(ep, ev, EVENTS, ms);

	for (int i = 0; i < n; i++)
		step(ev[i].data.ptr);
}

static void look_for_stalls(void)
{
	static uint64_t last;
	uint64_t now = now_ns();

	if (now - last < 100000000)
		return;
	last = now;
	for (unsigned i = 0; i < nslots; i++) {
		struct slot *s = &slots[i];

		if (s->state != FREE && s->state != HELD &&
		    (double)(now - s->born_ns) > o.patience * 1e9)
			failed(s, "nothing for %.0f s (state %d)", o.patience, s->state);
	}
}

static bool more_to_start(void)
{
	return !o.ops_max || st.started < o.ops_max;
}

static bool anything_open(void)
{
	for (unsigned i = 0; i < nslots; i++)
		if (slots[i].state != FREE)
			return true;
	return false;
}

/* Tunnels that were opened or could not be; one that was lost later has been counted twice. */
static uint64_t settled(void)
{
	return st.ops + st.errors - st.lost;
}

/* Idle tunnels take no part in "at once": what is being opened does. */
static bool room_for_more(void)
{
	return o.mode != IDLE || st.started - settled() < o.at_once;
}

static double run(void)
{
	uint64_t begun = now_ns();
	bool timed = o.mode != IDLE && o.seconds > 0;

	while (st.errors < ERRORS_MAX && (more_to_start() || anything_open())) {
		if (timed && (double)(now_ns() - begun) >= o.seconds * 1e9)
			break;
		for (unsigned i = 0; i < nslots && more_to_start() && room_for_more(); i++)
			if (slots[i].state == FREE)
				begin(&slots[i]);
		if (o.mode == IDLE && settled() >= o.ops_max)
			break;
		turn(100);
		look_for_stalls();
	}
	return (double)(now_ns() - begun) / 1e9;
}

static void hold(void)
{
	uint64_t begun = now_ns();

	(void)printf("ready %" PRIu64 "\n", st.ops);
	(void)fflush(stdout);
	while ((double)(now_ns() - begun) < o.seconds * 1e9)
		turn(100);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t quantile(unsigned percent)
{
	return st.nus ? st.us[(st.nus - 1) * percent / 100] : 0;
}

/* Processor time of this process so far. */
static double cpu_seconds(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void report(double secs)
{
	qsort(st.us, st.nus, sizeof(*st.us), by_value);
	(void)printf("{\"ops\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"lost\":%" PRIu64
		     ",\"seconds\":%.4f,\"per_second\":%.1f,\"mib_per_second\":%.2f,"
		     "\"truncated\":%" PRIu64 ",\"cpu_seconds\":%.6f,\"p50_us\":%u,\"p99_us\":%u,"
		     "\"max_us\":%u,\"first_error\":\"%s\"}\n",
		     st.ops, st.errors, st.lost, secs, (double)st.ops / secs,
		     (double)st.bytes / secs / (1024 * 1024), st.truncated, cpu_seconds(),
		     quantile(50), quantile(99), quantile(100), st.first_error);
}

static void usage(void) __attribute__((noreturn));

static void usage(void)
{
	(void)fputs(
		"usage: load get|refuse|idle|forward|inside -t HOST:PORT [-p PROXY] [-c N] [-n N] "
		"[-s SECONDS] [-b BYTES] [-T SECONDS] [-f ADDR]\n",
		stderr);
	exit(2);
}

static void set_address(const char *text)
{
	CLEANUP_FREE char *copy = xstrdup(text);
	char *colon = strrchr(copy, ':');

	if (strncmp(text, "unix:", 5) == 0) {
		o.peer.un.sun_family = AF_UNIX;
		o.peer_len = sizeof(o.peer.un);
		(void)snprintf(o.peer.un.sun_path, sizeof(o.peer.un.sun_path), "%s", text + 5);
		return;
	}
	if (!colon)
		usage();
	*colon = '\0';
	o.peer_len = sizeof(o.peer.in);
	o.peer.in.sin_family = AF_INET;
	o.peer.in.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, copy, &o.peer.in.sin_addr) != 1)
		usage();
}

static void parse(int argc, char **argv)
{
	static const char *const modes[] = { "get", "refuse", "idle", "forward", "inside" };
	const char *proxy = NULL;
	struct in_addr from;
	int c;

	if (argc < 2)
		usage();
	while ((size_t)o.mode < ARRAY_SIZE(modes) && strcmp(argv[1], modes[o.mode]) != 0)
		o.mode++;
	while ((c = getopt(argc - 1, argv + 1, "t:p:c:n:s:b:T:f:")) != -1) {
		switch (c) {
		case 't':
			o.target = optarg;
			break;
		case 'p':
			proxy = optarg;
			break;
		case 'c':
			o.at_once = (unsigned)atoi(optarg);
			break;
		case 'n':
			o.ops_max = strtoull(optarg, NULL, 10);
			break;
		case 's':
			o.seconds = strtod(optarg, NULL);
			break;
		case 'b':
			o.bytes = strtoull(optarg, NULL, 10);
			break;
		case 'f':
			if (inet_pton(AF_INET, optarg, &from) != 1)
				usage();
			o.from = ntohl(from.s_addr);
			break;
		case 'T':
			o.patience = strtod(optarg, NULL);
			break;
		default:
			usage();
		}
	}
	if ((size_t)o.mode == ARRAY_SIZE(modes) || !o.target || o.at_once == 0 ||
	    (o.mode == IDLE && o.ops_max == 0))
		usage();
	o.proxied = proxy;
	set_address(proxy ? proxy : o.target);
}

/* The port of a tunnel's target is part of the name; Host is what curl would send. */
static void prepare(void)
{
	struct rlimit all;

	(void)snprintf(o.connect, sizeof(o.connect), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
		       o.target, o.target);
	(void)snprintf(o.get, sizeof(o.get),
		       "GET %s%s/%" PRIu64 " HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n\r\n",
		       o.mode == FORWARD && o.proxied ? "http://" : "",
		       o.mode == FORWARD && o.proxied ? o.target : "", o.bytes, o.target);
	nslots = o.mode == IDLE ? (unsigned)o.ops_max : o.at_once;
	(void)getrlimit(RLIMIT_NOFILE, &all);
	all.rlim_cur = all.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &all);
	(void)signal(SIGPIPE, SIG_IGN);
	slots = xcalloc(nslots, sizeof(*slots));
	bin = xmalloc(CHUNK);
	st.us = xcalloc(LATENCIES, sizeof(*st.us));
	ep = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned i = 0; i < nslots; i++)
		slots[i].fd = -1;
}

int main(int argc, char **argv)
{
	double secs;

	parse(argc, argv);
	prepare();
	secs = run();
	if (o.mode == IDLE)
		hold();
	report(secs);
	return st.errors || st.ops == 0;
}
