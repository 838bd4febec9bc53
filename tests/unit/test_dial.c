/* One connection to any of several addresses. */
#include "tests/support/proxyworld.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "proxy/dial.h"
#include "proxy/limits.h"
#include "proxy/session.h"

struct outcome {
	struct event_base *base;
	struct dial *dial;
	int fd;
	struct addr addr;
	int error;
	int calls;
};

static void over(void *arg, int fd, const struct addr *addr, int error)
{
	struct outcome *o = arg;

	o->fd = fd;
	o->addr = *addr;
	o->error = error;
	o->calls++;
	dial_free(o->dial);
	o->dial = NULL;
	event_base_loopbreak(o->base);
}

static struct addr ip(const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return a;
}

/* A listener on @text:@port (0: any) whose backlog takes @backlog. */
static int listen_on(const char *text, uint16_t *port, int backlog)
{
	struct addr a = ip(text);
	struct sockaddr_storage ss;
	socklen_t len = addr_to_sockaddr(&a, *port, &ss);
	int fd = socket(a.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&ss, len), 0);
	assert_int_equal(listen(fd, backlog), 0);
	len = sizeof(ss);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	assert_true(addr_from_sockaddr((struct sockaddr *)&ss, &a, port));
	return fd;
}

static void start_for(struct outcome *o, struct share *share, uint16_t port)
{
	*o = (struct outcome){ .base = event_base_new(), .fd = -1 };
	o->dial = dial_new(o->base, share, port, over, o);
}

static void start(struct outcome *o, uint16_t port)
{
	start_for(o, NULL, port);
}

static void finish(struct outcome *o)
{
	if (!o->calls)
		event_base_dispatch(o->base);
	assert_int_equal(o->calls, 1);
	dial_free(o->dial);
	event_base_free(o->base);
}

