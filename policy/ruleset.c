/*
 * Theory of operation
 *
 * The key of an entry is its name without stars, or (family, prefix length, prefix) of its block;
 * the two cannot collide, for a name has no byte below '-'. Entries with equal keys (other stars,
 * other ports) hang in one chain. The table is open addressing over 4-byte slots: 24 bits of entry
 * number and 8 bits of hash, so that a probe seldom touches an entry that is not wanted.
 *
 * `struct rule` is what a decision reports; it is built when an entry is first hit and kept, since
 * a million of them ahead of time would double the memory.
 */
#include "policy/ruleset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "policy/arena.h"
#include "policy/rulecache.h"

#define STRING_MAX   4096 /* longer file names and reasons are cut */
#define KEY_MAX	     (HOSTNAME_MAX + 1)
#define SLOT_INDEX   0x00ffffffu
#define SLOTS_MIN    64u
#define ORIGINS_SEEN 8 /* how far back an equal origin is looked for */
#define NO_ENTRY     UINT32_MAX
#define V4_PREFIXES  33
#define V6_PREFIXES  129

/*
 * @ports: 0 for every port; lo << 16 | hi for one interval; the number of a list, 1.., for more
 * @key_off: where the key starts, counted from @text
 */
struct entry {
	uint32_t text;
	uint32_t next;
	uint32_t line;
	uint32_t origin;
	uint32_t ports;
	uint16_t key_off;
	uint8_t key_len;
	uint8_t kind;
};

struct port_list {
	uint8_t n;
	struct port_range range[PATTERN_PORTS_MAX];
};

struct origin {
	uint32_t file;
	uint32_t reason;
};

/* An entry that was added again. */
struct duplicate {
	uint32_t entry;
	uint32_t line;
	uint32_t origin;
};

struct ruleset {
	unsigned owners; /* besides the first */
	struct hash_key key;
	struct arena arena;
	struct entry *entry;
	size_t n, room;
	uint32_t *slot;
	size_t slots, keys;
	struct port_list *list;
	size_t lists;
	struct origin *origin;
	size_t origins, origins_room;
	struct duplicate *duplicate;
	size_t duplicates;
	struct rulecache *reported;
	size_t longest; /* key */
	bool v4_used[V4_PREFIXES];
	bool v6_used[V6_PREFIXES];
};

/* A key made for a lookup or an entry. */
struct key {
	const char *p;
	size_t n;
};

struct ruleset *ruleset_new(void)
{
	struct ruleset *rs = xcalloc(1, sizeof(*rs));

	rs->key = hash_key_random();
	rs->reported = rulecache_new();
	return rs;
}

struct ruleset *ruleset_ref(struct ruleset *rs)
{
	rs->owners++;
	return rs;
}

void ruleset_free(struct ruleset *rs)
{
	if (!rs || rs->owners-- > 0)
		return;
	arena_clear(&rs->arena);
	rulecache_free(rs->reported);
	free(rs->entry);
	free(rs->slot);
	free(rs->list);
	free(rs->origin);
	free(rs->duplicate);
	free(rs);
}

size_t ruleset_count(const struct ruleset *rs)
{
	return rs->n;
}

size_t ruleset_memory(const struct ruleset *rs)
{
	return sizeof(*rs) + arena_memory(&rs->arena) + rs->n * sizeof(rs->entry[0]) +
	       rs->slots * sizeof(rs->slot[0]) + rs->lists * sizeof(rs->list[0]) +
	       rs->origins * sizeof(rs->origin[0]) + rulecache_memory(rs->reported);
}

static const char *text_or_null(const struct ruleset *rs, uint32_t off)
{
	return off == ARENA_NONE ? NULL : arena_at(&rs->arena, off);
}

static struct key entry_key(const struct ruleset *rs, const struct entry *e)
{
	return (struct key){ arena_at(&rs->arena, e->text) + e->key_off, e->key_len };
}

