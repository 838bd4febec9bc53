/* By way of a parent proxy: policy first, nothing reaches the target otherwise, prompt failures. */
#include "proxy/upstream.h"
#include "tests/support/proxyworld.h"

/* What the parent does with a connection, and what it was told. */
struct recorder {
	pthread_mutex_t lock;
	char head[4096];
	enum { ANSWER_TUNNEL, ANSWER_REFUSE, ANSWER_AUTH, ANSWER_SILENCE, ANSWER_CLOSE } answer;
};

static struct recorder recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct origin *parent;
static struct upstreams *through;
static const char *scheme;

static void echo(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 && send_all(fd, buf, (size_t)n))
		;
	close(fd);
}

static void http_parent(int fd, struct recorder *r)
{
	char head[4096];

	if (!recv_head(fd, head, sizeof(head))) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&r->lock);
	(void)snprintf(r->head, sizeof(r->head), "%s", head);
	pthread_mutex_unlock(&r->lock);
	if (strncmp(head, "CONNECT ", 8) != 0) {
		static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nparent";
		static const char auth[] = "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\n"
					   "Content-Length: 0\r\n\r\n";

		if (r->answer == ANSWER_AUTH)
			(void)send_all(fd, auth, strlen(auth));
		else
			(void)send_all(fd, ok, strlen(ok));
		echo(fd);
		return;
	}
	switch (r->answer) {
	case ANSWER_TUNNEL: /* the target speaks first, glued to the head */
		(void)send_all(fd, "HTTP/1.1 200 OK\r\nVia: x\r\n\r\nhello", 32);
		echo(fd);
		return;
	case ANSWER_REFUSE:
		(void)send_all(fd, "HTTP/1.1 403 No\r\n\r\n", 19);
		break;
	case ANSWER_AUTH:
		(void)send_all(fd, "HTTP/1.1 407 x\r\n\r\n", 18);
		break;
	case ANSWER_SILENCE:
		echo(fd);
		return;
	case ANSWER_CLOSE:
		break;
	}
	close(fd);
}

static void socks_parent(int fd, struct recorder *r)
{
	uint8_t b[300];
	size_t n;

	if (!recv_all(fd, b, 3) || !send_all(fd, "\5\0", 2) || !recv_all(fd, b, 5) ||
	    !recv_all(fd, b + 5, (size_t)b[4] + 2)) {
		close(fd);
		return;
	}
	n = b[4];
	pthread_mutex_lock(&r->lock);
	(void)snprintf(r->head, sizeof(r->head), "%u %.*s:%u", b[3], (int)n, (const char *)b + 5,
		       b[5 + n] << 8 | b[6 + n]);
	pthread_mutex_unlock(&r->lock);
	if (r->answer == ANSWER_REFUSE) {
		(void)send_all(fd, "\5\5\0\1\0\0\0\0\0\0", 10);
		close(fd);
		return;
	}
	(void)send_all(fd, "\5\0\0\1\0\0\0\0\0\0hello", 15);
	echo(fd);
}

static void serve_parent(int fd, void *arg)
{
	if (strcmp(scheme, "socks5h") == 0)
		socks_parent(fd, arg);
	else
		http_parent(fd, arg);
}

static int start(void **state, const char *with)
{
	char url[100];
	struct upstream up;
	struct error err;

	scheme = with;
	recorder.answer = ANSWER_TUNNEL;
	recorder.head[0] = '\0';
	parent = origin_start(serve_parent, &recorder);
	(void)snprintf(url, sizeof(url), "%s://%s127.0.0.1:%u", with,
		       strcmp(with, "http") == 0 ? "user:pass@" : "", parent->port);
	assert_int_equal(upstream_parse(url, &up, &err), 0);
	world_upstreams = through = upstreams_one(&up);
	*state = world_start();
	world_allow(*state, "only.parent.test");
	return 0;
}

static int setup_http(void **state)
{
	return start(state, "http");
}

static int setup_socks(void **state)
{
	return start(state, "socks5h");
}

static int teardown(void **state)
{
	world_stop(*state);
	origin_stop(parent);
	upstreams_free(through);
	world_upstreams = NULL;
	return 0;
}

static void seen(char out[4096])
{
	pthread_mutex_lock(&recorder.lock);
	(void)snprintf(out, 4096, "%s", recorder.head);
	pthread_mutex_unlock(&recorder.lock);
}

