/*
 * tally.h - what a run did, added up: one row a target and outcome
 *
 * Filled from the events of a run, or from a saved audit log; read by reports and by learning.
 */
#ifndef CLI_REPORT_TALLY_H
#define CLI_REPORT_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "policy/target.h"

/*
 * Rows of each outcome: refused, not reached, reached. What does not fit is counted in struct tally_sums only.
 * Refusals cost a command nothing, and must not take the place of what it has reached.
 */
#define TALLY_MAX 4096

/**
 * struct tally_row - one target and outcome
 * @target: its @via is that of the first time; an empty host where there was no valid one
 * @allow: the verdict; with a @code other than CODE_OK it was allowed and not reached
 * @rule, @file, @line: the entry that decided, or NULL
 * @at: the line of a saved log where it was first told; 0 in a run
 * @by: who answered, or NULL
 * @program: the first one that was seen to connect there, or NULL
 * @text: what was said of it; NULL where it was allowed and reached
 * @remedy: the options that would have allowed it, or NULL
 * @count: decisions
 * @bytes_up, @bytes_down: of its closed connections
 * @is_private: a connection went to a private address
 * @listed: the address, neither public nor private, that a connection of a name went to: a rule
 *          names it; family AF_UNSPEC for none
 * @first, @last: seconds since the epoch
 */
struct tally_row {
	struct target target;
	bool allow;
	enum code code;
	char *rule, *file;
	unsigned line, at;
	char *by, *program;
	char *text, *remedy;
	uint64_t count, bytes_up, bytes_down;
	bool is_private;
	struct addr listed;
	int64_t first, last;
};

/** struct tally_sums - over all rows and what did not fit */
struct tally_sums {
	uint64_t allowed, refused, failed, bytes_up, bytes_down, left_out;
};

struct tally;

/** tally_new() - empty. Free with tally_free(). */
struct tally *tally_new(void);

/** tally_free() - NULL is allowed. */
void tally_free(struct tally *t);

/**
 * struct tally_words - what a saved log has, and a decision alone does not
 * @program: for whom, or NULL
 * @text, @remedy: as it was said then; both NULL to say it as the decision is
 * @at: its line, from 1 on; 0 where there is no log
 */
struct tally_words {
	const char *program, *text, *remedy;
	unsigned at;
};

/** tally_decision() - a target was judged. */
void tally_decision(struct tally *t, const struct target *target, const struct decision *d,
		    const struct tally_words *words, int64_t now);

/** tally_close() - a connection to an allowed target has ended; @addr is what was dialled. */
void tally_close(struct tally *t, const struct target *target, const struct addr *addr, uint64_t up,
		 uint64_t down, int64_t now);

/** tally_sums() - the totals. */
const struct tally_sums *tally_sums(const struct tally *t);

/**
 * tally_sorted() - the rows: refused ones, then what was not reached, then allowed; each most often
 *                  first
 *
 * Return: an array of @n pointers, which the caller frees.
 */
const struct tally_row **tally_sorted(const struct tally *t, size_t *n);

#endif
