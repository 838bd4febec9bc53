/*
 * dial.h - one connection to any of several vetted addresses (happy eyeballs, RFC 8305)
 *
 * Addresses may come in several lots. Attempts start 250 ms apart, IPv6 and IPv4 in turn; one
 * that fails starts the next at once; the first to succeed wins and the others are closed.
 */
#ifndef PROXY_DIAL_H
#define PROXY_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct event_base;
struct dial;
struct share;

/**
 * typedef dial_cb - it is over; the callee calls dial_free()
 * @fd: the connected socket, which the callee owns; -1 if nothing could be reached
 * @addr: the address that was reached, or the first that failed
 * @error: errno of the first failure when @fd is -1; ETIMEDOUT when the time is over
 */
typedef void dial_cb(void *arg, int fd, const struct addr *addr, int error);

/**
 * dial_new() - nothing happens before dial_add(). The caller owns it and calls dial_free().
 * @share: has room for one attempt; whose descriptors the others are. Where it may have no more, they
 *         wait for the end of one that is under way. NULL: nobody counts
 */
struct dial *dial_new(struct event_base *base, struct share *share, uint16_t port, dial_cb *cb,
		      void *arg);

/** dial_free() - every attempt is given up; NULL is allowed. */
void dial_free(struct dial *d);

/**
 * dial_add() - more addresses, all vetted
 * @more: others may follow; without it the dial fails as soon as all attempts have failed
 *
 * May call back before it returns, and then as its last act: a connection over loopback is up
 * when connect(2) returns.
 */
void dial_add(struct dial *d, const struct addr *v, size_t n, bool more);

#endif
