/*
 * said.h - what a client asked for when no target could be made of it, fit to be shown
 */
#ifndef POLICY_SAID_H
#define POLICY_SAID_H

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define SAID_MAX 256 /* bytes, the final zero included */

/**
 * said_text() - "host:port" as it was sent, and cut where it is long
 *
 * One word: letters, digits and "-._:[]/%" stand for themselves, every other byte is \xNN.
 * What stands before the last '@' may be a password and is left out.
 */
void said_text(char out[SAID_MAX], const void *p, size_t n);

/** said_host() - the same for a host and a port that came apart (SOCKS). */
void said_host(char out[SAID_MAX], const void *p, size_t n, uint16_t port);

/** said_addr() - an address with a port that is none. */
void said_addr(char out[SAID_MAX], const struct addr *a, uint16_t port);

#endif
