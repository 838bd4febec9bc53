/* What one of several peers may have of a proxy's descriptors, whatever number of sessions it has. */
#include "tests/support/proxyworld.h"

#include "proxy/limits.h"
#include "proxy/session.h"

#define DESCRIPTORS 80 /* 20 kept, and of the others half: 15 connections */
#define ONE_PEERS   15

struct other {
	uint64_t peer;
	struct session *session;
	uint16_t port;
};

static void other_job(struct world *w, void *arg)
{
	struct other *o = arg;
	struct session_config cfg = { .policy = &w->current, .peer = o->peer, .arg = w };
	struct error err;

	o->session = proxy_session(w->proxy, &cfg);
	if (session_listen(o->session, listen_loopback(&o->port), LISTENER_PROXY, NULL, &err) < 0)
		abort();
}

struct counts {
	const struct other *v;
	size_t n[3];
};

static void count_job(struct world *w, void *arg)
{
	struct counts *c = arg;

	(void)w;
	for (size_t i = 0; i < ARRAY_SIZE(c->n); i++)
		c->n[i] = session_connections(c->v[i].session);
}

static size_t of(struct world *w, const struct other *v, size_t i)
{
	struct counts c = { .v = v };

	world_call(w, count_job, &c);
	return c.n[i];
}

static bool is_answered(uint16_t port)
{
	static const char req[] = "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\n";
	char reply[4096] = "";
	int fd = dial_port(port);
	bool sent = send_all(fd, req, strlen(req));
	bool answered = sent && recv_rest(fd, reply, sizeof(reply) - 1) > 0;

	close(fd);
	return answered && strstr(reply, "not-listed");
}

static void test_sessions_of_a_peer_have_one_share(void **state)
{
	struct limits l = limits_default();
	struct other v[3] = { { .peer = 7 }, { .peer = 7 }, { .peer = 8 } };
	struct world *w;
	int held[2][20];

	(void)state;
	l.head_ms = 60 * 1000; /* they say nothing */
	l.descriptors = DESCRIPTORS;
	w = world_start_with(&l);
	for (size_t i = 0; i < 3; i++)
		world_call(w, other_job, &v[i]);
	for (int i = 0; i < 10; i++)
		held[0][i] = dial_port(v[0].port);
	eventually(of(w, v, 0) == 10);
	for (int i = 0; i < 20; i++)
		held[1][i] = dial_port(v[1].port);
	eventually(of(w, v, 1) == ONE_PEERS - 10);
	assert_true(is_answered(v[2].port)); /* another peer */
	assert_true(is_answered(w->port));   /* and a session of no peer's */
	assert_int_equal(of(w, v, 0) + of(w, v, 1), ONE_PEERS);
	close(held[0][0]); /* what is given back counts again, in the other session, too */
	eventually(of(w, v, 1) == ONE_PEERS - 9);
	for (int i = 1; i < 10; i++)
		close(held[0][i]);
	for (int i = 0; i < 20; i++)
		close(held[1][i]);
	eventually(of(w, v, 0) + of(w, v, 1) == 0);
	assert_true(is_answered(v[1].port));
	world_stop(w);
}

static void test_get_finds_it_again(void **state)
{
	struct limits l = limits_default();
	struct world *w = world_start_with(&l);
	struct share *a = share_get(w->proxy, 7), *b = share_get(w->proxy, 7);
	struct share *lone = share_get(w->proxy, 0), *another = share_get(w->proxy, 0);

	(void)state;
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(lone, another);
	assert_int_equal(w->proxy->stock.takers, 4); /* the world's session has one */
	share_put(a);
	share_put(lone);
	share_put(another);
	assert_int_equal(w->proxy->stock.takers, 2);
	share_put(b);
	share_put(NULL);
	assert_int_equal(w->proxy->stock.takers, 1);
	world_stop(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sessions_of_a_peer_have_one_share),
		cmocka_unit_test(test_get_finds_it_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
