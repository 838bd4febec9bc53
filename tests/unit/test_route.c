/*
 * Where a connection ended up, as the kernel says it, against where it was let go to.
 *
 * getpeername() and getsockname() are interposed: what is defined here goes before libc's.
 */
#include "tests/support/proxyworld.h"

#include <sys/syscall.h>

/* What the calls say of every connected IPv4 socket of the loop; 0 for the truth. */
static atomic_uint peer_lie, local_lie;
static _Thread_local bool in_loop;

static void lie(struct sockaddr *sa, unsigned addr)
{
	if (in_loop && addr && sa->sa_family == AF_INET)
		((struct sockaddr_in *)sa)->sin_addr.s_addr = htonl(addr);
}

int getpeername(int fd, struct sockaddr *restrict sa, socklen_t *restrict len)
{
	int rc = (int)syscall(SYS_getpeername, fd, sa, len);

	if (rc == 0)
		lie(sa, atomic_load(&peer_lie));
	return rc;
}

int getsockname(int fd, struct sockaddr *restrict sa, socklen_t *restrict len)
{
	int rc = (int)syscall(SYS_getsockname, fd, sa, len);

	if (rc == 0)
		lie(sa, atomic_load(&local_lie));
	return rc;
}

static void mark_job(struct world *w, void *arg)
{
	(void)w;
	(void)arg;
	in_loop = true;
}

static int setup(void **state)
{
	struct world *w = world_start();

	world_call(w, mark_job, NULL);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	atomic_store(&peer_lie, 0);
	atomic_store(&local_lie, 0);
	world_stop(*state);
	return 0;
}

struct seen {
	atomic_int over;
	_Atomic uint64_t bytes;
};

static void count(int fd, void *arg)
{
	struct seen *s = arg;
	char buf[4096];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		atomic_fetch_add(&s->bytes, (uint64_t)n);
	atomic_fetch_add(&s->over, 1);
	close(fd);
}

/* A request with early data. Return: the answer; what the origin got is in @s at the end. */
static int request(struct world *w, enum way_in in, uint16_t port)
{
	uint8_t req[600];
	size_t n = request_bytes(in, "127.0.0.1", port, req);
	int fd = dial_port(w->port), answer;

	memcpy(req + n, "early", 5);
	assert_true(send_all(fd, req, n + 5));
	answer = read_answer(fd, in);
	(void)shutdown(fd, SHUT_WR);
	close(fd);
	return answer;
}

/* D-007: the peer is judged again by its address; not one byte goes to another. */
static void test_peer_is_judged_again(void **state)
{
	static const struct {
		unsigned addr;
		enum code code;
	} row[] = { { 0x7f000002, CODE_LOOPBACK },
		    { 0xa9fea9fe, CODE_METADATA },
		    { 0x0a010203, CODE_PRIVATE } };
	static const int refused[IN_NUM] = { 403, 2, 2, 0x5b, 0x5b };
	struct world *w = *state;
	struct seen seen = { 0 };
	struct origin *o = origin_allowed(w, count, &seen);
	int asked = 0;

	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		atomic_store(&peer_lie, row[i].addr);
		for (enum way_in in = 0; in < IN_NUM; in++) {
			assert_int_equal(request(w, in, o->port), refused[in]);
			asked++;
			eventually(atomic_load(&seen.over) == asked);
			assert_int_equal(atomic_load(&seen.bytes), 0);
		}
		assert_int_equal(world_count(w, PROXY_EVENT_DECISION, row[i].code), IN_NUM);
	}
	/* and when the kernel says what was expected, they get through */
	atomic_store(&peer_lie, 0);
	for (enum way_in in = 0; in < IN_NUM; in++) {
		assert_int_equal(request(w, in, o->port), 0);
		asked++;
		eventually(atomic_load(&seen.over) == asked);
		assert_int_equal(atomic_load(&seen.bytes), 5 * ((int)in + 1));
	}
	origin_stop(o);
}

/* both ends have one address, so it is this machine's, listed as its own or not. */
static void test_connection_to_itself_is_refused(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };
	struct origin *o = origin_allowed(w, count, &seen);

	world_allow(w, "good.example");
	world_allow(w, "*");
	/* the name leads to 127.0.0.1, which is listed; the kernel says it is a public address */
	atomic_store(&peer_lie, 0x2d212002);
	atomic_store(&local_lie, 0x2d212002);
	assert_int_equal(request(w, IN_CONNECT, o->port), 403);
	eventually(atomic_load(&seen.over) == 1);
	assert_int_equal(atomic_load(&seen.bytes), 0);
	assert_int_equal(world_count(w, PROXY_EVENT_DECISION, CODE_OWN_ADDRESS), 1);
	/* from another address of ours to that one it is a host like another */
	atomic_store(&local_lie, 0x2d212003);
	assert_int_equal(request(w, IN_CONNECT, o->port), 0);
	eventually(atomic_load(&seen.over) == 2);
	assert_int_equal(atomic_load(&seen.bytes), 5);
	origin_stop(o);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_peer_is_judged_again),
		T(test_connection_to_itself_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
