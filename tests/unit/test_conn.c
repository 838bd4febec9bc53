/* The connection from accept to tunnel: ways in, refusals, early data, asking, the end. */
#include "tests/support/proxyworld.h"

#include "proxy/conn.h"
#include "proxy/limits.h"
#include "proxy/session.h"

static int setup(void **state)
{
	*state = world_start();
	return 0;
}

static int teardown(void **state)
{
	world_stop(*state);
	return 0;
}

static void echo(int fd, void *arg)
{
	char buf[65536];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 && send_all(fd, buf, (size_t)n))
		;
	close(fd);
}

static void test_each_way_in_reaches_an_allowed_origin(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	char buf[6] = { 0 };

	for (int in = 0; in < IN_NUM; in++) {
		int fd = open_tunnel(w, (enum way_in)in, o->port);

		assert_true(send_all(fd, "hello", 5));
		assert_true(recv_all(fd, buf, 5));
		assert_string_equal(buf, "hello");
		close(fd);
	}
	assert_int_equal(atomic_load(&o->accepts), IN_NUM);
	eventually(world_count(w, PROXY_EVENT_CLOSE, CODE_OK) == IN_NUM);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_OK), IN_NUM);
	assert_true(w->told[0].has_rule);
	for (size_t i = 0; i < w->ntold; i++) {
		if (w->told[i].kind != PROXY_EVENT_CLOSE)
			continue;
		assert_int_equal(w->told[i].up, 5);
		assert_int_equal(w->told[i].down, 5);
		assert_string_equal(w->told[i].reason, "eof");
		assert_int_equal(w->told[i].addr.family, AF_INET);
	}
	origin_stop(o);
}

static void test_each_way_in_by_name(void **state)
{
	static const enum way_in ways[] = { IN_CONNECT, IN_SOCKS5_NAME, IN_SOCKS4A };
	struct world *w = *state;
	struct origin *o = origin_start(echo, NULL);
	char buf[6] = { 0 };
	int fd;

	world_allow(w, "good.example");
	world_allow_port(w, "127.0.0.1", o->port);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		assert_int_equal(try_tunnel(w, ways[i], "good.example", o->port, &fd), 0);
		assert_true(send_all(fd, "hello", 5));
		assert_true(recv_all(fd, buf, 5));
		close(fd);
		assert_int_not_equal(try_tunnel(w, ways[i], "other.example", o->port, &fd), 0);
		close(fd);
	}
	assert_int_equal(atomic_load(&o->accepts), ARRAY_SIZE(ways));
	origin_stop(o);
}

static void test_each_way_in_refuses_an_unlisted_port(void **state)
{
	static const int expect[IN_NUM] = { 403, 2, 2, 0x5b, 0x5b };
	struct world *w = *state;
	struct origin *allowed = origin_allowed(w, echo, NULL);
	struct origin *canary = origin_start(echo, NULL);
	char rest[16];
	int fd;

	for (int in = 0; in < IN_NUM; in++) {
		int got = try_tunnel(w, (enum way_in)in, "127.0.0.1", canary->port, &fd);

		assert_int_equal(got, expect[in]);
		/* the body of the 403, and then a clean end */
		if (in != IN_CONNECT)
			assert_int_equal(recv_rest(fd, rest, sizeof(rest)), 0);
		close(fd);
		close(open_tunnel(w, (enum way_in)in, allowed->port));
	}
	assert_int_equal(atomic_load(&canary->accepts), 0);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_LOOPBACK), IN_NUM);
	origin_stop(canary);
	origin_stop(allowed);
}

static void test_allowed_name_that_leads_to_loopback_is_refused(void **state)
{
	struct world *w = *state;
	struct origin *canary = origin_start(echo, NULL);
	int fd;

	world_allow(w, "*.wild.example");
	assert_int_equal(try_tunnel(w, IN_CONNECT, "lure.wild.example", canary->port, &fd), 403);
	close(fd);
	assert_int_equal(atomic_load(&canary->accepts), 0);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_LOOPBACK), 1);
	/* the same name once that very address is listed */
	world_allow_port(w, "127.0.0.1", canary->port);
	assert_int_equal(try_tunnel(w, IN_CONNECT, "lure.wild.example", canary->port, &fd), 0);
	close(fd);
	origin_stop(canary);
}

