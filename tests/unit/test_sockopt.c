/* The limits that the kernel keeps for us: read back from a socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "proxy/limits.h"
#include "proxy/sockopt.h"

static int get(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static bool resets(int fd)
{
	struct linger how;
	socklen_t len = sizeof(how);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_LINGER, &how, &len), 0);
	return how.l_onoff && how.l_linger == 0;
}

static void test_stream_sets_what_limits_say(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int fd = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			continue; /* no IPv6 here */
		assert_int_equal(get(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
		sockopt_stream(fd);
		assert_int_equal(get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(get(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
		assert_int_equal(get(fd, SOL_SOCKET, SO_OOBINLINE), 1);
		assert_int_equal(get(fd, IPPROTO_TCP, TCP_KEEPIDLE), KEEPALIVE_IDLE_S);
		assert_int_equal(get(fd, IPPROTO_TCP, TCP_KEEPINTVL), KEEPALIVE_INTERVAL_S);
		assert_int_equal(get(fd, IPPROTO_TCP, TCP_KEEPCNT), KEEPALIVE_COUNT);
		assert_int_equal(get(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), TCP_USER_TIMEOUT_MS);
		assert_true(resets(fd));
		fd_linger(fd, false);
		assert_false(resets(fd));
		close(fd);
	}
}

static void assert_reno(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
	assert_string_equal(name, "reno");
}

static void test_near_is_not_paced_and_passes_it_on(void **state)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), accepted;

	(void)state;
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	sockopt_near(listener);
	assert_reno(listener);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&sa, len), 0);
	accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	assert_reno(accepted);
	close(accepted);
	close(client);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_sets_what_limits_say),
		cmocka_unit_test(test_near_is_not_paced_and_passes_it_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
