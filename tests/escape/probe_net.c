/*
 * probe_net.c - VECTORS 4a: sockets of every kind
 */
#include "tests/escape/probe.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* socket DOMAIN TYPE PROTOCOL: numbers of any size, passed to the kernel as they are */
static int raw_socket(char *const *args)
{
	return outcome(syscall(SYS_socket, strtoull(args[0], NULL, 0), strtoull(args[1], NULL, 0),
			       strtoull(args[2], NULL, 0)));
}

/* socketpair TYPE */
static int raw_socketpair(char *const *args)
{
	int pair[2];

	return outcome(syscall(SYS_socketpair, AF_UNIX, strtoull(args[0], NULL, 0), 0, pair));
}

/* Every family but those that are meant to work; OK if one opens, else the oddest answer. */
static int odd_families(char *const *args)
{
	static const int kinds[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };
	int answer = EAFNOSUPPORT;

	(void)args;
	for (int family = 0; family < 64; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
		    family == AF_NETLINK)
			continue;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (socket(family, kinds[i], 0) >= 0)
				return 0;
			if (errno != EAFNOSUPPORT && !(errno == EPERM && family == AF_PACKET))
				answer = errno;
		}
	}
	return answer;
}

static struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	(void)strncpy(sun.sun_path, path, sizeof(sun.sun_path) - 1);
	return sun;
}

/* pair-sendto TYPE PATH: one end of a socketpair, addressed anew */
static int pair_sendto(char *const *args)
{
	struct sockaddr_un sun = unix_address(args[1]);
	int pair[2];

	if (socketpair(AF_UNIX, atoi(args[0]), 0, pair) < 0)
		return errno;
	return outcome(
		sendto(pair[0], "escaped", 7, 0, (const struct sockaddr *)&sun, sizeof(sun)));
}

static int pair_connect(char *const *args)
{
	struct sockaddr_un sun = unix_address(args[1]);
	int pair[2];

	if (socketpair(AF_UNIX, atoi(args[0]), 0, pair) < 0)
		return errno;
	return outcome(connect(pair[0], (const struct sockaddr *)&sun, sizeof(sun)));
}

/* unix-connect TYPE PATH */
static int unix_connect(char *const *args)
{
	struct sockaddr_un sun = unix_address(args[1]);
	int fd = socket(AF_UNIX, atoi(args[0]), 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0)
		return errno;
	return atoi(args[0]) == SOCK_DGRAM ? outcome(write(fd, "escaped", 7)) : 0;
}

static int unix_bind(char *const *args)
{
	struct sockaddr_un sun = unix_address(args[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 ? errno : outcome(bind(fd, (const struct sockaddr *)&sun, sizeof(sun)));
}

/*
 * i386 NUMBER: the 32-bit entry with the arguments of socket(2); 359 is socket there, 360 socketpair,
 * 102 socketcall. Killed, or SIGSEGV where the kernel has no emulation.
 */
static int i386_call(char *const *args)
{
#if defined(__x86_64__)
	long rc;

	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(atol(args[0])), "b"(1L), "c"(1L), "d"(0L), "S"(0L)
			 : "memory");
	return rc < 0 ? (int)-rc : 0;
#else
	(void)args;
	return PROBE_SKIP;
#endif
}

/* x32 NUMBER: that call of the x32 ABI, with the arguments of socket(2) */
static int x32_call(char *const *args)
{
#if defined(__x86_64__)
	return outcome(syscall(0x40000000 | atol(args[0]), AF_UNIX, SOCK_STREAM, 0, 0));
#else
	(void)args;
	return PROBE_SKIP;
#endif
}

/** struct target - ADDRESS PORT of either family */
struct target {
	struct sockaddr_storage sa;
	socklen_t len;
};

static int inet_target(char *const *args, struct target *out)
{
	const uint16_t port = htons((uint16_t)atoi(args[1]));
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = port };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = port };

	if (inet_pton(AF_INET, args[0], &sin.sin_addr) == 1) {
		memcpy(&out->sa, &sin, sizeof(sin));
		out->len = sizeof(sin);
		return 0;
	}
	if (inet_pton(AF_INET6, args[0], &sin6.sin6_addr) != 1)
		return -1;
	out->len = sizeof(sin6);
	memcpy(&out->sa, &sin6, sizeof(sin6));
	return 0;
}

static int tcp_socket_of(int family)
{
	const struct timeval limit = { .tv_sec = 5 };
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	}
	return fd;
}

static int tcp_socket(void)
{
	return tcp_socket_of(AF_INET);
}

/* A connection counts only when the listener's greeting has come: a captured one has none. */
static int read_greeting(int fd)
{
	char c;
	ssize_t n = read(fd, &c, 1);

	if (n < 0)
		return errno;
	return n == 1 ? 0 : ECONNRESET;
}

/* tcp-connect ADDRESS PORT */
static int tcp_connect(char *const *args)
{
	struct target to;
	int fd;

	if (inet_target(args, &to) < 0)
		return EINVAL;
	fd = tcp_socket_of(to.sa.ss_family);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&to.sa, to.len) < 0)
		return errno;
	return read_greeting(fd);
}

