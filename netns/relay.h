/*
 * relay.h - carry connections of a network namespace to a unix socket outside, by copying
 *
 * For proxies that know nothing of us: bridge.h is the better way where the proxy takes listeners.
 */
#ifndef NETNS_RELAY_H
#define NETNS_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define RELAY_LISTENERS_MAX   8
#define RELAY_CONNECTIONS_MAX 4096 /* further clients wait in the backlog */

struct relay;

/** relay_new() - a relay to the unix stream socket at @path. NULL with @err. */
struct relay *relay_new(const char *path, struct error *err);

/** relay_listen() - accept on a listening TCP socket, which is taken over in any case. 0 or -1. */
int relay_listen(struct relay *r, int fd, struct error *err);

/** relay_fd() - readable when relay_turn() has something to do; owned by the relay. */
int relay_fd(const struct relay *r);

/** relay_turn() - do what can be done now; never blocks. */
void relay_turn(struct relay *r);

/** relay_connections() - how many are open. */
size_t relay_connections(const struct relay *r);

/** relay_undelivered() - links by which a client has sent something that the proxy was not given; @moved changes
 * whenever more was taken from one. */
size_t relay_undelivered(const struct relay *r, uint64_t *moved);

/** relay_free() - closes everything; NULL is allowed. */
void relay_free(struct relay *r);

#endif
