#include "cli/serve/peer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/xalloc.h"
#include "cli/serve/budget.h"

void peers_init(struct peers *p, const struct budget *b)
{
	*p = (struct peers){ .sessions_max = b->sessions, .listeners.max = b->listeners };
	LIST_INIT(&p->list);
}

struct peer *peer_join(struct peers *p, int fd)
{
	uint64_t netns = fd_netns(fd);
	struct peer *peer;

	LIST_FOREACH (peer, &p->list, entry) {
		if (peer->netns == netns)
			break;
	}
	if (!peer) {
		peer = xcalloc(1, sizeof(*peer));
		peer->netns = netns;
		LIST_INSERT_HEAD(&p->list, peer, entry);
		p->listeners.takers++;
	}
	peer->clients++;
	peer->idle++;
	return peer;
}

void peer_leave(struct peers *p, struct peer *peer)
{
	peer->idle--;
	if (--peer->clients > 0)
		return;
	assert(peer->idle == 0 && peer->sessions == 0 && peer->listeners == 0);
	p->listeners.takers--;
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
	if (p->sessions >= p->sessions_max)
		return "the server has as many sessions as it may have (limit)";
	if (!fairshare_may(&p->listeners, peer->listeners, listeners))
		return "the sessions of this network namespace have as many listeners as they may "
		       "have (limit)";
	peer->idle--;
	peer->sessions++;
	peer->listeners += listeners;
	p->sessions++;
	p->listeners.taken += listeners;
	return NULL;
}

void peer_give_listeners(struct peers *p, struct peer *peer, size_t listeners)
{
	peer->listeners -= listeners;
	p->listeners.taken -= listeners;
}

void peer_give_session(struct peers *p, struct peer *peer, size_t listeners)
{
	peer_give_listeners(p, peer, listeners);
	peer->idle++;
	peer->sessions--;
	p->sessions--;
}