/* stdin-again ADDRESS PORT: standard input, a socket of the caller's, is led elsewhere */
static int stdin_again(char *const *args)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct target to;

	if (inet_target(args, &to) < 0)
		return EINVAL;
	if (connect(STDIN_FILENO, &none, sizeof(none)) < 0 ||
	    connect(STDIN_FILENO, (const struct sockaddr *)&to.sa, to.len) < 0)
		return errno;
	return outcome(write(STDIN_FILENO, "escaped", 7));
}

/* stdin-unix PATH: the same with a datagram to a socket of the host's */
static int stdin_unix(char *const *args)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", args[0]);
	return outcome(
		sendto(STDIN_FILENO, "escaped", 7, 0, (const struct sockaddr *)&sun, sizeof(sun)));
}

/* stdin-accept: from whoever connects to the caller's listener */
static int stdin_accept(char *const *args)
{
	(void)args;
	return outcome(accept(STDIN_FILENO, NULL, NULL));
}

/* tcp-fastopen ADDRESS PORT: data in the SYN, without connect(2) */
static int tcp_fastopen(char *const *args)
{
	struct target to;
	int fd;

	if (inet_target(args, &to) < 0)
		return EINVAL;
	fd = tcp_socket_of(to.sa.ss_family);
	if (fd < 0 || sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&to.sa, to.len) < 0)
		return errno;
	return read_greeting(fd);
}

/* udp-send ADDRESS PORT */
static int udp_send(char *const *args)
{
	struct target to;
	int fd;

	if (inet_target(args, &to) < 0)
		return EINVAL;
	fd = socket(to.sa.ss_family, SOCK_DGRAM, 0);
	if (fd < 0)
		return errno;
	return outcome(sendto(fd, "escaped", 7, 0, (const struct sockaddr *)&to.sa, to.len));
}

/* A port of loopback dialled from that very port answers: TCP opens from both ends at once. */
static bool to_itself(int fd)
{
	struct sockaddr_storage here = { 0 }, there = { 0 };
	socklen_t n = sizeof(here), m = sizeof(there);

	return getsockname(fd, (struct sockaddr *)&here, &n) == 0 &&
	       getpeername(fd, (struct sockaddr *)&there, &m) == 0 && n == m &&
	       memcmp(&here, &there, n) == 0;
}

/* loopback-ports ADDRESS PORT...: OK if anything but these ports answers on that loopback */
static int loopback_ports(char *const *args)
{
	char port[8];
	char *words[] = { args[0], port, NULL };
	int found = 0;

	for (int n = 1; n < 65536; n++) {
		struct target to;
		bool known = false;
		int fd;

		(void)snprintf(port, sizeof(port), "%d", n);
		for (size_t i = 1; args[i]; i++)
			known = known || strcmp(args[i], port) == 0;
		if (known || inet_target(words, &to) < 0)
			continue;
		fd = tcp_socket_of(to.sa.ss_family);
		if (fd < 0)
			return errno;
		if (connect(fd, (const struct sockaddr *)&to.sa, to.len) == 0 && !to_itself(fd)) {
			(void)fprintf(stderr, "port %d answers\n", n);
			found++;
		}
		(void)close(fd);
	}
	return found ? 0 : ECONNREFUSED;
}

static int tcp_ulp(char *const *args)
{
	int fd = tcp_socket();

	(void)args;
	return fd < 0 ? errno : outcome(setsockopt(fd, IPPROTO_TCP, 31, "tls", 3));
}

/* sockopt LEVEL NAME: with the value 1 */
static int sockopt(char *const *args)
{
	const int one = 1;
	int fd = tcp_socket();

	if (fd < 0)
		return errno;
	return outcome(setsockopt(fd, atoi(args[0]), atoi(args[1]), &one, sizeof(one)));
}

/* A server of the command's own on its loopback: must work. */
static int own_server(char *const *args)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int l = tcp_socket(), c = tcp_socket();

	(void)args;
	if (l < 0 || c < 0 || bind(l, (const struct sockaddr *)&sin, len) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (struct sockaddr *)&sin, &len) < 0)
		return errno;
	if (connect(c, (const struct sockaddr *)&sin, len) < 0)
		return errno;
	return outcome(accept(l, NULL, NULL));
}

const struct probe net_probes[] = {
	{ "socket", raw_socket },
	{ "odd-families", odd_families },
	{ "socketpair", raw_socketpair },
	{ "pair-sendto", pair_sendto },
	{ "pair-connect", pair_connect },
	{ "unix-connect", unix_connect },
	{ "unix-bind", unix_bind },
	{ "i386", i386_call },
	{ "x32", x32_call },
	{ "tcp-connect", tcp_connect },
	{ "tcp-fastopen", tcp_fastopen },
	{ "stdin-again", stdin_again },
	{ "stdin-unix", stdin_unix },
	{ "stdin-accept", stdin_accept },
	{ "udp-send", udp_send },
	{ "tcp-ulp", tcp_ulp },
	{ "sockopt", sockopt },
	{ "own-server", own_server },
	{ "loopback-ports", loopback_ports },
	{ 0 },
};
