/* Each test runs in a child that has entered a network namespace of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/netns.h"

static const uint16_t ports[] = { 80, 443, 443, 53, 0, NETNS_PROXY_PORT, 8080 };
static const uint16_t forwards[] = { 8080, 15432 };

static const struct netns_plan capture_plan = {
	.capture = true,
	.ports = ports,
	.nports = 7,
	.forwards = forwards,
	.nforwards = 2,
};

static struct netns_listener v[NETNS_LISTENERS_MAX];
static size_t n;

#define CHECK(cond)                                                                 \
	do {                                                                        \
		if (!(cond)) {                                                      \
			(void)fprintf(stderr, "line %d: %s: %s\n", __LINE__, #cond, \
				      strerror(errno));                             \
			return 1;                                                   \
		}                                                                   \
	} while (0)

static int find(enum netns_kind kind, int family, unsigned port)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].kind == kind && v[i].family == family && v[i].port == port)
			return v[i].fd;
	return -1;
}

/* A connection to @ip must arrive on @listener, which sees the address dialled. */
static int check_connect(const char *ip, uint16_t port, int listener)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_storage seen;
	socklen_t len = sizeof(seen);
	int family = strchr(ip, ':') ? AF_INET6 : AF_INET;
	int s = socket(family, SOCK_STREAM, 0), c;
	char text[INET6_ADDRSTRLEN];

	CHECK(listener >= 0);
	if (family == AF_INET6) {
		CHECK(inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1);
		CHECK(connect(s, (struct sockaddr *)&in6, sizeof(in6)) == 0);
	} else {
		CHECK(inet_pton(AF_INET, ip, &in.sin_addr) == 1);
		CHECK(connect(s, (struct sockaddr *)&in, sizeof(in)) == 0);
	}
	c = accept(listener, NULL, NULL);
	CHECK(c >= 0);
	CHECK(getsockname(c, (struct sockaddr *)&seen, &len) == 0);
	if (family == AF_INET6)
		(void)inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&seen)->sin6_addr, text,
				sizeof(text));
	else
		(void)inet_ntop(AF_INET, &((struct sockaddr_in *)&seen)->sin_addr, text,
				sizeof(text));
	CHECK(strcmp(text, ip) == 0);
	(void)close(c);
	(void)close(s);
	return 0;
}

static int in_namespace(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
			perror("unshare");
			_exit(77);
		}
		_exit(body());
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	if (WEXITSTATUS(status) == 77)
		skip();
	return WEXITSTATUS(status);
}

/* A server of the command's own, on the port that it also dials elsewhere. */
static int own_server(const char *text, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (inet_pton(AF_INET, text, &in.sin_addr) != 1 ||
	    bind(s, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(s, 5) < 0) {
		perror(text);
		return -1;
	}
	return s;
}

static int body_tproxy(void)
{
	struct sockaddr_in closed = { .sin_family = AF_INET, .sin_port = htons(9999) };
	struct error err;
	int any, loopback, s = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(netns_setup(&capture_plan, v, &n, &err) == 0);
	/* proxy, two forwards, two DNS sockets, one for every captured port; each twice */
	CHECK(n == 12);
	any = own_server("0.0.0.0", 5432);
	loopback = own_server("127.0.0.1", 6379);
	CHECK(any >= 0 && loopback >= 0);
	if (check_connect("8.8.8.8", 80, find(NETNS_CAPTURE, AF_INET, NETNS_CAPTURE_PORT)) ||
	    check_connect("8.8.8.8", 5432, find(NETNS_CAPTURE, AF_INET, NETNS_CAPTURE_PORT)) ||
	    check_connect("198.18.0.1", 65535, find(NETNS_CAPTURE, AF_INET, NETNS_CAPTURE_PORT)) ||
	    check_connect("2001:db8::7", 443, find(NETNS_CAPTURE, AF_INET6, NETNS_CAPTURE_PORT)) ||
	    check_connect("9.9.9.9", 53, find(NETNS_DNS_TCP, AF_INET, 53)) ||
	    check_connect("127.0.0.1", 5432, any) || check_connect("127.0.0.1", 6379, loopback) ||
	    check_connect("127.0.0.1", 8080, find(NETNS_FORWARD, AF_INET, 8080)))
		return 1;
	/* The loopback stays the command's: nobody listens there, nobody answers. */
	closed.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(connect(s, (struct sockaddr *)&closed, sizeof(closed)) < 0 && errno == ECONNREFUSED);
	return 0;
}

static void test_setup_captures_every_port(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(body_tproxy), 0);
}

static int body_capture(void)
{
	struct netns_plan plan = capture_plan;
	struct error err;

	plan.no_tproxy = true;
	if (netns_setup(&plan, v, &n, &err)) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	/* proxy, two forwards, two DNS sockets, captured 80, 443; each for two families */
	CHECK(n == 14);
	if (check_connect("127.0.0.1", NETNS_PROXY_PORT,
			  find(NETNS_PROXY, AF_INET, NETNS_PROXY_PORT)) ||
	    check_connect("::1", NETNS_PROXY_PORT, find(NETNS_PROXY, AF_INET6, NETNS_PROXY_PORT)))
		return 1;
	if (check_connect("8.8.8.8", 80, find(NETNS_CAPTURE, AF_INET, 80)) ||
	    check_connect("2001:db8::7", 443, find(NETNS_CAPTURE, AF_INET6, 443)) ||
	    check_connect("9.9.9.9", 53, find(NETNS_DNS_TCP, AF_INET, 53)))
		return 1;
	/* A forward has its port to itself. */
	if (check_connect("127.0.0.1", 8080, find(NETNS_FORWARD, AF_INET, 8080)) ||
	    check_connect("::1", 8080, find(NETNS_FORWARD, AF_INET6, 8080)))
		return 1;
	return 0;
}

