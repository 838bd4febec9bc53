/*
 * Limits of time and number that nobody can wait for or fill up: the same proxy with smaller ones.
 * What the defaults are is checked against limits.h.
 */
#include "tests/support/proxyworld.h"

#include "proxy/conn.h"
#include "proxy/session.h"
#include "proxy/tunnel.h"
#include "proxy/upstream.h"

#define SHORT_MS 200

/* Milliseconds since some moment. */
static double now_ms(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void echo(int fd, void *arg)
{
	char buf[4096];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 && send_all(fd, buf, (size_t)n))
		;
	*(atomic_int *)arg = n == 0 ? 1 : 2; /* a clean end, or a reset */
	close(fd);
}

static void test_default_is_what_the_header_says(void **state)
{
	const struct limits l = limits_default();

	(void)state;
	assert_int_equal(l.head_ms, HEAD_TIMEOUT_MS);
	assert_int_equal(l.reply_ms, REPLY_TIMEOUT_MS);
	assert_int_equal(l.keep_alive_ms, KEEP_ALIVE_TIMEOUT_MS);
	assert_int_equal(l.response_ms, RESPONSE_TIMEOUT_MS);
	assert_int_equal(l.upstream_tls_ms, UPSTREAM_TLS_TIMEOUT_MS);
	assert_int_equal(l.upstream_ms, UPSTREAM_TIMEOUT_MS);
	assert_int_equal(l.idle_ms, IDLE_TIMEOUT_MS);
	assert_int_equal(l.session_connections, SESSION_CONNECTIONS_MAX);
	assert_int_equal(l.connections, PROXY_CONNECTIONS_MAX);
	assert_int_equal(l.descriptors, PROXY_CONNECTIONS_MAX * CONNECTION_DESCRIPTORS);
	assert_int_equal(l.pipes, PIPES_MAX);
	assert_true(SESSION_CONNECTIONS_MAX >= 4096);
	assert_true(IDLE_TIMEOUT_MS >= 2 * 60 * 60 * 1000); /* ssh, long polls */
}

/* ---- IDLE_TIMEOUT_MS */

/* Nothing either way: both ends are reset, and the reason is told. */
static void test_idle_tunnel_is_reset(void **state)
{
	struct limits l = limits_default();
	atomic_int ended = 0;
	struct origin *o = origin_start(echo, &ended);
	struct world *w;
	double start;
	char byte;
	int fd;

	(void)state;
	l.idle_ms = 2 * SHORT_MS;
	w = world_start_with(&l);
	world_allow_port(w, "127.0.0.1", o->port);
	fd = open_tunnel(w, IN_CONNECT, o->port);
	assert_true(send_all(fd, "x", 1) && recv_all(fd, &byte, 1));
	start = now_ms();
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET); /* never a clean end */
	assert_true(now_ms() - start >= 2 * SHORT_MS);
	eventually(atomic_load(&ended) == 2);
	eventually(world_count(w, PROXY_EVENT_CLOSE, CODE_OK) == 1);
	assert_string_equal(w->told[w->ntold - 1].reason, "idle");
	close(fd);
	origin_stop(o);
	world_stop(w);
}

struct ticks {
	unsigned n;
	enum conn_state state;
};

static void tick_job(struct world *w, void *arg)
{
	struct ticks *t = arg;
	struct conn *c = LIST_FIRST(&w->session->conns);

	for (unsigned i = 0; i < t->n; i++)
		conn_tick(c);
	t->state = c->state;
}

/* The clock of a whole hour and more, wound by hand. */
static void test_tick_counts_from_the_last_byte(void **state)
{
	atomic_int ended = 0;
	struct origin *o = origin_start(echo, &ended);
	struct world *w = world_start();
	struct ticks most = { .n = IDLE_TICKS }, one = { .n = 1 };
	char byte;
	int fd;

	(void)state;
	world_allow_port(w, "127.0.0.1", o->port);
	fd = open_tunnel(w, IN_CONNECT, o->port);
	for (int i = 0; i < 3; i++) {
		assert_true(send_all(fd, "x", 1) && recv_all(fd, &byte, 1));
		world_call(w, tick_job, &one); /* which sees that something has moved */
		world_call(w, tick_job, &most);
		assert_int_equal(most.state, CONN_TUNNEL);
	}
	world_call(w, tick_job, &one);
	assert_int_equal(one.state, CONN_DEAD);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	close(fd);
	origin_stop(o);
	world_stop(w);
}

static void dribble(int fd, void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		(void)usleep(SHORT_MS * 1000 / 4);
		if (!send_all(fd, "x", 1))
			break;
	}
	close(fd);
}

