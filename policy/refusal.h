/*
 * refusal.h - the sentence that a person reads when something was refused
 *
 * One function for every way in: stderr, the HTTP body, the audit log and `why`.
 */
#ifndef POLICY_REFUSAL_H
#define POLICY_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"
#include "policy/target.h"

#define REFUSAL_MAX	 1024
#define REFUSAL_HINT_MAX 512
#define REFUSAL_TOLD_MAX (REFUSAL_MAX + REFUSAL_HINT_MAX)

/**
 * refusal_format() - "refused HOST:PORT (REASON); allow with: OPTION"
 * @t: the target
 * @d: the decision; codes that are failures rather than refusals ("dns-failed",
 *     "connect-failed", "connect-timeout") read "cannot reach HOST:PORT (REASON)"
 * @out: REFUSAL_MAX bytes; printable ASCII, one line, no final newline
 *
 * The remedy is named only where one exists (a denied entry names its rule instead). Where the name
 * is allowed and the address that it leads to is not, it reads "allow also with: OPTION". Where no
 * option can allow it (struct keeper), it says who can, and in which file.
 *
 * Return: @out.
 */
const char *refusal_format(const struct target *t, const struct decision *d, char out[REFUSAL_MAX]);

/**
 * refusal_told() - the sentence as a person is told it: with what may have been overlooked, if anything
 * @hint: of at most REFUSAL_HINT_MAX bytes, printable ASCII; NULL for none
 * @out: REFUSAL_TOLD_MAX bytes
 *
 * Return: @out.
 */
const char *refusal_told(const struct target *t, const struct decision *d, const char *hint,
			 char out[REFUSAL_TOLD_MAX]);

/**
 * refusal_remedy() - the option that would have allowed it, to be copied; "" if none can
 * @out: REFUSAL_MAX bytes
 *
 * Not to be looked for in the sentence: that repeats what others wrote, a rule's reason for one.
 *
 * Return: @out.
 */
const char *refusal_remedy(const struct target *t, const struct decision *d, char out[REFUSAL_MAX]);

/**
 * refusal_is_addition() - whether refusal_remedy() has to be added to what allows the name already
 *
 * In its place it would lead to the next refusal: that of the name.
 */
bool refusal_is_addition(const struct target *t, const struct decision *d);

#endif
