/*
 * Theory of operation
 *
 * The listeners travel in frames of one fixed size, so that the same code serves stream and
 * seqpacket sockets: a frame is a count and that many records, and the descriptors ride on its
 * first byte (the kernel never merges the descriptors of two messages into one read). A frame
 * with count 0 is the end mark. Records and descriptors that do not fit each other end the
 * transfer: the receiver may be a daemon that hears from a sandbox it did not start itself.
 */
#include "netns/bridge.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define BRIDGE_MAGIC 0x5342584eU /* "SBXN" */

struct record {
	uint8_t kind, family;
	uint16_t port, index;
};

struct frame {
	uint32_t magic;
	uint32_t count;
	struct record v[FD_BATCH_MAX];
};
static_assert(sizeof(struct frame) <= BRIDGE_FRAME_MAX, "a frame fits the receiver");

static int send_frame(int sock, const struct netns_listener *v, size_t n, struct error *err)
{
	struct frame f = { .magic = BRIDGE_MAGIC, .count = (uint32_t)n };
	int fds[FD_BATCH_MAX];

	for (size_t i = 0; i < n; i++) {
		f.v[i] = (struct record){ v[i].kind, v[i].family, v[i].port, v[i].index };
		fds[i] = v[i].fd;
	}
	if (fd_send(sock, &f, sizeof(f), fds, n) < 0)
		return error_set(err, errno, "cannot hand over the listeners");
	return 0;
}

int bridge_send(int sock, const struct netns_listener *v, size_t n, struct error *err)
{
	while (n > 0) {
		size_t batch = n < FD_BATCH_MAX ? n : FD_BATCH_MAX;

		if (send_frame(sock, v, batch, err))
			return -1;
		v += batch;
		n -= batch;
	}
	return send_frame(sock, NULL, 0, err);
}

static bool option_is(int fd, int option, int want)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == want;
}

/* Whether the descriptor is what the record says. TCP and UDP alone: others know not all that we set. */
static bool fits(const struct record *r, int fd)
{
	switch ((enum netns_kind)r->kind) {
	case NETNS_DNS_UDP:
		return option_is(fd, SO_DOMAIN, r->family) && option_is(fd, SO_TYPE, SOCK_DGRAM) &&
		       option_is(fd, SO_PROTOCOL, IPPROTO_UDP);
	case NETNS_PUBLISH:
		return option_is(fd, SO_DOMAIN, r->family) && option_is(fd, SO_TYPE, SOCK_STREAM);
	case NETNS_PROXY:
	case NETNS_CAPTURE:
	case NETNS_DNS_TCP:
	case NETNS_FORWARD:
		return (r->family == AF_INET || r->family == AF_INET6) &&
		       option_is(fd, SO_DOMAIN, r->family) && option_is(fd, SO_TYPE, SOCK_STREAM) &&
		       option_is(fd, SO_PROTOCOL, IPPROTO_TCP) && option_is(fd, SO_ACCEPTCONN, 1);
	}
	return false;
}

/* Moves the @nfds descriptors of a frame behind the @n listeners. False: all of them are closed. */
static bool take_frame(const struct frame *f, int *fds, size_t nfds, struct netns_listener *v,
		       size_t *n, size_t max)
{
	bool ok = f->magic == BRIDGE_MAGIC && f->count == nfds && nfds <= max - *n;

	for (size_t i = 0; ok && i < nfds; i++)
		ok = fits(&f->v[i], fds[i]);
	for (size_t i = 0; i < nfds; i++) {
		const struct record *r = &f->v[i];

		if (!ok) {
			fd_close_foreign(fds[i]);
			fds[i] = -1;
			continue;
		}
		v[(*n)++] = (struct netns_listener){ .kind = r->kind,
						     .family = r->family,
						     .port = r->port,
						     .index = r->index,
						     .fd = fds[i] };
	}
	return ok;
}

static int recv_all(int sock, struct netns_listener *v, size_t *n, struct error *err)
{
	for (;;) {
		struct frame f = { 0 };
		int fds[FD_BATCH_MAX];
		size_t nfds = 0;
		ssize_t got = fd_recv(sock, &f, sizeof(f), fds, FD_BATCH_MAX, &nfds);

		if (got < 0)
			return error_set(err, errno, "cannot receive the listeners");
		if (got > 0 && (size_t)got < sizeof(f)) {
			ssize_t rest =
				fd_read_full(sock, (char *)&f + got, sizeof(f) - (size_t)got);

			got = rest < 0 ? rest : got + rest;
		}
		if ((size_t)got != sizeof(f))
			f.magic = 0;
		if (!take_frame(&f, fds, nfds, v, n, NETNS_LISTENERS_MAX))
			return error_set(err, 0,
					 got == 0 ? "the sandbox ended before its listeners came"
						  : "malformed listeners from the sandbox");
		if (f.count == 0)
			return 0;
	}
}

void bridge_rx_init(struct bridge_rx *rx, size_t max)
{
	rx->max = max < NETNS_LISTENERS_MAX ? max : NETNS_LISTENERS_MAX;
	rx->n = rx->have = rx->nfds = 0;
}

void bridge_rx_clear(struct bridge_rx *rx)
{
	while (rx->n > 0) {
		int fd = rx->v[--rx->n].fd;

		if (fd >= 0)
			fd_close_foreign(fd);
	}
	while (rx->nfds > 0)
		fd_close_foreign(rx->fds[--rx->nfds]);
}

/* Descriptors come with the first byte of a frame and at no other. */
static ssize_t rx_read(struct bridge_rx *rx, int sock, size_t want)
{
	int fds[FD_BATCH_MAX];
	size_t nfds = 0;
	ssize_t got = fd_recv(sock, rx->frame + rx->have, want, fds, FD_BATCH_MAX, &nfds);

	if (got > 0 && rx->have == 0) {
		memcpy(rx->fds, fds, sizeof(fds));
		rx->nfds = nfds;
		nfds = 0;
	}
	if (nfds == 0)
		return got;
	while (nfds > 0)
		fd_close_foreign(fds[--nfds]);
	errno = EBADMSG;
	return -1;
}

int bridge_rx_turn(struct bridge_rx *rx, int sock, struct error *err)
{
	for (;;) {
		struct frame f;
		ssize_t got = rx_read(rx, sock, sizeof(f) - rx->have);
		size_t nfds;

		if (got < 0 && errno == EAGAIN)
			return 0;
		if (got < 0)
			return error_set(err, errno, "cannot receive the listeners");
		if (got == 0)
			return error_set(err, 0, "the sandbox ended before its listeners came");
		rx->have += (size_t)got;
		if (rx->have < sizeof(f))
			continue;
		memcpy(&f, rx->frame, sizeof(f));
		nfds = rx->nfds;
		rx->have = rx->nfds = 0;
		if (!take_frame(&f, rx->fds, nfds, rx->v, &rx->n, rx->max))
			return error_set(err, 0, "malformed listeners from the sandbox");
		if (f.count == 0)
			return 1;
	}
}

int bridge_recv(int sock, struct netns_listener *v, size_t *n, struct error *err)
{
	size_t have = 0;

	if (recv_all(sock, v, &have, err)) {
		while (have > 0)
			cleanup_close(&v[--have].fd);
		return -1;
	}
	*n = have;
	return 0;
}
