/* The relay: every byte, half-closes kept, failures told by a reset, no connection lost. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/relay.h"

#define BIG	(3 * 1024 * 1024)
#define PATIENT 20000 /* turns of at most a millisecond */

static char dir[] = "/tmp/sbx-net-relay-XXXXXX";
static struct sockaddr_un proxy_addr = { .sun_family = AF_UNIX };
static struct sockaddr_in relay_addr;
static struct relay *relay;
static int proxy;

static void turn(void)
{
	struct pollfd p = { .fd = relay_fd(relay), .events = POLLIN };

	(void)poll(&p, 1, 1);
	relay_turn(relay);
}

static void listen_proxy(int backlog)
{
	proxy = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)unlink(proxy_addr.sun_path);
	assert_int_equal(bind(proxy, (struct sockaddr *)&proxy_addr, sizeof(proxy_addr)), 0);
	assert_int_equal(listen(proxy, backlog), 0);
}

static int setup(void **state)
{
	struct error err = { 0 };
	socklen_t len = sizeof(relay_addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	listen_proxy(64);
	relay_addr = (struct sockaddr_in){ .sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)&relay_addr, sizeof(relay_addr)), 0);
	assert_int_equal(listen(fd, 256), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&relay_addr, &len), 0);
	relay = relay_new(proxy_addr.sun_path, &err);
	assert_non_null(relay);
	assert_int_equal(relay_listen(relay, fd, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	relay_free(relay);
	(void)close(proxy);
	return 0;
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&relay_addr, sizeof(relay_addr)), 0);
	return fd;
}

static int accept_proxy(void)
{
	for (int i = 0; i < PATIENT; i++) {
		struct pollfd p = { .fd = proxy, .events = POLLIN };

		if (poll(&p, 1, 0) == 1)
			return accept4(proxy, NULL, NULL, SOCK_CLOEXEC);
		turn();
	}
	fail_msg("nobody came");
	return -1;
}

static void pair(int *client, int *server)
{
	*client = dial();
	*server = accept_proxy();
}

/* Reads to the end, with turns between. Return: bytes, or -1 with errno. */
static ssize_t read_all(int fd, char *buf, size_t max)
{
	size_t have = 0;

	for (int i = 0; i < PATIENT; i++) {
		ssize_t n = recv(fd, buf + have, max - have, MSG_DONTWAIT);

		if (n == 0)
			return (ssize_t)have;
		if (n > 0)
			have += (size_t)n;
		else if (errno != EAGAIN)
			return -1;
		else
			turn();
		if (have == max)
			return (ssize_t)have;
	}
	errno = ETIMEDOUT;
	return -1;
}

static void gone(void)
{
	for (int i = 0; i < PATIENT && relay_connections(relay) > 0; i++)
		turn();
	assert_int_equal(relay_connections(relay), 0);
}

static void test_turn_loses_no_urgent_byte(void **state)
{
	char buf[16];
	int client, server;

	(void)state;
	pair(&client, &server);
	assert_int_equal(send(client, "pin", 3, MSG_OOB), 3);
	assert_int_equal(send(client, "g", 1, 0), 1);
	assert_int_equal(shutdown(client, SHUT_WR), 0);
	assert_int_equal(read_all(server, buf, sizeof(buf)), 4);
	assert_memory_equal(buf, "ping", 4);
	(void)close(server);
	(void)close(client);
	gone();
}

static void test_turn_keeps_half_closes(void **state)
{
	char buf[16];
	int client, server;

	(void)state;
	pair(&client, &server);
	assert_int_equal(send(client, "ping", 4, 0), 4);
	assert_int_equal(shutdown(client, SHUT_WR), 0);
	assert_int_equal(read_all(server, buf, sizeof(buf)), 4);
	assert_memory_equal(buf, "ping", 4);
	assert_int_equal(relay_connections(relay), 1);
	assert_int_equal(send(server, "answer", 6, 0), 6); /* after the client's end */
	(void)close(server);
	assert_int_equal(read_all(client, buf, sizeof(buf)), 6);
	assert_memory_equal(buf, "answer", 6);
	(void)close(client);
	gone();
}

static void test_turn_half_close_of_the_proxy(void **state)
{
	char buf[16];
	int client, server;

	(void)state;
	pair(&client, &server);
	assert_int_equal(send(server, "bye", 3, 0), 3);
	assert_int_equal(shutdown(server, SHUT_WR), 0);
	assert_int_equal(read_all(client, buf, sizeof(buf)), 3);
	assert_int_equal(send(client, "late", 4, 0), 4);
	assert_int_equal(shutdown(client, SHUT_WR), 0);
	assert_int_equal(read_all(server, buf, sizeof(buf)), 4);
	(void)close(client);
	(void)close(server);
	gone();
}

