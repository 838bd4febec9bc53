/*
 * The probe in a namespace with walls of the test's own: with all of them it holds; with any single
 * one left out it must say which. A forked child plays the supervisor and its proxy.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "launcher/launcher.h"
#include "launcher/proof.h"
#include "netns/netns.h"

#define NO_ARG 6

/* What stands in for our filter: @nr answers @code, if argument @arg (masked by 0xff) is @value. */
struct wall {
	const char *name;
	long nr;
	unsigned arg;
	uint32_t value;
	int code;
};

static const struct wall walls[] = {
	{ "raw sockets", SYS_socket, 2, IPPROTO_ICMP, EPERM },
	{ "packet sockets", SYS_socket, 0, AF_PACKET, EPERM },
	{ "unix sockets", SYS_socket, 0, AF_UNIX, EPERM },
	{ "unix datagram pairs", SYS_socketpair, 1, SOCK_DGRAM, EPERM },
	{ "io_uring", SYS_io_uring_setup, NO_ARG, 0, ENOSYS },
	{ "ptrace", SYS_ptrace, NO_ARG, 0, EPERM },
	{ "signals", SYS_kill, NO_ARG, 0, EPERM },
};

/* One run: what is left out, what stands in the wrong place, how the proxy misbehaves. */
struct world {
	const char *missing; /* a wall's name */
	int wrong;	     /* an errno that one wall answers instead */
	bool bait_inside;    /* the host's loopback is ours */
	bool no_tcp, no_udp;
	bool few_ports;	 /* for who dials without naming one: the bait's own and three more */
	bool no_capture; /* of the namespace */
	bool expect_no_capture; /* of the probe's knowledge */
	bool allow_unix, allow_ptrace;
	bool datagrams;		      /* somebody takes them */
	const char *refused, *canary; /* status lines of the proxy */
	bool answers;		      /* captured connections get a byte */
};

struct outcome {
	int rc;
	unsigned seen;
	struct error err;
};

static struct outcome *outcome;

static const struct proof_plan plan = {
	.refused = "sbx-net.invalid:443",
	.canary = "canary.invalid:443",
	.direct4 = { .family = AF_INET, .bytes = { 192, 0, 2, 1 } },
	.direct6 = { .family = AF_INET6, .bytes = { 0x20, 1, 0xd, 0xb8, [15] = 1 } },
	.port = 443,
};

static void build_walls(const struct world *w)
{
	struct sock_filter insn[8 * ARRAY_SIZE(walls) + 1];
	struct sock_fprog program = { .filter = insn };
	unsigned short n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(walls); i++) {
		const struct wall *x = &walls[i];
		bool named = w->missing && strcmp(w->missing, x->name) == 0;
		uint32_t code = (uint32_t)(named ? w->wrong : x->code);
		unsigned arg = x->arg == NO_ARG ? 0 : x->arg;

		if (named && !w->wrong)
			continue;
		if (x->value == AF_UNIX && x->arg == 0 && w->allow_unix)
			continue;
		if (x->nr == SYS_ptrace && w->allow_ptrace && !named)
			continue;
		insn[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							 offsetof(struct seccomp_data, nr));
		insn[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)x->nr,
							 0, 4);
		insn[n++] = (struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS,
			(uint32_t)offsetof(struct seccomp_data, args) + 8 * arg);
		insn[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
							 x->arg == NO_ARG ? 0 : 0xff);
		insn[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, x->value, 0, 1);
		insn[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code);
	}
	insn[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		_exit(90);
}

/* ---- the supervisor's side */

static void serve_proxy(const struct world *w, int fd)
{
	char head[1024] = "";
	const char *status;

	if (recv(fd, head, sizeof(head) - 1, 0) <= 0)
		return;
	if (strstr(head, plan.canary))
		status = w->canary ? w->canary : "HTTP/1.1 200 OK\r\n\r\n";
	else
		status = w->refused ? w->refused : "HTTP/1.1 403 Forbidden\r\n\r\n";
	(void)send(fd, status, strlen(status), MSG_NOSIGNAL);
}

