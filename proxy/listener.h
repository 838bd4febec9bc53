/*
 * listener.h - inside proxy/: accepting, in batches, with a back-off when descriptors run out
 */
#ifndef PROXY_LISTENER_H
#define PROXY_LISTENER_H

#include "base/error.h"
#include "proxy/session.h"

/**
 * listener_open() - accept on @fd for @s
 * @fd: taken over in any case
 * @fixed: target of LISTENER_FORWARD (copied), else NULL
 *
 * Return: 0, or -1 with @err. The listener belongs to the session.
 */
int listener_open(struct session *s, int fd, enum listener_kind kind, const struct target *fixed,
		  struct error *err);

/** listener_close_all() - stop accepting and close the sockets; the memory stays. */
void listener_close_all(struct session *s);

/** listener_free_all() - free the closed listeners of a session. */
void listener_free_all(struct session *s);

#endif
