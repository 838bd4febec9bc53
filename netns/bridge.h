/*
 * bridge.h - hand listeners from inside a namespace to the proxy outside (SCM_RIGHTS)
 *
 * A socket belongs for life to the network namespace it was made in, so sending the descriptor is
 * the whole bridge: nothing runs inside, nothing is copied.
 */
#ifndef NETNS_BRIDGE_H
#define NETNS_BRIDGE_H

#include <stddef.h>

#include "base/error.h"
#include "base/fd.h"
#include "netns/netns.h"

#define BRIDGE_FRAME_MAX 512 /* bytes on the wire of one frame */

/** bridge_send() - send all listeners and the end mark; they stay open here. 0, or -1 with @err. */
int bridge_send(int sock, const struct netns_listener *v, size_t n, struct error *err);

/**
 * bridge_recv() - receive what bridge_send() sent; blocks until the end mark
 * @v: NETNS_LISTENERS_MAX entries; the descriptors are the caller's
 *
 * Return: 0, or -1 with @err; on failure every received descriptor has been closed.
 */
int bridge_recv(int sock, struct netns_listener *v, size_t *n, struct error *err);

/**
 * struct bridge_rx - a transfer under way on a socket that must not block
 * @v, @n: the listeners so far, the receiver's until it is done; @max at most
 * @frame: the part of a frame that has come, @have bytes; with the descriptors of its first byte
 */
struct bridge_rx {
	struct netns_listener v[NETNS_LISTENERS_MAX];
	size_t n, max;
	unsigned char frame[BRIDGE_FRAME_MAX];
	size_t have;
	int fds[FD_BATCH_MAX];
	size_t nfds;
};

/** bridge_rx_init() - nothing has come; no more than @max listeners are to be taken. */
void bridge_rx_init(struct bridge_rx *rx, size_t max);

/**
 * bridge_rx_turn() - take what has come
 *
 * Never reads beyond the end mark. Return: 1 when all listeners are there (@rx->v and their
 * descriptors are the caller's), 0 to go on when the socket is readable again, -1 with @err.
 */
int bridge_rx_turn(struct bridge_rx *rx, int sock, struct error *err);

/** bridge_rx_clear() - close every descriptor that it still holds. */
void bridge_rx_clear(struct bridge_rx *rx);

#endif
