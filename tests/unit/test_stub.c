/*
 * test_stub.c - the stub's sockets: where answers come from, and what bounds them
 *
 * The client is in the same process: it sends, the event loop runs a turn, it receives.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <event2/event.h>

#include "dns/fakeip.h"
#include "dns/records.h"
#include "dns/resolver.h"
#include "dns/stub.h"
#include "dns/wire.h"
#include "policy/recordtype.h"
#include "tests/support/fakedns.h"

#define SKIP 77

/** struct world - a stub on loopback sockets; @port is the same for UDP and TCP */
struct world {
	struct event_base *base;
	struct fakeip *names;
	struct stub *stub;
	uint16_t port;
};

static enum stub_answer decide(void *arg, const struct hostname *name)
{
	(void)arg;
	return strstr(name->s, "allowed") ? STUB_ALLOW : STUB_DENY;
}

static struct sockaddr_storage endpoint(const char *text, uint16_t port, socklen_t *len)
{
	struct sockaddr_storage ss;
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	*len = addr_to_sockaddr(&a, port, &ss);
	return ss;
}

/* A bound socket of either type; -1 if the port is taken or the family is missing. */
static int bound(const char *text, int type, uint16_t port)
{
	socklen_t len;
	struct sockaddr_storage ss = endpoint(text, port, &len);
	int fd = socket(ss.ss_family, type | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -1;
	if (ss.ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&ss, len) || (type == SOCK_STREAM && listen(fd, 128))) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct addr a;
	uint16_t port;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	assert_true(addr_from_sockaddr((struct sockaddr *)&ss, &a, &port));
	return port;
}

/* UDP and TCP on one port of @v4 and, where there is IPv6, of @v6. */
static void world_open(struct world *w, const char *v4, const char *v6)
{
	struct error err = { 0 };
	int udp = -1, tcp = -1, fd;

	*w = (struct world){ .base = event_base_new(), .names = fakeip_new() };
	w->stub = stub_new(w->base, w->names, decide, NULL);
	for (int i = 0; i < 100 && tcp < 0; i++) {
		if (udp >= 0)
			(void)close(udp);
		udp = bound(v4, SOCK_DGRAM, 0);
		assert_true(udp >= 0);
		w->port = port_of(udp);
		tcp = bound(v4, SOCK_STREAM, w->port);
	}
	assert_true(tcp >= 0);
	assert_int_equal(stub_add_udp(w->stub, udp, &err), 0);
	assert_int_equal(stub_add_tcp(w->stub, tcp, &err), 0);
	fd = bound(v6, SOCK_DGRAM, w->port);
	if (fd >= 0)
		assert_int_equal(stub_add_udp(w->stub, fd, &err), 0);
	fd = bound(v6, SOCK_STREAM, w->port);
	if (fd >= 0)
		assert_int_equal(stub_add_tcp(w->stub, fd, &err), 0);
}

static void world_close(struct world *w)
{
	stub_free(w->stub);
	fakeip_free(w->names);
	event_base_free(w->base);
}

static int setup(void **state)
{
	static struct world w;

	world_open(&w, "0.0.0.0", "::");
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	world_close(*state);
	return 0;
}

