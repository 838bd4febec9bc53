/*
 * peer.h - those who connect to control.sock, told apart, and what each of them may have
 *
 * A peer is a network namespace: that of the client's socket, as the kernel tells it. A process
 * number would not do (who is refused forks), and a sandbox that `bridge` joins has a namespace of its
 * own. Whoever may make namespaces counts as many; what that leaves to the others, base/fairshare.h says.
 */
#ifndef CLI_SERVE_PEER_H
#define CLI_SERVE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/fairshare.h"

struct budget;

#define PEER_SESSIONS_MAX 8 /* a bridge in a namespace leaves no ports to another one in there */

/**
 * struct peer - one network namespace
 * @netns: see fd_netns()
 * @clients: control connections, @idle of them without a session
 * @sessions, @listeners: what they have
 */
struct peer {
	LIST_ENTRY(peer) entry;
	uint64_t netns;
	size_t clients, idle, sessions, listeners;
};

LIST_HEAD(peer_list, peer);

/**
 * struct peers - all of them
 * @sessions, @listeners: of all together
 * @sessions_max: how many there may be
 */
struct peers {
	struct peer_list list;
	size_t sessions, sessions_max;
	struct fairshare listeners;
};

/** peers_init() - nobody is there. */
void peers_init(struct peers *p, const struct budget *b);

/** peer_join() - the peer of a connected client, which counts as idle. */
struct peer *peer_join(struct peers *p, int fd);

/** peer_leave() - the client has gone, and its session, if it had one, is given back. */
void peer_leave(struct peers *p, struct peer *peer);

/** peer_busiest() - who has the most idle clients; NULL when nobody has one. */
struct peer *peer_busiest(const struct peers *p);

/**
 * peer_take_session() - an idle client begins a session
 * @listeners: how many it may send, and what else it may have open by itself
 *
 * Return: NULL, or why it may not.
 */
const char *peer_take_session(struct peers *p, struct peer *peer, size_t listeners);

/** peer_give_session() - the client has no session any more, and is idle. */
void peer_give_session(struct peers *p, struct peer *peer, size_t listeners);

/** peer_give_listeners() - of those that a session might have sent so many have not come. */
void peer_give_listeners(struct peers *p, struct peer *peer, size_t listeners);

#endif