static void collect(int fd, void *arg)
{
	char byte;

	while (recv(fd, &byte, 1, 0) == 1)
		atomic_fetch_add((atomic_int *)arg, 1);
	close(fd);
}

/* The twin: bytes one way only, either way, keep the whole tunnel alive. */
static void test_either_direction_keeps_a_tunnel(void **state)
{
	struct limits l = limits_default();
	atomic_int got = 0;
	struct origin *down = origin_start(dribble, NULL), *up = origin_start(collect, &got);
	char rest[64];
	struct world *w;
	int fd;

	(void)state;
	l.idle_ms = 3 * SHORT_MS; /* far above the gaps, though the machine is busy */
	w = world_start_with(&l);
	world_allow_port(w, "127.0.0.1", down->port);
	world_allow_port(w, "127.0.0.1", up->port);
	fd = open_tunnel(w, IN_SOCKS5_V4, down->port);
	assert_int_equal(recv_rest(fd, rest, sizeof(rest)), 20);
	close(fd);
	fd = open_tunnel(w, IN_SOCKS4, up->port);
	for (int i = 0; i < 20; i++) {
		(void)usleep(SHORT_MS * 1000 / 4);
		assert_true(send_all(fd, "x", 1));
	}
	close(fd);
	eventually(atomic_load(&got) == 20);
	origin_stop(down);
	origin_stop(up);
	world_stop(w);
}

static void silence(int fd, void *arg)
{
	char buf[4096];

	(void)arg;
	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
	close(fd);
}

/* A plain request that nobody answers is under the same clock. */
static void test_idle_request_is_reset(void **state)
{
	struct limits l = limits_default();
	struct origin *o = origin_start(silence, NULL);
	struct world *w;
	char req[128], byte;
	int fd;

	(void)state;
	l.idle_ms = SHORT_MS;
	w = world_start_with(&l);
	world_allow_port(w, "127.0.0.1", o->port);
	fd = dial_port(w->port);
	(void)snprintf(req, sizeof(req), "GET http://127.0.0.1:%u/ HTTP/1.1\r\nHost: a\r\n\r\n",
		       o->port);
	assert_true(send_all(fd, req, strlen(req)));
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	eventually(world_count(w, PROXY_EVENT_CLOSE, CODE_OK) == 1);
	assert_string_equal(w->told[w->ntold - 1].reason, "idle");
	close(fd);
	origin_stop(o);
	world_stop(w);
}

/* ---- KEEP_ALIVE_TIMEOUT_MS, RESPONSE_TIMEOUT_MS */

static void one_ok(int fd, void *arg)
{
	char head[4096];

	(void)arg;
	while (recv_head(fd, head, sizeof(head)) > 0) {
		if (strstr(head, "/silent"))
			continue;
		(void)send_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38);
	}
	close(fd);
}

static int ask_plainly(struct world *w, uint16_t port, const char *path)
{
	int fd = dial_port(w->port);
	char req[128];

	(void)snprintf(req, sizeof(req), "GET http://127.0.0.1:%u%s HTTP/1.1\r\nHost: a\r\n\r\n",
		       port, path);
	assert_true(send_all(fd, req, strlen(req)));
	return fd;
}

/* Between two requests the client has its time, then a clean end: nothing was under way. */
static void test_kept_connection_ends_without_a_request(void **state)
{
	struct limits l = limits_default();
	struct origin *o = origin_start(one_ok, NULL);
	struct world *w;
	char head[4096], byte;
	double start;
	int fd;

	(void)state;
	l.keep_alive_ms = SHORT_MS;
	w = world_start_with(&l);
	world_allow_port(w, "127.0.0.1", o->port);
	fd = ask_plainly(w, o->port, "/");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	start = now_ms();
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	assert_true(now_ms() - start >= SHORT_MS / 2);
	close(fd);
	eventually(world_nconns(w) == 0);
	origin_stop(o);
	world_stop(w);
}

/* A client that has half-closed waits for its answer, but not for ever; no clean end either. */
static void test_half_closed_client_waits_for_a_time(void **state)
{
	struct limits l = limits_default();
	struct origin *o = origin_start(one_ok, NULL);
	struct world *w;
	char byte;
	int fd;

	(void)state;
	l.response_ms = SHORT_MS;
	w = world_start_with(&l);
	world_allow_port(w, "127.0.0.1", o->port);
	fd = ask_plainly(w, o->port, "/silent");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	eventually(world_count(w, PROXY_EVENT_CLOSE, CODE_OK) == 1);
	assert_string_equal(w->told[w->ntold - 1].reason, "timeout");
	close(fd);
	/* the twin: who has not half-closed may wait */
	fd = ask_plainly(w, o->port, "/silent");
	(void)usleep(3 * SHORT_MS * 1000);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
	eventually(world_nconns(w) == 0);
	origin_stop(o);
	world_stop(w);
}

