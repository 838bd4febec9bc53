/*
 * cache.h - answers kept for their TTL, a bounded number of them
 *
 * Pure: no clock and no I/O; every call is told the time. Addresses in the cache carry no
 * permission: whoever dials one vets it again.
 */
#ifndef DNS_CACHE_H
#define DNS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "policy/hostname.h"

#define CACHE_TTL_MAX	   3600 /* seconds; a longer TTL is cut, so that a change is seen */
#define CACHE_TTL_NEGATIVE 5	/* seconds, for "no such name" and for half an answer */
#define CACHE_ADDRS_MAX	   128	/* addresses of one name */

struct cache;

/** cache_new() - a cache of at most @max names, at least one. Free with cache_free(). */
struct cache *cache_new(size_t max);

/** cache_free() - NULL is allowed. */
void cache_free(struct cache *c);

/**
 * cache_put() - remember the addresses of a name, in place of what was known
 * @addrs: copied; those above CACHE_ADDRS_MAX are dropped
 * @n: 0 records that the name has no address
 * @ttl: seconds, cut to CACHE_TTL_MAX; 0 means that the answer may not be kept: the name is
 *       forgotten
 * @now_ms: a monotonic clock
 *
 * When the cache is full the name that was used least recently makes room.
 */
void cache_put(struct cache *c, const struct hostname *name, const struct addr *addrs, size_t n,
	       uint32_t ttl, uint64_t now_ms);

/**
 * cache_get() - what is known about a name
 * @addrs: points into the cache, valid until the next call
 * @n: how many; 0 is a remembered "no address"
 *
 * Return: false if nothing is known, or no more.
 */
bool cache_get(struct cache *c, const struct hostname *name, uint64_t now_ms,
	       const struct addr **addrs, size_t *n);

/** cache_clear() - forget everything (the name servers have changed). */
void cache_clear(struct cache *c);

/** cache_count() - how many names are held, expired ones included. */
size_t cache_count(const struct cache *c);

#endif
