#include "cli/serve/peer.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/xalloc.h"

/* The others are for connections: two each. */
#define LISTENERS_PART 4

void peers_init(struct peers *p)
{
	struct rlimit files = { .rlim_cur = 0 };

	*p = (struct peers){ .sessions = 0 };
	LIST_INIT(&p->list);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	p->listeners_max = (size_t)files.rlim_cur / LISTENERS_PART;
}

/* An accepted unix socket belongs to the namespace of who has connected, not to ours. */
static uint64_t netns_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) < 0 ? 0 : cookie;
}

struct peer *peer_join(struct peers *p, int fd)
{
	uint64_t netns = netns_of(fd);
	struct peer *peer;

	LIST_FOREACH (peer, &p->list, entry) {
		if (peer->netns == netns)
			break;
	}
	if (!peer) {
		peer = xcalloc(1, sizeof(*peer));
		peer->netns = netns;
		LIST_INSERT_HEAD(&p->list, peer, entry);
	}
	peer->clients++;
	peer->idle++;
	return peer;
}

void peer_leave(struct peer *peer)
{
	peer->idle--;
	if (--peer->clients > 0)
		return;
	assert(peer->idle == 0 && peer->sessions == 0 && peer->listeners == 0);
	LIST_REMOVE(peer, entry);
	free(peer);
}

struct peer *peer_busiest(const struct peers *p)
{
	struct peer *peer, *most = NULL;

	LIST_FOREACH (peer, &p->list, entry) {
		if (peer->idle > (most ? most->idle : 0))
			most = peer;
	}
	return most;
}

const char *peer_take_session(struct peers *p, struct peer *peer, size_t listeners)
{
	if (peer->sessions >= PEER_SESSIONS_MAX)
		return "this network namespace has as many sessions as it may have (limit)";
	if (p->sessions >= SESSIONS_MAX)
		return "the server has as many sessions as it may have (limit)";
	if (peer->listeners + listeners > p->listeners_max - p->listeners)
		return "the sessions of this network namespace have as many listeners as they may "
		       "have (limit)";
	peer->idle--;
	peer->sessions++;
	peer->listeners += listeners;
	p->sessions++;
	p->listeners += listeners;
	return NULL;
}

void peer_give_listeners(struct peers *p, struct peer *peer, size_t listeners)
{
	peer->listeners -= listeners;
	p->listeners -= listeners;
}

void peer_give_session(struct peers *p, struct peer *peer, size_t listeners)
{
	peer_give_listeners(p, peer, listeners);
	peer->idle++;
	peer->sessions--;
	p->sessions--;
}