static void turn(struct world *w)
{
	(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
}

/* Connected: an answer from any other address would not arrive. -1 without the family. */
static int client(const struct world *w, const char *text, int type)
{
	socklen_t len;
	struct sockaddr_storage ss = endpoint(text, w->port, &len);
	int fd = socket(ss.ss_family, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&ss, len)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static size_t query(uint8_t *msg, const char *name, uint16_t type)
{
	static const uint8_t head[12] = { 0, 7, 1, 0, 0, 1 };
	struct hostname h = { .len = (uint8_t)strlen(name) };
	struct wire_name labels;
	size_t n = sizeof(head);

	memcpy(h.s, name, h.len);
	wire_name_from_host(&h, &labels);
	memcpy(msg, head, n);
	memcpy(msg + n, labels.p, labels.len);
	n += labels.len;
	msg[n++] = (uint8_t)(type >> 8);
	msg[n++] = (uint8_t)type;
	msg[n++] = 0;
	msg[n++] = 1;
	return n;
}

static bool is_answer(const uint8_t *p, size_t n, const char *name)
{
	struct hostname h = { .len = (uint8_t)strlen(name) };
	struct wire_addrs found;

	memcpy(h.s, name, h.len);
	return wire_parse_answer(p, n, &h, WIRE_A, &found) == PARSE_OK && found.n == 1 &&
	       fakeip_covers(&found.v[0]);
}

static bool udp_ask(struct world *w, int fd, const char *name)
{
	uint8_t msg[512], reply[1500];
	size_t n = query(msg, name, WIRE_A);
	ssize_t got;

	assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	turn(w);
	got = recv(fd, reply, sizeof(reply), MSG_DONTWAIT);
	return got > 0 && is_answer(reply, (size_t)got, name);
}

static size_t tcp_query(uint8_t *msg, const char *name)
{
	size_t n = query(msg + 2, name, WIRE_A);

	msg[0] = (uint8_t)(n >> 8);
	msg[1] = (uint8_t)n;
	return n + 2;
}

/* The next message on a TCP connection, running the loop until it is whole; 0 at the end. */
static size_t tcp_receive(struct world *w, int fd, uint8_t *out, size_t size)
{
	size_t have = 0, want = 2;

	for (int i = 0; i < 1000 && have < want; i++) {
		ssize_t n = recv(fd, out + have, want - have, MSG_DONTWAIT);

		if (n == 0)
			return 0;
		if (n < 0) {
			turn(w);
			continue;
		}
		have += (size_t)n;
		if (have == 2)
			want = 2 + ((size_t)out[0] << 8 | out[1]);
		assert_true(want <= size);
	}
	return have == want ? want - 2 : 0;
}

static void test_udp_answers_from_the_address_asked(void **state)
{
	static const char *const addrs[] = { "127.0.0.1", "127.0.0.53", "127.1.2.3", "::1" };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		int fd = client(w, addrs[i], SOCK_DGRAM);

		if (fd < 0 && strchr(addrs[i], ':'))
			continue; /* a kernel without IPv6 */
		assert_true(udp_ask(w, fd, "www.allowed.example"));
		assert_true(udp_ask(w, fd, "www.allowed.example"));
		(void)close(fd);
	}
}

static void test_udp_denied_name_does_not_exist(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_DGRAM);
	uint8_t msg[512];
	size_t n = query(msg, "evil.example", WIRE_A);

	assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	turn(w);
	assert_true(recv(fd, msg, sizeof(msg), MSG_DONTWAIT) > 12);
	assert_int_equal(msg[3] & 0xf, WIRE_NXDOMAIN);
	(void)close(fd);
}

static void test_udp_survives_garbage_and_closed_clients(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_DGRAM);
	uint8_t msg[4000] = { 0 };
	size_t n;

	assert_int_equal(send(fd, msg, 0, 0), 0);
	assert_int_equal(send(fd, msg, 11, 0), 11);
	assert_int_equal(send(fd, msg, 4000, 0), 4000); /* larger than any question */
	turn(w);
	n = query(msg, "www.allowed.example", WIRE_A);
	assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	(void)close(fd); /* the answer meets a closed port */
	turn(w);
	fd = client(w, "127.0.0.1", SOCK_DGRAM);
	assert_true(udp_ask(w, fd, "www.allowed.example"));
	(void)close(fd);
}