static void serve_captured(const struct world *w, int fd)
{
	const struct linger reset = { .l_onoff = 1 };

	if (w->answers)
		(void)send(fd, "x", 1, MSG_NOSIGNAL);
	else
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

static void serve(const struct world *w, const struct netns_listener *v, size_t n)
{
	struct pollfd p[NETNS_LISTENERS_MAX];

	for (size_t i = 0; i < n; i++) {
		bool ours = v[i].kind == NETNS_PROXY || v[i].kind == NETNS_CAPTURE;

		p[i] = (struct pollfd){ .fd = ours ? v[i].fd : -1, .events = POLLIN };
	}
	while (poll(p, n, -1) > 0) {
		for (size_t i = 0; i < n; i++) {
			int fd = p[i].revents ? accept(p[i].fd, NULL, NULL) : -1;

			if (fd < 0)
				continue;
			if (v[i].kind == NETNS_PROXY)
				serve_proxy(w, fd);
			else
				serve_captured(w, fd);
			(void)close(fd);
		}
	}
}

/* ---- the sandbox's side */

static void take_datagrams(void)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(443) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0)
		_exit(91);
}

static void leave_few_ports(unsigned first)
{
	CLEANUP_CLOSE int fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "%u %u", first, first + 3) < 0)
		_exit(95);
}

static void inside(const struct world *w) __attribute__((noreturn));

static void inside(const struct world *w)
{
	static struct netns_listener v[NETNS_LISTENERS_MAX];
	const struct launcher_plan run = { .net.capture = !w->expect_no_capture,
					   .allow_unix_sockets = w->allow_unix,
					   .allow_ptrace = w->allow_ptrace,
					   .proof = &plan };
	const struct netns_plan net = { .capture = !w->no_capture };
	struct proof p;
	size_t n = 0;
	pid_t self = getpid();

	if (!w->bait_inside && proof_open(&p, &run, &outcome->err) < 0)
		_exit(92);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || netns_setup(&net, v, &n, &outcome->err))
		_exit(93);
	if (w->bait_inside && proof_open(&p, &run, &outcome->err) < 0)
		_exit(94);
	if (w->no_tcp)
		p.tcp_port = 0;
	if (w->no_udp)
		p.udp_port = 0;
	p.scoped = true;
	if (w->few_ports)
		leave_few_ports(w->no_tcp ? p.udp_port : p.tcp_port);
	if (w->datagrams)
		take_datagrams();
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == self)
			serve(w, v, n);
		_exit(0);
	}
	for (size_t i = 0; i < n; i++)
		(void)close(v[i].fd);
	build_walls(w);
	outcome->rc = proof_run(&p, &outcome->seen, &outcome->err);
	_exit(0);
}

static const struct outcome *try_world(const struct world *w)
{
	pid_t pid;
	int status;

	memset(outcome, 0, sizeof(*outcome));
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		inside(w);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("status %x: %s", (unsigned)status, outcome->err.msg);
	return outcome;
}

/* Exactly this was not as it must be: nothing else is named. */
static void expect_surprise(const struct world *w, const char *text)
{
	const struct outcome *o = try_world(w);

	if (o->rc != -1 || !strstr(o->err.msg, text))
		fail_msg("expected '%s', got %d '%s'", text, o->rc, o->err.msg);
}

static void expect_only(const struct world *w, const char *text)
{
	expect_surprise(w, text);
	if (strchr(outcome->err.msg, ';'))
		fail_msg("expected '%s' alone, got '%s'", text, outcome->err.msg);
}

/* ---- */

static void test_run_holds(void **state)
{
	const struct world whole = { 0 }, unix_allowed = { .allow_unix = true };
	const struct world tracing = { .allow_ptrace = true };
	const struct world no_capture = { .no_capture = true, .expect_no_capture = true };
	const struct outcome *o = try_world(&whole);

	(void)state;
	if (o->rc)
		fail_msg("%s", o->err.msg);
	assert_int_equal(o->seen, PROOF_REFUSED | PROOF_CANARY | PROOF_DIRECT4 | PROOF_DIRECT6);
	assert_int_equal(try_world(&unix_allowed)->rc, 0);
	assert_int_equal(try_world(&tracing)->rc, 0);
	o = try_world(&no_capture);
	if (o->rc)
		fail_msg("%s", o->err.msg);
	assert_int_equal(o->seen, PROOF_REFUSED | PROOF_CANARY);
}

