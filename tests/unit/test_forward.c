/* Plain HTTP: judged per request, streamed both ways, never cut in silence. */
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

/*
 * An origin with a script: what it answers depends on the request's path. It keeps the last head
 * and body that it saw.
 */
struct http_origin {
	pthread_mutex_t lock;
	char head[16384];
	char body[65536];
	size_t body_len;
	atomic_int requests;
	atomic_int go; /* some answers wait for it */
};

static void remember(struct http_origin *h, const char *head, const char *body, size_t n)
{
	pthread_mutex_lock(&h->lock);
	(void)snprintf(h->head, sizeof(h->head), "%s", head);
	if (n < sizeof(h->body))
		memcpy(h->body, body, n);
	h->body_len = n;
	pthread_mutex_unlock(&h->lock);
	atomic_fetch_add(&h->requests, 1);
}

static void wait_go(struct http_origin *h, int n)
{
	for (int i = 0; i < WAIT_S * 200 && atomic_load(&h->go) < n; i++)
		(void)usleep(5000);
}

/* A chunked body as it comes, still framed. */
static size_t read_chunked(int fd, char *body, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && recv(fd, body + n, 1, 0) == 1) {
		n++;
		if (n >= 5 && memcmp(body + n - 5, "0\r\n\r\n", 5) == 0)
			break;
	}
	return n;
}

static bool say(int fd, const char *text)
{
	return send_all(fd, text, strlen(text));
}