static void test_dead_target_is_said_before_the_tunnel(void **state)
{
	static const int expect[IN_NUM] = { 502, 5, 5, 0x5b, 0x5b };
	struct world *w = *state;
	uint16_t port;
	int fd = listen_loopback(&port);

	close(fd);
	world_allow_port(w, "127.0.0.1", port);
	for (int in = 0; in < IN_NUM; in++) {
		assert_int_equal(try_tunnel(w, (enum way_in)in, "127.0.0.1", port, &fd),
				 expect[in]);
		close(fd);
	}
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_CONNECT_FAILED), IN_NUM);
	assert_int_equal(world_count(w, PROXY_EVENT_CLOSE, CODE_OK), 0);
}

static void test_refusal_is_whole_and_names_the_remedy(void **state)
{
	struct world *w = *state;
	static const char req[] = "CONNECT example.com:443 HTTP/1.1\r\n\r\n";
	char reply[4096];
	int fd = dial_port(w->port);

	assert_true(send_all(fd, req, sizeof(req) - 1));
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_ptr_equal(strstr(reply, "HTTP/1.1 403 "), reply);
	assert_non_null(strstr(reply, "\r\nSbx-Net-Code: not-listed\r\n"));
	assert_non_null(strstr(reply, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(reply, "example.com:443"));
	assert_non_null(strstr(reply, "--allow example.com:443"));
	close(fd);
}

/* what follows a refused CONNECT is not served. */
static void test_request_behind_a_refused_connect_is_not_served(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	char req[256], reply[4096];
	int fd = dial_port(w->port);

	(void)snprintf(req, sizeof(req),
		       "CONNECT example.com:443 HTTP/1.1\r\n\r\n"
		       "GET http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
		       o->port, o->port);
	assert_true(send_all(fd, req, strlen(req)));
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_null(strstr(reply + 1, "HTTP/1.1 "));
	assert_int_equal(atomic_load(&o->accepts), 0);
	close(fd);
	origin_stop(o);
}

struct received {
	pthread_mutex_t lock;
	char bytes[256 * 1024];
	size_t n;
};

static void collect(int fd, void *arg)
{
	struct received *r = arg;
	ssize_t n;

	for (;;) {
		char buf[4096];

		n = recv(fd, buf, sizeof(buf), 0);
		if (n <= 0)
			break;
		pthread_mutex_lock(&r->lock);
		if (r->n + (size_t)n <= sizeof(r->bytes))
			memcpy(r->bytes + r->n, buf, (size_t)n);
		r->n += (size_t)n;
		pthread_mutex_unlock(&r->lock);
	}
	close(fd);
}

static size_t received(struct received *r)
{
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = r->n;
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* Q-055, S-002: glued to the request, delivered once; and byte by byte the same. */
static void test_early_data_arrives_once(void **state)
{
	struct world *w = *state;
	struct received r = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct origin *o = origin_allowed(w, collect, &r);
	uint8_t req[600];
	size_t total = 0;

	for (int in = 0; in < IN_NUM; in++) {
		size_t n = request_bytes((enum way_in)in, "127.0.0.1", o->port, req);
		int fd;

		memcpy(req + n, "early-data", 10);
		for (int bytewise = 0; bytewise < 2; bytewise++) {
			fd = dial_port(w->port);
			if (bytewise) {
				for (size_t i = 0; i < n + 10; i++)
					assert_true(send_all(fd, req + i, 1));
			} else {
				assert_true(send_all(fd, req, n + 10));
			}
			assert_int_equal(read_answer(fd, (enum way_in)in), 0);
			assert_true(send_all(fd, "+late", 5));
			close(fd);
			total += 15;
			eventually(received(&r) >= total);
		}
	}
	origin_stop(o);
	assert_int_equal(received(&r), total);
	for (size_t i = 0; i < total; i += 15)
		assert_memory_equal(r.bytes + i, "early-data+late", 15);
}

static void answer_job(struct world *w, void *arg)
{
	struct decision d = { .verdict = *(enum verdict *)arg, .code = CODE_OK };
	proxy_ask_cb *cb = w->ask_cb;

	if (d.verdict == VERDICT_DENY)
		d.code = CODE_ASKED_NO;
	w->ask_cb = NULL;
	cb(w->ask_arg, &d);
}

static void unknown_job(struct world *w, void *arg)
{
	policy_set_unknown(w->policy, *(enum verdict *)arg);
}

/* A name that is not listed, at an address that is. */
static int ask_for(struct world *w, struct origin *o)
{
	enum verdict ask = VERDICT_ASK;
	uint8_t req[512];
	size_t n = request_bytes(IN_CONNECT, "good.example", o->port, req);
	int fd = dial_port(w->port);
	int before = atomic_load(&w->asked);

	world_call(w, unknown_job, &ask);
	assert_true(send_all(fd, req, n));
	eventually(atomic_load(&w->asked) == before + 1);
	return fd;
}

static void deny_and_answer_job(struct world *w, void *arg)
{
	enum verdict allow = VERDICT_ALLOW;
	struct error err;

	if (policy_add(w->policy, LIST_DENY, arg, "--deny", 0, NULL, &err) < 0)
		abort();
	answer_job(w, &allow);
}

/* An answer that is told after the policy has changed opens nothing, not even a look-up. */
static void test_an_answer_is_judged_by_the_policy_of_then(void **state)
{
	char denied[] = "good.example";
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	char reply[2048];
	int fd;

	fd = ask_for(w, o);
	world_call(w, deny_and_answer_job, denied);
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_non_null(strstr(reply, "Sbx-Net-Code: denied"));
	assert_int_equal(atomic_load(&o->accepts), 0);
	close(fd);
	origin_stop(o);
}

/* While nobody has answered: no byte, no connection. */
static void test_ask_holds_the_connection(void **state)
{
	struct world *w = *state;
	struct received r = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct origin *o = origin_allowed(w, collect, &r);
	enum verdict verdict = VERDICT_ALLOW;
	char byte;
	int fd;

	fd = ask_for(w, o);
	assert_true(send_all(fd, "early", 5));
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(atomic_load(&o->accepts), 0);
	world_call(w, answer_job, &verdict);
	assert_int_equal(read_answer(fd, IN_CONNECT), 0);
	eventually(received(&r) == 5);
	close(fd);
	origin_stop(o);
}

struct upload {
	int fd;
	uint64_t n;
	_Atomic uint64_t sent;
};

static void *upload(void *arg)
{
	struct upload *u = arg;
	char buf[4096];

	while (u->sent < u->n) {
		for (size_t i = 0; i < sizeof(buf); i++)
			buf[i] = (char)pattern_byte(u->sent + i);
		if (!send_all(u->fd, buf, sizeof(buf)))
			break;
		u->sent += sizeof(buf);
	}
	shutdown(u->fd, SHUT_WR);
	return NULL;
}

static void hash_all(int fd, void *arg)
{
	_Atomic uint64_t *out = arg;
	uint64_t h = FNV_START;
	uint8_t buf[65536];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		h = fnv(h, buf, (size_t)n);
	if (n == 0)
		*out = h;
	close(fd);
}

static void in_len_job(struct world *w, void *arg)
{
	*(size_t *)arg = LIST_FIRST(&w->session->conns)->in.len;
}

/* a held client can fill the early buffer and its own socket, not our memory. */
static void test_early_data_is_bounded_and_whole(void **state)
{
	struct world *w = *state;
	_Atomic uint64_t hash = 0;
	struct origin *o = origin_allowed(w, hash_all, &hash);
	struct upload u = { .n = 64u << 20 };
	enum verdict verdict = VERDICT_ALLOW;
	uint64_t before;
	size_t ours = 0;
	pthread_t t;

	u.fd = ask_for(w, o);
	assert_int_equal(pthread_create(&t, NULL, upload, &u), 0);
	do {
		before = u.sent;
		(void)usleep(200000);
	} while (u.sent != before);
	assert_true(before < 16u << 20); /* socket buffers, and ours */
	world_call(w, in_len_job, &ours);
	assert_int_equal(ours, EARLY_DATA_MAX);
	u.n = (before | 4095) + 1 + (1u << 20);
	world_call(w, answer_job, &verdict);
	pthread_join(t, NULL);
	assert_int_equal(read_answer(u.fd, IN_CONNECT), 0);
	eventually(hash != 0);
	assert_true(hash == pattern_hash(u.sent));
	close(u.fd);
	origin_stop(o);
}

static void test_early_data_of_a_refused_client_is_dropped(void **state)
{
	struct world *w = *state;
	struct received r = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct origin *o = origin_allowed(w, collect, &r);
	enum verdict verdict = VERDICT_DENY;
	char reply[4096];
	int fd;

	fd = ask_for(w, o);
	assert_true(send_pattern(fd, 50000));
	world_call(w, answer_job, &verdict);
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0); /* whole, and no reset */
	assert_ptr_equal(strstr(reply, "HTTP/1.1 403 "), reply);
	close(fd);
	eventually(world_nconns(w) == 0);
	assert_int_equal(atomic_load(&o->accepts), 0);
	origin_stop(o);
}

/* the time is for the whole head, not for each byte. */
static void test_head_that_trickles_is_cut_off(void **state)
{
	struct world *w = *state;
	static const char head[] = "CONNECT example.com:443 HTTP/1.1\r\nX: ";
	char reply[4096] = "";
	int fd = dial_port(w->port);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t sent = 0;

	while (poll(&pfd, 1, 500) == 0 && sent < sizeof(head) - 1)
		assert_true(send_all(fd, head + sent++, 1));
	assert_true(sent < sizeof(head) - 1);
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_ptr_equal(strstr(reply, "HTTP/1.1 408 "), reply);
	close(fd);
	eventually(world_nconns(w) == 0);
}

static void test_ask_answered_no_is_refused(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	enum verdict verdict = VERDICT_DENY;
	int fd;

	fd = ask_for(w, o);
	world_call(w, answer_job, &verdict);
	assert_int_equal(read_answer(fd, IN_CONNECT), 403);
	close(fd);
	assert_int_equal(atomic_load(&o->accepts), 0);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_ASKED_NO), 1);
	origin_stop(o);
}

