/*
 * learnfile.h - what a run needed, merged into a settings file of ours
 *
 * Pure: text in, text out. Everything that the file says already stays, in its order.
 */
#ifndef POLICY_LEARNFILE_H
#define POLICY_LEARNFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/target.h"

struct suffixes;

/**
 * struct learnt - one target that was needed
 * @is_private: its name led to a private address
 * @program: by which program, or NULL
 * @first, @last: seconds since the epoch
 */
struct learnt {
	struct target target;
	bool is_private;
	const char *program;
	int64_t first, last;
};

/**
 * learnfile_merge() - the new text of the file
 * @old: its text, or NULL if there is none; valid for settings_parse()
 * @v, @n: what was needed; what an entry of the file allows already is not added
 * @added: how many entries are new
 *
 * Return: the text, which the caller frees; NULL with @err.
 */
char *learnfile_merge(const char *old, const struct learnt *v, size_t n, size_t *added,
		      struct error *err);

/** typedef learnfile_propose_cb - @count names, and the pattern that would allow them all. */
typedef void learnfile_propose_cb(void *arg, const char *pattern, size_t count);

#define LEARNFILE_SIBLINGS 3 /* names below one parent, before a wildcard is proposed */

/**
 * learnfile_propose() - wildcards that may be meant: several siblings at one port, below a parent
 *                       below which all names are the same people's
 * @suffixes: the public suffix list; NULL: nothing is proposed
 */
void learnfile_propose(const struct learnt *v, size_t n, struct suffixes *suffixes,
		       learnfile_propose_cb *cb, void *arg);

#endif