static struct key addr_key(const struct cidr *c, char out[KEY_MAX])
{
	size_t bytes = c->addr.family == AF_INET ? 4 : 16;

	out[0] = c->addr.family == AF_INET ? 4 : 6;
	out[1] = (char)c->bits;
	memcpy(out + 2, c->addr.bytes, bytes);
	return (struct key){ out, bytes + 2 };
}

static uint64_t hash_key(const struct ruleset *rs, struct key key)
{
	return hash_bytes(&rs->key, key.p, key.n);
}

static uint32_t hash_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~SLOT_INDEX;
}

/* The slot that holds @key, or the free one where it would go. */
static uint32_t *find_slot(const struct ruleset *rs, struct key key, uint64_t hash)
{
	uint32_t tag = hash_tag(hash);
	size_t mask = rs->slots - 1;

	for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &rs->slot[i];
		struct key have;

		if (!*slot)
			return slot;
		if ((*slot & ~SLOT_INDEX) != tag)
			continue;
		have = entry_key(rs, &rs->entry[(*slot & SLOT_INDEX) - 1]);
		if (have.n == key.n && !memcmp(have.p, key.p, key.n))
			return slot;
	}
}

/* The first entry of a chain, or NO_ENTRY where the slot is free. */
static uint32_t slot_entry(uint32_t slot)
{
	return slot ? (slot & SLOT_INDEX) - 1 : NO_ENTRY;
}

static uint32_t probe(const struct ruleset *rs, struct key key)
{
	if (!rs->slots || key.n > rs->longest)
		return NO_ENTRY;
	return slot_entry(*find_slot(rs, key, hash_key(rs, key)));
}

/* Entries in the order of memory, each later one of a chain at its head. */
static void set_slots(struct ruleset *rs, size_t slots)
{
	free(rs->slot);
	rs->slots = slots;
	rs->slot = xcalloc(slots, sizeof(rs->slot[0]));
	for (size_t i = 0; i < rs->n; i++) {
		struct key key = entry_key(rs, &rs->entry[i]);
		uint64_t hash = hash_key(rs, key);

		*find_slot(rs, key, hash) = hash_tag(hash) | (uint32_t)(i + 1);
	}
}

/* Room for @keys keys, with a quarter of the slots free. */
static void reserve_slots(struct ruleset *rs, size_t keys)
{
	size_t slots = rs->slots ? rs->slots : SLOTS_MIN;

	while (keys > slots / 4 * 3)
		slots *= 2;
	if (slots != rs->slots)
		set_slots(rs, slots);
}

void ruleset_reserve(struct ruleset *rs, size_t entries)
{
	if (entries > RULESET_ENTRIES_MAX - rs->n)
		entries = RULESET_ENTRIES_MAX - rs->n;
	reserve_slots(rs, rs->keys + entries);
}

static int intern_ports(struct ruleset *rs, const struct pattern *p, uint32_t *out,
			struct error *err)
{
	struct port_list list = { .n = p->nports };

	*out = 0;
	if (p->nports == 0)
		return 0;
	if (p->nports == 1) {
		*out = (uint32_t)p->ports[0].lo << 16 | p->ports[0].hi;
		return 0;
	}
	memcpy(list.range, p->ports, sizeof(list.range));
	for (size_t i = 0; i < rs->lists && !*out; i++)
		if (list.n == rs->list[i].n &&
		    !memcmp(list.range, rs->list[i].range, list.n * sizeof(list.range[0])))
			*out = (uint32_t)i + 1;
	if (*out)
		return 0;
	if (rs->lists == RULESET_SAME_MAX)
		return error_set(err, 0, "more than %d different lists of ports", RULESET_SAME_MAX);
	rs->list = xreallocarray(rs->list, rs->lists + 1, sizeof(rs->list[0]));
	rs->list[rs->lists++] = list;
	*out = (uint32_t)rs->lists;
	return 0;
}

static bool same_text(const struct ruleset *rs, uint32_t off, const char *s)
{
	if (off == ARENA_NONE || !s)
		return off == ARENA_NONE && !s;
	return !strncmp(arena_at(&rs->arena, off), s, STRING_MAX);
}