static void test_ask_is_withdrawn_when_the_client_leaves(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	char byte;
	int fd;

	close(ask_for(w, o));
	eventually(atomic_load(&w->withdrawn) == 1);
	close_reset(ask_for(w, o));
	eventually(atomic_load(&w->withdrawn) == 2);
	/* a half-close cannot be told from that, and is given no end that looks like the server's */
	fd = ask_for(w, o);
	assert_return_code(shutdown(fd, SHUT_WR), errno);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	eventually(atomic_load(&w->withdrawn) == 3);
	close(fd);
	eventually(world_nconns(w) == 0);
	assert_int_equal(atomic_load(&o->accepts), 0);
	origin_stop(o);
}

/* A listener whose backlog is full: SYNs go unanswered. */
static int unanswering(uint16_t *port, int *filler)
{
	int fd = listen_loopback(port);

	assert_int_equal(listen(fd, 0), 0);
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in sin = { .sin_family = AF_INET,
					   .sin_port = htons(*port),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

		filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(filler[i], (struct sockaddr *)&sin, sizeof(sin));
	}
	return fd;
}

/* The SYN has left: so much is told, once, whoever does not wait for the outcome. */
static void test_a_dial_that_is_given_up_is_told(void **state)
{
	struct world *w = *state;
	int filler[2], fd, hole;
	uint8_t req[600];
	uint16_t port;

	hole = unanswering(&port, filler);
	world_allow_port(w, "127.0.0.1", port);
	for (int in = 0; in < IN_NUM; in++) {
		size_t n = request_bytes((enum way_in)in, "127.0.0.1", port, req);

		fd = dial_port(w->port);
		assert_true(send_all(fd, req, n));
		eventually(world_nconns(w) == 1);
		(void)usleep(50000);
		assert_int_equal(w->ntold, (size_t)in);
		close_reset(fd);
		eventually(world_nconns(w) == 0);
		assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_CONNECT_FAILED), in + 1);
		assert_int_equal(w->told[in].target.port, port);
		assert_int_equal(w->told[in].verdict, VERDICT_ALLOW);
		assert_true(w->told[in].has_rule);
	}
	assert_int_equal(world_count(w, PROXY_EVENT_CLOSE, CODE_OK), 0);
	close(filler[0]);
	close(filler[1]);
	close(hole);
}

