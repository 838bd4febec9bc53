/* Each test runs in a child that has entered a network namespace of its own. */
#include "netns/emptyns.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "netns/netlink.h"

/* What a child does in its namespace before the check; 0 when it could. */
typedef int prepare(void);

static int nothing(void)
{
	return 0;
}

static int raise_lo(void)
{
	CLEANUP_CLOSE int sock = netlink_open(0);

	return netlink_lo_up(sock);
}

static int request(unsigned long what, struct ifreq *r)
{
	CLEANUP_CLOSE int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return ioctl(sock, what, r);
}

/* A tun device "leak0", down and without an address. */
static int make_tun(void)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	struct ifreq r = { .ifr_name = "leak0", .ifr_flags = IFF_TUN | IFF_NO_PI };

	return fd < 0 ? -1 : ioctl(fd, TUNSETIFF, &r);
}

static int tun_up(void)
{
	struct ifreq r = { .ifr_name = "leak0", .ifr_flags = IFF_UP };

	return make_tun() || request(SIOCSIFFLAGS, &r);
}

static int tun_address(void)
{
	struct ifreq r = { .ifr_name = "leak0" };
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(0xc0000201) };

	memcpy(&r.ifr_addr, &in, sizeof(in));
	return make_tun() || request(SIOCSIFADDR, &r) ||
	       (r.ifr_flags = 0, request(SIOCSIFFLAGS, &r));
}

/* A tun device by the name of a fallback tunnel. */
static int make_fake_fallback(void)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	struct ifreq r = { .ifr_name = "tunl0", .ifr_flags = IFF_TUN | IFF_NO_PI };

	return fd < 0 ? -1 : ioctl(fd, TUNSETIFF, &r);
}

#define CANNOT 77

/* Return: 0 empty with lo down, 1 empty with lo up, 2 refused by name, CANNOT. */
static int in_child(prepare *before, bool admin)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct error err = { 0 };
		bool up = false;

		if (unshare(CLONE_NEWNET) < 0 || before() != 0)
			_exit(CANNOT);
		if (emptyns_check(admin, &up, &err) == 0)
			_exit(up ? 1 : 0);
		(void)fprintf(stderr, "%s\n", err.msg);
		_exit(strstr(err.msg, "not empty: leak0 ") ? 2 : 3);
	}
	assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect(prepare *before, bool admin, int want)
{
	int got = in_child(before, admin);

	if (got == CANNOT)
		skip();
	assert_int_equal(got, want);
}

static void test_check_accepts_an_empty_one(void **state)
{
	(void)state;
	expect(nothing, false, 0);
	expect(raise_lo, false, 1);
	expect(nothing, true, 0); /* with the kernel's own tunnel devices, where it has some */
	expect(raise_lo, true, 1);
	expect(make_tun, false, 0);
}

static void test_check_names_what_leads_out(void **state)
{
	(void)state;
	expect(tun_up, false, 2);
	expect(tun_address, false, 2);
	expect(tun_up, true, 2);
}

/* A device that is down leads out as soon as somebody raises it. */
static void test_check_with_admin_wants_no_device(void **state)
{
	(void)state;
	expect(make_tun, true, 2);
	expect(make_fake_fallback, true, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_accepts_an_empty_one),
		cmocka_unit_test(test_check_names_what_leads_out),
		cmocka_unit_test(test_check_with_admin_wants_no_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