static uint32_t intern_origin(struct ruleset *rs, const char *file, const char *reason)
{
	struct origin o = { ARENA_NONE, ARENA_NONE };

	for (size_t back = 1; back <= ORIGINS_SEEN && back <= rs->origins; back++) {
		const struct origin *seen = &rs->origin[rs->origins - back];

		if (!same_text(rs, seen->file, file))
			continue;
		o.file = seen->file;
		if (same_text(rs, seen->reason, reason))
			return (uint32_t)(rs->origins - back);
	}
	if (o.file == ARENA_NONE)
		o.file = arena_string(&rs->arena, file, STRING_MAX);
	o.reason = arena_string(&rs->arena, reason, STRING_MAX);
	rs->origin =
		xgrow(rs->origin, &rs->origins_room, rs->origins + 1, 4, sizeof(rs->origin[0]));
	rs->origin[rs->origins] = o;
	return (uint32_t)rs->origins++;
}

static size_t star_len(enum pattern_kind kind)
{
	return kind == PATTERN_BELOW ? 2 : kind == PATTERN_TREE ? 3 : 0;
}

/* Store the text as written, and behind it the key where the text does not contain it. */
static void store_text(struct ruleset *rs, struct entry *e, const char *text, struct key key)
{
	size_t n = strnlen(text, STRING_MAX);
	size_t stars = star_len((enum pattern_kind)e->kind);
	bool inside = stars + key.n <= n && !memcmp(text + stars, key.p, key.n);
	char *p = arena_alloc(&rs->arena, n + 1 + (inside ? 0 : key.n), &e->text);

	memcpy(p, text, n);
	p[n] = '\0';
	e->key_off = (uint16_t)(inside ? stars : n + 1);
	e->key_len = (uint8_t)key.n;
	if (!inside)
		memcpy(p + n + 1, key.p, key.n);
	if (key.n > rs->longest)
		rs->longest = key.n;
}

static void note_prefix(struct ruleset *rs, const struct cidr *c)
{
	if (c->addr.family == AF_INET)
		rs->v4_used[c->bits] = true;
	else if (c->addr.family == AF_INET6)
		rs->v6_used[c->bits] = true;
}

/* Look through the chain for the same entry; *length counts it. */
static struct entry *find_same(struct ruleset *rs, uint32_t head, enum pattern_kind kind,
			       uint32_t ports, size_t *length)
{
	*length = 0;
	for (uint32_t i = head; i != NO_ENTRY; i = rs->entry[i].next) {
		struct entry *e = &rs->entry[i];

		if (e->kind == kind && e->ports == ports)
			return e;
		++*length;
	}
	return NULL;
}

static struct entry *append(struct ruleset *rs)
{
	if (rs->n == rs->room) {
		rs->room = rs->room ? rs->room + rs->room / 2 : 16;
		rs->entry = xreallocarray(rs->entry, rs->room, sizeof(rs->entry[0]));
	}
	return &rs->entry[rs->n++];
}

static uint32_t insert(struct ruleset *rs, const struct pattern *p, const struct rule *rule,
		       struct key key, uint32_t ports, uint32_t head)
{
	uint32_t origin = intern_origin(rs, rule->file, rule->reason);
	struct entry *e = append(rs);

	*e = (struct entry){ .kind = (uint8_t)p->kind,
			     .line = rule->line,
			     .ports = ports,
			     .next = head,
			     .origin = origin };
	store_text(rs, e, rule->text, key);
	note_prefix(rs, &p->cidr);
	if (head == NO_ENTRY)
		rs->keys++;
	return (uint32_t)rs->n;
}