static const enum way_in named[] = { IN_CONNECT, IN_SOCKS5_NAME, IN_SOCKS4A };

static void expect_tunnels(struct world *w, const char *want)
{
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		char got[4096], buf[6] = "";
		int fd;

		assert_int_equal(try_tunnel(w, named[i], "only.parent.test", 7443, &fd), 0);
		assert_true(recv_all(fd, buf, 5)); /* 86: bytes behind the head are kept */
		assert_string_equal(buf, "hello");
		assert_true(send_all(fd, "again", 5) && recv_all(fd, buf, 5));
		assert_string_equal(buf, "again");
		close(fd);
		seen(got);
		assert_string_equal(got, want);
	}
	eventually(world_nconns(w) == 0);
}

static void test_http_parent_tunnels(void **state)
{
	expect_tunnels(*state, "CONNECT only.parent.test:7443 HTTP/1.1\r\n"
			       "Host: only.parent.test:7443\r\n"
			       "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
}

static void test_socks_parent_tunnels(void **state)
{
	expect_tunnels(*state, "3 only.parent.test:7443");
}

static void get(struct world *w, const char *extra, char *out, size_t size)
{
	char req[512];
	int fd = dial_port(w->port);

	(void)snprintf(req, sizeof(req),
		       "GET http://only.parent.test/a?b HTTP/1.1\r\nHost: evil.test\r\n"
		       "Proxy-Authorization: Basic aW5zaWRl\r\nConnection: close\r\n%s\r\n",
		       extra);
	assert_true(send_all(fd, req, strlen(req)));
	assert_true(recv_rest(fd, out, size) >= 0);
	close(fd);
}

static void test_http_parent_gets_absolute_form(void **state)
{
	char got[4096], out[4096];

	get(*state, "", out, sizeof(out));
	assert_non_null(strstr(out, "\r\n\r\nparent"));
	seen(got);
	assert_int_equal(strncmp(got, "GET http://only.parent.test/a?b HTTP/1.1\r\n", 42), 0);
	assert_non_null(strstr(got, "Host: only.parent.test\r\n"));
	assert_non_null(strstr(got, "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"));
	assert_null(strstr(got, "aW5zaWRl"));
	assert_null(strstr(got, "evil.test"));
}

static void test_http_parent_upgrades_go_by_connect(void **state)
{
	char got[4096];
	int fd = dial_port(((struct world *)*state)->port);
	static const char req[] = "GET http://only.parent.test/ws HTTP/1.1\r\n"
				  "Host: only.parent.test\r\nConnection: Upgrade\r\n"
				  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
				  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

	assert_true(send_all(fd, req, strlen(req)));
	for (int i = 0; i < WAIT_S * 200; i++) {
		seen(got);
		if (*got)
			break;
		(void)usleep(5000);
	}
	assert_int_equal(strncmp(got, "CONNECT only.parent.test:80 ", 28), 0);
	close(fd);
}

/* 407 is between us and the parent; the command cannot answer it. */
static void test_http_parent_407_is_502(void **state)
{
	char out[4096];
	int fd;

	recorder.answer = ANSWER_AUTH;
	get(*state, "", out, sizeof(out));
	assert_int_equal(strncmp(out, "HTTP/1.1 502 ", 13), 0);
	assert_null(strstr(out, "Proxy-Authenticate"));
	assert_int_equal(try_tunnel(*state, IN_CONNECT, "only.parent.test", 7443, &fd), 502);
	close(fd);
}

static void test_parent_refusals_are_told(void **state)
{
	int fd;

	recorder.answer = ANSWER_REFUSE;
	assert_int_equal(try_tunnel(*state, IN_CONNECT, "only.parent.test", 7443, &fd), 502);
	close(fd);
	assert_int_equal(try_tunnel(*state, IN_SOCKS5_NAME, "only.parent.test", 7443, &fd), 5);
	close(fd);
	recorder.answer = ANSWER_CLOSE;
	if (strcmp(scheme, "http") == 0) {
		assert_int_equal(try_tunnel(*state, IN_CONNECT, "only.parent.test", 7443, &fd),
				 502);
		close(fd);
	}
}

/* 88: what the policy refuses never reaches the parent, literals of this machine included. */
static void test_policy_comes_first(void **state)
{
	struct world *w = *state;
	struct entry deny = { .list = LIST_DENY, .pattern = "no.parent.test" };
	int fd;

	world_allow(w, "*.parent.test");
	world_call(w, world_add_job, &deny);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		static const char *const refused[] = { "no.parent.test", "parent.test",
						       "169.254.169.254", "10.0.0.1" };

		for (size_t k = 0; k < ARRAY_SIZE(refused); k++) {
			assert_true(try_tunnel(w, named[i], refused[k], 7443, &fd) > 0);
			close(fd);
		}
	}
	/* 85: a bad target is refused before anything is said */
	assert_int_equal(try_tunnel(w, IN_CONNECT, "only.parent.test\r", 7443, &fd), 400);
	close(fd);
	assert_int_equal(try_tunnel(w, IN_SOCKS5_NAME, "only.parent.test", 0, &fd), 1);
	close(fd);
	assert_int_equal(atomic_load(&parent->accepts), 0);
	assert_int_equal(try_tunnel(w, IN_CONNECT, "yes.parent.test", 7443, &fd), 0);
	close(fd);
	assert_int_equal(atomic_load(&parent->accepts), 1);
}