static bool answer_special(int fd, struct http_origin *h, const char *head)
{
	char buf[64];

	if (strncmp(head, "GET /chunked ", 13) == 0)
		return say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Two: a\r\n"
			       "X-Two: b\r\n\r\n5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\n"
			       "X-Trailer: evil\r\n\r\n");
	if (strncmp(head, "GET /interim-", 13) == 0) {
		for (int n = atoi(head + 13); n > 0; n--)
			(void)say(fd, "HTTP/1.1 103 Early Hints\r\n\r\n");
		return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
	if (strncmp(head, "GET /close ", 11) == 0) {
		(void)say(fd, "HTTP/1.0 200 OK\r\n\r\nuntil the end");
		return false;
	}
	if (strncmp(head, "GET /cut-length ", 16) == 0) {
		(void)say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
		return false;
	}
	if (strncmp(head, "GET /cut-chunked ", 17) == 0) {
		(void)say(fd,
			  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
		return false;
	}
	if (strncmp(head, "GET /malformed ", 15) == 0)
		return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n");
	if (strncmp(head, "GET /mute ", 10) == 0)
		return false;
	if (strncmp(head, "GET /once ", 10) == 0) {
		(void)say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonce");
		return false; /* and closes, though it did not say so */
	}
	if (strstr(head, " /reset ")) {
		const struct linger rst = { .l_onoff = 1, .l_linger = 0 };

		(void)say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nreset");
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
		return false;
	}
	if (strncmp(head, "GET /drop ", 10) == 0) {
		wait_go(h, 1);
		return false;
	}
	if (strncmp(head, "GET /events ", 12) == 0) {
		(void)say(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
			      "Transfer-Encoding: chunked\r\n\r\n");
		for (int i = 1; i <= 3; i++) {
			wait_go(h, i);
			(void)say(fd, "9\r\ndata: x\n\n\r\n");
		}
		return say(fd, "0\r\n\r\n");
	}
	if (strncmp(head, "GET /early ", 11) == 0) {
		(void)say(fd, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
		wait_go(h, 1);
		return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
	if (strncmp(head, "GET /ws ", 8) == 0) {
		(void)say(fd, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
			      "Connection: Upgrade\r\n\r\nserver-first|");
		while (recv(fd, buf, 1, 0) == 1 && send_all(fd, buf, 1))
			;
		return false;
	}
	if (strncmp(head, "GET /big ", 9) == 0)
		return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3000007\r\n\r\n") &&
		       send_pattern(fd, 3000007);
	if (strncmp(head, "GET /urgent ", 12) == 0)
		return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3000007\r\n\r\n") &&
		       send_pattern_marked(fd, 3000007, 2000000);
	if (strncmp(head, "GET /endless ", 13) == 0) {
		static const char piece[65536];

		(void)say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		while (say(fd, "10000\r\n") && send_all(fd, piece, sizeof(piece)) &&
		       say(fd, "\r\n"))
			atomic_fetch_add(&h->go, 1);
		return false;
	}
	if (strncmp(head, "HEAD ", 5) == 0)
		return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
	return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/* Takes a long body apart and answers how many bytes it had and their hash. */
static bool upload(int fd, const char *head)
{
	const char *length = strstr(head, "\r\nContent-Length: ");
	uint64_t left = length ? (uint64_t)atoll(length + 18) : 0, total = 0, hash = FNV_START;
	static _Thread_local uint8_t buf[32768];
	char line[32], reply[256], text[64];

	for (;;) {
		if (!length) {
			size_t n = 0;

			while (n + 1 < sizeof(line) && recv(fd, line + n, 1, 0) == 1)
				if (line[n++] == '\n')
					break;
			line[n] = '\0';
			left = strtoull(line, NULL, 16);
		}
		total += left;
		while (left > 0) {
			size_t k = left < sizeof(buf) ? (size_t)left : sizeof(buf);

			if (!recv_all(fd, buf, k))
				return false;
			hash = fnv(hash, buf, k);
			left -= k;
		}
		if (length || strcmp(line, "0\r\n") == 0)
			break;
		if (!recv_all(fd, line, 2))
			return false;
	}
	if (!length && !recv_all(fd, line, 2))
		return false;
	(void)snprintf(text, sizeof(text), "%llu %llx", (unsigned long long)total,
		       (unsigned long long)hash);
	(void)snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
		       strlen(text), text);
	return say(fd, reply);
}

static void serve(int fd, void *arg)
{
	struct http_origin *h = arg;
	static _Thread_local char head[16384], body[65536];
	bool more = true;

	while (more && recv_head(fd, head, sizeof(head))) {
		const char *length = strstr(head, "\r\nContent-Length: ");
		size_t n = length ? (size_t)atol(length + 18) : 0;

		if (strncmp(head, "PUT /upload ", 12) == 0) {
			more = upload(fd, head);
			continue;
		}
		if (strncmp(head, "PUT /too-much ", 14) == 0) {
			(void)say(fd, "HTTP/1.1 413 Too Much\r\nConnection: close\r\n"
				      "Content-Length: 4\r\n\r\nmuch");
			break;
		}
		if (strstr(head, "\r\nExpect: 100-continue\r\n"))
			(void)say(fd, "HTTP/1.1 100 Continue\r\n\r\n");
		if (strstr(head, "\r\nTransfer-Encoding: chunked\r\n"))
			n = read_chunked(fd, body, sizeof(body));
		else if (n > sizeof(body) || (n && !recv_all(fd, body, n)))
			break;
		remember(h, head, body, n);
		more = answer_special(fd, h, head);
	}
	close(fd);
}

static struct http_origin *http_origin_new(void)
{
	struct http_origin *h = xcalloc(1, sizeof(*h));

	pthread_mutex_init(&h->lock, NULL);
	return h;
}

/* The end of one that stands for itself. */
static void http_origin_stop(struct origin *o)
{
	struct http_origin *h = o->arg;

	origin_stop(o);
	free(h);
}

static void ask_for(int fd, uint16_t port, const char *method, const char *path, const char *rest)
{
	char req[4096];

	(void)snprintf(req, sizeof(req), "%s http://127.0.0.1:%u%s HTTP/1.1\r\nHost: x\r\n%s\r\n",
		       method, port, path, rest);
	assert_true(say(fd, req));
}

/* A response with a Content-Length. Return: its status. */
static int read_response(int fd, char *head, size_t size, char *body, size_t body_size)
{
	const char *length;
	size_t n;
	int status;

	if (!recv_head(fd, head, size) || sscanf(head, "HTTP/1.1 %d", &status) != 1)
		return -1;
	length = strstr(head, "\r\nContent-Length: ");
	n = length ? (size_t)atol(length + 18) : 0;
	assert_true(n < body_size);
	if (!recv_all(fd, body, n))
		return -1;
	body[n] = '\0';
	return status;
}

static void test_keep_alive_to_two_origins(void **state)
{
	struct world *w = *state;
	struct http_origin *h1 = http_origin_new(), *h2 = http_origin_new();
	struct origin *a = origin_allowed(w, serve, h1), *b = origin_start(serve, h2);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	world_allow_port(w, "127.0.0.1", b->port);
	for (int i = 0; i < 3; i++) {
		ask_for(fd, a->port, "GET", "/x?q=1", "Proxy-Authorization: secret\r\n");
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
		assert_string_equal(body, "ok");
	}
	assert_int_equal(atomic_load(&a->accepts), 1); /* used again */
	assert_ptr_equal(strstr(h1->head, "GET /x?q=1 HTTP/1.1\r\n"), h1->head);
	assert_null(strstr(h1->head, "secret"));
	assert_null(strstr(h1->head, "Host: x"));
	ask_for(fd, b->port, "GET", "/", "");
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	ask_for(fd, a->port, "GET", "/", "");
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	assert_int_equal(atomic_load(&a->accepts), 2);
	assert_int_equal(atomic_load(&b->accepts), 1);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_OK), 5);
	close(fd);
	eventually(world_count(w, PROXY_EVENT_CLOSE, CODE_OK) == 3);
	origin_stop(a);
	origin_stop(b);
	free(h1);
	free(h2);
}

/* order kept, the refused one answered in its turn, nothing served behind it. */
/* How often the reply to a request for many interim responses says @what. */
static unsigned interims(struct world *w, uint16_t port, int n, const char *what)
{
	char req[256], reply[8192];
	unsigned count = 0;
	int fd = dial_port(w->port);

	(void)snprintf(req, sizeof(req),
		       "GET http://127.0.0.1:%u/interim-%d HTTP/1.1\r\nHost: a\r\n"
		       "Connection: close\r\n\r\n",
		       port, n);
	assert_true(say(fd, req));
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	for (const char *p = reply; (p = strstr(p, what)); p++)
		count++;
	close(fd);
	return count;
}

static void test_interim_responses_are_bounded(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);

	assert_int_equal(interims(w, o->port, HTTP_INTERIM_MAX, " 103 "), HTTP_INTERIM_MAX);
	assert_int_equal(interims(w, o->port, HTTP_INTERIM_MAX, " 200 "), 1);
	assert_int_equal(interims(w, o->port, HTTP_INTERIM_MAX + 1, " 200 "), 0);
	assert_int_equal(interims(w, o->port, HTTP_INTERIM_MAX + 1, " 502 "), 1);
	http_origin_stop(o);
}

