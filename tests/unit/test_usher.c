/* What a client sends, and what of it comes by way of the process that receives. */
#include "cli/serve/usher.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"

#define WAIT_MS (20 * 1000)

static int setup(void **state)
{
	struct error err;

	*state = usher_start(&err);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	usher_free(*state);
	return 0;
}

static int inet(int family, int type, int protocol, bool listening)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -1;
	if (family == AF_INET)
		assert_int_equal(bind(fd, (struct sockaddr *)&four, sizeof(four)), 0);
	else
		assert_int_equal(bind(fd, (struct sockaddr *)&six, sizeof(six)), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static int connected(void)
{
	int l = inet(AF_INET, SOCK_STREAM, 0, true);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);

	assert_int_equal(getsockname(l, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	(void)close(l);
	return fd;
}

static int pipe_end(void)
{
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	(void)close(fd[1]);
	return fd[0];
}

/* @fd is sent and closed. Return: how many descriptors come; -1: the end comes. */
static int comes(struct usher *u, int fd)
{
	struct error err;
	int pair[2], from, got[2], n = 0;
	struct pollfd p;
	size_t nfds = 0;
	char text[8];

	assert_true(fd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			 0);
	from = usher_receive(u, pair[0], &err);
	assert_true(from >= 0);
	assert_int_equal(fd_send(pair[1], "text", 4, &fd, 1), 0);
	(void)close(fd);
	p = (struct pollfd){ .fd = from, .events = POLLIN };
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	if (fd_recv(from, text, sizeof(text), got, 2, &nfds) == 4) {
		n = (int)nfds;
		assert_memory_equal(text, "text", 4);
		for (size_t i = 0; i < nfds; i++)
			(void)close(got[i]);
		assert_int_equal(shutdown(from, SHUT_WR), 0);
		assert_int_equal(poll(&p, 1, WAIT_MS), 1); /* it ends when it is told to */
		assert_int_equal(recv(from, text, 1, 0), 0);
	} else {
		n = -1;
	}
	(void)close(from);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return n;
}

static void test_receive_passes_listeners_only(void **state)
{
	struct usher *u = *state;
	int odd;

	assert_int_equal(comes(u, inet(AF_INET, SOCK_STREAM, 0, true)), 1);
	assert_int_equal(comes(u, inet(AF_INET6, SOCK_STREAM, 0, true)), 1);
	assert_int_equal(comes(u, inet(AF_INET, SOCK_DGRAM, 0, false)), 1);
	assert_int_equal(comes(u, inet(AF_INET6, SOCK_DGRAM, 0, false)), 1);
	assert_int_equal(comes(u, connected()), -1);
	assert_int_equal(comes(u, inet(AF_INET, SOCK_STREAM, 0, false)), -1);
	assert_int_equal(comes(u, pipe_end()), -1);
	assert_int_equal(comes(u, open("/dev/null", O_RDONLY | O_CLOEXEC)), -1);
	assert_int_equal(comes(u, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), -1);
	odd = inet(AF_INET, SOCK_STREAM, IPPROTO_MPTCP, true);
	if (odd >= 0)
		assert_int_equal(comes(u, odd), -1);
}

static void test_receive_ends_with_the_client(void **state)
{
	struct usher *u = *state;
	struct error err;
	struct pollfd p;
	int pair[2], from;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			 0);
	from = usher_receive(u, pair[0], &err);
	assert_true(from >= 0);
	p = (struct pollfd){ .fd = from, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 50), 0); /* it waits */
	(void)close(pair[1]);
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(recv(from, &byte, 1, 0), 0);
	(void)close(from);
	(void)close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_receive_passes_listeners_only, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_receive_ends_with_the_client, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