/* 84: what is allowed on this machine's loopback does not take the way through the parent. */
static void test_loopback_is_direct(void **state)
{
	struct world *w = *state;
	struct recorder direct = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct origin *o = origin_allowed(w, serve_parent, &direct);
	char buf[16];
	int fd;

	fd = open_tunnel(w, IN_CONNECT, o->port);
	assert_true(send_all(fd, "CONNECT x:1 HTTP/1.1\r\n\r\n", 24) && recv_all(fd, buf, 9));
	close(fd);
	assert_int_equal(atomic_load(&o->accepts), 1);
	assert_int_equal(atomic_load(&parent->accepts), 0);
	origin_stop(o);
}

/* A client that goes while the parent is silent leaves nothing behind. */
static void test_silent_parent_leaves_nothing(void **state)
{
	struct world *w = *state;
	uint8_t req[512];
	size_t n = request_bytes(IN_CONNECT, "only.parent.test", 7443, req);
	size_t before;
	int fd;

	eventually(world_nconns(w) == 0);
	before = count_fds();
	recorder.answer = ANSWER_SILENCE;
	for (int i = 0; i < 20; i++) {
		fd = dial_port(w->port);
		assert_true(send_all(fd, req, n));
		eventually(atomic_load(&parent->accepts) > i);
		close_reset(fd);
	}
	eventually(world_nconns(w) == 0);
	eventually(atomic_load(&parent->busy) == 0);
	assert_int_equal(count_fds(), before);
}

static void test_dead_parent_is_a_prompt_502(void **state)
{
	struct world *w;
	struct upstream up;
	struct error err;
	uint16_t port;
	char url[64];
	int fd = listen_loopback(&port);

	(void)state;
	close(fd); /* nobody listens there now */
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	assert_int_equal(upstream_parse(url, &up, &err), 0);
	world_upstreams = through = upstreams_one(&up);
	w = world_start();
	world_allow(w, "only.parent.test");
	assert_int_equal(try_tunnel(w, IN_CONNECT, "only.parent.test", 7443, &fd), 502);
	close(fd);
	assert_int_equal(try_tunnel(w, IN_SOCKS5_NAME, "only.parent.test", 7443, &fd), 5);
	close(fd);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_CONNECT_FAILED), 2);
	world_stop(w);
	upstreams_free(through);
	world_upstreams = NULL;
}

#define HTTP(f)	 cmocka_unit_test_setup_teardown(f, setup_http, teardown)
#define SOCKS(f) cmocka_unit_test_setup_teardown(f, setup_socks, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HTTP(test_http_parent_tunnels),
		SOCKS(test_socks_parent_tunnels),
		HTTP(test_http_parent_gets_absolute_form),
		HTTP(test_http_parent_upgrades_go_by_connect),
		HTTP(test_http_parent_407_is_502),
		HTTP(test_parent_refusals_are_told),
		SOCKS(test_parent_refusals_are_told),
		HTTP(test_policy_comes_first),
		SOCKS(test_policy_comes_first),
		HTTP(test_loopback_is_direct),
		HTTP(test_silent_parent_leaves_nothing),
		cmocka_unit_test(test_dead_parent_is_a_prompt_502),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