static void test_pipelined_second_request_is_refused(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h), *canary = origin_start(serve, h);
	char req[1024], reply[8192];
	char *second;
	int fd = dial_port(w->port);

	(void)snprintf(req, sizeof(req),
		       "GET http://127.0.0.1:%u/1 HTTP/1.1\r\nHost: a\r\n\r\n"
		       "GET http://127.0.0.1:%u/2 HTTP/1.1\r\nHost: a\r\n\r\n"
		       "GET http://127.0.0.1:%u/3 HTTP/1.1\r\nHost: a\r\n\r\n",
		       o->port, canary->port, o->port);
	assert_true(say(fd, req));
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_ptr_equal(strstr(reply, "HTTP/1.1 200 "), reply);
	second = strstr(reply + 1, "HTTP/1.1 403 ");
	assert_non_null(second);
	assert_null(strstr(second + 1, "HTTP/1.1 "));
	assert_int_equal(atomic_load(&h->requests), 1);
	assert_int_equal(atomic_load(&canary->accepts), 0);
	close(fd);
	origin_stop(o);
	origin_stop(canary);
	free(h);
}

/* More requests than fit a stack of nested calls, alternating so that each one dials. */
static void test_long_pipeline_is_answered_in_order(void **state)
{
	enum { N = 600 };
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *a = origin_allowed(w, serve, h), *b = origin_start(serve, h);
	char head[4096], body[64], req[N * 80];
	size_t n = 0;
	int fd = dial_port(w->port);

	world_allow_port(w, "127.0.0.1", b->port);
	for (int i = 0; i < N; i++)
		n += (size_t)snprintf(req + n, sizeof(req) - n,
				      "GET http://127.0.0.1:%u/%d HTTP/1.1\r\nHost: a\r\n\r\n",
				      i % 2 ? a->port : b->port, i);
	assert_true(send_all(fd, req, n));
	for (int i = 0; i < N; i++)
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	assert_int_equal(atomic_load(&h->requests), N);
	close(fd);
	origin_stop(a);
	origin_stop(b);
	free(h);
}

