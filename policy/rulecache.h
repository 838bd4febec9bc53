/*
 * rulecache.h - the rules that a list has reported, by the number of their entry
 *
 * A million `struct rule` ahead of time would double the memory of a list; they are made when an
 * entry is first hit, and stay where they are until the list goes.
 */
#ifndef POLICY_RULECACHE_H
#define POLICY_RULECACHE_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

struct rulecache;

/** rulecache_new() - an empty one. Free with rulecache_free(). */
struct rulecache *rulecache_new(void);

/** rulecache_free() - NULL is allowed. */
void rulecache_free(struct rulecache *rc);

/**
 * rulecache_put() - remember the rule of an entry
 * @entry: its number
 * @rule: what it says now; copied over what it said before
 *
 * Return: the copy, the same address each time, valid as long as @rc.
 */
const struct rule *rulecache_put(struct rulecache *rc, uint32_t entry, const struct rule *rule);

/** rulecache_memory() - bytes held. */
size_t rulecache_memory(const struct rulecache *rc);

#endif
