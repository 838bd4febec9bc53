#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/ask/who.h"

/* A connection over loopback; the client's end is passed to a child, which alone keeps it. */
struct world {
	int listener, client;
	struct who_socket socket;
	pid_t child;
};

static void start(struct world *w, int family, int kind)
{
	struct sockaddr_storage ss = { .ss_family = (sa_family_t)family };
	socklen_t len = sizeof(ss);

	w->listener = socket(family, kind | SOCK_CLOEXEC, 0);
	w->client = socket(family, kind | SOCK_CLOEXEC, 0);
	if (family == AF_INET)
		((struct sockaddr_in *)&ss)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&ss)->sin6_addr = in6addr_loopback;
	assert_int_equal(bind(w->listener, (struct sockaddr *)&ss, len), 0);
	if (kind == SOCK_STREAM)
		assert_int_equal(listen(w->listener, 1), 0);
	assert_int_equal(getsockname(w->listener, (struct sockaddr *)&ss, &len), 0);
	assert_int_equal(connect(w->client, (struct sockaddr *)&ss, len), 0);
	len = sizeof(ss);
	assert_int_equal(getsockname(w->client, (struct sockaddr *)&ss, &len), 0);
	w->socket.udp = kind == SOCK_DGRAM;
	assert_true(addr_from_sockaddr((struct sockaddr *)&ss, &w->socket.addr, &w->socket.port));
	w->child = fork();
	if (w->child == 0) {
		(void)pause();
		_exit(0);
	}
	(void)close(w->client);
}

static void end(struct world *w)
{
	(void)kill(w->child, SIGKILL);
	(void)waitpid(w->child, NULL, 0);
	(void)close(w->listener);
}

static void finds_the_child(int family, int kind)
{
	struct who who = { .pid = 0 };
	struct who_socket other;
	struct world w;

	start(&w, family, kind);
	assert_true(who_find(getpid(), &w.socket, &who));
	assert_int_equal(who.pid, w.child);
	assert_non_null(strstr(who.chain, "test_who"));
	assert_non_null(strstr(who.argv, "test_who"));
	/* not of this sandbox: below another pid 1 */
	assert_false(who_find(w.child, &w.socket, &who));
	other = w.socket;
	other.addr.bytes[3] ^= 1;
	assert_false(who_find(getpid(), &other, &who));
	other = w.socket;
	other.udp = !other.udp;
	assert_false(who_find(getpid(), &other, &who));
	end(&w);
	assert_false(who_find(getpid(), &w.socket, &who));
}

static void test_holder_of_an_ipv4_socket(void **state)
{
	(void)state;
	finds_the_child(AF_INET, SOCK_STREAM);
	finds_the_child(AF_INET, SOCK_DGRAM);
}

/* One that only sends has a port and no address; whatever address its datagrams came from. */
static void test_holder_of_a_socket_without_address(void **state)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct who_socket want = { .udp = true };
	struct who who = { .pid = 0 };
	socklen_t len = sizeof(sa);
	pid_t child;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_true(addr_parse("127.0.0.1", 9, &want.addr));
	want.port = ntohs(sa.sin_port);
	child = fork();
	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	(void)close(fd);
	assert_true(who_find(getpid(), &want, &who));
	assert_int_equal(who.pid, child);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	assert_false(who_find(getpid(), &want, &who));
}

static void test_holder_of_an_ipv6_socket(void **state)
{
	int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	bool here = probe >= 0 && bind(probe, (struct sockaddr *)&sa, sizeof(sa)) == 0;

	(void)state;
	if (probe >= 0)
		(void)close(probe);
	if (!here)
		skip();
	finds_the_child(AF_INET6, SOCK_STREAM);
	finds_the_child(AF_INET6, SOCK_DGRAM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holder_of_an_ipv4_socket),
		cmocka_unit_test(test_holder_of_an_ipv6_socket),
		cmocka_unit_test(test_holder_of_a_socket_without_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
