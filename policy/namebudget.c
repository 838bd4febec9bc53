#include "policy/namebudget.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"

#define SLOTS_MIN 64u

/* Open addressing over 64-bit hashes; 0 is free. */
struct table {
	uint64_t *hash;
	unsigned *count; /* names of the rule; only in the table of rules */
	size_t slots, n;
};

struct namebudget {
	struct hash_key key;
	struct table rules; /* by text: how many names it has admitted */
	struct table names; /* pairs of rule and name */
};

static void table_alloc(struct table *t, size_t slots)
{
	t->slots = slots;
	t->hash = xcalloc(slots, sizeof(t->hash[0]));
	t->count = xcalloc(slots, sizeof(t->count[0]));
}

static void table_clear(struct table *t)
{
	free(t->hash);
	free(t->count);
}

struct namebudget *namebudget_new(void)
{
	struct namebudget *nb = xcalloc(1, sizeof(*nb));

	nb->key = hash_key_random();
	table_alloc(&nb->rules, SLOTS_MIN);
	table_alloc(&nb->names, SLOTS_MIN);
	return nb;
}

void namebudget_free(struct namebudget *nb)
{
	if (!nb)
		return;
	table_clear(&nb->rules);
	table_clear(&nb->names);
	free(nb);
}

static size_t table_place(const struct table *t, uint64_t hash)
{
	size_t i = (size_t)hash & (t->slots - 1);

	while (t->hash[i] && t->hash[i] != hash)
		i = (i + 1) & (t->slots - 1);
	return i;
}

static bool table_has(const struct table *t, uint64_t hash)
{
	return t->hash[table_place(t, hash)] == hash;
}

static void table_grow(struct table *t)
{
	struct table old = *t;

	table_alloc(t, old.slots * 2);
	for (size_t i = 0; i < old.slots; i++) {
		size_t to;

		if (!old.hash[i])
			continue;
		to = table_place(t, old.hash[i]);
		t->hash[to] = old.hash[i];
		t->count[to] = old.count[i];
	}
	table_clear(&old);
}

/* The place of @hash, which is put in if it is new. */
static size_t table_put(struct table *t, uint64_t hash)
{
	size_t i;

	if (t->n * 2 >= t->slots)
		table_grow(t);
	i = table_place(t, hash);
	if (!t->hash[i]) {
		t->hash[i] = hash;
		t->n++;
	}
	return i;
}

static uint64_t nonzero(uint64_t hash)
{
	return hash ? hash : 1;
}

static uint64_t hash_pair(const struct namebudget *nb, uint64_t rule, const struct hostname *name)
{
	char buf[sizeof(rule) + HOSTNAME_MAX];

	memcpy(buf, &rule, sizeof(rule));
	memcpy(buf + sizeof(rule), name->s, name->len);
	return nonzero(hash_bytes(&nb->key, buf, sizeof(rule) + name->len));
}

/* "*" already lets the command send anything to anybody: a budget there would stop nobody. */
static bool has_budget(const struct rule *rule)
{
	return rule && (!strncmp(rule->text, "*.", 2) || !strncmp(rule->text, "**.", 3));
}

bool namebudget_take(struct namebudget *nb, const struct rule *rule, const struct hostname *name)
{
	uint64_t by_rule, pair;
	size_t at;

	if (!has_budget(rule))
		return true;
	by_rule = nonzero(hash_bytes(&nb->key, rule->text, strlen(rule->text)));
	pair = hash_pair(nb, by_rule, name);
	if (table_has(&nb->names, pair))
		return true;
	if (nb->names.n >= NAMEBUDGET_TOTAL_MAX)
		return false;
	at = table_put(&nb->rules, by_rule);
	if (nb->rules.count[at] >= NAMEBUDGET_NAMES_MAX)
		return false;
	nb->rules.count[at]++;
	(void)table_put(&nb->names, pair);
	return true;
}