static void test_request_bodies_both_framings(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);
	static const char chunked[] = "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Evil: 1\r\n\r\n";

	ask_for(fd, o->port, "POST", "/l", "Content-Length: 5\r\n");
	assert_true(say(fd, "12345"));
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	assert_int_equal(h->body_len, 5);
	assert_memory_equal(h->body, "12345", 5);
	for (int bytewise = 0; bytewise < 2; bytewise++) {
		ask_for(fd, o->port, "POST", "/c", "Transfer-Encoding: chunked\r\n");
		for (size_t i = 0; bytewise && i < sizeof(chunked) - 1; i++)
			assert_true(send_all(fd, chunked + i, 1));
		if (!bytewise)
			assert_true(say(fd, chunked));
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
		h->body[h->body_len] = '\0';
		assert_null(strstr(h->body, "Evil"));
		assert_null(strstr(h->body, "x=y"));
		assert_non_null(strstr(h->body, "0\r\n\r\n"));
	}
	assert_int_equal(atomic_load(&o->accepts), 1);
	close(fd);
	http_origin_stop(o);
}

static void test_expect_continue_is_passed_both_ways(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "PUT", "/e", "Content-Length: 4\r\nExpect: 100-continue\r\n");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	assert_ptr_equal(strstr(head, "HTTP/1.1 100"), head);
	assert_true(say(fd, "body"));
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	assert_memory_equal(h->body, "body", 4);
	close(fd);
	http_origin_stop(o);
}

static void test_chunked_response_is_framed_anew(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[256], req[256], reply[4096];
	size_t n;
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "GET", "/chunked", "");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	assert_non_null(strstr(head, "\r\nTransfer-Encoding: chunked\r\n"));
	assert_non_null(strstr(head, "\r\nX-Two: a\r\nX-Two: b\r\n"));
	n = read_chunked(fd, body, sizeof(body));
	body[n] = '\0';
	assert_string_equal(body, "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
	/* the connection is good for another one */
	ask_for(fd, o->port, "GET", "/", "");
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	close(fd);
	/* a client of HTTP/1.0 gets it bare */
	fd = dial_port(w->port);
	(void)snprintf(req, sizeof(req), "GET http://127.0.0.1:%u/chunked HTTP/1.0\r\n\r\n",
		       o->port);
	assert_true(say(fd, req));
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_non_null(strstr(reply, "\r\n\r\nhello world"));
	close(fd);
	http_origin_stop(o);
}

static void test_body_until_close(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[256];
	int fd = dial_port(w->port);
	size_t n;

	ask_for(fd, o->port, "GET", "/close", "");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	if (strstr(head, "chunked")) {
		n = read_chunked(fd, body, sizeof(body));
		body[n] = '\0';
		assert_non_null(strstr(body, "until the end"));
	} else {
		assert_int_equal(recv_rest(fd, body, sizeof(body)), 13);
		assert_string_equal(body, "until the end");
	}
	close(fd);
	http_origin_stop(o);
}

static void test_response_cut_short_is_a_reset(void **state)
{
	static const char *const paths[] = { "/cut-length", "/cut-chunked" };
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char reply[4096];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd = dial_port(w->port);

		ask_for(fd, o->port, "GET", paths[i], "");
		assert_int_equal(recv_rest(fd, reply, sizeof(reply)), -1);
		assert_int_equal(errno, ECONNRESET);
		close(fd);
	}
	http_origin_stop(o);
}

static void test_response_that_is_none_is_502(void **state)
{
	static const char *const paths[] = { "/malformed", "/mute" };
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char reply[4096];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd = dial_port(w->port);

		ask_for(fd, o->port, "GET", paths[i], "");
		assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
		assert_ptr_equal(strstr(reply, "HTTP/1.1 502 "), reply);
		close(fd);
	}
	http_origin_stop(o);
}

/* The server closes an idle connection just when the next request is written: it is sent again. */
static void test_request_is_repeated_on_a_stale_connection(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	for (int i = 0; i < 20; i++) {
		ask_for(fd, o->port, "GET", "/once", "");
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	}
	assert_int_equal(atomic_load(&h->requests), 20);
	close(fd);
	http_origin_stop(o);
}

