/*
 * grant.h - answers that are remembered: for this run, for a project, for ever or for a while
 *
 * A grant is one answer to one question: exactly the host and port that were asked about, or
 * *.domain:port where the person widened it. The table is what holds in one run; policy_decide()
 * looks into it behind every list (policy_set_answers()). Time comes from a function given at
 * construction, so an answer that has expired is ignored whatever else happens.
 */
#ifndef POLICY_GRANT_H
#define POLICY_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/hostname.h"
#include "policy/policy.h"
#include "policy/target.h"

#define GRANT_PATTERN_MAX (HOSTNAME_MAX + 12) /* "*." "[" "]" ":65535" and the zero byte */
#define GRANT_BY_MAX	  64		      /* who answered, with the final zero byte */
#define GRANT_PROJECT_MAX 4096		      /* PATH_MAX */
#define GRANT_LINE_MAX	  (6 * GRANT_PROJECT_MAX + 2048)
#define GRANTS_MAX	  4096 /* in one table; what is beyond is not remembered */

/** enum grant_scope - where an answer holds */
enum grant_scope {
	GRANT_RUN,     /* in this process only */
	GRANT_PROJECT, /* runs that start in @project */
	GRANT_FOREVER, /* every run of this user */
	GRANT_NUM_SCOPES
};

/**
 * struct grant - one remembered answer; a value
 * @pattern: "host:port", "[v6]:port" or "*.domain:port", canonical
 * @allow: the answer
 * @scope: where it holds
 * @when: seconds since the epoch
 * @until: the same; 0 for no end
 * @by: who answered; printable ASCII
 * @project: absolute path for GRANT_PROJECT, else ""
 */
struct grant {
	char pattern[GRANT_PATTERN_MAX];
	bool allow;
	enum grant_scope scope;
	int64_t when, until;
	char by[GRANT_BY_MAX];
	char project[GRANT_PROJECT_MAX];
};

#define GRANT_CLOCK_SLACK 60 /* seconds that a clock may be set back without more ado */

/**
 * grant_is_over() - whether the time that the answer was for has gone by
 *
 * So it has where the clock is before the answer: it was ahead then, and how long ago that was nobody
 * knows.
 */
bool grant_is_over(const struct grant *g, int64_t now);

struct grants;
struct suffixes;

/** typedef grant_clock - seconds since the epoch */
typedef int64_t grant_clock(void);

/** grants_new() - an empty table. Free with grants_free(). */
struct grants *grants_new(grant_clock *now);

/** grants_free() - NULL is allowed. */
void grants_free(struct grants *g);

/**
 * grants_add() - remember an answer; one with the same pattern and scope is replaced
 * Return: false if the pattern is none, or the table is full.
 */
bool grants_add(struct grants *g, const struct grant *grant);

/** grants_drop_saved() - forget what came from a file, before it is read again. */
void grants_drop_saved(struct grants *g);

/** grants_count() - how many there are, expired ones included. */
size_t grants_count(const struct grants *g);

/**
 * grants_find() - the answer for a target
 * @out: filled when there is one; its rule and its answerer point into the table
 *
 * An exact answer comes before a wider one, the narrower scope before the wider, and no answer
 * that has expired. A target without a port (a name looked up) takes any port's yes.
 *
 * Return: whether there is one.
 */
bool grants_find(const struct grants *g, const struct target *t, struct decision *out);

/** grant_is_saved() - whether a rule that grants_find() has given holds for later runs, too. */
bool grant_is_saved(const struct rule *rule);

/**
 * grant_widen() - "*.domain:port" around a name
 * @suffixes: the public suffix list, or NULL, with which nothing is widened
 *
 * Return: false for an address, a name without a parent, or a parent below which not all names are
 * the same people's.
 */
bool grant_widen(const struct target *t, struct suffixes *suffixes, char out[GRANT_PATTERN_MAX]);

/** grant_format() - as a line of JSON with its newline. Return: its length; 0 if it is too long. */
size_t grant_format(const struct grant *grant, char out[GRANT_LINE_MAX]);

/** grant_parse() - such a line, its newline not included. 0, or -1 with @err. */
int grant_parse(const char *line, size_t len, struct grant *out, struct error *err);

#endif
