/*
 * The whole machine with every system call failing once: no hang, no crash, no descriptor lost, no
 * clean end behind missing bytes, and the next client is served.
 *
 * The calls are interposed: what is defined here goes before libc's. They fail in the loop's
 * thread only.
 */
#include "tests/support/proxyworld.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define BODY 200000

enum call {
	CALL_ACCEPT,
	CALL_RECV,
	CALL_SEND,
	CALL_SPLICE,
	CALL_SOCKET,
	CALL_CONNECT,
	CALL_SETSOCKOPT,
	CALL_GETSOCKOPT,
	CALL_GETPEERNAME,
	CALL_GETSOCKNAME,
	CALL_PIPE,
	CALL_EPOLL_CTL,
	CALL_NUM
};

static const char *const call_name[CALL_NUM] = { "accept4",	"recv",	      "send",
						 "splice",	"socket",     "connect",
						 "setsockopt",	"getsockopt", "getpeername",
						 "getsockname", "pipe2",      "epoll_ctl" };

/* The @at-th call of kind @call fails with @error; -1 makes a send short instead. */
static struct {
	atomic_int call, at, error, seen;
} inject;
static _Thread_local bool in_loop;

/* Return: the errno to fail with, or 0. */
static int fault(enum call call)
{
	if (!in_loop || atomic_load(&inject.call) != (int)call)
		return 0;
	return atomic_fetch_add(&inject.seen, 1) + 1 == atomic_load(&inject.at)
		       ? atomic_load(&inject.error)
		       : 0;
}

#define FAIL(call)                        \
	do {                              \
		int error_ = fault(call); \
		if (error_) {             \
			errno = error_;   \
			return -1;        \
		}                         \
	} while (0)

int accept4(int fd, struct sockaddr *restrict sa, socklen_t *restrict len, int flags)
{
	FAIL(CALL_ACCEPT);
	return (int)syscall(SYS_accept4, fd, sa, len, flags);
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
	FAIL(CALL_RECV);
	return syscall(SYS_recvfrom, fd, p, n, flags, NULL, NULL);
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	int error = fault(CALL_SEND);

	if (error > 0) {
		errno = error;
		return -1;
	}
	if (error < 0 && n > 1)
		n = 1;
	return syscall(SYS_sendto, fd, p, n, flags, NULL, 0);
}

ssize_t splice(int in, off64_t *inoff, int out, off64_t *outoff, size_t n, unsigned flags)
{
	FAIL(CALL_SPLICE);
	return syscall(SYS_splice, in, inoff, out, outoff, n, flags);
}

int socket(int domain, int type, int protocol)
{
	FAIL(CALL_SOCKET);
	return (int)syscall(SYS_socket, domain, type, protocol);
}

int connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	FAIL(CALL_CONNECT);
	return (int)syscall(SYS_connect, fd, sa, len);
}

int setsockopt(int fd, int level, int name, const void *p, socklen_t len)
{
	FAIL(CALL_SETSOCKOPT);
	return (int)syscall(SYS_setsockopt, fd, level, name, p, len);
}

int getsockopt(int fd, int level, int name, void *restrict p, socklen_t *restrict len)
{
	FAIL(CALL_GETSOCKOPT);
	return (int)syscall(SYS_getsockopt, fd, level, name, p, len);
}

int getpeername(int fd, struct sockaddr *restrict sa, socklen_t *restrict len)
{
	FAIL(CALL_GETPEERNAME);
	return (int)syscall(SYS_getpeername, fd, sa, len);
}

int getsockname(int fd, struct sockaddr *restrict sa, socklen_t *restrict len)
{
	FAIL(CALL_GETSOCKNAME);
	return (int)syscall(SYS_getsockname, fd, sa, len);
}

int pipe2(int fd[2], int flags)
{
	FAIL(CALL_PIPE);
	return (int)syscall(SYS_pipe2, fd, flags);
}

int epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
	if (op == EPOLL_CTL_ADD)
		FAIL(CALL_EPOLL_CTL);
	return (int)syscall(SYS_epoll_ctl, ep, op, fd, ev);
}

/*
 * Memory. Each allocation of the loop, ours and the libraries', counts down; at nought it fails.
 * A sanitizer has these functions for itself, so under one nothing is tried.
 */
#ifndef __SANITIZE_ADDRESS__
static atomic_int memory_left = -1;

static bool memory_ends(void)
{
	return in_loop && atomic_load(&memory_left) >= 0 && atomic_fetch_sub(&memory_left, 1) == 0;
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	errno = ENOMEM;
	return memory_ends() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	errno = ENOMEM;
	return memory_ends() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	errno = ENOMEM;
	return memory_ends() ? NULL : __libc_realloc(p, n);
}
#endif

/* ---- what is done over and over */

static void echo(int fd, void *arg)
{
	static _Thread_local char buf[65536];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 && send_all(fd, buf, (size_t)n))
		;
	if (n < 0)
		close_reset(fd);
	else
		close(fd);
}