/* The same pattern again: it may bring the reason, and lint wants to hear of it. */
static void add_again(struct ruleset *rs, struct entry *same, const struct rule *rule)
{
	const struct origin *o = &rs->origin[same->origin];
	struct duplicate *d;

	if (rule->reason && o->reason == ARENA_NONE) {
		same->origin = intern_origin(rs, text_or_null(rs, o->file), rule->reason);
		return;
	}
	if (rs->duplicates == RULESET_DUPLICATES_MAX)
		return;
	if (!rs->duplicate)
		rs->duplicate = xcalloc(RULESET_DUPLICATES_MAX, sizeof(rs->duplicate[0]));
	d = &rs->duplicate[rs->duplicates++];
	d->entry = (uint32_t)(same - rs->entry);
	d->line = rule->line;
	d->origin = intern_origin(rs, rule->file, rule->reason);
}

static int check_room(const struct ruleset *rs, size_t length, const char *text, struct error *err)
{
	if (length >= RULESET_SAME_MAX)
		return error_set(err, 0, "\"%s\": more than %d entries for one host", text,
				 RULESET_SAME_MAX);
	if (rs->n >= RULESET_ENTRIES_MAX)
		return error_set(err, 0, "more than %u entries", RULESET_ENTRIES_MAX);
	return 0;
}

int ruleset_add(struct ruleset *rs, const struct pattern *pattern, const struct rule *rule,
		struct error *err)
{
	char buf[KEY_MAX];
	struct key key = { pattern->host.s, pattern->host.len };
	struct entry *same;
	uint32_t ports, head;
	uint32_t *slot;
	uint64_t hash;
	size_t length;

	assert(rs->owners == 0);
	if (pattern->cidr.addr.family != AF_UNSPEC)
		key = addr_key(&pattern->cidr, buf);
	if (intern_ports(rs, pattern, &ports, err))
		return -1;
	reserve_slots(rs, rs->keys + 1);
	hash = hash_key(rs, key);
	slot = find_slot(rs, key, hash);
	head = slot_entry(*slot);
	same = find_same(rs, head, pattern->kind, ports, &length);
	if (same) {
		add_again(rs, same, rule);
		return 0;
	}
	if (check_room(rs, length, rule->text, err))
		return -1;
	*slot = hash_tag(hash) | insert(rs, pattern, rule, key, ports, head);
	return 0;
}

static size_t entry_ranges(const struct ruleset *rs, const struct entry *e, struct port_range *one,
			   const struct port_range **out)
{
	if (!e->ports)
		return 0;
	if (e->ports >> 16) {
		*one = (struct port_range){ (uint16_t)(e->ports >> 16), (uint16_t)e->ports };
		*out = one;
		return 1;
	}
	*out = rs->list[e->ports - 1].range;
	return rs->list[e->ports - 1].n;
}

static bool port_matches(const struct ruleset *rs, const struct entry *e, uint16_t port,
			 const struct ruleset_query *q)
{
	const struct port_range *r = NULL;
	struct port_range one;
	size_t n;

	if (!e->ports)
		return true;
	if (!port)
		return !q->every_port;
	n = entry_ranges(rs, e, &one, &r);
	for (size_t i = 0; i < n; i++)
		if (port >= r[i].lo && port <= r[i].hi)
			return true;
	return false;
}

static struct rule build_rule(const struct ruleset *rs, const struct entry *e)
{
	const struct origin *o = &rs->origin[e->origin];

	return (struct rule){ .text = arena_at(&rs->arena, e->text),
			      .file = text_or_null(rs, o->file),
			      .line = e->line,
			      .reason = text_or_null(rs, o->reason) };
}

/* The rule of entry @i; the pointer stays good. */
static const struct rule *report(const struct ruleset *rs, uint32_t i)
{
	struct rule rule = build_rule(rs, &rs->entry[i]);

	return rulecache_put(rs->reported, i, &rule);
}

static const struct rule *match_chain(const struct ruleset *rs, struct key key, unsigned kinds,
				      uint16_t port, const struct ruleset_query *q)
{
	for (uint32_t i = probe(rs, key); i != NO_ENTRY; i = rs->entry[i].next) {
		const struct entry *e = &rs->entry[i];

		if ((RULESET_KIND(e->kind) & kinds) && port_matches(rs, e, port, q))
			return report(rs, i);
	}
	return NULL;
}