static void free_session_job(struct world *w, void *arg)
{
	(void)arg;
	session_free(w->session);
}

static void test_session_free_resets_what_lives(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	int tunnel, asking, half;
	char byte;

	asking = ask_for(w, o);
	tunnel = open_tunnel(w, IN_CONNECT, o->port);
	half = dial_port(w->port);
	assert_true(send_all(half, "CONN", 4));
	eventually(world_nconns(w) == 3);
	world_call(w, free_session_job, NULL);
	assert_int_equal(recv(tunnel, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(recv(asking, &byte, 1, 0), -1);
	assert_int_equal(recv(half, &byte, 1, 0), -1);
	assert_int_equal(atomic_load(&w->withdrawn), 1);
	close(tunnel);
	close(asking);
	close(half);
	origin_stop(o);
}

static void recheck_job(struct world *w, void *arg)
{
	struct entry *e = arg;
	struct error err;

	if (policy_add(w->policy, e->list, e->pattern, "--deny", 0, NULL, &err) < 0)
		abort();
	session_recheck(w->session);
}

static void test_recheck_resets_what_is_refused_now(void **state)
{
	struct world *w = *state;
	struct origin *a = origin_allowed(w, echo, NULL);
	struct origin *b = origin_allowed(w, echo, NULL);
	char pattern[64], buf[2];
	struct entry e = { .list = LIST_DENY, .pattern = pattern };
	int fda, fdb;

	fda = open_tunnel(w, IN_CONNECT, a->port);
	fdb = open_tunnel(w, IN_CONNECT, b->port);
	(void)snprintf(pattern, sizeof(pattern), "127.0.0.1:%u", a->port);
	world_call(w, recheck_job, &e);
	assert_int_equal(recv(fda, buf, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_true(send_all(fdb, "x", 1));
	assert_true(recv_all(fdb, buf, 1));
	close(fda);
	close(fdb);
	origin_stop(a);
	origin_stop(b);
}

/* The process lives on, whatever a client does in the middle of it. */
static void test_reset_storm_leaks_nothing(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	uint8_t req[512];
	size_t n, before;
	int fd;

	close(open_tunnel(w, IN_CONNECT, o->port));
	eventually(world_nconns(w) == 0 && atomic_load(&o->busy) == 0);
	before = count_fds();
	for (int i = 0; i < 400; i++) {
		n = request_bytes((enum way_in)(i % IN_NUM), "127.0.0.1", o->port, req);
		fd = dial_port(w->port);
		assert_true(send_all(fd, req, i % 3 ? n : n / 2));
		if (i % 3 && i % 7 == 0)
			(void)read_answer(fd, (enum way_in)(i % IN_NUM));
		if (i % 2)
			close_reset(fd);
		else
			close(fd);
	}
	eventually(world_nconns(w) == 0 && atomic_load(&o->busy) == 0);
	eventually(count_fds() <= before);
	close(open_tunnel(w, IN_CONNECT, o->port));
	origin_stop(o);
}

static void test_greeting_without_a_method_is_answered_ff(void **state)
{
	struct world *w = *state;
	char reply[8];
	int fd = dial_port(w->port);

	assert_true(send_all(fd, "\5\1\2", 3));
	assert_int_equal(recv_rest(fd, reply, sizeof(reply)), 2);
	assert_memory_equal(reply, "\5\377", 2);
	close(fd);
}

/* A refusal names what was asked for although it is no target, and no password with it. */
static void test_what_is_no_target_is_named(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum code code;
		const char *said;
	} cases[] = {
#define CASE(b, code, said) { b, sizeof(b) - 1, code, said }
		CASE("CONNECT h.example:99999 HTTP/1.1\r\n\r\n", CODE_BAD_PORT, "h.example:99999"),
		CASE("CONNECT h.example HTTP/1.1\r\n\r\n", CODE_BAD_PORT, "h.example"),
		CASE("CONNECT a..b:80 HTTP/1.1\r\n\r\n", CODE_BAD_HOST, "a..b:80"),
		CASE("CONNECT me:pw@h.example:80 HTTP/1.1\r\n\r\n", CODE_BAD_HOST, "h.example:80"),
		CASE("CONNECT \xff.example:80 HTTP/1.1\r\n\r\n", CODE_BAD_HOST, "\\xff.example:80"),
		CASE("GET http://h.example:0/secret HTTP/1.1\r\nHost: x\r\n\r\n", CODE_BAD_PORT,
		     "h.example:0"),
		CASE("GET http://0x7f.1/ HTTP/1.1\r\nHost: x\r\n\r\n", CODE_BAD_HOST, "0x7f.1"),
		CASE("\5\1\0\5\1\0\3\4a..b\0\120", CODE_BAD_HOST, "a..b:80"),
		CASE("\5\1\0\5\1\0\3\3a\0b\0\120", CODE_BAD_HOST, "a\\x00b:80"),
		CASE("\5\1\0\5\1\0\3\3h.x\0\0", CODE_BAD_PORT, "h.x:0"),
		CASE("\5\1\0\5\1\0\1\300\0\2\1\0\0", CODE_BAD_PORT, "192.0.2.1:0"),
		CASE("\4\1\0\120\0\0\0\1\0a..b\0", CODE_BAD_HOST, "a..b:80"),
		CASE("\4\1\0\0\0\0\0\1\0h.x\0", CODE_BAD_PORT, "h.x:0"),
		CASE("\4\1\0\0\300\0\2\1\0", CODE_BAD_PORT, "192.0.2.1:0"),
#undef CASE
	};
	struct world *w = *state;
	char reply[4096], sentence[600];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd = dial_port(w->port);

		assert_true(send_all(fd, cases[i].bytes, cases[i].n));
		assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
		close(fd);
		assert_int_equal(w->ntold, i + 1);
		assert_int_equal(w->told[i].code, cases[i].code);
		assert_string_equal(w->told[i].said, cases[i].said);
		(void)snprintf(sentence, sizeof(sentence), "\r\n\r\nrefused %s (not a valid ",
			       cases[i].said);
		if (cases[i].bytes[0] >= 'A')
			assert_non_null(strstr(reply, sentence));
	}
}

/* What no target can be read from is told as well, and what was wrong with it. */
static void test_malformed_requests_are_told(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum via via;
		const char *said;
	} cases[] = {
#define CASE(b, via, said) { b, sizeof(b) - 1, via, said }
		CASE("CONNECT h.example:443 HTTP/1.9\r\n\r\n", VIA_HTTP, NULL),
		CASE("GET http://h.example/ HTTP/1.1\r\nHost : x\r\n\r\n", VIA_HTTP, NULL),
		CASE("\26\3\1", VIA_HTTP, "neither HTTP nor SOCKS"),
		CASE("\5\1\2", VIA_SOCKS5, "SOCKS5 offers no method that is served"),
		CASE("\5\1\0\5\2\0\3\3h.x\0\120", VIA_SOCKS5, "SOCKS5 command is not CONNECT"),
		CASE("\5\1\0\5\1\1\3\3h.x\0\120", VIA_SOCKS5, "SOCKS5 reserved byte is not zero"),
		CASE("\4\2\0\120\0\0\0\1\0h.x\0", VIA_SOCKS4A, "SOCKS4 command is not CONNECT"),
#undef CASE
	};
	struct world *w = *state;
	char reply[4096];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd = dial_port(w->port);

		assert_true(send_all(fd, cases[i].bytes, cases[i].n));
		assert_true(recv_rest(fd, reply, sizeof(reply)) >= 0);
		close(fd);
		assert_int_equal(w->ntold, i + 1);
		assert_int_equal(w->told[i].kind, PROXY_EVENT_DECISION);
		assert_int_equal(w->told[i].verdict, VERDICT_DENY);
		assert_int_equal(w->told[i].code, CODE_BAD_REQUEST);
		assert_int_equal(w->told[i].target.via, cases[i].via);
		if (cases[i].said)
			assert_string_equal(w->told[i].said, cases[i].said);
		else
			assert_true(*w->told[i].said);
	}
}