static void test_udp_is_read_in_batches(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_DGRAM);
	uint8_t msg[512];
	size_t n = query(msg, "evil.example", WIRE_A);
	int got = 0;

	for (int i = 0; i < STUB_BATCH + 10; i++)
		assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	(void)event_base_loop(w->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	while (recv(fd, msg, sizeof(msg), MSG_DONTWAIT) > 0)
		got++;
	assert_int_equal(got, STUB_BATCH);
	(void)event_base_loop(w->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	while (recv(fd, msg, sizeof(msg), MSG_DONTWAIT) > 0)
		got++;
	assert_int_equal(got, STUB_BATCH + 10);
	(void)close(fd);
}

/* More than a slice's worth at once: answering pauses, and goes on by itself. */
static void test_flood_is_paused_and_resumed(void **state)
{
	enum { FLOOD = STUB_BATCH };
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_DGRAM);
	uint8_t msg[512];
	size_t n = query(msg, "evil.example", WIRE_A);
	int got = 0;

	stub_set_rate(w->stub, 40); /* two each slice */
	for (int i = 0; i < FLOOD; i++)
		assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	turn(w);
	while (recv(fd, msg, sizeof(msg), MSG_DONTWAIT) > 0)
		got++;
	assert_true(got > 0 && got < FLOOD);
	stub_set_rate(w->stub, STUB_RATE);
	/* The timer, and nothing else, wakes it: wait for that. */
	for (int i = 0; i < 1000 && got < FLOOD; i++) {
		(void)event_base_loop(w->base, EVLOOP_ONCE);
		while (recv(fd, msg, sizeof(msg), MSG_DONTWAIT) > 0)
			got++;
	}
	assert_int_equal(got, FLOOD);
	(void)close(fd);
}

/* What a connection had sent before the pause is answered after it. */
static void test_tcp_goes_on_after_a_pause(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_STREAM);
	uint8_t msg[512], reply[1024];
	size_t n = tcp_query(msg, "www.allowed.example");

	stub_set_rate(w->stub, 20); /* one each slice */
	for (int i = 0; i < 5; i++)
		assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	for (int i = 0; i < 5; i++) {
		size_t have = 0;

		while (have < 2 + 12) { /* wait in the loop, not for the answer */
			ssize_t r = recv(fd, reply, sizeof(reply), MSG_DONTWAIT | MSG_PEEK);

			assert_int_not_equal(r, 0);
			have = r > 0 ? (size_t)r : 0;
			if (!have)
				(void)event_base_loop(w->base, EVLOOP_ONCE);
		}
		n = tcp_receive(w, fd, reply, sizeof(reply));
		assert_true(n && is_answer(reply + 2, n, "www.allowed.example"));
	}
	(void)close(fd);
}

static void test_tcp_answers(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.9", SOCK_STREAM);
	uint8_t msg[512], reply[1024];
	size_t n = tcp_query(msg, "www.allowed.example");

	assert_true(fd >= 0);
	assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	n = tcp_receive(w, fd, reply, sizeof(reply));
	assert_true(n && is_answer(reply + 2, n, "www.allowed.example"));
	(void)close(fd);
	turn(w);
	assert_int_equal(stub_connections(w->stub), 0);
}

static void test_tcp_takes_bytes_one_by_one(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_STREAM);
	uint8_t msg[512], reply[1024];
	size_t n = tcp_query(msg, "www.allowed.example");

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(send(fd, msg + i, 1, 0), 1);
		turn(w);
	}
	n = tcp_receive(w, fd, reply, sizeof(reply));
	assert_true(n && is_answer(reply + 2, n, "www.allowed.example"));
	(void)close(fd);
}

/* Many questions at once are answered in order, however long the client does not read. */
static void test_tcp_answers_pipelined_questions(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_STREAM);
	uint8_t msg[512], reply[1024];
	char name[32];
	size_t n;

	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "h%d.allowed.example", i);
		n = tcp_query(msg, name);
		assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	}
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "h%d.allowed.example", i);
		n = tcp_receive(w, fd, reply, sizeof(reply));
		assert_true(n && is_answer(reply + 2, n, name));
	}
	(void)close(fd);
}

