/*
 * connect.c - `sbx-net connect HOST PORT`: inside a run, join stdin and stdout to HOST:PORT
 *
 * For ssh's ProxyCommand and the like. Asks the proxy of the run by CONNECT; a refusal is printed
 * on stderr and the status is 1. Both directions are half-closed on their own, so that the far
 * side's last words arrive after our end of file.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/reader.h"
#include "cli/commands.h"
#include "netns/netns.h"
#include "policy/target.h"

#define EXIT_REFUSED 1
#define HEAD_MAX     8192 /* our own proxy's answer, body included, is far smaller */

/* One direction: what was read and not yet written. */
struct way {
	int from, to;
	bool eof, done;
	size_t len, off;
	char buf[65536];
};

static int dial_proxy(struct error *err)
{
	const struct sockaddr_in sin = { .sin_family = AF_INET,
					 .sin_port = htons(NETNS_PROXY_PORT),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&sin, sizeof(sin)) < 0)
		return error_set(err, errno,
				 "no proxy on 127.0.0.1:%d; this command works inside sbx-net run",
				 NETNS_PROXY_PORT);
	return take_fd(&fd);
}

/* The end of the head in @buf, or 0. */
static size_t head_end(const char *buf, size_t n)
{
	const char *p = memmem(buf, n, "\r\n\r\n", 4);

	return p ? (size_t)(p - buf) + 4 : 0;
}

/* Prints the sentence of a refusal: its body, which the proxy ends by closing. */
static int tell_refusal(int fd, char *buf, size_t n, size_t head)
{
	char text[HEAD_MAX * 4 + 1];
	ssize_t more = fd_read_full(fd, buf + n, HEAD_MAX - n);

	n += more > 0 ? (size_t)more : 0;
	while (n > head && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
		n--;
	(void)fprintf(stderr, "sbx-net connect: %s\n",
		      log_escape(text, sizeof(text), buf + head, n - head));
	return EXIT_REFUSED;
}

/*
 * Asks for the target; what came behind the head of a success goes to @down.
 * Return: -1 to go on, else the exit status.
 */
static int ask(int fd, const struct target *t, struct way *down)
{
	char name[TARGET_TEXT_MAX], request[2 * TARGET_TEXT_MAX + 64], buf[HEAD_MAX];
	size_t n = 0, head = 0;
	int len;

	(void)target_format(t, name);
	len = snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", name,
		       name);
	if (len < 0 || fd_write_all(fd, request, (size_t)len) < 0)
		head = 0;
	while (head == 0 && n < sizeof(buf)) {
		ssize_t r = read(fd, buf + n, sizeof(buf) - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		n += (size_t)r;
		head = head_end(buf, n);
	}
	if (head == 0) {
		(void)fprintf(stderr, "sbx-net: the proxy gave no answer for %s\n", name);
		return EXIT_REFUSED;
	}
	if (n < 12 || memcmp(buf, "HTTP/1.1 200", 12) != 0)
		return tell_refusal(fd, buf, n, head);
	down->len = n - head;
	memcpy(down->buf, buf + head, down->len);
	return -1;
}

/* Reads and writes what is ready; false if the direction failed. */
static bool pump(struct way *w, short from_events, short to_events)
{
	ssize_t n;

	if (w->len == 0 && !w->eof && (from_events & (POLLIN | POLLHUP | POLLERR))) {
		n = read(w->from, w->buf, sizeof(w->buf));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		w->eof = n == 0;
		w->len = n > 0 ? (size_t)n : 0;
		w->off = 0;
	}
	if (w->len > 0 && (to_events & (POLLOUT | POLLERR | POLLHUP))) {
		n = write(w->to, w->buf + w->off, w->len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		w->off += n > 0 ? (size_t)n : 0;
		w->len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void finish_way(struct way *w)
{
	if (!w->eof || w->len > 0 || w->done)
		return;
	w->done = true;
	if (w->to == STDOUT_FILENO)
		(void)close(w->to);
	else
		(void)shutdown(w->to, SHUT_WR);
}

/* Until the far side has ended; our own end of file only half-closes. */
static int relay(int fd, struct way *up, struct way *down)
{
	up->from = STDIN_FILENO;
	up->to = fd;
	down->from = fd;
	down->to = STDOUT_FILENO;
	while (!down->done) {
		struct pollfd p[3] = {
			{ .fd = up->eof || up->len ? -1 : STDIN_FILENO, .events = POLLIN },
			/* With nothing to wait for, its hang-up would wake us for ever. */
			{ .fd = (down->len || down->eof) && !up->len ? -1 : fd,
			  .events = (short)((down->len || down->eof ? 0 : POLLIN) |
					    (up->len ? POLLOUT : 0)) },
			{ .fd = down->len ? STDOUT_FILENO : -1, .events = POLLOUT },
		};

		if (poll(p, 3, -1) < 0 && errno != EINTR)
			return EXIT_REFUSED;
		if (!pump(down, p[1].revents, p[2].revents))
			return EXIT_REFUSED;
		/* The far side may read no more and still have words for us. */
		if (!pump(up, p[0].revents, p[1].revents))
			up->eof = true, up->len = 0, up->done = true;
		finish_way(up);
		finish_way(down);
	}
	return 0;
}

static int parse(int argc, char **argv, struct target *t)
{
	uint64_t port;

	if (argc != 3) {
		(void)fputs("sbx-net: usage: sbx-net connect HOST PORT\n", stderr);
		return -1;
	}
	if (!reader_decimal(argv[2], strlen(argv[2]), 65535, &port) || port == 0) {
		(void)fputs("sbx-net: connect: PORT is a number from 1 to 65535\n", stderr);
		return -1;
	}
	if (target_from_host(argv[1], strlen(argv[1]), (uint16_t)port, t) != TARGET_OK) {
		(void)fputs("sbx-net: connect: HOST is a host name or an address\n", stderr);
		return -1;
	}
	return 0;
}

int connect_main(int argc, char **argv)
{
	static struct way up, down;
	CLEANUP_CLOSE int fd = -1;
	struct target t = { .via = VIA_CONNECT };
	struct error err;
	int status;

	if (parse(argc, argv, &t) < 0)
		return OPTIONS_EXIT_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	fd = dial_proxy(&err);
	if (fd < 0) {
		(void)fprintf(stderr, "sbx-net: %s\n", err.msg);
		return EXIT_REFUSED;
	}
	status = ask(fd, &t, &down);
	return status < 0 ? relay(fd, &up, &down) : status;
}
