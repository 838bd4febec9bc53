#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/ask/who.h"

/* A connection over loopback; the client's end is passed to a child, which alone keeps it. */
struct world {
	int listener, client;
	struct who_socket socket;
	pid_t child;
};

static void start(struct world *w, int family, int kind)
{
	struct sockaddr_storage ss = { .ss_family = (sa_family_t)family };
	socklen_t len = sizeof(ss);

	w->listener = socket(family, kind | SOCK_CLOEXEC, 0);
	w->client = socket(family, kind | SOCK_CLOEXEC, 0);
	if (family == AF_INET)
		((struct sockaddr_in *)&ss)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&ss)->sin6_addr = in6addr_loopback;
	assert_int_equal(bind(w->listener, (struct sockaddr *)&ss, len), 0);
	if (kind == SOCK_STREAM)
		assert_int_equal(listen(w->listener, 1), 0);
	assert_int_equal(getsockname(w->listener, (struct sockaddr *)&ss, &len), 0);
	assert_int_equal(connect(w->client, (struct sockaddr *)&ss, len), 0);
	len = sizeof(ss);
	assert_int_equal(getsockname(w->client, (struct sockaddr *)&ss, &len), 0);
	w->socket.udp = kind == SOCK_DGRAM;
	assert_true(addr_from_sockaddr((struct sockaddr *)&ss, &w->socket.addr, &w->socket.port));
}

/* A child, which alone keeps the client's end, runs @body with it. */
static void give(struct world *w, void (*body)(int client, void *arg), void *arg)
{
	w->child = fork();
	if (w->child == 0) {
		body(w->client, arg);
		_exit(1);
	}
	(void)close(w->client);
}

static void wait_for_the_end(int client, void *arg)
{
	(void)client, (void)arg;
	(void)pause();
}

static void end(struct world *w)
{
	(void)kill(w->child, SIGKILL);
	(void)waitpid(w->child, NULL, 0);
	(void)close(w->listener);
}

static void finds_the_child(int family, int kind)
{
	struct who who = { .pid = 0 };
	struct who_socket other;
	struct world w;

	start(&w, family, kind);
	give(&w, wait_for_the_end, NULL);
	assert_true(who_find(getpid(), &w.socket, &who));
	assert_int_equal(who.pid, w.child);
	assert_non_null(strstr(who.chain, "test_who"));
	assert_non_null(strstr(who.argv, "test_who"));
	/* not of this sandbox: below another pid 1 */
	assert_false(who_find(w.child, &w.socket, &who));
	other = w.socket;
	other.addr.bytes[3] ^= 1;
	assert_false(who_find(getpid(), &other, &who));
	other = w.socket;
	other.udp = !other.udp;
	assert_false(who_find(getpid(), &other, &who));
	end(&w);
	assert_false(who_find(getpid(), &w.socket, &who));
}

static void test_holder_of_an_ipv4_socket(void **state)
{
	(void)state;
	finds_the_child(AF_INET, SOCK_STREAM);
	finds_the_child(AF_INET, SOCK_DGRAM);
}

/* One that only sends has a port and no address; whatever address its datagrams came from. */
static void test_holder_of_a_socket_without_address(void **state)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct who_socket want = { .udp = true };
	struct who who = { .pid = 0 };
	socklen_t len = sizeof(sa);
	pid_t child;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_true(addr_parse("127.0.0.1", 9, &want.addr));
	want.port = ntohs(sa.sin_port);
	child = fork();
	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	(void)close(fd);
	assert_true(who_find(getpid(), &want, &who));
	assert_int_equal(who.pid, child);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	assert_false(who_find(getpid(), &want, &who));
}

static void test_holder_of_an_ipv6_socket(void **state)
{
	int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	bool here = probe >= 0 && bind(probe, (struct sockaddr *)&sa, sizeof(sa)) == 0;

	(void)state;
	if (probe >= 0)
		(void)close(probe);
	if (!here)
		skip();
	finds_the_child(AF_INET6, SOCK_STREAM);
	finds_the_child(AF_INET6, SOCK_DGRAM);
}

/* argv of a script that says when it runs, and stays */
struct script {
	const char *argv[3];
	int said[2];
};

static void run_script(int client, void *arg)
{
	const struct script *s = arg;
	int hold[2];

	(void)fcntl(client, F_SETFD, 0);
	if (pipe(hold) == 0 && dup2(hold[0], 0) == 0 && dup2(s->said[1], 1) == 1)
		(void)execv(s->argv[0], (char *const *)(uintptr_t)s->argv);
}

/* What a "#!" started is named as its user knows it, not by the interpreter alone. */
static void expect_name(const char *expected, const char *name, const char *line, bool direct)
{
	char dir[] = "/tmp/test-who-XXXXXX", path[64], byte;
	struct script s = { .argv = { direct ? path : "/bin/sh", direct ? NULL : path } };
	struct who who = { .pid = 0 };
	struct world w;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	(void)fprintf(f, "%s\necho; read x\n", line);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(pipe(s.said), 0);
	start(&w, AF_INET, SOCK_STREAM);
	give(&w, run_script, &s);
	(void)close(s.said[1]);
	assert_int_equal(read(s.said[0], &byte, 1), 1);
	assert_true(who_find(getpid(), &w.socket, &who));
	assert_string_equal(who.chain, expected);
	(void)close(s.said[0]);
	(void)unlink(path);
	(void)rmdir(dir);
	end(&w);
}

static void test_names_the_script(void **state)
{
	static const char name[] = "fetch-all-that-there-is";

	(void)state;
	expect_name("fetch", "fetch", "#!/bin/sh", true);
	expect_name("fetch", "fetch", "#!/bin/sh -e", true);
	expect_name(name, name, "#!/bin/sh", true);
	expect_name("sh", "fetch", "#!/bin/sh", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holder_of_an_ipv4_socket),
		cmocka_unit_test(test_holder_of_an_ipv6_socket),
		cmocka_unit_test(test_holder_of_a_socket_without_address),
		cmocka_unit_test(test_names_the_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
