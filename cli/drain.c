#include "cli/drain.h"

#include <event2/event.h>
#include <stdio.h>

#define STEP_MAX_MS 50

const char *drain_text(size_t cut, char out[DRAIN_TEXT_MAX])
{
	(void)snprintf(out, DRAIN_TEXT_MAX,
		       "%zu connection%s cut at the end of the run: not all that the command had "
		       "sent has been taken there",
		       cut, cut == 1 ? " was" : "s were");
	return out;
}

static void wait_a_step(struct drain *d)
{
	const struct timeval tv = { .tv_usec = (suseconds_t)d->step_ms * 1000 };

	(void)event_add(&d->look, &tv);
}

/* Counts the time in which nothing has moved. Return: whether it is over. */
static bool is_over(struct drain *d)
{
	struct undelivered now;
	bool moved;

	if (session_connections(d->session) == 0) {
		d->last = (struct undelivered){ 0 };
		return true;
	}
	session_undelivered(d->session, &now);
	moved = now.moved != d->last.moved || now.connections != d->last.connections;
	d->last = now;
	d->stalled_ms = moved ? 0 : d->stalled_ms + d->step_ms;
	d->total_ms += d->step_ms;
	if (d->max_ms && d->total_ms >= d->max_ms)
		return true;
	/* What has moved may have more behind it, which the kernel of the other end still holds. */
	return now.connections == 0 ? !moved && d->step_ms > 0 : d->stalled_ms >= DRAIN_STALL_MS;
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
	struct drain *d = arg;

	(void)fd, (void)what;
	if (is_over(d)) {
		d->cb(d->arg, drain_stop(d));
		return;
	}
	d->step_ms = d->step_ms ? 2 * d->step_ms : 1;
	if (d->step_ms > STEP_MAX_MS)
		d->step_ms = STEP_MAX_MS;
	wait_a_step(d);
}

void drain_start(struct drain *d, struct event_base *base, const struct session *session,
		 unsigned max_ms, drain_cb *cb, void *arg)
{
	*d = (struct drain){ .session = session, .max_ms = max_ms, .cb = cb, .arg = arg };
	(void)event_assign(&d->look, base, -1, 0, look_cb, d);
	wait_a_step(d); /* of no time: the loop first sees what the command did last */
}

bool drain_is_on(const struct drain *d)
{
	return d->session != NULL;
}

size_t drain_stop(struct drain *d)
{
	size_t cut = d->session ? d->last.connections : 0;

	if (d->session)
		(void)event_del(&d->look);
	d->session = NULL;
	return cut;
}