static void test_tcp_closes_on_what_is_no_question(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} rows[] = { { "\0\0", 2 }, { "\xff\xff", 2 }, { "\0\x0c\0\7\x80\0\0\1\0\0\0\0\0\0", 14 } };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = client(w, "127.0.0.1", SOCK_STREAM);
		uint8_t reply[1024];

		turn(w);
		assert_int_equal(stub_connections(w->stub), 1);
		assert_int_equal(send(fd, rows[i].p, rows[i].n, 0), (ssize_t)rows[i].n);
		assert_int_equal(tcp_receive(w, fd, reply, sizeof(reply)), 0);
		assert_int_equal(stub_connections(w->stub), 0);
		(void)close(fd);
	}
}

static void test_tcp_connections_are_bounded(void **state)
{
	struct world *w = *state;
	int fds[STUB_TCP_MAX + 20];
	uint8_t msg[512], reply[1024];
	size_t n = tcp_query(msg, "www.allowed.example");
	int last = STUB_TCP_MAX + 19;

	for (int i = 0; i <= last; i++) {
		fds[i] = client(w, "127.0.0.1", SOCK_STREAM);
		assert_true(fds[i] >= 0);
		turn(w);
	}
	assert_int_equal(stub_connections(w->stub), STUB_TCP_MAX);
	assert_int_equal(recv(fds[0], reply, 1, MSG_DONTWAIT), 0); /* made room */
	assert_int_equal(send(fds[last], msg, n, 0), (ssize_t)n);
	n = tcp_receive(w, fds[last], reply, sizeof(reply));
	assert_true(n && is_answer(reply + 2, n, "www.allowed.example"));
	for (int i = 0; i <= last; i++)
		(void)close(fds[i]);
}

static void test_set_connections_bounds_them(void **state)
{
	struct world *w = *state;
	int fds[5];

	stub_set_connections(w->stub, 3);
	for (size_t i = 0; i < 5; i++) {
		fds[i] = client(w, "127.0.0.1", SOCK_STREAM);
		assert_true(fds[i] >= 0);
		turn(w);
	}
	assert_int_equal(stub_connections(w->stub), 3);
	for (size_t i = 0; i < 5; i++)
		(void)close(fds[i]);
}

static void test_add_refuses_what_is_no_socket(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(stub_add_udp(w->stub, fds[0], &err), -1);
	assert_true(err.msg[0]);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1); /* taken over and closed */
	(void)close(fds[1]);
}

/* --- children: another namespace, another program --- */

static int must_run(int status)
{
	const char *must = getenv("SBX_TESTS_MUST_RUN");

	return status == SKIP && must && *must == '1' ? 1 : status;
}

static int lo_up(void)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	strcpy(ifr.ifr_name, "lo");
	r = fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &ifr);
	if (fd >= 0)
		(void)close(fd);
	return r;
}

static int write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		(void)close(fd);
	return n < 0 ? -1 : 0;
}

/* As root in it, so that ip(8) keeps its capabilities over exec. */
static int new_namespace(void)
{
	char uid[32];

	(void)snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return -1;
	return write_proc("/proc/self/setgroups", "deny") || write_proc("/proc/self/uid_map", uid);
}

/* In an empty namespace where every address is local, as the sandbox has it. */
static int anyip_child(void)
{
	static const char *const addrs[] = { "10.255.255.53", "8.8.8.8", "198.18.0.1",
					     "2001:db8::53", "fd00::1" };
	struct world w;

	if (new_namespace() || lo_up() ||
	    system("ip route add local 0.0.0.0/0 dev lo 2>/dev/null &&"
		   "ip -6 route add local ::/0 dev lo 2>/dev/null"))
		return SKIP;
	world_open(&w, "0.0.0.0", "::");
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		int fd = client(&w, addrs[i], SOCK_DGRAM);

		if (fd < 0 || !udp_ask(&w, fd, "www.allowed.example")) {
			fprintf(stderr, "no answer from %s\n", addrs[i]);
			return 1;
		}
	}
	return 0;
}

