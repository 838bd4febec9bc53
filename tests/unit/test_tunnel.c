/* Bytes in both directions: all of them, once, in order, and an honest end. */
#include "tests/support/proxyworld.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "proxy/tunnel.h"

#define TAIL_SIZE 1000003

static atomic_bool shutdown_fails;

/* Instead of the C library's: the proxy in here calls this one, too. */
int shutdown(int fd, int how)
{
	if (!atomic_load(&shutdown_fails))
		return (int)syscall(SYS_shutdown, fd, how);
	errno = ENOTCONN;
	return -1;
}

/** struct local - a side that is a unix socket, and its peer */
struct local {
	struct event_base *base;
	struct side side;
	int peer;
};

static void no_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void local_open(struct local *l)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	l->base = event_base_new();
	l->peer = pair[1];
	assert_true(side_open(&l->side, l->base, pair[0], no_event, NULL));
	side_set_local(&l->side);
}

static void local_close(struct local *l)
{
	side_close(&l->side, false);
	(void)close(l->peer);
	event_base_free(l->base);
}

static void local_expect(struct local *l, const char *text, size_t max, int flags)
{
	char buf[256];

	assert_int_equal(side_recv(&l->side, buf, max, flags), strlen(text));
	assert_memory_equal(buf, text, strlen(text));
}

static void local_expect_nothing(struct local *l)
{
	char buf[16];

	assert_int_equal(side_recv(&l->side, buf, sizeof(buf), 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static void test_local_side_reads_every_byte_once(void **state)
{
	struct local l;
	char buf[16];

	(void)state;
	local_open(&l);
	local_expect_nothing(&l);
	assert_true(send_all(l.peer, "a", 1));
	local_expect(&l, "a", 200, MSG_PEEK);
	local_expect(&l, "a", 200, 0);
	local_expect_nothing(&l);
	assert_true(send_all(l.peer, "bcd", 3) && send_all(l.peer, "ef", 2));
	local_expect(&l, "b", 1, 0);
	local_expect(&l, "cd", 2, MSG_PEEK);
	local_expect(&l, "cdef", 200, 0); /* over the border of two sends */
	local_expect_nothing(&l);
	assert_true(send_all(l.peer, "g", 1));
	assert_int_equal(shutdown(l.peer, SHUT_WR), 0);
	local_expect(&l, "g", 200, 0);
	assert_int_equal(side_recv(&l.side, buf, sizeof(buf), 0), 0);
	assert_int_equal(side_recv(&l.side, buf, sizeof(buf), MSG_PEEK), 0);
	local_close(&l);
}

/* What peeking cannot get past is never taken for the end. */
static void test_local_side_never_ends_before_its_bytes(void **state)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'a', buf[16];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct local l;
	int zero = 0;

	(void)state;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &zero, sizeof(zero));
	local_open(&l);
	assert_int_equal(sendmsg(l.peer, &msg, 0), 1);
	assert_true(send_all(l.peer, "bcd", 3));
	local_expect(&l, "a", 200, 0);
	local_expect_nothing(&l);
	assert_int_equal(shutdown(l.peer, SHUT_WR), 0);
	assert_int_equal(side_recv(&l.side, buf, sizeof(buf), 0), -1);
	assert_int_equal(errno, ECONNRESET);
	local_close(&l);
}

static void test_local_side_ends_as_it_is_told(void **state)
{
	(void)state;
	for (int reset = 0; reset < 2; reset++) {
		struct local l;
		char buf[16];

		local_open(&l);
		assert_true(send_all(l.peer, "request", 7));
		local_expect(&l, "request", 200, 0);
		assert_true(send_all(l.side.fd, "reply", 5));
		side_close(&l.side, reset);
		assert_int_equal(recv(l.peer, buf, sizeof(buf), 0), 5); /* before the end */
		assert_int_equal(recv(l.peer, buf, sizeof(buf), 0), reset ? -1 : 0);
		if (reset)
			assert_int_equal(errno, ECONNRESET);
		local_close(&l);
	}
}

static int setup(void **state)
{
	*state = world_start();
	return 0;
}

static int teardown(void **state)
{
	atomic_store(&shutdown_fails, false);
	world_stop(*state);
	return 0;
}

/* Reads to the end. Return: how many bytes; *@clean tells FIN from RST. */
static uint64_t drain(int fd, uint64_t *hash, bool *clean)
{
	static _Thread_local uint8_t buf[65536];
	uint64_t total = 0;
	ssize_t n;

	*hash = FNV_START;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		*hash = fnv(*hash, buf, (size_t)n);
		total += (uint64_t)n;
	}
	*clean = n == 0;
	return total;
}