/* What is sent again needs a new connection, and that is judged by the policy of the moment. */
static void test_a_repetition_is_judged_anew(void **state)
{
	for (int denied = 0; denied < 2; denied++) {
		struct world *w = *state;
		struct http_origin *h = http_origin_new();
		struct origin *o = origin_allowed(w, serve, h);
		char head[4096], body[256], pattern[64];
		struct entry e = { .list = LIST_DENY, .pattern = pattern };
		int fd = dial_port(w->port);

		(void)snprintf(pattern, sizeof(pattern), "127.0.0.1:%u", o->port);
		ask_for(fd, o->port, "GET", "/", "");
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
		ask_for(fd, o->port, "GET", "/drop", "");
		while (atomic_load(&h->requests) < 2)
			(void)usleep(1000);
		if (denied)
			world_call(w, world_add_job, &e);
		atomic_store(&h->go, 1);
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)),
				 denied ? 403 : 502);
		assert_int_equal(atomic_load(&o->accepts), denied ? 1 : 2);
		close(fd);
		http_origin_stop(o);
	}
}

static void test_events_are_not_held_back(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "GET", "/events", "");
	assert_true(recv_head(fd, head, sizeof(head)) > 0); /* before the first event */
	for (int i = 1; i <= 3; i++) {
		atomic_store(&h->go, i);
		assert_true(recv_all(fd, body, 14)); /* the next is sent only after this */
		assert_memory_equal(body, "9\r\ndata: x\n\n\r\n", 14);
	}
	assert_true(recv_all(fd, body, 5));
	close(fd);
	http_origin_stop(o);
}

static void test_interim_response_passes_at_once(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "GET", "/early", "");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	assert_ptr_equal(strstr(head, "HTTP/1.1 103"), head);
	atomic_store(&h->go, 1);
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	close(fd);
	http_origin_stop(o);
}

#define WS                                                                           \
	"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/* B21: what either side had sent already is not lost. */
static void test_websocket_becomes_a_tunnel(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64] = { 0 }, req[1024];
	int fd = dial_port(w->port);

	(void)snprintf(req, sizeof(req),
		       "GET http://127.0.0.1:%u/ws HTTP/1.1\r\nHost: a\r\n" WS "\r\nclient-first|",
		       o->port);
	assert_true(say(fd, req));
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	assert_ptr_equal(strstr(head, "HTTP/1.1 101"), head);
	assert_true(recv_all(fd, body, 26));
	assert_string_equal(body, "server-first|client-first|");
	assert_true(say(fd, "ping"));
	assert_true(recv_all(fd, body, 4));
	assert_memory_equal(body, "ping", 4);
	close(fd);
	eventually(world_nconns(w) == 0);
	http_origin_stop(o);
}

/* no 101, no tunnel; the next request is judged. */
static void test_refused_websocket_is_no_tunnel(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "GET", "/plain", WS);
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	ask_for(fd, 1, "GET", "/", "");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	assert_ptr_equal(strstr(head, "HTTP/1.1 403"), head);
	close(fd);
	http_origin_stop(o);
}

static void test_long_body_is_whole(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	uint64_t hash = FNV_START, expect = pattern_hash(3000007);
	char head[4096], body[64];
	static uint8_t buf[65536];
	int fd = dial_port(w->port);

	for (int i = 0; i < 12; i++) {
		hash = FNV_START;
		ask_for(fd, o->port, "GET", i < 2 ? "/big" : "/urgent", "");
		assert_true(recv_head(fd, head, sizeof(head)) > 0);
		for (size_t left = 3000007; left > 0;) {
			ssize_t n = recv(fd, buf, left < sizeof(buf) ? left : sizeof(buf), 0);

			assert_true(n > 0);
			hash = fnv(hash, buf, (size_t)n);
			left -= (size_t)n;
		}
		assert_true(hash == expect);
	}
	ask_for(fd, o->port, "GET", "/", "");
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	assert_int_equal(atomic_load(&o->accepts), 1);
	close(fd);
	http_origin_stop(o);
}

static bool send_chunked_pattern(int fd, uint64_t n)
{
	uint8_t buf[5000];
	char line[32];

	for (uint64_t off = 0; off < n;) {
		size_t k = off % 7919 + 1;

		k = k < sizeof(buf) ? k : sizeof(buf);
		k = n - off < k ? (size_t)(n - off) : k;
		for (size_t i = 0; i < k; i++)
			buf[i] = pattern_byte(off + i);
		(void)snprintf(line, sizeof(line), "%zx\r\n", k);
		if (!say(fd, line) || !send_all(fd, buf, k) || !say(fd, "\r\n"))
			return false;
		off += k;
	}
	return say(fd, "0\r\n\r\n");
}

