/* Listeners through a socket: whole, in order, and nothing that does not fit its record. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "netns/bridge.h"

#define MANY 150 /* three frames */

/* @fd: a socket */
static int listening(int fd)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static int make_listener(void)
{
	return listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static void round_trip(int type)
{
	static struct netns_listener in[MANY], out[NETNS_LISTENERS_MAX];
	struct error err = { 0 };
	size_t n = 0;
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
	for (uint16_t i = 0; i < MANY; i++)
		in[i] = (struct netns_listener){ .kind = NETNS_FORWARD,
						 .family = AF_INET,
						 .port = (uint16_t)(1000 + i),
						 .index = i,
						 .fd = make_listener() };
	pid = fork();
	if (pid == 0)
		_exit(bridge_send(pair[0], in, MANY, NULL) ? 1 : 0);
	assert_int_equal(bridge_recv(pair[1], out, &n, &err), 0);
	assert_int_equal(n, MANY);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(out[i].kind, NETNS_FORWARD);
		assert_int_equal(out[i].port, 1000 + i);
		assert_int_equal(out[i].index, i);
		assert_int_equal(inode_of(out[i].fd), inode_of(in[i].fd));
		assert_true(fcntl(out[i].fd, F_GETFD) & FD_CLOEXEC);
		(void)close(out[i].fd);
		(void)close(in[i].fd);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_recv_gets_what_send_sent(void **state)
{
	(void)state;
	round_trip(SOCK_STREAM);
	round_trip(SOCK_SEQPACKET);
}

/* Sends one listener with a record changed by the test; everything received must be closed. */
static void refused(struct netns_listener l, const char *why)
{
	static struct netns_listener out[NETNS_LISTENERS_MAX];
	struct error err = { 0 };
	int pair[2], before;
	size_t n = 77;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	before = count_fds();
	assert_int_equal(bridge_send(pair[0], &l, 1, &err), 0);
	assert_int_equal(bridge_recv(pair[1], out, &n, &err), -1);
	assert_non_null(strstr(err.msg, why));
	assert_int_equal(n, 77);
	assert_int_equal(count_fds(), before);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_recv_refuses_what_does_not_fit(void **state)
{
	struct netns_listener good = { .kind = NETNS_PROXY, .family = AF_INET, .port = 1 };
	struct netns_listener bad;

	(void)state;
	good.fd = make_listener();
	bad = good;
	bad.kind = 200;
	refused(bad, "malformed");
	bad = good;
	bad.kind = NETNS_DNS_UDP;
	refused(bad, "malformed");
	bad = good;
	bad.family = AF_INET6;
	refused(bad, "malformed");
	bad = good;
	bad.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	refused(bad, "malformed");
	(void)close(bad.fd);
	bad.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	refused(bad, "malformed"); /* a socket, but not listening */
	(void)close(bad.fd);
	bad.kind = NETNS_DNS_UDP;
	bad.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDPLITE);
	if (bad.fd >= 0) { /* this kernel has it */
		refused(bad, "malformed");
		(void)close(bad.fd);
	}
	bad.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (bad.fd >= 0) { /* this kernel has it */
		refused((struct netns_listener){ .kind = NETNS_PROXY,
						 .family = AF_INET,
						 .port = 1,
						 .fd = listening(bad.fd) },
			"malformed");
		(void)close(bad.fd);
	}
	(void)close(good.fd);
}

static void test_recv_reports_eof(void **state)
{
	static struct netns_listener out[NETNS_LISTENERS_MAX];
	struct error err;
	int pair[2];
	size_t n;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	(void)close(pair[0]);
	assert_int_equal(bridge_recv(pair[1], out, &n, &err), -1);
	assert_non_null(strstr(err.msg, "ended"));
	(void)close(pair[1]);
}

/* A frame that is not ours, with a descriptor on it. */
static void test_recv_refuses_garbage(void **state)
{
	static struct netns_listener out[NETNS_LISTENERS_MAX];
	static const char garbage[4096];
	struct error err;
	int pair[2], fd = make_listener(), before;
	size_t n;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	before = count_fds();
	assert_int_equal(fd_send(pair[0], garbage, sizeof(garbage), &fd, 1), 0);
	assert_int_equal(bridge_recv(pair[1], out, &n, &err), -1);
	assert_int_equal(count_fds(), before);
	(void)close(pair[0]);
	(void)close(pair[1]);
	(void)close(fd);
}

/* The same without blocking: frames in pieces, and nothing read beyond the end mark. */
static void test_rx_turn_takes_frames_in_pieces(void **state)
{
	static struct netns_listener in[MANY];
	static struct bridge_rx rx;
	struct error err = { 0 };
	int pair[2], before = count_fds(), rc = 0;
	char rest[8];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	for (uint16_t i = 0; i < MANY; i++)
		in[i] = (struct netns_listener){
			.kind = NETNS_FORWARD, .family = AF_INET, .index = i, .fd = make_listener()
		};
	bridge_rx_init(&rx, NETNS_LISTENERS_MAX);
	assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(bridge_rx_turn(&rx, pair[1], &err), 0);
	pid = fork();
	if (pid == 0)
		_exit(bridge_send(pair[0], in, MANY, NULL) || send(pair[0], "rest", 4, 0) != 4);
	for (long i = 0; i < 10000000 && rc == 0; i++)
		rc = bridge_rx_turn(&rx, pair[1], &err);
	assert_int_equal(rc, 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(recv(pair[1], rest, sizeof(rest), 0), 4);
	assert_int_equal(rx.n, MANY);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(rx.v[i].index, i);
		assert_int_equal(inode_of(rx.v[i].fd), inode_of(in[i].fd));
		(void)close(in[i].fd);
	}
	bridge_rx_clear(&rx);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(count_fds(), before);
}

static void test_rx_turn_refuses_garbage(void **state)
{
	static const char garbage[4096];
	static struct bridge_rx rx;
	struct error err = { 0 };
	int pair[2], fd = make_listener(), before;

	(void)state;
	for (int where = 0; where < 2; where++) { /* a descriptor at the start, or in the middle */
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
		bridge_rx_init(&rx, NETNS_LISTENERS_MAX);
		before = count_fds();
		if (where == 1) {
			assert_int_equal(send(pair[0], garbage, 10, 0), 10);
			assert_int_equal(bridge_rx_turn(&rx, pair[1], &err), 0);
		}
		assert_int_equal(fd_send(pair[0], garbage, sizeof(garbage), &fd, 1), 0);
		assert_int_equal(bridge_rx_turn(&rx, pair[1], &err), -1);
		bridge_rx_clear(&rx);
		assert_int_equal(count_fds(), before);
		(void)close(pair[0]);
		bridge_rx_init(&rx, NETNS_LISTENERS_MAX);
		(void)close(pair[1]);
	}
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recv_gets_what_send_sent),
		cmocka_unit_test(test_recv_refuses_what_does_not_fit),
		cmocka_unit_test(test_recv_reports_eof),
		cmocka_unit_test(test_recv_refuses_garbage),
		cmocka_unit_test(test_rx_turn_takes_frames_in_pieces),
		cmocka_unit_test(test_rx_turn_refuses_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
