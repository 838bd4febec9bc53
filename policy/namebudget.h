/*
 * namebudget.h - how many names one wildcard may be asked about
 *
 * Who controls a domain can read data out of the names that are looked up below it. A wildcard
 * entry therefore admits a bounded number of different names a run; further new ones are refused
 * with code "limit", while names that have been seen go on working. Exact entries need no budget;
 * "*" has none, since it lets data out to anybody anyway.
 */
#ifndef POLICY_NAMEBUDGET_H
#define POLICY_NAMEBUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/hostname.h"
#include "policy/policy.h"

#define NAMEBUDGET_NAMES_MAX 1000     /* different names a rule */
#define NAMEBUDGET_TOTAL_MAX 0x10000u /* different (rule, name) pairs a run: 1 MiB of table */

struct namebudget;

/** namebudget_new() - nothing seen yet. Free with namebudget_free(). */
struct namebudget *namebudget_new(void);

/** namebudget_free() - NULL is allowed. */
void namebudget_free(struct namebudget *nb);

/**
 * namebudget_take() - may this name be resolved under this rule?
 * @rule: the entry that allowed it; NULL (a person's answer), exact entries and "*" always may
 * @name: the name; it counts once, however often it comes
 *
 * Names are kept as 64-bit hashes under a secret key. A rule is known by its text, so that a
 * reloaded policy goes on counting.
 *
 * Return: false when the rule's budget, or the table, is used up.
 */
bool namebudget_take(struct namebudget *nb, const struct rule *rule, const struct hostname *name);

#endif
