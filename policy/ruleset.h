/*
 * ruleset.h - the entries of one list, found by one hash probe a label
 *
 * A name is looked up whole and then by each of its suffixes; an address once for each prefix
 * length that some entry uses. The cost does not depend on the number of entries. Entries are a
 * few machine words each in one array, their texts lie in an arena, so that a million of them
 * load in about a second and fit into 64 MiB. Lookups remember which entries they reported, so that
 * a list belongs to one thread, const as it is.
 */
#ifndef POLICY_RULESET_H
#define POLICY_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/hostname.h"
#include "policy/pattern.h"
#include "policy/policy.h"

#define RULESET_ENTRIES_MAX    ((1u << 24) - 1)
#define RULESET_SAME_MAX       1024 /* entries for one and the same host, and lists of ports */
#define RULESET_DUPLICATES_MAX 256

struct ruleset;

/**
 * struct ruleset_query - how a lookup reads the entries
 * @kinds: which forms may match: a mask of RULESET_KIND()
 * @min_bits: blocks shorter than this do not match
 * @max_bits: nor do blocks longer than this; 0 for no bound
 * @apex: *.host matches host itself too (deny lists)
 * @every_port: with port 0 (not known yet) only an entry for every port matches, otherwise any
 */
struct ruleset_query {
	unsigned kinds;
	uint8_t min_bits;
	uint8_t max_bits;
	bool apex;
	bool every_port;
};

#define RULESET_KIND(k) (1u << (k))
#define RULESET_NAMES \
	(RULESET_KIND(PATTERN_HOST) | RULESET_KIND(PATTERN_BELOW) | RULESET_KIND(PATTERN_TREE))
#define RULESET_ANY   RULESET_KIND(PATTERN_ANY)
#define RULESET_ADDRS (RULESET_KIND(PATTERN_ADDR) | RULESET_KIND(PATTERN_CIDR))

/** ruleset_new() - an empty list. Free with ruleset_free(). */
struct ruleset *ruleset_new(void);

/** ruleset_ref() - one more owner, who calls ruleset_free() too; nothing is added from then on. */
struct ruleset *ruleset_ref(struct ruleset *rs);

/** ruleset_free() - gone with its last owner; NULL is allowed. */
void ruleset_free(struct ruleset *rs);

/**
 * ruleset_add() - put an entry on the list
 * @pattern: parsed from (@text, @len)
 * @rule: what to report: @rule->text as it was written, file, line, reason; all copied
 *
 * The same pattern again changes nothing, except that it gives a reason to one without.
 *
 * Return: 0, or -1 with @err when the list is full.
 */
int ruleset_add(struct ruleset *rs, const struct pattern *pattern, const struct rule *rule,
		struct error *err);

/** ruleset_reserve() - make room for that many more entries at once; only saves time. */
void ruleset_reserve(struct ruleset *rs, size_t entries);

/** ruleset_count() - how many different entries. */
size_t ruleset_count(const struct ruleset *rs);

/**
 * ruleset_find_name() - the entry that matches a name, the most specific first
 * @port: 1..65535, or 0 if not known
 *
 * Return: the entry, valid as long as @rs, or NULL.
 */
const struct rule *ruleset_find_name(const struct ruleset *rs, const struct hostname *name,
				     uint16_t port, const struct ruleset_query *q);

/** ruleset_find_addr() - the same for an address; a mapped IPv4 address is looked up as IPv4. */
const struct rule *ruleset_find_addr(const struct ruleset *rs, const struct addr *a, uint16_t port,
				     const struct ruleset_query *q);

/** typedef ruleset_visit - called for each entry in the order of adding; false stops. */
typedef bool ruleset_visit(void *ctx, const struct pattern *pattern, const struct rule *rule);

/** ruleset_each() - visit every entry; @rule is valid during the call only. */
void ruleset_each(const struct ruleset *rs, ruleset_visit *visit, void *ctx);

/**
 * ruleset_each_duplicate() - visit what was added again; the first RULESET_DUPLICATES_MAX are kept
 *
 * @rule is the later one, with the text of the first.
 */
void ruleset_each_duplicate(const struct ruleset *rs, ruleset_visit *visit, void *ctx);

/** typedef ruleset_visit_ports - called for each interval of ports that an entry names. */
typedef void ruleset_visit_ports(void *ctx, const struct port_range *range);

/** ruleset_each_port() - visit the intervals of every entry that has some; with repetitions. */
void ruleset_each_port(const struct ruleset *rs, ruleset_visit_ports *visit, void *ctx);

/** ruleset_memory() - bytes that the list holds. */
size_t ruleset_memory(const struct ruleset *rs);

#endif