static void test_udp_answers_from_any_address(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(anyip_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	status = must_run(WEXITSTATUS(status));
	if (status == SKIP)
		skip();
	assert_int_equal(status, 0);
}

static void stop_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

/* Run dig with these arguments while the stub answers; its output, or NULL without dig. */
static const char *dig(struct world *w, const char *args)
{
	static char out[4096];
	char cmd[512];
	struct event *end;
	size_t n;
	FILE *f;

	(void)snprintf(cmd, sizeof(cmd),
		       "command -v dig >/dev/null || exit 77;"
		       "exec dig @127.0.0.1 -p %u +time=5 +tries=1 +noall +comments +answer %s "
		       "2>&1",
		       w->port, args);
	f = popen(cmd, "re"); /* its output fits the pipe: it ends without being read */
	assert_non_null(f);
	/* The pipe is readable for good at its end; output may come first, in parts. */
	for (n = 0;;) {
		ssize_t r;

		end = event_new(w->base, fileno(f), EV_READ, stop_cb, w->base);
		assert_non_null(end);
		(void)event_add(end, NULL);
		(void)event_base_dispatch(w->base);
		event_free(end);
		r = read(fileno(f), out + n, sizeof(out) - 1 - n);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	out[n] = '\0';
	return WEXITSTATUS(pclose(f)) == 77 ? NULL : out;
}

static void test_dig_understands_every_answer(void **state)
{
	static const struct {
		const char *args, *expect;
	} rows[] = {
		{ "+noedns www.allowed.example A", "198.18.0." },
		{ "www.allowed.example A", "10\tIN\tA\t198.18.0." },
		{ "+tcp www.allowed.example A", "198.18.0." },
		{ "+tcp +keepopen www.allowed.example A b.allowed.example A", "198.18.0.2" },
		{ "www.allowed.example AAAA", "status: NOERROR" },
		{ "www.allowed.example AAAA", "ANSWER: 0, AUTHORITY: 1" },
		{ "www.allowed.example TYPE65", "status: NOERROR" },
		{ "evil.example A", "status: NXDOMAIN" },
		{ "-x 198.18.0.1", "www.allowed.example." },
		{ "-x ::1", "localhost." },
		{ "localhost AAAA", "::1" },
		{ "+notcp www.allowed.example ANY", "198.18.0." },
		{ "version.bind TXT CH", "status: REFUSED" },
		{ "+edns=1 +noednsneg www.allowed.example A", "status: BADVERS" },
		{ "+opcode=STATUS www.allowed.example A", "status: NOTIMP" },
		{ "+bufsize=4096 +cookie +dnssec www.allowed.example A", "198.18.0." },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *out = dig(w, rows[i].args);

		if (!out && must_run(SKIP) == SKIP)
			skip();
		assert_non_null(out);
		if (!strstr(out, rows[i].expect) || strstr(out, "WARNING"))
			fail_msg("dig %s:\n%s", rows[i].args, out);
	}
}

/** struct outside - a server that answers, and a resolver that asks it */
struct outside {
	struct fakedns dns;
	struct resolver *resolver;
	bool silent;
	size_t text; /* bytes of the TXT record */
};

static void answer_txt(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	const struct outside *o = arg;
	uint8_t data[1024];
	size_t n = 0;

	if (o->silent)
		return;
	for (size_t left = o->text; left; n += 1u + data[n]) {
		data[n] = (uint8_t)(left < 200 ? left : 200);
		memset(data + n + 1, 'x', data[n]);
		left -= data[n];
	}
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_rr(out, q->name, q->type, 300, data, (uint16_t)n);
	if (!q->tcp && out->len > 512) {
		fakedns_begin(out, q->id, 0x200, q->name, q->type);
		return;
	}
	fakedns_addr(out, q->name, 300, "192.0.2.1"); /* must not come through */
}

static bool forward_txt(void *arg, const struct hostname *name, uint16_t type)
{
	(void)arg;
	(void)name;
	return type == RECORDTYPE_TXT;
}

static void outside_open(struct world *w, struct outside *o)
{
	const char *servers[] = { o->dns.server, NULL };
	const struct resolver_config cfg = { .servers = servers };
	struct error err;

	*o = (struct outside){ .text = 5 };
	fakedns_start(&o->dns, w->base, answer_txt, o);
	o->resolver = resolver_new(w->base, &cfg, &err);
	assert_non_null(o->resolver);
	stub_set_forward(w->stub, o->resolver, forward_txt);
}

/* The stub goes first, as it must. */
static void outside_close(struct world *w, struct outside *o)
{
	stub_free(w->stub);
	w->stub = NULL;
	resolver_free(o->resolver);
	fakedns_stop(&o->dns);
}

/* The number of TXT records in the reply; -1 for another code than NOERROR, -2 for a cut one. */
static int texts(const uint8_t *p, size_t n, const char *name)
{
	struct hostname h = { .len = (uint8_t)strlen(name) };
	struct wire_records got;

	memcpy(h.s, name, h.len);
	if (n < 12 || (p[3] & 0xf))
		return -1;
	if (p[2] & 2)
		return -2;
	return records_parse(p, n, &h, RECORDTYPE_TXT, &got) == PARSE_OK ? (int)got.n : -1;
}

static int udp_texts(struct world *w, int fd, const char *name, uint16_t type)
{
	uint8_t msg[512], reply[1500];
	size_t n = query(msg, name, type);
	ssize_t got = -1;

	assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
	for (int i = 0; i < 1000 && got < 0; i++) {
		(void)event_base_loop(w->base, EVLOOP_ONCE);
		got = recv(fd, reply, sizeof(reply), MSG_DONTWAIT);
	}
	assert_true(got > 0);
	return texts(reply, (size_t)got, name);
}

static void test_records_come_from_outside(void **state)
{
	static const char *const addrs[] = { "127.0.0.1", "127.1.2.3" };
	struct world *w = *state;
	struct outside o;

	outside_open(w, &o);
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		int fd = client(w, addrs[i], SOCK_DGRAM);

		assert_int_equal(udp_texts(w, fd, "allowed.example", RECORDTYPE_TXT), 1);
		(void)close(fd);
	}
	assert_int_equal(o.dns.questions, 2);
	outside_close(w, &o);
}

static void test_nothing_else_is_asked_outside(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_DGRAM);
	struct outside o;

	outside_open(w, &o);
	assert_int_equal(udp_texts(w, fd, "evil.example", RECORDTYPE_TXT), -1);
	assert_int_equal(udp_texts(w, fd, "allowed.example", RECORDTYPE_MX), -1);
	assert_true(udp_ask(w, fd, "allowed.example"));
	assert_int_equal(o.dns.questions, 0);
	(void)close(fd);
	outside_close(w, &o);
}