static void test_long_uploads_are_whole(void **state)
{
	enum { N = 5000011 };
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64], expect[64], length[64];
	int fd = dial_port(w->port);

	(void)snprintf(expect, sizeof(expect), "%d %llx", N, (unsigned long long)pattern_hash(N));
	(void)snprintf(length, sizeof(length), "Content-Length: %d\r\n", N);
	for (int chunked = 0; chunked < 2; chunked++) {
		ask_for(fd, o->port, "PUT", "/upload",
			chunked ? "Transfer-Encoding: chunked\r\n" : length);
		assert_true(chunked ? send_chunked_pattern(fd, N) : send_pattern(fd, N));
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
		assert_string_equal(body, expect);
	}
	assert_int_equal(atomic_load(&o->accepts), 1);
	close(fd);
	http_origin_stop(o);
}

/* The server answers before the body has come and closes: the answer arrives. */
static void test_answer_in_the_middle_of_an_upload_arrives(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];

	for (int i = 0; i < 10; i++) {
		int fd = dial_port(w->port);

		ask_for(fd, o->port, "PUT", "/too-much", "Content-Length: 900000\r\n");
		(void)send_pattern(fd, 900000);
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 413);
		assert_string_equal(body, "much");
		close(fd);
	}
	eventually(world_nconns(w) == 0);
	http_origin_stop(o);
}

#define EARLY_BODY 3000000

/* Answers each request before its body, and reads that all the same. */
struct early {
	const char *field;
	_Atomic uint64_t hash;
};

static void answer_first(int fd, void *arg)
{
	struct early *e = arg;
	char head[4096], reply[256];
	uint8_t buf[65536];

	while (recv_head(fd, head, sizeof(head)) > 0) {
		uint64_t h = FNV_START;
		size_t left = EARLY_BODY;

		(void)snprintf(reply, sizeof(reply),
			       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n%s\r\nok", e->field);
		(void)say(fd, reply);
		(void)usleep(100000);
		while (left > 0) {
			ssize_t n = recv(fd, buf, left < sizeof(buf) ? left : sizeof(buf), 0);

			if (n <= 0)
				break;
			h = fnv(h, buf, (size_t)n);
			left -= (size_t)n;
		}
		if (left == 0)
			e->hash = h;
		if (*e->field)
			break;
	}
	close(fd);
}

/* The answer is early; the rest of the body arrives, and the client may ask again where it may. */
static void test_upload_goes_on_behind_an_early_answer(void **state)
{
	static const char *const field[] = { "", "Connection: close\r\n" };
	struct world *w = *state;
	char head[4096], body[64], length[64];

	(void)snprintf(length, sizeof(length), "Content-Length: %d\r\n", EARLY_BODY);
	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		struct early e = { .field = field[i] };
		struct origin *o = origin_allowed(w, answer_first, &e);
		int fd = dial_port(w->port);

		for (int request = 0; request < (*field[i] ? 1 : 2); request++) {
			e.hash = 0;
			ask_for(fd, o->port, "POST", "/", length);
			assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)),
					 200);
			assert_string_equal(body, "ok");
			assert_true(send_pattern(fd, EARLY_BODY));
			eventually(e.hash != 0);
			assert_true(e.hash == pattern_hash(EARLY_BODY));
		}
		close(fd);
		eventually(world_nconns(w) == 0);
		origin_stop(o);
	}
}

static void held_job(struct world *w, void *arg)
{
	const struct way *down = &LIST_FIRST(&w->session->conns)->t.way[UPSTREAM];

	*(size_t *)arg = down->keep_len + down->held;
}

static void test_reader_that_stops_holds_the_server_back(void **state)
{
	size_t ours = 0;
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096];
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "GET", "/endless", "");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	for (int before = -1; before != atomic_load(&h->go);) {
		before = atomic_load(&h->go);
		(void)usleep(200000);
	}
	assert_true(atomic_load(&h->go) > 0);
	assert_true(atomic_load(&h->go) < 40 * 16); /* pieces of 64 KiB */
	world_call(w, held_job, &ours);
	assert_in_range(ours, 1, FORWARD_BUFFER_MAX);
	close_reset(fd);
	eventually(world_nconns(w) == 0);
	http_origin_stop(o);
}

