/*
 * rules.h - from the words of the command line to a policy
 */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "base/error.h"
#include "cli/filemark.h"
#include "cli/layers/layers.h"
#include "cli/liststamp.h"
#include "cli/options.h"
#include "policy/policy.h"

/**
 * struct rules - the policy of a run and the settings files behind it
 * @stamps: of the list files, where they were read while the command ran
 * @rest_ms: a list file may be half-written: nothing is open that was not before, and it is to be read
 *           again after this time; or 0
 */
struct rules {
	struct layers *layers;
	struct policy *policy;
	struct liststamps stamps;
	unsigned rest_ms;
};

/**
 * rules_load() - read the settings files and build the policy
 * @r: filled on success only; release with rules_clear()
 * @o: parsed options
 * @cwd: where the command starts
 *
 * Patterns keep the option or the file and line as their origin, so that a refusal can name them
 * and an error names the pattern. Return: 0, or -1 with @err.
 */
int rules_load(struct rules *r, const struct run_options *o, const char *cwd, struct error *err);

/**
 * rules_reread() - the same while the command runs
 * @before: those that are to be replaced; see layers_load() too
 * @marks: of the files that lie where the command may write, or NULL
 *
 * Return: 0. 1 with @err: a file could not be read, or was broken, and keeps what it said; nothing
 * is open that was not before. -1 with @err: there are no rules.
 */
int rules_reread(struct rules *r, const struct run_options *o, const char *cwd,
		 const struct rules *before, const struct filemark *marks, struct error *err);

/**
 * rules_share() - the same policy once more, and a session's bounds on top of it
 * @base: filled by rules_load(); what it read is shared, and lives as long as its last user
 * @o: its --deny entries and @within; nothing else of it counts
 *
 * Reads no file, and costs what the bounds cost. Return: as rules_load().
 */
int rules_share(struct rules *r, const struct rules *base, const struct run_options *o,
		struct error *err);

/** rules_clear() - release both; fine on an empty one. */
void rules_clear(struct rules *r);

/** rules_kept_to() - the file that --locked keeps to: the first of --policy; NULL without --locked. */
const char *rules_kept_to(const struct run_options *o);

#endif
