/*
 * turnaway.h - inside proxy/: a client that there is no room for
 */
#ifndef PROXY_TURNAWAY_H
#define PROXY_TURNAWAY_H

#include "proxy/session.h"

/**
 * turnaway() - answer an accepted client that a limit is reached, tell the session, close
 * @fd: taken over
 * @kind, @fixed: of the listener
 *
 * HTTP is answered by 503, everything else by a reset: whoever speaks SOCKS has sent no request yet.
 * Never waits.
 */
void turnaway(struct session *s, int fd, enum listener_kind kind, const struct target *fixed);

#endif
