/* Accepting when descriptors run out, captured and fixed targets. */
#include "tests/support/proxyworld.h"

#include <sys/resource.h>
#include <time.h>

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
	char buf[4096];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 && send_all(fd, buf, (size_t)n))
		;
	close(fd);
}

/* No descriptor beyond those that are open now. */
static struct rlimit no_more_descriptors(void)
{
	struct rlimit old, tight;
	int top = dup(0);

	assert_true(top >= 0);
	close(top); /* the lowest free number: nothing can be opened from there on */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = (rlim_t)top;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	return old;
}

static double loop_cpu(struct world *w)
{
	struct timespec ts;
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(w->thread, &clock), 0);
	assert_int_equal(clock_gettime(clock, &ts), 0);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* */
static void test_accept_waits_without_spinning_and_recovers(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	uint8_t req[512];
	size_t n = request_bytes(IN_CONNECT, "127.0.0.1", o->port, req);
	struct rlimit old;
	double cpu;
	int fd;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	old = no_more_descriptors();
	{
		struct sockaddr_in sin = { .sin_family = AF_INET,
					   .sin_port = htons(w->port),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		struct timeval tv = { .tv_sec = WAIT_S };

		assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	}
	assert_true(send_all(fd, req, n));
	cpu = loop_cpu(w);
	(void)usleep(400000);
	cpu = loop_cpu(w) - cpu;
	assert_int_equal(world_nconns(w), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(cpu < 0.1); /* a spin would take all of the 400 ms */
	assert_int_equal(read_answer(fd, IN_CONNECT), 0);
	close(fd);
	origin_stop(o);
}

static void test_clients_in_vain_are_turned_away_by_a_reset(void **state)
{
	struct world *w = *state;
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(w->port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval tv = { .tv_sec = WAIT_S };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rlimit old = no_more_descriptors();
	char byte;

	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	close(fd);
}

static void ask_job(struct world *w, void *arg)
{
	(void)arg;
	policy_set_unknown(w->policy, VERDICT_ASK);
}

/* A client whose question nobody answers: it stays as long as it likes. */
static int held_client(struct world *w)
{
	static const char req[] = "CONNECT ask.example:80 HTTP/1.1\r\nHost: ask.example\r\n\r\n";
	int fd = dial_port(w->port);

	assert_true(send_all(fd, req, strlen(req)));
	return fd;
}

/* SESSION_CONNECTIONS_MAX clients are served; the next one waits until there is room. */
static void test_session_is_full_at_its_bound(void **state)
{
	struct world *w = *state;
	int *v = xcalloc(SESSION_CONNECTIONS_MAX + 1, sizeof(*v));
	struct rlimit old, wide;

	assert_true(SESSION_CONNECTIONS_MAX >= 4096);
	assert_true(PROXY_CONNECTIONS_MAX > SESSION_CONNECTIONS_MAX);
	/* a run alone: with two descriptors each and some of its own it fits into 20,000 */
	assert_in_range(LONE_CONNECTIONS_MAX, SESSION_CONNECTIONS_MAX, 9900);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	wide = old;
	wide.rlim_cur = 2 * SESSION_CONNECTIONS_MAX + 200;
	if (wide.rlim_cur > wide.rlim_max || setrlimit(RLIMIT_NOFILE, &wide) < 0) {
		free(v);
		skip();
	}
	world_call(w, ask_job, NULL);
	for (size_t i = 0; i < SESSION_CONNECTIONS_MAX; i++)
		v[i] = held_client(w);
	eventually(atomic_load(&w->asked) == SESSION_CONNECTIONS_MAX);
	v[SESSION_CONNECTIONS_MAX] = held_client(w);
	(void)usleep(3 * ACCEPT_BACKOFF_MS * 1000); /* it had its chance */
	assert_int_equal(atomic_load(&w->asked), SESSION_CONNECTIONS_MAX);
	assert_int_equal(world_nconns(w), SESSION_CONNECTIONS_MAX);
	close(v[0]);
	eventually(atomic_load(&w->asked) == SESSION_CONNECTIONS_MAX + 1);
	for (size_t i = 1; i <= SESSION_CONNECTIONS_MAX; i++)
		close(v[i]);
	eventually(world_nconns(w) == 0);
	free(v);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

struct open_job {
	int fd;
	enum listener_kind kind;
	struct target target;
};

static void open_job(struct world *w, void *arg)
{
	struct open_job *j = arg;
	struct error err;

	if (session_listen(w->session, j->fd, j->kind,
			   j->kind == LISTENER_FORWARD ? &j->target : NULL, &err) < 0)
		abort();
}

static void test_forward_listener_leads_to_its_target(void **state)
{
	struct world *w = *state;
	struct origin *o = origin_start(echo, NULL);
	struct addr lo = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
	struct open_job j = { .kind = LISTENER_FORWARD };
	char buf[4];
	uint16_t port;
	int fd;

	j.fd = listen_loopback(&port);
	target_from_addr(&lo, o->port, &j.target);
	world_call(w, open_job, &j);
	/* not listed: a reset at once */
	fd = dial_port(port);
	assert_int_equal(recv(fd, buf, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	assert_int_equal(atomic_load(&o->accepts), 0);
	world_allow_port(w, "127.0.0.1", o->port);
	fd = dial_port(port);
	assert_true(send_all(fd, "ping", 4));
	assert_true(recv_all(fd, buf, 4));
	assert_memory_equal(buf, "ping", 4);
	close(fd);
	assert_int_equal(w->told[0].target.via, VIA_FORWARD);
	origin_stop(o);
}

/*
 * The captured address is the listener's own here, and the name that the session gives for it
 * leads to an origin on the same port of another loopback address.
 */
static void test_captured_connection_is_judged_by_its_name(void **state)
{
	struct world *w = *state;
	struct open_job j = { .kind = LISTENER_CAPTURE };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct timeval tv = { .tv_sec = WAIT_S };
	char byte;
	uint16_t port;
	int canary = listen_loopback(&port), fd;

	/* 127.77.0.1:port is captured, 127.0.0.1:port is where good.example lives */
	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(0x7f4d0001);
	j.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(j.fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(j.fd, 8), 0);
	world_call(w, open_job, &j);
	world_allow(w, "good.example");
	world_allow_port(w, "127.0.0.1", port);
	/* no name: the address itself is judged, and it is loopback */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_LOOPBACK), 1);
	assert_string_equal(w->told[0].target.host.s, "127.77.0.1");
	/* with a name it goes where the name leads */
	w->name.len = 12;
	memcpy(w->name.s, "good.example", 13);
	w->have_name = true;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	{
		int server = accept(canary, NULL, NULL);

		assert_true(server >= 0);
		assert_true(send_all(fd, "x", 1));
		assert_true(recv_all(server, &byte, 1));
		close(server);
	}
	close(fd);
	close(canary);
	eventually(world_nconns(w) == 0);
}

static void test_burst_of_connections_is_served(void **state)
{
	enum { N = 300 };
	struct world *w = *state;
	struct origin *o = origin_allowed(w, echo, NULL);
	uint8_t req[512];
	size_t n = request_bytes(IN_CONNECT, "127.0.0.1", o->port, req);
	int fd[N];
	char byte;

	for (int i = 0; i < N; i++) {
		fd[i] = dial_port(w->port);
		assert_true(send_all(fd[i], req, n));
	}
	for (int i = 0; i < N; i++) {
		assert_int_equal(read_answer(fd[i], IN_CONNECT), 0);
		assert_true(send_all(fd[i], "x", 1));
	}
	for (int i = 0; i < N; i++) {
		assert_true(recv_all(fd[i], &byte, 1));
		close(fd[i]);
	}
	eventually(world_nconns(w) == 0);
	origin_stop(o);
}

struct crowd {
	struct session *session;
	uint16_t port;
	int fd[3 * ACCEPT_BATCH];
	uint64_t first; /* the number of its first connection */
};

static void crowd_job(struct world *w, void *arg)
{
	struct session_config cfg = { .policy = &w->current, .arg = w };
	struct crowd *both = arg;
	struct error err;

	for (int k = 0; k < 2; k++) {
		both[k].session = proxy_session(w->proxy, &cfg);
		if (session_listen(both[k].session, listen_loopback(&both[k].port), LISTENER_PROXY,
				   NULL, &err) < 0)
			abort();
		for (size_t i = 0; i < ARRAY_SIZE(both[k].fd); i++) {
			both[k].fd[i] = dial_port(both[k].port);
			if (!send_all(both[k].fd[i], "C",
				      1)) /* who is silent is not accepted yet */
				abort();
		}
	}
}

static void first_job(struct world *w, void *arg)
{
	struct crowd *both = arg;
	struct conn *c;

	(void)w;
	for (int k = 0; k < 2; k++) {
		both[k].first = UINT64_MAX;
		LIST_FOREACH (c, &both[k].session->conns, link)
			both[k].first = c->id < both[k].first ? c->id : both[k].first;
	}
}

static void crowd_size_job(struct world *w, void *arg)
{
	struct crowd *both = arg;

	(void)w;
	both[0].first = session_connections(both[0].session);
	both[1].first = session_connections(both[1].session);
}

static size_t crowd_size(struct world *w, struct crowd *both)
{
	world_call(w, crowd_size_job, both);
	return (size_t)(both[0].first + both[1].first);
}

/* Two full backlogs at once: whichever comes first, the other is served after one batch. */
static void test_a_batch_and_the_next_listener_has_its_turn(void **state)
{
	struct world *w = *state;
	struct crowd *both = xcalloc(2, sizeof(*both));

	world_call(w, crowd_job, both);
	eventually(crowd_size(w, both) == 6 * ACCEPT_BATCH);
	world_call(w, first_job, both);
	assert_int_equal(both[0].first > both[1].first ? both[0].first - both[1].first
						       : both[1].first - both[0].first,
			 ACCEPT_BATCH);
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < ARRAY_SIZE(both[k].fd); i++)
			close(both[k].fd[i]);
	eventually(crowd_size(w, both) == 0);
	free(both);
}

/* The silent one came first; it is accepted too, when the kernel has waited for it. */
static void test_who_has_spoken_is_accepted_first(void **state)
{
	struct world *w = *state;
	struct timespec begun, now;
	size_t n;
	int silent = -1, other = -1;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &begun), 0);
	silent = dial_port(w->port);
	other = dial_port(w->port);
	assert_true(send_all(other, "C", 1));
	eventually((n = world_nconns(w)) > 0);
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	if (now.tv_sec - begun.tv_sec < 1) /* a busy machine cannot tell */
		assert_int_equal(n, 1);
	eventually(world_nconns(w) == 2);
	close(silent);
	close(other);
	eventually(world_nconns(w) == 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_accept_waits_without_spinning_and_recovers),
		T(test_clients_in_vain_are_turned_away_by_a_reset),
		T(test_session_is_full_at_its_bound),
		T(test_forward_listener_leads_to_its_target),
		T(test_captured_connection_is_judged_by_its_name),
		T(test_burst_of_connections_is_served),
		T(test_who_has_spoken_is_accepted_first),
		T(test_a_batch_and_the_next_listener_has_its_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