/* Closes right after the last byte, without waiting for anything. */
static void serve_and_close(int fd, void *arg)
{
	char byte;

	(void)recv(fd, &byte, 1, 0);
	(void)send_pattern(fd, *(uint64_t *)arg);
	close(fd);
}

static void test_tail_arrives_when_the_server_closes_at_once(void **state)
{
	static const enum way_in ways[] = { IN_CONNECT, IN_SOCKS5_V4 };
	struct world *w = *state;
	uint64_t size = TAIL_SIZE, expect = pattern_hash(TAIL_SIZE), hash;
	struct origin *o = origin_allowed(w, serve_and_close, &size);
	bool clean;

	for (int i = 0; i < 100; i++) {
		int fd = open_tunnel(w, ways[i % 2], o->port);

		assert_true(send_all(fd, "x", 1));
		assert_int_equal(drain(fd, &hash, &clean), TAIL_SIZE);
		assert_true(clean);
		assert_true(hash == expect);
		close(fd);
	}
	origin_stop(o);
}

/** struct marked - a server that sends urgent data: whether it waits for a byte before it closes */
struct marked {
	bool waits;
};

static void serve_marked(int fd, void *arg)
{
	const struct marked *m = arg;
	char byte;

	(void)recv(fd, &byte, 1, 0);
	(void)send_pattern_marked(fd, TAIL_SIZE, TAIL_SIZE / 2);
	if (m->waits)
		(void)recv(fd, &byte, 1, 0);
	close(fd);
}

static void expect_pattern(int fd, uint64_t n, uint64_t hash)
{
	static uint8_t buf[TAIL_SIZE];

	assert_true(n <= sizeof(buf) && recv_all(fd, buf, (size_t)n));
	assert_true(fnv(FNV_START, buf, (size_t)n) == hash);
}

/*
 * splice() stops before a byte that was sent as urgent data, and then says that there is nothing, or
 * that the end has come. The first ones are bare: a client that reads in line gets that byte, too.
 */
static void test_urgent_data_ends_nothing(void **state)
{
	uint64_t expect = pattern_hash(TAIL_SIZE), hash;
	struct world *w = *state;
	int on = 1;
	bool clean;

	for (int i = 0; i < 24; i++) {
		struct marked m = { .waits = i % 2 };
		struct origin *o = origin_allowed(w, serve_marked, &m);
		int fd;

		fd = i < 4 ? dial_port(o->port) : open_tunnel(w, IN_CONNECT, o->port);
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)), 0);
		assert_true(send_all(fd, "x", 1));
		(void)usleep((useconds_t)i *
			     1000); /* what is on the way fills the buffers, or not */
		expect_pattern(fd, TAIL_SIZE, expect);
		if (m.waits)
			assert_true(send_all(fd, "x", 1));
		assert_int_equal(drain(fd, &hash, &clean), 0);
		assert_true(clean);
		close(fd);
		origin_stop(o);
	}
}

/* Until the other end's kernel has everything: a reset throws the rest away. */
static void wait_until_sent(int fd)
{
	int left = 1;

	for (int i = 0; i < 2000 && left > 0; i++) {
		if (ioctl(fd, SIOCOUTQ, &left) < 0)
			return;
		(void)usleep(1000);
	}
}

static void serve_wait_and_close(int fd, void *arg)
{
	char byte;

	(void)recv(fd, &byte, 1, 0);
	(void)send_pattern(fd, *(uint64_t *)arg);
	wait_until_sent(fd);
	close(fd);
}

