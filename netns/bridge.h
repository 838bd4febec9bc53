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
#include "netns/netns.h"

/** bridge_send() - send all listeners and the end mark; they stay open here. 0, or -1 with @err. */
int bridge_send(int sock, const struct netns_listener *v, size_t n, struct error *err);

/**
 * bridge_recv() - receive what bridge_send() sent; blocks until the end mark
 * @v: NETNS_LISTENERS_MAX entries; the descriptors are the caller's
 *
 * Return: 0, or -1 with @err; on failure every received descriptor has been closed.
 */
int bridge_recv(int sock, struct netns_listener *v, size_t *n, struct error *err);

#endif