static double now_ms(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void test_add_connects_to_the_first_that_answers(void **state)
{
	struct addr v[3] = { ip("127.0.0.2"), ip("127.0.0.3"), ip("127.0.0.4") };
	struct outcome o;
	uint16_t port = 0;
	int fd = listen_on("127.0.0.4", &port, 8);

	(void)state;
	start(&o, port);
	dial_add(o.dial, v, 3, false);
	finish(&o);
	assert_true(o.fd >= 0);
	assert_true(addr_equal(&o.addr, &v[2]));
	close(o.fd);
	close(fd);
}

/* D-006, D-027: only what was vetted is tried, by address, and one gets the bytes. */
static void test_add_tries_ipv6_and_ipv4_in_turn(void **state)
{
	struct addr v[4] = { ip("127.0.0.2"), ip("127.0.0.3"), ip("127.0.0.4"), ip("::1") };
	struct outcome o;
	uint16_t port = 0;
	int fd4 = listen_on("127.0.0.2", &port, 8);
	int fd6 = listen_on("::1", &port, 8);

	(void)state;
	start(&o, port);
	dial_add(o.dial, v, 4, false);
	finish(&o);
	assert_true(o.fd >= 0);
	assert_true(addr_equal(&o.addr, &v[3]));
	close(o.fd);
	close(fd6);
	/* and with IPv6 dead, IPv4 */
	start(&o, port);
	dial_add(o.dial, v, 4, false);
	finish(&o);
	assert_true(o.fd >= 0);
	assert_true(addr_equal(&o.addr, &v[0]));
	close(o.fd);
	close(fd4);
}

static void test_add_reports_the_first_failure(void **state)
{
	struct addr v[2] = { ip("127.0.0.2"), ip("127.0.0.3") };
	struct outcome o;
	uint16_t port = 0;

	(void)state;
	close(listen_on("127.0.0.2", &port, 8));
	start(&o, port);
	dial_add(o.dial, v, 2, false);
	finish(&o);
	assert_int_equal(o.fd, -1);
	assert_int_equal(o.error, ECONNREFUSED);
	assert_true(addr_equal(&o.addr, &v[0]));
}

/* A failure is no end while more addresses may come. */
static void test_add_waits_for_late_addresses(void **state)
{
	struct addr dead = ip("127.0.0.2"), good = ip("127.0.0.3");
	struct outcome o;
	uint16_t port = 0;
	int fd = listen_on("127.0.0.3", &port, 8);

	(void)state;
	start(&o, port);
	dial_add(o.dial, &dead, 1, true);
	for (int i = 0; i < 100; i++) {
		event_base_loop(o.base, EVLOOP_NONBLOCK);
		(void)usleep(1000);
	}
	assert_int_equal(o.calls, 0);
	dial_add(o.dial, &good, 1, false);
	finish(&o);
	assert_true(addr_equal(&o.addr, &good));
	close(o.fd);
	/* nothing more came */
	start(&o, port);
	dial_add(o.dial, &dead, 1, true);
	dial_add(o.dial, NULL, 0, false);
	finish(&o);
	assert_int_equal(o.error, ECONNREFUSED);
	close(fd);
}

/* An address that swallows packets: a listener whose backlog is full. */
static int black_hole(const char *text, uint16_t *port, int *filler, int n)
{
	struct addr a = ip(text);
	int fd = listen_on(text, port, 0);

	for (int i = 0; i < n; i++) {
		struct sockaddr_storage ss;
		socklen_t len = addr_to_sockaddr(&a, *port, &ss);

		filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(filler[i], (struct sockaddr *)&ss, len);
	}
	return fd;
}

/* RFC 8305 section 3: IPv4 that came first waits a moment for IPv6. */
static void test_add_waits_for_the_aaaa_answer(void **state)
{
	struct addr good = ip("127.0.0.3");
	struct outcome o;
	uint16_t port = 0;
	int fd = listen_on("127.0.0.3", &port, 8);
	double started = now_ms();

	(void)state;
	start(&o, port);
	dial_add(o.dial, &good, 1, true);
	finish(&o);
	assert_true(o.fd >= 0);
	assert_true(now_ms() - started >= CONNECT_AAAA_WAIT_MS - 2);
	close(o.fd);
	/* the twin: nothing more will come, nothing is waited for */
	started = now_ms();
	start(&o, port);
	dial_add(o.dial, &good, 1, false);
	assert_int_equal(o.calls, 1);
	finish(&o);
	close(o.fd);
	close(fd);
}

/* An address that swallows packets takes a place for good; there are so many and no more. */
static void test_attempts_at_a_time_are_bounded(void **state)
{
	struct addr v[CONNECT_ATTEMPTS_MAX + 4];
	struct outcome o;
	uint16_t port = 0;
	int filler[4];
	int hole = black_hole("127.0.0.2", &port, filler, 4);
	size_t before = count_fds(), most = 0;
	double started = now_ms();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = ip("127.0.0.2");
	start(&o, port);
	before = count_fds();
	dial_add(o.dial, v, ARRAY_SIZE(v), false);
	while (now_ms() - started < CONNECT_ATTEMPT_DELAY_MS * (CONNECT_ATTEMPTS_MAX + 1)) {
		event_base_loop(o.base, EVLOOP_NONBLOCK);
		most = count_fds() - before > most ? count_fds() - before : most;
		(void)usleep(5000);
	}
	assert_int_equal(most, CONNECT_ATTEMPTS_MAX);
	assert_int_equal(o.calls, 0);
	dial_free(o.dial);
	event_base_free(o.base);
	close(hole);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
}

/* Another attempt is another descriptor: whoever has no more of them waits for the one under way. */
static void test_attempts_are_of_a_share(void **state)
{
	struct addr v[CONNECT_ATTEMPTS_MAX + 2];
	struct proxy *p = xcalloc(1, sizeof(*p));
	struct share *share, *other;
	struct outcome o;
	uint16_t port = 0, good = 0;
	int filler[4];
	int hole = black_hole("127.0.0.2", &port, filler, 4), fd;
	double started;

	(void)state;
	LIST_INIT(&p->shares);
	p->stock.max = 12; /* 3 kept, and of the others half: 4 */
	share = share_get(p, 1);
	other = share_get(p, 2);
	share_take(share, CONNECTION_DESCRIPTORS);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = ip("127.0.0.2");
	start_for(&o, share, port);
	dial_add(o.dial, v, ARRAY_SIZE(v), false);
	while (share->taken < 4 && !o.calls)
		event_base_loop(o.base, EVLOOP_ONCE);
	for (started = now_ms(); now_ms() - started < CONNECT_ATTEMPT_DELAY_MS * 3;) {
		event_base_loop(o.base, EVLOOP_NONBLOCK);
		assert_int_equal(share->taken, 4);
		(void)usleep(5000);
	}
	dial_free(o.dial);
	event_base_free(o.base);
	assert_int_equal(share->taken, CONNECTION_DESCRIPTORS);
	/* one after the other: those that fail are followed by the one that does not */
	close(listen_on("127.0.0.3", &good, 8));
	fd = listen_on("127.0.0.4", &good, 8);
	p->stock.max = CONNECTION_DESCRIPTORS;
	v[0] = ip("127.0.0.3");
	v[1] = ip("127.0.0.4");
	start_for(&o, share, good);
	dial_add(o.dial, v, 2, false);
	finish(&o);
	assert_true(addr_equal(&o.addr, &v[1]));
	assert_int_equal(share->taken, CONNECTION_DESCRIPTORS);
	close(o.fd);
	close(fd);
	close(hole);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
	share_give(share, CONNECTION_DESCRIPTORS);
	share_put(share);
	share_put(other);
	assert_int_equal(p->stock.takers + p->stock.taken, 0);
	free(p);
}

static void test_silent_address_does_not_hold_the_next_one_up(void **state)
{
	struct addr v[2] = { ip("127.0.0.2"), ip("127.0.0.3") };
	struct outcome o;
	uint16_t port = 0;
	int filler[4];
	int hole = black_hole("127.0.0.2", &port, filler, 4);
	int fd = listen_on("127.0.0.3", &port, 8);
	double started = now_ms();

	(void)state;
	start(&o, port);
	dial_add(o.dial, v, 2, false);
	finish(&o);
	assert_true(addr_equal(&o.addr, &v[1]));
	assert_true(now_ms() - started >= CONNECT_ATTEMPT_DELAY_MS - 2);
	assert_true(now_ms() - started < CONNECT_TIMEOUT_MS / 2);
	close(o.fd);
	close(fd);
	close(hole);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
}

static void test_silence_ends_in_a_timeout(void **state)
{
	struct addr a = ip("127.0.0.2");
	struct outcome o;
	uint16_t port = 0;
	int filler[4];
	int hole = black_hole("127.0.0.2", &port, filler, 4);
	double started = now_ms();

	(void)state;
	start(&o, port);
	dial_add(o.dial, &a, 1, false);
	finish(&o);
	assert_int_equal(o.fd, -1);
	assert_int_equal(o.error, ETIMEDOUT);
	assert_true(now_ms() - started >= CONNECT_TIMEOUT_MS - 2);
	assert_true(now_ms() - started < 2 * CONNECT_TIMEOUT_MS);
	assert_true(addr_equal(&o.addr, &a));
	close(hole);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
}

static void test_free_gives_up_every_attempt(void **state)
{
	struct addr v[2] = { ip("127.0.0.2"), ip("127.0.0.2") };
	struct outcome o;
	uint16_t port = 0;
	int filler[4];
	int hole = black_hole("127.0.0.2", &port, filler, 4);
	size_t before = count_fds();

	(void)state;
	start(&o, port);
	dial_add(o.dial, v, 2, true);
	event_base_loop(o.base, EVLOOP_NONBLOCK);
	dial_free(o.dial);
	event_base_dispatch(o.base); /* nothing is left to wait for */
	event_base_free(o.base);
	assert_int_equal(o.calls, 0);
	assert_int_equal(count_fds(), before);
	close(hole);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
}

/* A namespace in which the kernel has one port to give away. */
static void leave_one_port(unsigned port)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int sock, range;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		_exit(90);
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	range = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
	if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &lo) < 0 ||
	    dprintf(range, "%u %u", port, port) < 0)
		_exit(91);
	close(range);
	close(sock);
}

