/*
 * stack.h - the layers of a run, for the files that load, combine and apply them
 */
#ifndef CLI_LAYERS_STACK_H
#define CLI_LAYERS_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/layers/layer.h"
#include "cli/layers/layers.h"
#include "policy/settings.h"

/**
 * struct layers - from the highest to the lowest
 * @owners: besides the first
 * @v, @n: the files that were found
 * @no_config: the managed file's loosening does not count
 * @files, @nfiles: every file that was looked for
 * @settled: one of @files that is not read again, or NULL
 * @lists, @made, @nmade: arrays and strings that layers_list() has made
 * @missing, @nmissing: entries whose paths are missing, said already
 */
struct layers {
	unsigned owners;
	struct layer *v[LAYERS_MAX];
	size_t n;
	bool no_config;
	char **files;
	size_t nfiles;
	const char *settled;
	const char **lists[SETTINGS_NUM_LISTS];
	char **made;
	size_t nmade;
	const struct settings_entry **missing;
	size_t nmissing;
};

/**
 * layers_may_loosen() - whether a layer's loosening counts
 *
 * The managed file's does not under --no-config, a project's only once it is trusted, and a
 * repository never switches file confinement or strictness off.
 */
bool layers_may_loosen(const struct layers *l, const struct layer *layer);

/** layers_unknown_file() - the file whose onUnknownHost holds, or NULL. */
const struct settings *layers_unknown_file(const struct layers *l);

#endif