/* The client says something more (a TLS close_notify, say) to a server that has gone. */
static void test_tail_arrives_although_the_client_still_sends(void **state)
{
	struct world *w = *state;
	uint64_t size = 400000, expect = pattern_hash(400000), hash;
	struct origin *o = origin_allowed(w, serve_wait_and_close, &size);
	bool clean;

	for (int i = 0; i < 20; i++) {
		int fd = open_tunnel(w, IN_CONNECT, o->port);

		assert_true(send_all(fd, "x", 1));
		(void)usleep(20000); /* the server has closed, the proxy holds the rest */
		(void)send_all(fd, "bye", 3);
		(void)usleep(2000);
		(void)send_all(fd, "bye", 3);
		(void)usleep(5000);
		assert_int_equal(drain(fd, &hash, &clean), size);
		assert_true(hash == expect);
		close(fd);
	}
	origin_stop(o);
}

/* What the server sent before it was reset arrives, and then the reset. */
static void serve_and_reset(int fd, void *arg)
{
	char byte;

	(void)recv(fd, &byte, 1, 0);
	(void)send_pattern(fd, *(uint64_t *)arg);
	wait_until_sent(fd);
	close_reset(fd);
}

static void test_reset_of_the_server_is_a_reset_for_the_client(void **state)
{
	struct world *w = *state;
	uint64_t size = 300000, hash;
	struct origin *o = origin_allowed(w, serve_and_reset, &size);
	bool clean;

	for (int in = 0; in < IN_NUM; in++) {
		int fd = open_tunnel(w, (enum way_in)in, o->port);

		assert_true(send_all(fd, "x", 1));
		assert_int_equal(drain(fd, &hash, &clean), size);
		assert_int_equal(errno, ECONNRESET);
		assert_false(clean);
		assert_true(hash == pattern_hash(size));
		close(fd);
	}
	origin_stop(o);
}

struct seen {
	atomic_int ends, resets;
	_Atomic uint64_t bytes;
};

static void read_to_the_end(int fd, void *arg)
{
	struct seen *s = arg;
	uint64_t hash;
	bool clean;

	atomic_fetch_add(&s->bytes, drain(fd, &hash, &clean));
	atomic_fetch_add(clean ? &s->ends : &s->resets, 1);
	close(fd);
}

/* writing to a peer that is gone raises no signal */
static void test_reset_of_the_client_is_a_reset_for_the_server(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };
	struct origin *o = origin_allowed(w, read_to_the_end, &seen);
	int fd;

	fd = open_tunnel(w, IN_CONNECT, o->port);
	assert_true(send_pattern(fd, 500000));
	eventually(atomic_load(&seen.bytes) == 0 && world_nconns(w) == 1);
	(void)usleep(50000);
	close_reset(fd);
	eventually(atomic_load(&seen.resets) == 1);
	assert_int_equal(atomic_load(&seen.bytes), 500000);
	/* and the positive twin */
	fd = open_tunnel(w, IN_CONNECT, o->port);
	assert_true(send_pattern(fd, 500000));
	close(fd);
	eventually(atomic_load(&seen.ends) == 1);
	assert_int_equal(atomic_load(&seen.bytes), 1000000);
	eventually(world_nconns(w) == 0);
	origin_stop(o);
}

static void read_then_hold(int fd, void *arg)
{
	struct seen *s = arg;
	struct pollfd pfd = { .fd = fd };
	uint64_t hash;
	bool clean;

	(void)drain(fd, &hash, &clean);
	atomic_fetch_add(&s->ends, clean);
	if (poll(&pfd, 1, WAIT_S * 1000) == 1 && (pfd.revents & POLLERR))
		atomic_fetch_add(&s->resets, 1);
	close(fd);
}

/* Reads nothing until it may end. */
static void serve_nothing(int fd, void *arg)
{
	const atomic_bool *end = arg;

	while (!atomic_load(end))
		(void)usleep(5000);
	close(fd);
}

