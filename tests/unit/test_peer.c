/* Peers are namespaces: one more than our own is that of a child. */
#include "cli/serve/peer.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/serve/budget.h"

static const struct budget plenty = { .sessions = SESSIONS_MAX, .listeners = 1000 };
static const struct budget little = { .sessions = SESSIONS_MAX, .listeners = 100 };

static int door(struct sockaddr_un *sa, socklen_t *len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*len = sizeof(sa_family_t);
	assert_int_equal(bind(fd, (struct sockaddr *)sa, *len),
			 0); /* a name of the kernel's choice */
	*len = sizeof(*sa);
	assert_int_equal(getsockname(fd, (struct sockaddr *)sa, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static struct peer *join(struct peers *p)
{
	struct sockaddr_un sa;
	socklen_t len;
	int listening = door(&sa, &len);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	struct peer *peer;

	assert_int_equal(connect(client, (struct sockaddr *)&sa, len), 0);
	fd = accept(listening, NULL, NULL);
	assert_true(fd >= 0);
	peer = peer_join(p, fd);
	(void)close(fd);
	(void)close(client);
	(void)close(listening);
	return peer;
}

static void test_join_knows_a_namespace_again(void **state)
{
	struct peers p;
	struct peer *a, *b;

	(void)state;
	peers_init(&p, &plenty);
	a = join(&p);
	assert_int_not_equal(a->netns, 0);
	assert_ptr_equal(join(&p), a);
	assert_int_equal(a->clients, 2);
	assert_int_equal(a->idle, 2);
	if (unshare(CLONE_NEWNET) < 0)
		skip();
	b = join(&p); /* from here on sockets are of another one */
	assert_ptr_not_equal(a, b);
	assert_int_not_equal(a->netns, b->netns);
	assert_ptr_equal(peer_busiest(&p), a);
	peer_leave(&p, a);
	peer_leave(&p, a);
	assert_ptr_equal(peer_busiest(&p), b);
	peer_leave(&p, b);
	assert_null(peer_busiest(&p));
	assert_true(LIST_EMPTY(&p.list));
}

static void test_take_session_bounds_a_peer(void **state)
{
	struct peers p;
	struct peer *a;

	(void)state;
	peers_init(&p, &plenty);
	for (int i = 0; i <= PEER_SESSIONS_MAX; i++)
		a = join(&p);
	for (int i = 0; i < PEER_SESSIONS_MAX; i++)
		assert_null(peer_take_session(&p, a, 1));
	assert_non_null(
		strstr(peer_take_session(&p, a, 1), "network namespace has as many sessions"));
	assert_int_equal(a->idle, 1);
	peer_give_session(&p, a, 1);
	assert_null(peer_take_session(&p, a, 1)); /* what is given back counts again */
	for (int i = 0; i < PEER_SESSIONS_MAX; i++)
		peer_give_session(&p, a, 1);
	for (int i = 0; i <= PEER_SESSIONS_MAX; i++)
		peer_leave(&p, a);
	assert_int_equal(p.sessions + p.listeners.taken, 0);
}

/* Who has taken all that can be had leaves a part for who comes next. */
static void test_take_session_leaves_listeners(void **state)
{
	struct peers p;
	struct peer other = { .netns = 1 }, third = { .netns = 2 };
	struct peer *a;

	(void)state;
	peers_init(&p, &little);
	a = join(&p);
	(void)join(&p);
	p.listeners.takers = 3; /* the others of this test are not found by a socket */
	assert_null(peer_take_session(&p, a, 37));
	assert_non_null(strstr(peer_take_session(&p, a, 1), "listeners"));
	other.clients = other.idle = third.idle = 2;
	assert_null(peer_take_session(&p, &other, 60)); /* the first may be out of what is kept */
	assert_non_null(strstr(peer_take_session(&p, &other, 1), "listeners"));
	assert_non_null(strstr(peer_take_session(&p, &third, 4), "listeners"));
	assert_null(peer_take_session(&p, &third, 3));
	peer_give_listeners(&p, a, 35); /* fewer have come */
	assert_null(peer_take_session(&p, a, 3));
	assert_int_equal(a->listeners, 5);
	assert_int_equal(p.listeners.taken, 68);
	peer_give_session(&p, a, 2);
	peer_give_session(&p, a, 3);
	peer_leave(&p, a);
	peer_leave(&p, a);
}

static void test_take_session_bounds_all(void **state)
{
	struct peer many[SESSIONS_MAX / PEER_SESSIONS_MAX + 1] = { { .netns = 0 } };
	size_t taken = 0;
	struct peers p;

	(void)state;
	peers_init(&p, &plenty);
	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		many[i].idle = PEER_SESSIONS_MAX;
		while (many[i].idle > 0 && !peer_take_session(&p, &many[i], 0))
			taken++;
	}
	assert_int_equal(taken, SESSIONS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_session_bounds_a_peer),
		cmocka_unit_test(test_take_session_bounds_all),
		cmocka_unit_test(test_join_knows_a_namespace_again),
		cmocka_unit_test(test_take_session_leaves_listeners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
