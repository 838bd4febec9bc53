/*
 * refusals.h - tell a person what was refused: once a host:port and reason, not a thousand times
 */
#ifndef CLI_REPORT_REFUSALS_H
#define CLI_REPORT_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/policy.h"
#include "policy/target.h"

/* Distinct host:port and reason remembered; further ones are counted but not told apart. */
#define REFUSALS_MAX 1024

struct refusals;

/** refusals_new() - @quiet: lines are not printed, only counted. Free with refusals_free(). */
struct refusals *refusals_new(bool quiet);

/** typedef refusals_tell - hears each line that is printed, without its newline */
typedef void refusals_tell(void *arg, const char *text);

/** refusals_set_tell() - have somebody hear the lines, quiet or not; NULL for nobody. */
void refusals_set_tell(struct refusals *r, refusals_tell *tell, void *arg);

/**
 * refusals_set_common() - lines of many sessions go to one place: bound them together
 * @with: keeps count, and outlives @r; its own lines do not count
 *
 * A session begins anew with what it may print, and sessions are had for nothing.
 */
void refusals_set_common(struct refusals *r, struct refusals *with);

/** typedef refusals_hint - what else to say, in @out (REFUSAL_HINT_MAX bytes); false for nothing */
typedef bool refusals_hint(void *arg, const struct target *t, const struct decision *d, char *out);

/** refusals_set_hint() - asked once for each target and reason; behind the line that is printed. */
void refusals_set_hint(struct refusals *r, refusals_hint *hint, void *arg);

/** refusals_hint_of() - what was said of a target and reason that were noted; NULL for nothing. */
const char *refusals_hint_of(const struct refusals *r, const struct target *t,
			     const struct decision *d);

/** refusals_free() - NULL is allowed. */
void refusals_free(struct refusals *r);

/** refusals_note() - a target was refused, or could not be reached; prints its line the first time, if there were few. */
void refusals_note(struct refusals *r, const struct target *t, const struct decision *d);

/**
 * refusals_summary() - what was refused, how often, and what would have allowed it
 *
 * Nothing when quiet, or when the one line that was printed says it all.
 */
void refusals_summary(const struct refusals *r, FILE *out);

/** refusals_total() - how many refusals by policy (not failures to connect) there were. */
uint64_t refusals_total(const struct refusals *r);

/** refusals_first() - the sentence of the first refusal by policy; others if it is not remembered. */
const char *refusals_first(const struct refusals *r);

/** refusals_block() - the <sandbox_violations> block of --violations; nothing if none. */
void refusals_block(const struct refusals *r, FILE *out);

#endif