static void fill_up(int fd)
{
	static const char some[65536];

	for (int left = 20; left > 0; left--) { /* the proxy may take it away for a while yet */
		while (send(fd, some, sizeof(some), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			left = 20;
		(void)usleep(5000);
	}
}

/* As long as it has failed, and only then: a server that takes nothing may take its time. */
static void test_reset_is_noticed_before_a_server_that_takes_nothing(void **state)
{
	struct limits l = limits_default();
	struct world *w;

	(void)state;
	l.reply_ms = 200;
	w = world_start_with(&l);
	for (size_t i = 0; i < 2; i++) {
		atomic_bool end = false;
		struct origin *o = origin_allowed(w, serve_nothing, &end);
		char text[256];
		int fd[2];

		(void)snprintf(text, sizeof(text), "%s127.0.0.1:%u%s HTTP/1.1\r\nHost: x\r\n%s\r\n",
			       i ? "PUT http://" : "CONNECT ", o->port, i ? "/" : "",
			       i ? "Content-Length: 9999999999\r\n" : "");
		for (size_t k = 0; k < 2; k++) {
			fd[k] = dial_port(w->port);
			assert_true(send_all(fd[k], text, strlen(text)));
			fill_up(fd[k]);
		}
		assert_int_equal(world_nconns(w), 2);
		close_reset(fd[0]);
		eventually(world_nconns(w) == 1);
		(void)usleep(3 * 200 * 1000);
		assert_int_equal(world_nconns(w), 1);
		atomic_store(&end, true);
		close(fd[1]);
		eventually(world_nconns(w) == 0);
		origin_stop(o);
	}
	world_stop(w);
}

/* A half-closed client that is reset later gives no sign in recv(). */
static void test_reset_after_half_close_is_passed_on(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };
	struct origin *o = origin_allowed(w, read_then_hold, &seen);
	int fd;

	fd = open_tunnel(w, IN_CONNECT, o->port);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	eventually(atomic_load(&seen.ends) == 1);
	assert_int_equal(world_nconns(w), 1);
	close_reset(fd);
	eventually(atomic_load(&seen.resets) == 1);
	eventually(world_nconns(w) == 0);
	origin_stop(o);
}

/* Answers the number of bytes after the client's end. */
static void count_then_answer(int fd, void *arg)
{
	uint64_t hash, n;
	bool clean;
	char text[32];

	(void)arg;
	n = drain(fd, &hash, &clean);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	(void)usleep(30000);
	(void)send_all(fd, text, strlen(text));
	(void)send_pattern(fd, TAIL_SIZE);
	close(fd);
}

static void test_answer_after_the_clients_half_close(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, count_then_answer, NULL);
	char text[8];
	uint64_t hash;
	bool clean;

	for (int in = 0; in < IN_NUM; in++) {
		int fd = open_tunnel(w, (enum way_in)in, o->port);

		assert_true(send_pattern(fd, 123456));
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		assert_true(recv_all(fd, text, 6));
		assert_memory_equal(text, "123456", 6);
		assert_int_equal(drain(fd, &hash, &clean), TAIL_SIZE);
		assert_true(clean);
		close(fd);
	}
	eventually(world_nconns(w) == 0);
	origin_stop(o);
}

/* Says its piece, half-closes and goes on reading. */
static void shut_then_read(int fd, void *arg)
{
	struct seen *s = arg;

	(void)send_all(fd, "hello", 5);
	(void)shutdown(fd, SHUT_WR);
	read_to_the_end(fd, s);
}

static void test_bytes_flow_up_after_the_servers_half_close(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };
	struct origin *o = origin_allowed(w, shut_then_read, &seen);
	uint64_t hash;
	bool clean;
	int fd;

	fd = open_tunnel(w, IN_CONNECT, o->port);
	assert_int_equal(drain(fd, &hash, &clean), 5);
	assert_true(clean);
	assert_true(send_pattern(fd, TAIL_SIZE));
	close(fd);
	eventually(atomic_load(&seen.ends) == 1);
	assert_int_equal(atomic_load(&seen.bytes), TAIL_SIZE);
	origin_stop(o);
}