static const struct rule *match_any(const struct ruleset *rs, uint16_t port,
				    const struct ruleset_query *q)
{
	return match_chain(rs, (struct key){ "", 0 }, RULESET_ANY & q->kinds, port, q);
}

const struct rule *ruleset_find_name(const struct ruleset *rs, const struct hostname *name,
				     uint16_t port, const struct ruleset_query *q)
{
	unsigned whole = RULESET_KIND(PATTERN_HOST) | RULESET_KIND(PATTERN_TREE);
	unsigned below = RULESET_KIND(PATTERN_BELOW) | RULESET_KIND(PATTERN_TREE);
	unsigned kinds = whole | (q->apex ? below : 0);
	size_t at = 0;

	if (!rs->n)
		return NULL;
	for (;;) {
		const struct rule *r;
		const char *dot;

		r = match_chain(rs, (struct key){ name->s + at, name->len - at }, kinds & q->kinds,
				port, q);
		if (r)
			return r;
		dot = memchr(name->s + at, '.', name->len - at);
		if (!dot)
			break;
		at = (size_t)(dot - name->s) + 1;
		kinds = below;
	}
	return match_any(rs, port, q);
}

/* Clear bit @bit, the last of a prefix that gets one shorter. */
static void shorten(struct cidr *c)
{
	c->bits--;
	c->addr.bytes[c->bits / 8] &= (uint8_t) ~(0x80u >> c->bits % 8);
}

const struct rule *ruleset_find_addr(const struct ruleset *rs, const struct addr *a, uint16_t port,
				     const struct ruleset_query *q)
{
	struct cidr c = { addr_unmapped(a), 128 };
	const bool *used;
	char buf[KEY_MAX];

	if (!rs->n)
		return NULL;
	if (c.addr.family == AF_INET)
		c.bits = 32;
	used = c.addr.family == AF_INET ? rs->v4_used : rs->v6_used;
	for (;;) {
		const struct rule *r = NULL;

		if (used[c.bits] && c.bits >= q->min_bits &&
		    (!q->max_bits || c.bits <= q->max_bits))
			r = match_chain(rs, addr_key(&c, buf), RULESET_ADDRS & q->kinds, port, q);
		if (r)
			return r;
		if (!c.bits)
			break;
		shorten(&c);
	}
	return match_any(rs, port, q);
}

static bool visit_entry(const struct rule *rule, ruleset_visit *visit, void *ctx)
{
	struct pattern p;

	if (pattern_parse(rule->text, strlen(rule->text), &p, NULL))
		return true; /* cannot be: it was parsed when it was added */
	return visit(ctx, &p, rule);
}

void ruleset_each(const struct ruleset *rs, ruleset_visit *visit, void *ctx)
{
	for (size_t i = 0; i < rs->n; i++) {
		struct rule rule = build_rule(rs, &rs->entry[i]);

		if (!visit_entry(&rule, visit, ctx))
			return;
	}
}

void ruleset_each_duplicate(const struct ruleset *rs, ruleset_visit *visit, void *ctx)
{
	for (size_t i = 0; i < rs->duplicates; i++) {
		const struct duplicate *d = &rs->duplicate[i];
		struct entry e = rs->entry[d->entry];
		struct rule rule;

		e.line = d->line;
		e.origin = d->origin;
		rule = build_rule(rs, &e);
		if (!visit_entry(&rule, visit, ctx))
			return;
	}
}

void ruleset_each_port(const struct ruleset *rs, ruleset_visit_ports *visit, void *ctx)
{
	for (size_t i = 0; i < rs->n; i++) {
		const struct port_range *r = NULL;
		struct port_range one;
		size_t n = entry_ranges(rs, &rs->entry[i], &one, &r);

		for (size_t k = 0; k < n; k++)
			visit(ctx, &r[k]);
	}
}
