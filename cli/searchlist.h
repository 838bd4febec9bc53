/*
 * searchlist.h - questions that a stub resolver makes up by itself
 *
 * One look-up of a program becomes several questions: for A and for AAAA, and with each suffix of
 * the `search` line in resolv.conf behind the name. The command asked for one name; a refusal of
 * the others is no news. They are refused all the same, but not told.
 */
#ifndef CLI_SEARCHLIST_H
#define CLI_SEARCHLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/hostname.h"

#define SEARCHLIST_MOMENT_MS \
	5000 /* a resolver's default time-out: its questions lie no farther apart */

struct searchlist;

/** searchlist_new() - the suffixes of @resolv_conf, none if it cannot be read. */
struct searchlist *searchlist_new(const char *resolv_conf);

/** searchlist_free() - NULL is allowed. */
void searchlist_free(struct searchlist *s);

/** searchlist_is_same() - whether @name is @base, or one is the other with a suffix behind it. */
bool searchlist_is_same(const struct searchlist *s, const struct hostname *name,
			const struct hostname *base);

/**
 * enum searchlist_kind - what a question is
 */
enum searchlist_kind {
	SEARCHLIST_PLAIN, /* nothing speaks against it */
	SEARCHLIST_MADE_UP, /* a name of the last moment with a suffix, or the second in a row for it */
	SEARCHLIST_UNSURE, /* it ends in a suffix: made up, if the name without it is asked for soon */
};

/**
 * searchlist_ask() - note a question, and tell what it is
 * @now_ms: a monotonic clock
 */
enum searchlist_kind searchlist_ask(struct searchlist *s, const struct hostname *name,
				    uint64_t now_ms);

/** searchlist_is_expansion() - whether @name is one of a name that was asked for just now. */
bool searchlist_is_expansion(const struct searchlist *s, const struct hostname *name,
			     uint64_t now_ms);

/**
 * searchlist_is_guess() - whether @name (just asked for) is more likely a resolver's guess
 *
 * With `options ndots:N` names of fewer dots are tried with each suffix before they are tried as they
 * are. Whoever would let or ask for any name must not answer those: the program would never come to
 * the name that it meant. A single label with a suffix is no guess but what was meant.
 */
bool searchlist_is_guess(const struct searchlist *s, const struct hostname *name, uint64_t now_ms);

/** searchlist_base() - @name without the suffix that makes it look like a guess. False: it has none. */
bool searchlist_base(const struct searchlist *s, const struct hostname *name,
		     struct hostname *base);

#endif
