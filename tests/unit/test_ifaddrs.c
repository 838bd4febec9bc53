/* The own-address list, in a network namespace whose addresses are known. */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/ifaddrs.h"
#include "netns/netlink.h"

#define CHECK(cond)                                                              \
	do {                                                                     \
		if (!(cond)) {                                                   \
			(void)fprintf(stderr, "line %d: %s\n", __LINE__, #cond); \
			return 1;                                                \
		}                                                                \
	} while (0)

static bool has(const struct addr_set *s, const char *text)
{
	struct addr a;

	return addr_parse(text, strlen(text), &a) && addr_set_contains(s, &a);
}

static bool acknowledged(int nl, const void *req, size_t n)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char more[512];
	} back;

	return send(nl, req, n, 0) == (ssize_t)n && recv(nl, &back, sizeof(back), 0) > 0 &&
	       back.h.nlmsg_type == NLMSG_ERROR && back.e.error == 0;
}

/* An interface that is not lo, of which each network is this machine as a whole: its index, or 0. */
static int other_interface(int nl)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg m;
		struct rtattr info, kind;
		char name[4];
	} req = { .h = { .nlmsg_len = sizeof(req),
			 .nlmsg_type = RTM_NEWLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE },
		  .info = { .rta_type = IFLA_LINKINFO, .rta_len = RTA_LENGTH(RTA_LENGTH(4)) },
		  .kind = { .rta_type = IFLA_INFO_KIND, .rta_len = RTA_LENGTH(4) },
		  .name = { 'v', 'e', 't', 'h' } };

	return acknowledged(nl, &req, sizeof(req)) ? (int)if_nametoindex("veth0") : 0;
}

static bool give(int nl, int index, const char *text, uint8_t bits)
{
	struct {
		struct nlmsghdr h;
		struct ifaddrmsg m;
		struct rtattr a;
		uint8_t addr[4];
	} req = {
		.h = { .nlmsg_len = sizeof(req),
		       .nlmsg_type = RTM_NEWADDR,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE },
		.m = { .ifa_family = AF_INET, .ifa_prefixlen = bits, .ifa_index = (unsigned)index },
		.a = { .rta_type = IFA_LOCAL, .rta_len = RTA_LENGTH(4) }
	};
	struct addr a;

	if (!addr_parse(text, strlen(text), &a))
		return false;
	memcpy(req.addr, a.bytes, 4);
	return acknowledged(nl, &req, sizeof(req));
}

/* The first and the last address of a network of ours, and none beside them. */
static int edges(int nl, int index)
{
	struct addr_set own = { 0 };
	struct error err;

	CHECK(give(nl, index, "192.0.2.5", 24) && give(nl, index, "198.51.100.69", 26) &&
	      give(nl, index, "203.0.113.7", 32) && give(nl, index, "203.0.113.65", 31));
	CHECK(ifaddrs_list(&own, &err) == 0);
	CHECK(has(&own, "192.0.2.0") && has(&own, "192.0.2.5") && has(&own, "192.0.2.255"));
	CHECK(has(&own, "::ffff:192.0.2.0") && !has(&own, "192.0.2.1"));
	CHECK(has(&own, "198.51.100.64") && has(&own, "198.51.100.127"));
	CHECK(!has(&own, "198.51.100.0") && !has(&own, "198.51.100.63"));
	CHECK(!has(&own, "198.51.100.128") && !has(&own, "198.51.100.255"));
	CHECK(has(&own, "203.0.113.7") && !has(&own, "203.0.113.0"));
	CHECK(has(&own, "203.0.113.65") && !has(&own, "203.0.113.64"));
	ifaddrs_clear(&own);
	return 0;
}

static int body(void)
{
	struct addr_set own = { 0 };
	struct error err;
	int nl = netlink_open(0), watch = ifaddrs_watch(&err), other;

	CHECK(nl >= 0 && watch >= 0);
	CHECK(ifaddrs_list(&own, &err) == 0 && own.n == 0);
	CHECK(!ifaddrs_changed(watch));
	CHECK(netlink_lo_up(nl) == 0);
	CHECK(ifaddrs_changed(watch));
	CHECK(!ifaddrs_changed(watch));
	CHECK(ifaddrs_list(&own, &err) == 0);
	CHECK(has(&own, "127.0.0.1") && has(&own, "::1"));
	CHECK(has(&own, "127.0.0.2") && !has(&own, "126.255.255.255")); /* local 127.0.0.0/8 */
	CHECK(own.n == 4 && has(&own, "127.0.0.0") && has(&own, "127.255.255.255"));
	CHECK(!has(&own, "192.0.2.1") && !has(&own, "2001:db8::1"));
	other = other_interface(nl);
	CHECK(other == 0 || edges(nl, other) == 0); /* a kernel without veth has tests enough */
	(void)ifaddrs_changed(watch);
	CHECK(netlink_local_any(nl, AF_INET) == 0);
	CHECK(ifaddrs_changed(watch));
	CHECK(ifaddrs_list(&own, &err) == 0);
	CHECK(has(&own, "192.0.2.1") && has(&own, "::ffff:192.0.2.1") && !has(&own, "2001:db8::1"));
	CHECK(netlink_local_any(nl, AF_INET6) == 0);
	CHECK(ifaddrs_changed(watch));
	CHECK(ifaddrs_list(&own, &err) == 0);
	CHECK(has(&own, "2001:db8::1"));
	ifaddrs_clear(&own);
	CHECK(own.n == 0 && !own.v && own.nblocks == 0 && !own.blocks);
	return 0;
}

static void test_list_follows_the_interfaces(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
			_exit(77);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_follows_the_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
