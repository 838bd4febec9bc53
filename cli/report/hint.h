/*
 * hint.h - what a person may have overlooked when something was refused
 */
#ifndef CLI_REPORT_HINT_H
#define CLI_REPORT_HINT_H

#include <stdbool.h>

#include "cli/ask/asking.h"
#include "cli/layers/layers.h"
#include "cli/options.h"
#include "policy/policy.h"
#include "policy/refusal.h"
#include "policy/target.h"

/**
 * struct hint_context - the run
 * @nobody: why nobody is asked, unless that was said
 * @told: it has been told that there is no terminal, which is no news to a script; set by hint_of()
 */
struct hint_context {
	const struct run_options *options;
	const struct layers *layers;
	enum asking_nobody nobody;
	bool *told;
};

/**
 * hint_of() - a word about this refusal, to stand behind its sentence
 * @out: REFUSAL_HINT_MAX bytes; printable ASCII
 *
 * Return: whether there is one.
 */
bool hint_of(const struct hint_context *c, const struct target *t, const struct decision *d,
	     char out[REFUSAL_HINT_MAX]);

#endif