/* Whether a connection to that port of an address comes about; the child's status. */
static int dial_the_one_port(const char *text)
{
	const struct addr a = ip(text);
	struct outcome o;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		leave_one_port(40000);
		start(&o, 40000);
		dial_add(o.dial, &a, 1, false);
		finish(&o);
		_exit(o.fd < 0 ? o.error : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Where nothing listens a socket may connect to itself, and would echo what a client sends. */
static void test_a_connection_to_itself_is_none(void **state)
{
	(void)state;
	assert_int_equal(dial_the_one_port("127.0.0.1"), ECONNREFUSED);
	assert_int_equal(dial_the_one_port("::1"), ECONNREFUSED);
	assert_int_equal(dial_the_one_port("0.0.0.0"), ECONNREFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_connects_to_the_first_that_answers),
		cmocka_unit_test(test_add_tries_ipv6_and_ipv4_in_turn),
		cmocka_unit_test(test_add_reports_the_first_failure),
		cmocka_unit_test(test_add_waits_for_late_addresses),
		cmocka_unit_test(test_add_waits_for_the_aaaa_answer),
		cmocka_unit_test(test_attempts_at_a_time_are_bounded),
		cmocka_unit_test(test_attempts_are_of_a_share),
		cmocka_unit_test(test_silent_address_does_not_hold_the_next_one_up),
		cmocka_unit_test(test_silence_ends_in_a_timeout),
		cmocka_unit_test(test_free_gives_up_every_attempt),
		cmocka_unit_test(test_a_connection_to_itself_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