/* ---- REPLY_TIMEOUT_MS */

/* A refused client that neither reads on nor leaves is left behind. */
static void test_refused_client_that_stays_is_closed(void **state)
{
	static const char req[] = "CONNECT no.example:443 HTTP/1.1\r\n\r\nand more";
	struct limits l = limits_default();
	struct world *w;
	int fd;

	(void)state;
	l.reply_ms = SHORT_MS;
	w = world_start_with(&l);
	fd = dial_port(w->port);
	assert_true(send_all(fd, req, strlen(req)));
	eventually(world_count(w, PROXY_EVENT_DECISION, CODE_NOT_LISTED) == 1);
	assert_int_equal(world_nconns(w), 1); /* it may still take the answer */
	eventually(world_nconns(w) == 0);
	close(fd);
	world_stop(w);
}

/* ---- UPSTREAM_TIMEOUT_MS */

static void test_silent_parent_is_504(void **state)
{
	struct limits l = limits_default();
	struct origin *o = origin_start(silence, NULL);
	struct upstreams *through;
	struct upstream up;
	struct error err;
	struct world *w;
	char url[64];
	double start;
	int fd;

	(void)state;
	l.upstream_ms = SHORT_MS;
	for (int i = 0; i < 2; i++) {
		(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u", i ? "socks5h" : "http",
			       o->port);
		assert_int_equal(upstream_parse(url, &up, &err), 0);
		through = upstreams_one(&up);
		world_upstreams = through;
		w = world_start_with(&l);
		world_allow(w, "only.parent.test");
		start = now_ms();
		assert_int_equal(try_tunnel(w, IN_CONNECT, "only.parent.test", 443, &fd), 504);
		assert_true(now_ms() - start >= SHORT_MS);
		assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_CONNECT_TIMEOUT), 1);
		close(fd);
		world_stop(w);
		upstreams_free(through);
		world_upstreams = NULL;
	}
	origin_stop(o);
}

/* ---- SESSION_CONNECTIONS_MAX, PROXY_CONNECTIONS_MAX */

static void ask_job(struct world *w, void *arg)
{
	(void)arg;
	policy_set_unknown(w->policy, VERDICT_ASK);
}

/* A client whose question nobody answers: it stays as long as it likes. */
static int held_client(uint16_t port)
{
	static const char req[] = "CONNECT ask.example:80 HTTP/1.1\r\nHost: ask.example\r\n\r\n";
	int fd = dial_port(port);

	assert_true(send_all(fd, req, strlen(req)));
	return fd;
}

static void ask_for_a_name(struct world *w, char *reply, size_t size)
{
	static const char req[] = "CONNECT far.example:80 HTTP/1.1\r\nHost: far.example\r\n\r\n";
	int fd = dial_port(w->port);

	world_allow(w, "far.example");
	assert_true(send_all(fd, req, strlen(req)));
	assert_true(recv_rest(fd, reply, size) > 0);
	close(fd);
}

/* A name that could not be asked for is refused as that, not as one that is not there. */
static void test_lookups_that_wait_in_vain(void **state)
{
	char reply[4096];
	struct world *w;

	(void)state;
	world_asks = 1; /* a lookup is two questions */
	world_dns_ms = 200;
	w = world_start();
	ask_for_a_name(w, reply, sizeof(reply));
	assert_ptr_equal(strstr(reply, "HTTP/1.1 503 "), reply);
	assert_non_null(strstr(reply, "\r\nSbx-Net-Code: limit\r\n"));
	assert_non_null(strstr(reply, "too many names are being looked up at once"));
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_LIMIT), 1);
	world_stop(w);
	world_asks = 0; /* the twin: it is asked for, and nobody answers */
	w = world_start();
	ask_for_a_name(w, reply, sizeof(reply));
	assert_ptr_equal(strstr(reply, "HTTP/1.1 502 "), reply);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_DNS_FAILED), 1);
	world_stop(w);
	world_dns_ms = 0;
}

/* Full: the next one waits for room; when there is none for a second it is told so. */
static void when_full(struct world *w, uint16_t port, size_t held)
{
	char reply[4096], byte;
	int v[16], fd;

	world_call(w, ask_job, NULL);
	for (size_t i = 0; i < held; i++)
		v[i] = held_client(port);
	eventually(atomic_load(&w->asked) == (int)held);
	fd = held_client(port);
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_ptr_equal(strstr(reply, "HTTP/1.1 503 "), reply);
	assert_non_null(strstr(reply, "\r\nSbx-Net-Code: limit\r\n"));
	close(fd);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_LIMIT), 1);
	for (size_t i = 0; i < w->ntold; i++) /* who it was is asked of this socket, not of ours */
		assert_true(w->told[i].client > STDERR_FILENO);
	fd = dial_port(port);
	assert_true(send_all(fd, "\5\1\0", 3));
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_LIMIT), 2);
	fd = held_client(port); /* the twin: room in time */
	close(v[0]);
	eventually(atomic_load(&w->asked) == (int)held + 1);
	close(fd);
	for (size_t i = 1; i < held; i++)
		close(v[i]);
	eventually(world_nconns(w) == 0);
}