static void test_setup_without_tproxy_answers_on_the_given_ports(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(body_capture), 0);
}

static int body_plain(void)
{
	static const struct netns_plan plan = { .capture = false };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(80) };
	struct error err;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(netns_setup(&plan, v, &n, &err) == 0);
	CHECK(n == 2);
	CHECK(inet_pton(AF_INET, "8.8.8.8", &in.sin_addr) == 1);
	CHECK(connect(s, (struct sockaddr *)&in, sizeof(in)) < 0 && errno == ENETUNREACH);
	return check_connect("127.0.0.1", NETNS_PROXY_PORT,
			     find(NETNS_PROXY, AF_INET, NETNS_PROXY_PORT));
}

static void test_without_capture_nothing_else_is_reachable(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(body_plain), 0);
}

/* The query's destination must come with it, or the answer could not come from there. */
static int body_udp(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	char byte, control[256];
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct in_pktinfo info;
	struct cmsghdr *c;
	struct error err;
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(netns_setup(&capture_plan, v, &n, &err) == 0);
	CHECK(inet_pton(AF_INET, "192.168.1.1", &to.sin_addr) == 1);
	CHECK(sendto(s, "q", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1);
	CHECK(recvmsg(find(NETNS_DNS_UDP, AF_INET, 53), &msg, 0) == 1);
	c = CMSG_FIRSTHDR(&msg);
	CHECK(c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO);
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	CHECK(info.ipi_addr.s_addr == to.sin_addr.s_addr);
	return 0;
}

static void test_dns_socket_tells_the_destination(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(body_udp), 0);
}

static int body_too_many(void)
{
	static uint16_t many[NETNS_LISTENERS_MAX];
	const struct netns_plan plan = { .forwards = many, .nforwards = NETNS_LISTENERS_MAX };
	struct error err;

	for (size_t i = 0; i < NETNS_LISTENERS_MAX; i++)
		many[i] = (uint16_t)(20000 + i);
	CHECK(netns_setup(&plan, v, &n, &err) < 0);
	CHECK(strstr(err.msg, "too many"));
	CHECK(socket(AF_INET, SOCK_STREAM, 0) < 10); /* everything made before is closed */
	return 0;
}

static void test_too_many_listeners_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(body_too_many), 0);
}

/* What was set up passes, each of it once, and is no more than was said. */
static int check_made(bool capture, bool no_tproxy)
{
	const struct netns_plan plan = { .capture = capture,
					 .no_tproxy = no_tproxy,
					 .ports = ports,
					 .nports = sizeof(ports) / sizeof(ports[0]),
					 .forwards = forwards,
					 .nforwards = sizeof(forwards) / sizeof(forwards[0]) };
	struct error err;

	CHECK(netns_setup(&plan, v, &n, &err) == 0);
	CHECK(n > 0 && n < NETNS_LISTENERS_MAX && n <= netns_most(&plan));
	CHECK(netns_check(&plan, v, n, &err) == 0);
	for (size_t i = 0; i < n; i++) {
		v[n] = v[i];
		CHECK(netns_check(&plan, v, n + 1, &err) < 0);
		CHECK(strstr(err.msg, "twice"));
	}
	return 0;
}

static int body_check_bare(void)
{
	return check_made(false, false);
}

static int body_check_tproxy(void)
{
	return check_made(true, false);
}

static int body_check_ports(void)
{
	return check_made(true, true);
}

static void test_check_knows_what_setup_makes(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(body_check_bare), 0);
	assert_int_equal(in_namespace(body_check_tproxy), 0);
	assert_int_equal(in_namespace(body_check_ports), 0);
}

static void test_check_refuses_what_was_not_asked_for(void **state)
{
	static const uint16_t one_port[] = { 80 }, one_forward[] = { 2000 };
	static const struct netns_listener bad[] = {
		{ .kind = NETNS_PUBLISH, .family = AF_INET },
		{ .kind = NETNS_PROXY, .family = AF_UNIX },
		{ .kind = NETNS_CAPTURE, .family = AF_INET, .port = 81 },
		{ .kind = NETNS_FORWARD, .family = AF_INET, .index = 1 },
		{ .kind = 77, .family = AF_INET },
	};
	static const struct netns_listener bare[] = {
		{ .kind = NETNS_DNS_UDP, .family = AF_INET },
		{ .kind = NETNS_DNS_TCP, .family = AF_INET6 },
		{ .kind = NETNS_CAPTURE, .family = AF_INET, .port = NETNS_CAPTURE_PORT },
		{ .kind = NETNS_CAPTURE, .family = AF_INET, .port = 80 },
	};
	struct netns_plan plan = { .capture = true,
				   .ports = one_port,
				   .nports = 1,
				   .forwards = one_forward,
				   .nforwards = 1 };
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(netns_check(&plan, &bad[i], 1, &err), -1);
	assert_int_equal(netns_check(&plan, bare, 4, &err), 0);
	plan.capture = false;
	for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); i++)
		assert_int_equal(netns_check(&plan, &bare[i], 1, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup_captures_every_port),
		cmocka_unit_test(test_setup_without_tproxy_answers_on_the_given_ports),
		cmocka_unit_test(test_without_capture_nothing_else_is_reachable),
		cmocka_unit_test(test_dns_socket_tells_the_destination),
		cmocka_unit_test(test_too_many_listeners_is_an_error),
		cmocka_unit_test(test_check_knows_what_setup_makes),
		cmocka_unit_test(test_check_refuses_what_was_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
