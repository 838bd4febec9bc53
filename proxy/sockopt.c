#include "proxy/sockopt.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/limits.h"

static void set(int fd, int level, int name, int value)
{
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/*
 * TCP_USER_TIMEOUT ends a connection whose data is not acknowledged, but also one whose peer keeps
 * its window shut: a stopped reader. It is therefore long; keepalive finds a vanished peer of an
 * idle connection. A byte that was sent as urgent data is one of the stream (RFC 6093): out of band it
 * would be dropped. The kernel resets what is open when we are killed: side_close() says when not.
 */
void sockopt_stream(int fd)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS);
	fd_linger(fd, true);
}

/*
 * Where BBR is the system's, each segment of this hop would wait for its turn on a timer. Reno is in
 * every kernel, paces nothing, and any user may choose it.
 */
void sockopt_near(int fd)
{
	static const char plain[] = "reno";

	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, plain, sizeof(plain) - 1);
}

/*
 * Otherwise most connections are accepted before their first bytes are there: a read in vain, a place in
 * the epoll set and one more turn of the loop for each. Seconds; at their end the kernel sends its
 * SYN-ACK again and takes a bare ACK for an answer.
 */
void sockopt_client_first(int fd)
{
	set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);
}