static void test_head_has_no_body(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "HEAD", "/", "");
	assert_true(recv_head(fd, head, sizeof(head)) > 0);
	assert_non_null(strstr(head, "\r\nContent-Length: 12345\r\n"));
	ask_for(fd, o->port, "GET", "/", "");
	assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
	close(fd);
	http_origin_stop(o);
}

/* Q-060 for plain HTTP: shutdown(WR) behind the request. */
static void test_half_closed_client_gets_its_answer(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char reply[4096];
	int fd = dial_port(w->port);

	ask_for(fd, o->port, "GET", "/", "");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_non_null(strstr(reply, "\r\n\r\nok"));
	close(fd);
	http_origin_stop(o);
}

/* Whoever waits for a head and its body is not woken twice: both come in one piece. */
static void test_small_answer_comes_in_one_piece(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	int fd = dial_port(w->port);

	for (int i = 0; i < 50; i++) {
		char reply[4096];
		ssize_t n;

		ask_for(fd, o->port, "GET", "/", "");
		n = recv(fd, reply, sizeof(reply) - 1, 0);
		assert_true(n > 0);
		reply[n] = '\0';
		assert_non_null(strstr(reply, "\r\n\r\nok"));
	}
	assert_int_equal(atomic_load(&o->accepts), 1);
	close(fd);
	http_origin_stop(o);
}

/* What may not be sent twice is not sent on a connection that was reset behind its last answer. */
static void test_upload_behind_a_reset_goes_elsewhere(void **state)
{
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);
	char head[4096], body[64];
	int fd = dial_port(w->port);

	for (int i = 0; i < 20; i++) {
		ask_for(fd, o->port, "GET", "/reset", "");
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
		eventually(atomic_load(&o->busy) == 0); /* the reset has been sent */
		if (i % 2) {
			ask_for(fd, o->port, "GET", "/reset", ""); /* its twin is sent again */
		} else {
			ask_for(fd, o->port, "POST", "/reset", "Content-Length: 2\r\n");
			assert_true(say(fd, "hi"));
		}
		assert_int_equal(read_response(fd, head, sizeof(head), body, sizeof(body)), 200);
		eventually(atomic_load(&o->busy) == 0);
	}
	assert_int_equal(atomic_load(&h->requests), 40);
	close(fd);
	http_origin_stop(o);
}

/* A reset must be noticed although the server says nothing, however early it comes. */
static void test_reset_behind_a_request_is_noticed(void **state)
{
	const struct linger rst = { .l_onoff = 1, .l_linger = 0 };
	struct world *w = *state;
	struct http_origin *h = http_origin_new();
	struct origin *o = origin_allowed(w, serve, h);

	for (int i = 1; i <= 20; i++) {
		int fd = dial_port(w->port);

		ask_for(fd, o->port, "GET", "/drop", "");
		if (i <= 10)
			eventually(atomic_load(&h->requests) == i);
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst)), 0);
		close(fd);
		eventually(world_count(w, PROXY_EVENT_CLOSE, CODE_OK) == (size_t)i);
	}
	atomic_store(&h->go, 1);
	http_origin_stop(o);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_keep_alive_to_two_origins),
		T(test_interim_responses_are_bounded),
		T(test_pipelined_second_request_is_refused),
		T(test_long_pipeline_is_answered_in_order),
		T(test_request_bodies_both_framings),
		T(test_expect_continue_is_passed_both_ways),
		T(test_chunked_response_is_framed_anew),
		T(test_body_until_close),
		T(test_response_cut_short_is_a_reset),
		T(test_response_that_is_none_is_502),
		T(test_request_is_repeated_on_a_stale_connection),
		T(test_a_repetition_is_judged_anew),
		T(test_events_are_not_held_back),
		T(test_interim_response_passes_at_once),
		T(test_websocket_becomes_a_tunnel),
		T(test_refused_websocket_is_no_tunnel),
		T(test_long_body_is_whole),
		T(test_long_uploads_are_whole),
		T(test_answer_in_the_middle_of_an_upload_arrives),
		T(test_upload_goes_on_behind_an_early_answer),
		T(test_reader_that_stops_holds_the_server_back),
		T(test_head_has_no_body),
		T(test_half_closed_client_gets_its_answer),
		T(test_small_answer_comes_in_one_piece),
		T(test_upload_behind_a_reset_goes_elsewhere),
		T(test_reset_behind_a_request_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
