#include "dns/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/xalloc.h"

/**
 * struct entry - one name
 * @chain: its hash bucket
 * @lru: most recently used first
 * @expires_ms: from then on it is as if it were not there
 */
struct entry {
	LIST_ENTRY(entry) chain;
	TAILQ_ENTRY(entry) lru;
	struct hostname name;
	uint64_t expires_ms;
	size_t n;
	struct addr addrs[];
};

LIST_HEAD(bucket, entry);
TAILQ_HEAD(entry_list, entry);

/**
 * struct cache - a chained hash table and the order of use
 * @mask: number of buckets less one, a power of two less one
 */
struct cache {
	struct hash_key key;
	struct bucket *buckets;
	size_t mask;
	struct entry_list lru;
	size_t count;
	size_t max;
};

struct cache *cache_new(size_t max)
{
	struct cache *c = xcalloc(1, sizeof(*c));
	size_t buckets = 16;

	c->max = max ? max : 1;
	while (buckets < c->max && buckets < (1u << 20))
		buckets *= 2;
	c->key = hash_key_random();
	c->buckets = xcalloc(buckets, sizeof(*c->buckets));
	c->mask = buckets - 1;
	TAILQ_INIT(&c->lru);
	return c;
}

static void forget(struct cache *c, struct entry *e)
{
	LIST_REMOVE(e, chain);
	TAILQ_REMOVE(&c->lru, e, lru);
	c->count--;
	free(e);
}

void cache_clear(struct cache *c)
{
	struct entry *e;

	while ((e = TAILQ_FIRST(&c->lru)))
		forget(c, e);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	cache_clear(c);
	free(c->buckets);
	free(c);
}

static struct bucket *bucket_of(const struct cache *c, const struct hostname *name)
{
	return &c->buckets[hash_bytes(&c->key, name->s, name->len) & c->mask];
}

static struct entry *find(const struct cache *c, const struct hostname *name)
{
	struct entry *e;

	LIST_FOREACH (e, bucket_of(c, name), chain) {
		if (e->name.len == name->len && !memcmp(e->name.s, name->s, name->len))
			return e;
	}
	return NULL;
}

void cache_put(struct cache *c, const struct hostname *name, const struct addr *addrs, size_t n,
	       uint32_t ttl, uint64_t now_ms)
{
	struct entry *e = find(c, name);

	if (e)
		forget(c, e);
	if (ttl == 0)
		return;
	if (c->count >= c->max)
		forget(c, TAILQ_LAST(&c->lru, entry_list));
	if (n > CACHE_ADDRS_MAX)
		n = CACHE_ADDRS_MAX;
	if (ttl > CACHE_TTL_MAX)
		ttl = CACHE_TTL_MAX;

	e = xcalloc(1, sizeof(*e) + n * sizeof(e->addrs[0]));
	e->name = *name;
	e->expires_ms = now_ms + ttl * UINT64_C(1000);
	e->n = n;
	if (n)
		memcpy(e->addrs, addrs, n * sizeof(e->addrs[0]));
	LIST_INSERT_HEAD(bucket_of(c, name), e, chain);
	TAILQ_INSERT_HEAD(&c->lru, e, lru);
	c->count++;
}

bool cache_get(struct cache *c, const struct hostname *name, uint64_t now_ms,
	       const struct addr **addrs, size_t *n)
{
	struct entry *e = find(c, name);

	if (!e)
		return false;
	if (now_ms >= e->expires_ms) {
		forget(c, e);
		return false;
	}
	TAILQ_REMOVE(&c->lru, e, lru);
	TAILQ_INSERT_HEAD(&c->lru, e, lru);
	*addrs = e->addrs;
	*n = e->n;
	return true;
}

size_t cache_count(const struct cache *c)
{
	return c->count;
}