static void serve_http(int fd, void *arg)
{
	char head[4096];

	(void)arg;
	while (recv_head(fd, head, sizeof(head))) {
		if (strstr(head, "/chunked")) {
			if (!send_all(fd,
				      "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
				      "chunked\r\n\r\n30d40\r\n",
				      54) ||
			    !send_pattern(fd, BODY) || !send_all(fd, "\r\n0\r\n\r\n", 7))
				break;
		} else if (!send_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", 43) ||
			   !send_pattern(fd, BODY)) {
			break;
		}
	}
	close(fd);
}

static void *send_body(void *arg)
{
	int fd = *(int *)arg;

	if (!send_pattern(fd, BODY))
		return arg; /* the error is told once: recv() will say 0 */
	(void)shutdown(fd, SHUT_WR);
	return NULL;
}

static void hangs(void)
{
	int call = atomic_load(&inject.call);

	fail_msg("hangs after %s failed with %d at %d",
		 call == CALL_NUM ? "nothing" : call_name[call], atomic_load(&inject.error),
		 atomic_load(&inject.at));
}

/* Reads to the end. Return: the number of bytes, negative if it ended in an error. */
static ssize_t read_end(int fd, uint64_t *hash)
{
	static uint8_t buf[65536];
	ssize_t total = 0, n;

	*hash = FNV_START;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		*hash = fnv(*hash, buf, (size_t)n);
		total += n;
	}
	if (n < 0 && errno == EAGAIN)
		hangs();
	return n < 0 ? -1 : total;
}

/* Up and down again. Return: whether it worked. */
static bool through_tunnel(struct world *w, enum way_in in, uint16_t port)
{
	pthread_t t;
	uint64_t hash;
	ssize_t n;
	void *failed;
	int fd;

	if (try_tunnel(w, in, "127.0.0.1", port, &fd) != 0) {
		close(fd);
		return false;
	}
	assert_int_equal(pthread_create(&t, NULL, send_body, &fd), 0);
	n = read_end(fd, &hash);
	if (n < 0)
		(void)shutdown(fd, SHUT_RDWR);
	pthread_join(t, &failed);
	close(fd);
	if (n < 0 || failed)
		return false;
	assert_int_equal(n, BODY); /* a clean end means that all is there */
	assert_true(hash == pattern_hash(BODY));
	return true;
}