static void test_size_of_an_idle_connection(void **state)
{
	(void)state;
	/* and what malloc and libevent add for two descriptors */
	assert_true(sizeof(struct conn) <= 960);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_each_way_in_reaches_an_allowed_origin),
		T(test_each_way_in_by_name),
		T(test_each_way_in_refuses_an_unlisted_port),
		T(test_allowed_name_that_leads_to_loopback_is_refused),
		T(test_dead_target_is_said_before_the_tunnel),
		T(test_refusal_is_whole_and_names_the_remedy),
		T(test_request_behind_a_refused_connect_is_not_served),
		T(test_early_data_arrives_once),
		T(test_ask_holds_the_connection),
		T(test_early_data_is_bounded_and_whole),
		T(test_early_data_of_a_refused_client_is_dropped),
		T(test_head_that_trickles_is_cut_off),
		T(test_ask_answered_no_is_refused),
		T(test_an_answer_is_judged_by_the_policy_of_then),
		T(test_ask_is_withdrawn_when_the_client_leaves),
		T(test_a_dial_that_is_given_up_is_told),
		T(test_session_free_resets_what_lives),
		T(test_recheck_resets_what_is_refused_now),
		T(test_reset_storm_leaks_nothing),
		T(test_greeting_without_a_method_is_answered_ff),
		T(test_what_is_no_target_is_named),
		T(test_malformed_requests_are_told),
		cmocka_unit_test(test_size_of_an_idle_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