/* Too long for UDP: cut there, by us as by the server, and whole over TCP. */
static void test_long_records_come_over_tcp(void **state)
{
	struct world *w = *state;
	int udp = client(w, "127.0.0.1", SOCK_DGRAM);
	int tcp = client(w, "127.0.0.1", SOCK_STREAM);
	uint8_t msg[512], reply[2048];
	struct outside o;
	size_t n;

	outside_open(w, &o);
	o.text = 900;
	assert_int_equal(udp_texts(w, udp, "allowed.example", RECORDTYPE_TXT), -2);
	n = query(msg + 2, "allowed.example", RECORDTYPE_TXT);
	msg[0] = (uint8_t)(n >> 8);
	msg[1] = (uint8_t)n;
	/* twice at once: the second waits for the first; and what follows is answered after it */
	assert_int_equal(send(tcp, msg, n + 2, 0), (ssize_t)n + 2);
	assert_int_equal(send(tcp, msg, n + 2, 0), (ssize_t)n + 2);
	n = tcp_query(msg, "www.allowed.example");
	assert_int_equal(send(tcp, msg, n, 0), (ssize_t)n);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 1000 && recv(tcp, reply, 1, MSG_DONTWAIT | MSG_PEEK) < 1; k++)
			(void)event_base_loop(w->base, EVLOOP_ONCE);
		n = tcp_receive(w, tcp, reply, sizeof(reply));
		assert_int_equal(texts(reply + 2, n, "allowed.example"), 1);
	}
	n = tcp_receive(w, tcp, reply, sizeof(reply));
	assert_true(n && is_answer(reply + 2, n, "www.allowed.example"));
	assert_int_equal(o.dns.tcp_questions, 3);
	(void)close(udp);
	(void)close(tcp);
	outside_close(w, &o);
}