/* A big transfer to a slow reader and right after it the end: every byte arrives. */
static void big(int from, int to)
{
	char *sent = malloc(BIG), *got = malloc(BIG + 1);
	size_t done = 0, have = 0, room;

	for (size_t i = 0; i < BIG; i++)
		sent[i] = (char)(i * 2654435761U >> 13);
	for (int i = 0; i < 10 * PATIENT && have < BIG; i++) {
		ssize_t n = done < BIG ? send(from, sent + done, BIG - done, MSG_DONTWAIT) : 0;

		done += n > 0 ? (size_t)n : 0;
		if (done == BIG && n > 0)
			(void)close(from);
		room = BIG + 1 - have;
		n = recv(to, got + have, i % 3 && room > 1000 ? 1000 : room, MSG_DONTWAIT);
		have += n > 0 ? (size_t)n : 0;
		relay_turn(relay);
	}
	assert_int_equal(have, BIG);
	assert_memory_equal(sent, got, BIG);
	assert_int_equal(read_all(to, got, 1), 0);
	(void)close(to);
	free(sent);
	free(got);
	gone();
}

static void test_turn_delivers_every_byte_up(void **state)
{
	int client, server;

	(void)state;
	pair(&client, &server);
	big(client, server);
}

static void test_turn_delivers_every_byte_down(void **state)
{
	int client, server;

	(void)state;
	pair(&client, &server);
	big(server, client);
}

static void test_turn_resets_when_the_proxy_fails(void **state)
{
	char buf[16];
	int client, server;

	(void)state;
	pair(&client, &server);
	assert_int_equal(send(client, "unread", 6, 0), 6);
	for (int i = 0; i < 50; i++)
		turn();
	assert_int_equal(send(server, "part", 4, 0), 4);
	(void)close(server); /* with unread bytes: an error for its peer */
	errno = 0;
	assert_int_equal(read_all(client, buf, sizeof(buf)), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_memory_equal(buf, "part", 4); /* what came before it is there */
	(void)close(client);
	gone();
}

static void test_turn_resets_when_there_is_no_proxy(void **state)
{
	char buf[1];
	int client;

	(void)state;
	(void)close(proxy);
	client = dial();
	assert_int_equal(read_all(client, buf, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	(void)close(client);
	gone();
	listen_proxy(64); /* and it comes back */
	client = dial();
	(void)close(accept_proxy());
	(void)close(client);
	gone();
}

static void test_turn_ends_when_the_client_breaks(void **state)
{
	const struct linger rst = { .l_onoff = 1, .l_linger = 0 };
	char buf[1];
	int client, server;

	(void)state;
	pair(&client, &server);
	(void)setsockopt(client, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	(void)close(client);
	assert_int_equal(read_all(server, buf, 1), 0);
	(void)close(server);
	gone();
	/* also behind its own end, when nobody has anything to say */
	pair(&client, &server);
	assert_int_equal(shutdown(client, SHUT_WR), 0);
	assert_int_equal(read_all(server, buf, 1), 0);
	(void)setsockopt(client, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	(void)close(client);
	gone();
	(void)close(server);
}

/* A proxy that answers and closes while the client still sends: the answer arrives. */
static void test_turn_last_words_of_a_proxy_that_reads_no_more(void **state)
{
	static char junk[256 * 1024];
	char buf[16];
	int client, server;

	(void)state;
	pair(&client, &server);
	assert_int_equal(send(server, "refused", 7, 0), 7);
	assert_int_equal(shutdown(server, SHUT_RDWR), 0);
	for (int i = 0; i < 50; i++) {
		(void)!send(client, junk, 1000, MSG_DONTWAIT | MSG_NOSIGNAL);
		turn();
	}
	assert_int_equal(read_all(client, buf, sizeof(buf)), 7);
	(void)close(server);
	(void)close(client);
	gone();
}

/* More clients at once than the proxy's backlog holds: they wait, none is turned away. */
static void test_turn_waits_for_a_full_backlog(void **state)
{
	int client[40];
	char buf[1];

	(void)state;
	(void)close(proxy);
	listen_proxy(1);
	for (int i = 0; i < 40; i++)
		client[i] = dial();
	for (int i = 0; i < 100; i++)
		turn();
	for (int i = 0; i < 40; i++) {
		int server = accept_proxy();

		(void)close(server);
	}
	for (int i = 0; i < 40; i++) {
		assert_int_equal(read_all(client[i], buf, 1), 0);
		(void)close(client[i]);
	}
	gone();
}

static void test_new_refuses_a_long_path(void **state)
{
	struct error err = { 0 };
	char path[200];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_null(relay_new(path, &err));
	assert_non_null(strstr(err.msg, "107 bytes"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_turn_loses_no_urgent_byte),
		T(test_turn_keeps_half_closes),
		T(test_turn_half_close_of_the_proxy),
		T(test_turn_delivers_every_byte_up),
		T(test_turn_delivers_every_byte_down),
		T(test_turn_resets_when_the_proxy_fails),
		T(test_turn_resets_when_there_is_no_proxy),
		T(test_turn_ends_when_the_client_breaks),
		T(test_turn_last_words_of_a_proxy_that_reads_no_more),
		T(test_turn_waits_for_a_full_backlog),
		cmocka_unit_test(test_new_refuses_a_long_path),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	(void)snprintf(proxy_addr.sun_path, sizeof(proxy_addr.sun_path), "%s/p", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(proxy_addr.sun_path);
	(void)rmdir(dir);
	return failed;
}
