/*
 * undelivered.h - inside proxy/: what has come from inside, and is in our hands when a session ends
 */
#ifndef PROXY_UNDELIVERED_H
#define PROXY_UNDELIVERED_H

#include "proxy/conn.h"

/**
 * undelivered_end() - end a connection with its session
 *
 * A server that has got all, the end included, is left to the kernel, which delivers what it has
 * taken; everything else is reset, for nobody has sent an end there.
 */
void undelivered_end(struct conn *c);

#endif