/* A server that never answers holds STUB_FORWARD_MAX questions, and nothing else. */
static void waiting_are_bounded(struct world *w, int max)
{
	int fd = client(w, "127.0.0.1", SOCK_DGRAM);
	int tcp = client(w, "127.0.0.1", SOCK_STREAM);
	uint8_t msg[512], reply[512];
	struct outside o;
	char name[64];
	int failed = 0;
	size_t n;

	outside_open(w, &o);
	o.silent = true;
	n = query(msg + 2, "t.allowed.example", RECORDTYPE_TXT);
	msg[0] = 0;
	msg[1] = (uint8_t)n;
	assert_int_equal(send(tcp, msg, n + 2, 0), (ssize_t)n + 2);
	turn(w); /* accepted */
	turn(w); /* asked */
	for (int i = 0; i < max + 9; i++) {
		(void)snprintf(name, sizeof(name), "n%d.allowed.example", i);
		n = query(msg, name, RECORDTYPE_TXT);
		assert_int_equal(send(fd, msg, n, 0), (ssize_t)n);
		turn(w);
		if (recv(fd, reply, sizeof(reply), MSG_DONTWAIT) < 0)
			continue;
		assert_int_equal(reply[3] & 0xf, WIRE_SERVFAIL);
		failed++;
	}
	assert_int_equal(failed, 10);
	assert_true(udp_ask(w, fd, "www.allowed.example"));
	(void)close(fd);
	(void)close(tcp);
	outside_close(w, &o); /* with all of them out */
}

static void test_waiting_questions_are_bounded(void **state)
{
	waiting_are_bounded(*state, STUB_FORWARD_MAX);
}

static void test_set_part_divides_what_waits(void **state)
{
	struct world *w = *state;

	stub_set_part(w->stub, 8);
	waiting_are_bounded(w, STUB_FORWARD_MAX / 8);
}

static void test_questions_outside_have_a_rate(void **state)
{
	struct world *w = *state;
	int fd = client(w, "127.0.0.1", SOCK_DGRAM);
	struct outside o;
	int good = 0;

	outside_open(w, &o);
	for (int i = 0; i < STUB_FORWARD_RATE * 2; i++)
		good += udp_texts(w, fd, "allowed.example", RECORDTYPE_TXT) == 1;
	/* fewer than all, unless this took two seconds */
	assert_true(good >= STUB_FORWARD_RATE);
	assert_int_equal(o.dns.questions, good);
	(void)close(fd);
	outside_close(w, &o);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_records_come_from_outside),
		T(test_nothing_else_is_asked_outside),
		T(test_long_records_come_over_tcp),
		T(test_waiting_questions_are_bounded),
		T(test_set_part_divides_what_waits),
		T(test_questions_outside_have_a_rate),
		T(test_udp_answers_from_the_address_asked),
		T(test_udp_denied_name_does_not_exist),
		T(test_udp_survives_garbage_and_closed_clients),
		T(test_udp_is_read_in_batches),
		T(test_flood_is_paused_and_resumed),
		T(test_tcp_goes_on_after_a_pause),
		T(test_tcp_answers),
		T(test_tcp_takes_bytes_one_by_one),
		T(test_tcp_answers_pipelined_questions),
		T(test_tcp_closes_on_what_is_no_question),
		T(test_tcp_connections_are_bounded),
		T(test_set_connections_bounds_them),
		T(test_add_refuses_what_is_no_socket),
		cmocka_unit_test(test_udp_answers_from_any_address),
		T(test_dig_understands_every_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
