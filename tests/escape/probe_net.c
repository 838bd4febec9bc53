/*
 * probe_net.c - VECTORS 4a: sockets of every kind
 */
#include "tests/escape/probe.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

/* The 32-bit entry: 359 is socket there. Killed, or SIGSEGV where the kernel has no emulation. */
static int i386_socket(char *const *args)
{
#if defined(__x86_64__)
	long rc;

	(void)args;
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(359L), "b"(1L), "c"(1L), "d"(0L) : "memory");
	return rc < 0 ? (int)-rc : 0;
#else
	(void)args;
	return PROBE_SKIP;
#endif
}

static int x32_socket(char *const *args)
{
#if defined(__x86_64__)
	(void)args;
	return outcome(syscall(0x40000000 | SYS_socket, AF_UNIX, SOCK_STREAM, 0));
#else
	(void)args;
	return PROBE_SKIP;
#endif
}

static int inet_target(char *const *args, struct sockaddr_in *out)
{
	*out = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)atoi(args[1])) };
	return inet_pton(AF_INET, args[0], &out->sin_addr) == 1 ? 0 : -1;
}

static int tcp_socket(void)
{
	const struct timeval limit = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	}
	return fd;
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
	struct sockaddr_in sin;
	int fd = tcp_socket();

	if (fd < 0 || inet_target(args, &sin) < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&sin, sizeof(sin)) < 0)
		return errno;
	return read_greeting(fd);
}

/* tcp-fastopen ADDRESS PORT: data in the SYN, without connect(2) */
static int tcp_fastopen(char *const *args)
{
	struct sockaddr_in sin;
	int fd = tcp_socket();

	if (fd < 0 || inet_target(args, &sin) < 0)
		return errno;
	if (sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&sin, sizeof(sin)) < 0)
		return errno;
	return read_greeting(fd);
}

/* udp-send ADDRESS PORT */
static int udp_send(char *const *args)
{
	struct sockaddr_in sin;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || inet_target(args, &sin) < 0)
		return errno;
	return outcome(sendto(fd, "escaped", 7, 0, (const struct sockaddr *)&sin, sizeof(sin)));
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
	{ "socket", raw_socket },	  { "odd-families", odd_families },
	{ "socketpair", raw_socketpair }, { "pair-sendto", pair_sendto },
	{ "pair-connect", pair_connect }, { "unix-connect", unix_connect },
	{ "unix-bind", unix_bind },	  { "i386-socket", i386_socket },
	{ "x32-socket", x32_socket },	  { "tcp-connect", tcp_connect },
	{ "tcp-fastopen", tcp_fastopen }, { "udp-send", udp_send },
	{ "tcp-ulp", tcp_ulp },		  { "sockopt", sockopt },
	{ "own-server", own_server },	  { 0 },
};