static void test_run_names_each_wall_that_is_missing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(walls); i++) {
		const struct world missing = { .missing = walls[i].name };
		const struct world wrong = { .missing = walls[i].name, .wrong = ENOMEM };

		expect_surprise(&missing, walls[i].name);
		expect_surprise(&wrong, walls[i].name);
		assert_non_null(strstr(outcome->err.msg, strerror(ENOMEM)));
	}
}

/* Pid 1 is in no domain of the command's: that it cannot be traced is tried, not believed. */
static void test_run_tries_to_trace_pid_1_where_tracing_is_allowed(void **state)
{
	const struct world wrong = { .allow_ptrace = true, .missing = "ptrace", .wrong = ENOMEM };

	(void)state;
	expect_only(&wrong, "ptrace of pid 1");
}

static void test_run_finds_the_host(void **state)
{
	const struct world tcp = { .bait_inside = true, .no_udp = true };
	const struct world udp = { .bait_inside = true, .no_tcp = true };
	const struct world abstract = {
		.bait_inside = true, .no_tcp = true, .no_udp = true, .allow_unix = true
	};

	(void)state;
	expect_only(&tcp, "TCP to the host: possible");
	expect_only(&udp, "UDP to the host: possible");
	expect_only(&abstract, "abstract sockets: possible");
}

/* The kernel gives a probe the bait's number in one of four rounds; that must not be the bait. */
static void test_run_does_not_find_itself(void **state)
{
	const struct world tcp = { .few_ports = true, .no_udp = true };
	const struct world udp = { .few_ports = true, .no_tcp = true };

	(void)state;
	for (int i = 0; i < 24; i++) {
		if (try_world(&tcp)->rc || try_world(&udp)->rc)
			fail_msg("round %d: %s", i, outcome->err.msg);
	}
}

static void test_run_finds_a_route(void **state)
{
	const struct world captured = { .expect_no_capture = true }; /* somebody routes */
	const struct world lost = { .no_capture = true };	     /* nobody captures */
	const struct world taken = { .datagrams = true };
	const struct world answered = { .answers = true };

	(void)state;
	expect_surprise(&captured, "direct TCP over IPv4: possible");
	expect_surprise(&captured, "direct TCP over IPv6: possible");
	expect_surprise(&lost, "direct TCP over IPv4");
	expect_only(&taken, "direct UDP: possible");
	expect_surprise(&answered, "direct TCP over IPv4: answered");
	expect_surprise(&answered, "direct TCP over IPv6: answered");
}

static void test_run_wants_the_proxy_to_do_its_part(void **state)
{
	const struct world open = { .refused = "HTTP/1.1 200 OK\r\n\r\n" };
	const struct world deaf = { .canary = "" };
	const struct world other = { .canary = "HTTP/1.1 403 Forbidden\r\n\r\n" };

	(void)state;
	expect_only(&open, "a refused name through the proxy: HTTP/1.1 200 OK");
	expect_only(&deaf, "the proxy's own name: no answer");
	expect_only(&other, "the proxy's own name: HTTP/1.1 403 Forbidden");
}

static void test_open_without_a_plan_lays_nothing(void **state)
{
	const struct launcher_plan run = { 0 };
	struct proof p;
	struct error err;

	(void)state;
	assert_int_equal(proof_open(&p, &run, &err), 0);
	assert_null(p.plan);
	assert_int_equal(p.tcp, -1);
	assert_int_equal(p.udp, -1);
	proof_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_holds),
		cmocka_unit_test(test_run_names_each_wall_that_is_missing),
		cmocka_unit_test(test_run_tries_to_trace_pid_1_where_tracing_is_allowed),
		cmocka_unit_test(test_run_finds_the_host),
		cmocka_unit_test(test_run_does_not_find_itself),
		cmocka_unit_test(test_run_finds_a_route),
		cmocka_unit_test(test_run_wants_the_proxy_to_do_its_part),
		cmocka_unit_test(test_open_without_a_plan_lays_nothing),
	};

	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (outcome == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
