/*
 * rules.h - from the words of the command line to a policy
 */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "base/error.h"
#include "cli/layers.h"
#include "cli/options.h"
#include "policy/policy.h"

/**
 * rules_build() - the policy of a run: the command line and the settings files
 * @o: parsed options
 * @layers: the files; NULL for none
 *
 * Patterns keep the option as their origin, so that a refusal names "--deny" and an error names
 * the pattern.
 *
 * Return: the policy, which the caller frees, or NULL with @err.
 */
struct policy *rules_build(const struct run_options *o, const struct layers *layers,
			   struct error *err);

#endif