/* Whoever does not hear of the end waits for more, and the other one with him: for two hours. */
static void test_end_that_cannot_be_passed_on_is_a_reset(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };
	struct origin *o = origin_allowed(w, read_to_the_end, &seen);
	uint64_t hash;
	bool clean;

	for (int fails = 0; fails < 2; fails++) {
		int fd = open_tunnel(w, IN_CONNECT, o->port);

		assert_true(send_pattern(fd, 1000));
		atomic_store(&shutdown_fails, fails);
		assert_int_equal(syscall(SYS_shutdown, fd, SHUT_WR), 0);
		eventually(atomic_load(&seen.ends) == 1 && atomic_load(&seen.resets) == fails);
		assert_int_equal(drain(fd, &hash, &clean), 0);
		assert_int_equal(clean, !fails);
		close(fd);
	}
	atomic_store(&shutdown_fails, false);
	eventually(world_nconns(w) == 0);
	origin_stop(o);
}

/* the server may send a gigabyte, the proxy takes little of it while nobody reads. */
static void send_endlessly(int fd, void *arg)
{
	_Atomic uint64_t *sent = arg;
	char buf[65536] = { 0 };

	while (send_all(fd, buf, sizeof(buf)))
		atomic_fetch_add(sent, sizeof(buf));
	close(fd);
}

static void test_reader_that_stops_holds_the_server_back(void **state)
{
	struct world *w = *state;
	_Atomic uint64_t sent = 0;
	struct origin *o = origin_allowed(w, send_endlessly, &sent);
	uint64_t before;
	char byte;
	int fd;

	fd = open_tunnel(w, IN_CONNECT, o->port);
	do {
		before = atomic_load(&sent);
		(void)usleep(200000);
	} while (atomic_load(&sent) != before);
	/* socket buffers of two connections and one pipe, not more */
	assert_true(before < 40u << 20);
	assert_true(before > 0);
	assert_true(recv_all(fd, &byte, 1));
	close_reset(fd);
	eventually(world_nconns(w) == 0);
	origin_stop(o);
}

static void echo(int fd, void *arg)
{
	static _Thread_local char buf[65536];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 && send_all(fd, buf, (size_t)n))
		;
	close(fd);
}

struct upload {
	int fd;
	uint64_t n;
};

static void *uploader(void *arg)
{
	struct upload *u = arg;

	if (send_pattern(u->fd, u->n))
		(void)shutdown(u->fd, SHUT_WR);
	return NULL;
}

static void test_both_directions_at_once(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	struct upload u = { .n = 8u << 20 };
	pthread_t t;
	uint64_t hash;
	bool clean;

	u.fd = open_tunnel(w, IN_CONNECT, o->port);
	assert_int_equal(pthread_create(&t, NULL, uploader, &u), 0);
	assert_int_equal(drain(u.fd, &hash, &clean), u.n);
	pthread_join(t, NULL);
	assert_true(clean);
	assert_true(hash == pattern_hash(u.n));
	close(u.fd);
	eventually(world_count(w, PROXY_EVENT_CLOSE, CODE_OK) == 1);
	assert_int_equal(w->told[w->ntold - 1].up, u.n);
	assert_int_equal(w->told[w->ntold - 1].down, u.n);
	origin_stop(o);
}

/* An idle tunnel is two descriptors of the proxy; the two others are the test's own. */
static void test_idle_tunnels_own_two_descriptors(void **state)
{
	enum { N = 200 };
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	int fd[N];
	size_t before;
	char byte;

	close(open_tunnel(w, IN_CONNECT, o->port));
	eventually(world_nconns(w) == 0 && atomic_load(&o->busy) == 0);
	before = count_fds();
	for (int i = 0; i < N; i++) {
		fd[i] = open_tunnel(w, (enum way_in)(i % IN_NUM), o->port);
		assert_true(send_all(fd[i], "x", 1));
		assert_true(recv_all(fd[i], &byte, 1));
	}
	assert_int_equal(count_fds() - before, 4 * N);
	for (int i = 0; i < N; i++) {
		assert_true(send_all(fd[i], "y", 1));
		assert_true(recv_all(fd[i], &byte, 1));
		close(fd[i]);
	}
	eventually(world_nconns(w) == 0 && atomic_load(&o->busy) == 0);
	eventually(count_fds() <= before);
	origin_stop(o);
}

