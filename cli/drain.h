/*
 * drain.h - when a command has ended, what it had sent may still be on its way through the proxy
 *
 * It is waited for as long as some of it moves, and not at all when none is left: what the kernel has taken
 * for the server, the kernel delivers.
 */
#ifndef CLI_DRAIN_H
#define CLI_DRAIN_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>

#include "proxy/proxy.h"

#define DRAIN_STALL_MS 5000 /* so long nothing moves, and the rest is given up */

#define DRAIN_TEXT_MAX 160

/** drain_text() - what is to be said of connections that were cut. Return: @out. */
const char *drain_text(size_t cut, char out[DRAIN_TEXT_MAX]);

/** typedef drain_cb - it is over; what is left by so many connections is not delivered */
typedef void drain_cb(void *arg, size_t cut);

/** struct drain - the caller's, while it lasts; all zero: none has begun */
struct drain {
	struct event look;
	const struct session *session;
	struct undelivered last;
	unsigned step_ms, stalled_ms, total_ms, max_ms;
	drain_cb *cb;
	void *arg;
};

/**
 * drain_start() - wait for what is left of a session whose command has ended
 * @max_ms: how long at most, moving or not; 0: as long as something moves
 * @cb: called once, from the loop, unless drain_stop() comes first
 */
void drain_start(struct drain *d, struct event_base *base, const struct session *session,
		 unsigned max_ms, drain_cb *cb, void *arg);

/** drain_is_on() - @cb is still to be called. */
bool drain_is_on(const struct drain *d);

/** drain_stop() - no more of it; fine where none has begun. Return: the connections with something left. */
size_t drain_stop(struct drain *d);

#endif
