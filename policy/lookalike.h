/*
 * lookalike.h - names that are easily taken for another one
 */
#ifndef POLICY_LOOKALIKE_H
#define POLICY_LOOKALIKE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/hostname.h"

/**
 * lookalike_of() - whether @name may be taken for @known
 *
 * Looks at the last two labels: the same when 0 is read as o, 1 and i as l, rn as m, vv as w and
 * hyphens are dropped; or, for long ones, one letter more, less, other or swapped. Names of one
 * domain are no look-alikes of each other.
 */
bool lookalike_of(const char *name, const char *known);

/** lookalike_known() - the well-known name that @name may be taken for, or NULL. */
const char *lookalike_known(const char *name);

/** lookalike_is_foreign() - whether a label is punycode: shown as letters it may look like another. */
bool lookalike_is_foreign(const struct hostname *h);

#endif