static void test_full_session_says_so(void **state)
{
	struct limits l = limits_default();
	struct world *w;

	(void)state;
	l.session_connections = 5;
	w = world_start_with(&l);
	when_full(w, w->port, 5);
	world_stop(w);
}

struct other {
	struct session *session;
	uint16_t port;
};

static void other_job(struct world *w, void *arg)
{
	struct session_config cfg = { .policy = &w->current, .arg = w };
	struct other *o = arg;
	struct error err;

	o->session = proxy_session(w->proxy, &cfg);
	if (session_listen(o->session, listen_loopback(&o->port), LISTENER_PROXY, NULL, &err) < 0)
		abort();
}

/* All sessions together: what one session holds is missing to the other. */
static void test_full_proxy_says_so(void **state)
{
	struct limits l = limits_default();
	struct other o;
	struct world *w;
	int v[3];

	(void)state;
	l.connections = 6;
	l.head_ms = 60 * 1000; /* they say one letter */
	w = world_start_with(&l);
	world_call(w, other_job, &o);
	for (int i = 0; i < 3; i++) {
		v[i] = dial_port(o.port);
		assert_true(send_all(v[i], "C", 1));
	}
	when_full(w, w->port, 3);
	for (int i = 0; i < 3; i++)
		close(v[i]);
	world_stop(w);
}

/* ---- TUNNEL_TURN: others have their turn although one could go on for ever */

static void *send_endlessly(void *arg)
{
	static uint8_t zeros[65536];

	while (send_all(*(int *)arg, zeros, sizeof(zeros)))
		;
	return NULL;
}

static void *read_endlessly(void *arg)
{
	static uint8_t buf[65536];

	while (recv(*(int *)arg, buf, sizeof(buf), 0) > 0)
		;
	return NULL;
}

static void no_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
}

static void test_pump_moves_no_more_than_a_turn(void **state)
{
	static uint8_t scratch[TUNNEL_COPY];
	struct event_base *base = event_base_new();
	struct pipepool pool = { .n = 0 };
	struct tunnel t;
	uint64_t before, most = 0;
	pthread_t sender, reader;
	int a[2], b[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, b), 0);
	assert_int_equal(evutil_make_socket_nonblocking(a[1]), 0);
	assert_int_equal(evutil_make_socket_nonblocking(b[1]), 0);
	tunnel_init(&t);
	side_open(&t.side[0], base, a[1], no_event, NULL);
	side_open(&t.side[1], base, b[1], no_event, NULL);
	assert_int_equal(pthread_create(&sender, NULL, send_endlessly, &a[0]), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_endlessly, &b[0]), 0);
	while (t.way[0].bytes < (64u << 20)) {
		t.side[0].readable = t.side[1].writable = true;
		before = t.way[0].bytes;
		assert_in_range(tunnel_pump(&t, &pool, scratch), TUNNEL_WAIT, TUNNEL_AGAIN);
		if (t.way[0].bytes - before > most)
			most = t.way[0].bytes - before;
	}
	assert_true(most > 0);
	assert_true(most <= TUNNEL_TURN + PIPE_SIZE + TUNNEL_COPY);
	side_close(&t.side[0], true);
	side_close(&t.side[1], true);
	pthread_join(sender, NULL);
	pthread_join(reader, NULL);
	close(a[0]);
	close(b[0]);
	tunnel_clear(&t, &pool);
	pipepool_clear(&pool);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookups_that_wait_in_vain),
		cmocka_unit_test(test_default_is_what_the_header_says),
		cmocka_unit_test(test_idle_tunnel_is_reset),
		cmocka_unit_test(test_tick_counts_from_the_last_byte),
		cmocka_unit_test(test_either_direction_keeps_a_tunnel),
		cmocka_unit_test(test_idle_request_is_reset),
		cmocka_unit_test(test_kept_connection_ends_without_a_request),
		cmocka_unit_test(test_half_closed_client_waits_for_a_time),
		cmocka_unit_test(test_refused_client_that_stays_is_closed),
		cmocka_unit_test(test_silent_parent_is_504),
		cmocka_unit_test(test_full_session_says_so),
		cmocka_unit_test(test_full_proxy_says_so),
		cmocka_unit_test(test_pump_moves_no_more_than_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
