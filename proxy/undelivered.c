/*
 * Without a sandbox, what a process has handed to the kernel before it ends is delivered, however long
 * that takes. Here the kernel's connection ends at us: what it has given us has to be passed on to the
 * outer socket, with the end behind it. From there on it is the kernel's again.
 */
#include "proxy/undelivered.h"

#include "proxy/forward.h"
#include "proxy/snicheck.h"

/* The side that leads inside. */
static unsigned inner(const struct conn *c)
{
	return c->joined ? UPSTREAM : CLIENT;
}

/* Whether the outer side has all that came from inside, and knows that it is all. */
static bool has_all(const struct conn *c)
{
	const struct way *w = &c->t.way[inner(c)];

	if (c->t.side[1 - inner(c)].fd < 0 || w->keep || w->held || c->in.len)
		return false;
	if (c->state == CONN_FORWARD)
		return forward_is_sent(c->forward);
	return c->state == CONN_TUNNEL && w->done;
}

/* Of those that are closed for a failure, the bytes that are still on their way go first. */
static size_t of_reset(const struct conn *c)
{
	const struct side *outer = &c->t.side[1 - inner(c)];

	return outer->fd >= 0 ? side_unsent(outer) : 0;
}

static size_t in_hand(const struct conn *c)
{
	const struct side *from = &c->t.side[inner(c)];
	const struct way *w = &c->t.way[inner(c)];

	switch ((enum conn_state)c->state) {
	case CONN_RESET:
		return of_reset(c);
	case CONN_HEAD:
	case CONN_DIAL:
	case CONN_FORWARD:
	case CONN_TUNNEL:
		break;
	case CONN_ASK: /* nobody waits for the answer */
	case CONN_REPLY:
	case CONN_DEAD:
	case CONN_NUM_STATES:
		return 0;
	}
	return c->in.len + w->held + w->keep_len - w->keep_off + snicheck_held(c->snicheck) +
	       (w->eof ? 0 : side_unread(from));
}

void session_undelivered(const struct session *s, struct undelivered *out)
{
	const struct conn *c;

	*out = (struct undelivered){ 0 };
	LIST_FOREACH (c, &s->conns, link) {
		size_t n = in_hand(c);

		out->moved += c->t.way[inner(c)].bytes;
		if (c->state == CONN_RESET)
			out->moved -= n;
		out->connections += n > 0;
	}
}

void undelivered_end(struct conn *c)
{
	if (has_all(c))
		side_close(&c->t.side[1 - inner(c)], false);
	conn_reset(c, "session-end");
}
