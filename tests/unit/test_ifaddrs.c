/* The own-address list, in a network namespace whose addresses are known. */
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

static int body(void)
{
	struct addr_set own = { 0 };
	struct error err;
	int nl = netlink_open(0), watch = ifaddrs_watch(&err);

	CHECK(nl >= 0 && watch >= 0);
	CHECK(ifaddrs_list(&own, &err) == 0 && own.n == 0);
	CHECK(!ifaddrs_changed(watch));
	CHECK(netlink_lo_up(nl) == 0);
	CHECK(ifaddrs_changed(watch));
	CHECK(!ifaddrs_changed(watch));
	CHECK(ifaddrs_list(&own, &err) == 0 && own.n == 2);
	CHECK(has(&own, "127.0.0.1") && has(&own, "::1"));
	CHECK(has(&own, "127.0.0.2") && !has(&own, "126.255.255.255")); /* local 127.0.0.0/8 */
	CHECK(!has(&own, "192.0.2.1") && !has(&own, "2001:db8::1"));
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