static bool through_http(struct world *w, const char *path, uint16_t port)
{
	static char reply[BODY + 4096];
	char req[256];
	const char *body;
	ssize_t n;
	int fd = dial_port(w->port);
	bool done = false;

	(void)snprintf(req, sizeof(req),
		       "GET http://127.0.0.1:%u%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		       port, path);
	if (send_all(fd, req, strlen(req))) {
		n = recv_rest(fd, reply, sizeof(reply));
		if (n < 0 && errno == EAGAIN)
			hangs();
		body = n > 0 ? strstr(reply, "\r\n\r\n") : NULL;
		if (body && strncmp(reply, "HTTP/1.1 200", 12) == 0) {
			n -= body + 4 - reply;
			if (strstr(path, "chunked"))
				assert_memory_equal(body + 4 + n - 5, "0\r\n\r\n", 5);
			else
				assert_int_equal(n, BODY);
			done = true;
		}
	}
	close(fd);
	return done;
}

static bool transaction(struct world *w, int which, const uint16_t port[2])
{
	switch (which) {
	case 0:
		return through_tunnel(w, IN_CONNECT, port[0]);
	case 1:
		return through_tunnel(w, IN_SOCKS5_V4, port[0]);
	case 2:
		return through_http(w, "/length", port[1]);
	default:
		return through_http(w, "/chunked", port[1]);
	}
}

static void mark_job(struct world *w, void *arg)
{
	(void)w;
	in_loop = *(bool *)arg;
}

static void each_call_fails(struct world *w, enum call call, int error, const uint16_t port[2])
{
	size_t fds;

	for (int which = 0; which < 4; which++) {
		for (int at = 1; at < 60; at++) {
			atomic_store(&inject.call, CALL_NUM);
			assert_true(transaction(w, which, port));
			eventually(world_nconns(w) == 0);
			fds = count_fds();
			atomic_store(&inject.seen, 0);
			atomic_store(&inject.error, error);
			atomic_store(&inject.at, at);
			atomic_store(&inject.call, call);
			(void)transaction(w, which, port);
			eventually(world_nconns(w) == 0);
			atomic_store(&inject.call, CALL_NUM);
			if (atomic_load(&inject.seen) < at)
				break;
			/* a pipe may have joined the pool */
			if (count_fds() > fds + 8)
				print_message("%s %d at %d\n", call_name[call], error, at);
			eventually(count_fds() <= fds + 8);
		}
	}
}

static const struct {
	enum call call;
	int error;
} faults[] = {
	{ CALL_ACCEPT, EMFILE },       { CALL_ACCEPT, ENFILE },
	{ CALL_ACCEPT, ENOMEM },       { CALL_ACCEPT, ENOBUFS },
	{ CALL_ACCEPT, ECONNABORTED }, { CALL_SOCKET, ENFILE },
	{ CALL_SOCKET, ENOMEM },       { CALL_SOCKET, ENOBUFS },
	{ CALL_ACCEPT, EPERM },	       { CALL_RECV, ECONNRESET },
	{ CALL_RECV, EINTR },	       { CALL_SEND, EPIPE },
	{ CALL_SEND, ENOBUFS },	       { CALL_SEND, -1 },
	{ CALL_SEND, EINTR },	       { CALL_SPLICE, ECONNRESET },
	{ CALL_SPLICE, ENOMEM },       { CALL_SOCKET, EMFILE },
	{ CALL_CONNECT, ENETUNREACH }, { CALL_SETSOCKOPT, ENOMEM },
	{ CALL_GETSOCKOPT, ENOBUFS },  { CALL_GETPEERNAME, ENOTCONN },
	{ CALL_GETSOCKNAME, ENOBUFS }, { CALL_PIPE, EMFILE },
	{ CALL_EPOLL_CTL, ENOSPC },
};

/* */
static void test_each_system_call_may_fail(void **state)
{
	struct world *w = world_start();
	struct origin *tunnel = origin_start(echo, NULL);
	struct origin *http = origin_start(serve_http, NULL);
	const uint16_t port[2] = { tunnel->port, http->port };
	bool mark = true;

	(void)state;
	atomic_store(&inject.call, CALL_NUM);
	world_call(w, mark_job, &mark);
	world_allow_port(w, "127.0.0.1", port[0]);
	world_allow_port(w, "127.0.0.1", port[1]);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		each_call_fails(w, faults[i].call, faults[i].error, port);
	mark = false;
	world_call(w, mark_job, &mark);
	origin_stop(tunnel);
	origin_stop(http);
	world_stop(w);
}

#ifndef __SANITIZE_ADDRESS__
#define MEMORY_ENOUGH 9 /* exit status of a child whose memory did not end */

/* Whatever comes of it: nobody is let through who should not be. */
static void ask_all(struct world *w, uint16_t good, uint16_t evil)
{
	static const char *const hosts[] = { "127.0.0.1", "good.example", "lure.wild.example" };
	char get[256], reply[4096];
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		(void)try_tunnel(w, IN_CONNECT, hosts[i], evil, &fd);
		(void)send_all(fd, "secret", 6);
		close(fd);
		(void)try_tunnel(w, IN_SOCKS5_NAME, hosts[i], good, &fd);
		close(fd);
		(void)snprintf(get, sizeof(get),
			       "GET http://%s:%u/ HTTP/1.1\r\nHost: a\r\n"
			       "Connection: close\r\n\r\n",
			       hosts[i], i % 2 ? evil : good);
		fd = dial_port(w->port);
		(void)send_all(fd, get, strlen(get));
		(void)recv_rest(fd, reply, sizeof(reply));
		close(fd);
	}
}

/* In a process of its own, which may end: the @at-th allocation of the loop fails. */
static void without_memory(int at, uint16_t good, uint16_t evil)
{
	struct world *w = world_start();
	bool mark = true;

	(void)alarm(WAIT_S);
	world_allow_port(w, "127.0.0.1", good);
	world_allow_port(w, "good.example", good);
	world_call(w, mark_job, &mark);
	atomic_store(&memory_left, at);
	ask_all(w, good, evil);
	_exit(atomic_load(&memory_left) >= 0 ? MEMORY_ENOUGH : 0);
}

/* R-010, as decided: the process ends, or only the connection does; no one gets through. */
static void test_memory_may_end_anywhere(void **state)
{
	uint16_t evil;
	int canary = listen_loopback(&evil), status = 0, ended = 0, at;
	struct origin *good = origin_start(echo, NULL);

	(void)state;
	assert_int_equal(fcntl(canary, F_SETFL, O_NONBLOCK), 0);
	for (at = 0; at < 2000; at++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			without_memory(at, good->port, evil);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status))
			fail_msg("allocation %d: signal %d", at, WTERMSIG(status));
		assert_int_equal(accept(canary, NULL, NULL), -1);
		if (WEXITSTATUS(status) == MEMORY_ENOUGH)
			break;
		ended += WEXITSTATUS(status) != 0;
	}
	assert_in_range(at, 20, 1999); /* allocations there were, and all of them were tried */
	assert_true(ended > 10);       /* and some of them end the process */
	assert_true(atomic_load(&good->accepts) > at);
	close(canary);
	origin_stop(good);
}
#else
static void test_memory_may_end_anywhere(void **state)
{
	(void)state;
	print_message("not under a sanitizer\n");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_may_end_anywhere),
		cmocka_unit_test(test_each_system_call_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
