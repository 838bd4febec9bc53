#include "policy/rulecache.h"

#include <stdlib.h>

#include "base/xalloc.h"

#define SLOTS_MIN 16u

/* Open addressing by entry number; a slot without rule is free. */
struct rulecache {
	struct rule **rule;
	uint32_t *entry;
	size_t slots, n;
};

struct rulecache *rulecache_new(void)
{
	return xcalloc(1, sizeof(struct rulecache));
}

void rulecache_free(struct rulecache *rc)
{
	if (!rc)
		return;
	for (size_t i = 0; i < rc->slots; i++)
		free(rc->rule[i]);
	free(rc->rule);
	free(rc->entry);
	free(rc);
}

/* The multiplier spreads neighbouring numbers (Knuth, TAOCP 3, 6.4). */
static size_t place(const struct rulecache *rc, uint32_t entry)
{
	size_t i = (size_t)(entry * 0x9e3779b1u) & (rc->slots - 1);

	while (rc->rule[i] && rc->entry[i] != entry)
		i = (i + 1) & (rc->slots - 1);
	return i;
}

static void grow(struct rulecache *rc)
{
	struct rulecache old = *rc;

	rc->slots = old.slots ? old.slots * 2 : SLOTS_MIN;
	rc->rule = xcalloc(rc->slots, sizeof(rc->rule[0]));
	rc->entry = xcalloc(rc->slots, sizeof(rc->entry[0]));
	for (size_t i = 0; i < old.slots; i++) {
		size_t to;

		if (!old.rule[i])
			continue;
		to = place(rc, old.entry[i]);
		rc->rule[to] = old.rule[i];
		rc->entry[to] = old.entry[i];
	}
	free(old.rule);
	free(old.entry);
}

const struct rule *rulecache_put(struct rulecache *rc, uint32_t entry, const struct rule *rule)
{
	size_t at;

	if (rc->n * 2 >= rc->slots)
		grow(rc);
	at = place(rc, entry);
	if (!rc->rule[at]) {
		rc->rule[at] = xmalloc(sizeof(*rule));
		rc->entry[at] = entry;
		rc->n++;
	}
	*rc->rule[at] = *rule;
	return rc->rule[at];
}

size_t rulecache_memory(const struct rulecache *rc)
{
	return sizeof(*rc) + rc->slots * (sizeof(rc->rule[0]) + sizeof(rc->entry[0])) +
	       rc->n * sizeof(struct rule);
}