/* Nothing moves while the receiver is full: that does not mean that little comes. */
static void test_pump_splices_on_after_a_full_receiver(void **state)
{
	static uint8_t scratch[TUNNEL_COPY];
	struct event_base *base = event_base_new();
	struct pipepool pool = { .n = 0 };
	struct tunnel t;
	int a[2], b[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b), 0);
	tunnel_init(&t);
	side_open(&t.side[0], base, a[1], NULL, NULL);
	side_open(&t.side[1], base, b[1], NULL, NULL);
	while (t.side[1].writable) {
		while (send(a[0], scratch, sizeof(scratch), MSG_NOSIGNAL) > 0)
			;
		t.side[0].readable = true;
		assert_int_not_equal(tunnel_pump(&t, &pool, scratch), TUNNEL_DONE);
	}
	assert_true(t.way[0].bulk);
	t.side[0].readable = true;
	assert_int_equal(tunnel_pump(&t, &pool, scratch), TUNNEL_WAIT);
	assert_true(t.way[0].bulk);
	for (int i = 0; i < 2; i++) {
		side_close(&t.side[i], true);
		close(i == 0 ? a[0] : b[0]);
	}
	tunnel_clear(&t, &pool);
	pipepool_clear(&pool);
	event_base_free(base);
}

/* A pipe is borrowed while bytes wait and goes back when they have gone. */
static void test_pump_keeps_no_pipe_and_no_buffer(void **state)
{
	static uint8_t scratch[TUNNEL_COPY];
	static uint8_t data[200000];
	struct event_base *base = event_base_new();
	struct pipepool pool = { .n = 0 };
	struct tunnel t;
	int a[2], b[2];
	size_t got = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b), 0);
	tunnel_init(&t);
	side_open(&t.side[0], base, a[1], NULL, NULL);
	side_open(&t.side[1], base, b[1], NULL, NULL);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = pattern_byte(i);
	for (size_t sent = 0; got < sizeof(data);) {
		ssize_t n = send(a[0], data + sent, sizeof(data) - sent, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		t.side[0].readable = t.side[1].writable = true;
		assert_int_not_equal(tunnel_pump(&t, &pool, scratch), TUNNEL_DONE);
		while ((n = recv(b[0], scratch, sizeof(scratch), 0)) > 0) {
			assert_memory_equal(scratch, data + got, (size_t)n);
			got += (size_t)n;
		}
	}
	t.side[0].readable = t.side[1].writable = true;
	assert_int_equal(tunnel_pump(&t, &pool, scratch), TUNNEL_WAIT);
	assert_false(t.way[0].bulk);
	assert_int_equal(t.way[0].pipe.rd, -1);
	assert_null(t.way[0].keep);
	assert_int_equal(t.way[0].bytes, sizeof(data));
	close(a[0]);
	close(b[0]);
	t.side[0].readable = t.side[1].readable = true;
	assert_int_equal(tunnel_pump(&t, &pool, scratch), TUNNEL_DONE);
	side_close(&t.side[0], false);
	side_close(&t.side[1], false);
	tunnel_clear(&t, &pool);
	pipepool_clear(&pool);
	event_base_free(base);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local_side_reads_every_byte_once),
		cmocka_unit_test(test_local_side_never_ends_before_its_bytes),
		cmocka_unit_test(test_local_side_ends_as_it_is_told),
		T(test_tail_arrives_when_the_server_closes_at_once),
		T(test_urgent_data_ends_nothing),
		T(test_tail_arrives_although_the_client_still_sends),
		T(test_reset_of_the_server_is_a_reset_for_the_client),
		T(test_reset_of_the_client_is_a_reset_for_the_server),
		cmocka_unit_test(test_reset_is_noticed_before_a_server_that_takes_nothing),
		T(test_reset_after_half_close_is_passed_on),
		T(test_answer_after_the_clients_half_close),
		T(test_bytes_flow_up_after_the_servers_half_close),
		T(test_end_that_cannot_be_passed_on_is_a_reset),
		T(test_reader_that_stops_holds_the_server_back),
		T(test_both_directions_at_once),
		T(test_idle_tunnels_own_two_descriptors),
		cmocka_unit_test(test_pump_splices_on_after_a_full_receiver),
		cmocka_unit_test(test_pump_keeps_no_pipe_and_no_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
