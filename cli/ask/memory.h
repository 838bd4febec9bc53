/*
 * memory.h - answers that outlive a run: one file in our state directory
 *
 * $XDG_STATE_HOME/sbx-net/answers (~/.local/state), one JSON object a line, exactly what was asked
 * and answered. It is read and replaced as a whole under the directory's lock, so two runs at once
 * lose nothing; a line that we do not understand is kept and ignored.
 */
#ifndef CLI_ASK_MEMORY_H
#define CLI_ASK_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/grant.h"

/** memory_path() - the file; the caller frees. NULL with @err where there is no home. */
char *memory_path(struct error *err);

/** memory_now() - seconds since the epoch. */
int64_t memory_now(void);

/**
 * memory_load() - add what holds in a project: its own answers and those for every run
 * @project: absolute path
 *
 * No file is no answers. Return: 0, or -1 with @err.
 */
int memory_load(struct grants *g, const char *project, struct error *err);

/** memory_save() - keep an answer; it replaces one for the same target and project. */
int memory_save(const struct grant *grant, struct error *err);

/** typedef memory_visit - called for each answer in the order of the file; true forgets it */
typedef bool memory_visit(void *arg, const struct grant *grant);

/** memory_each() - look at every answer; nothing is changed. 0, or -1 with @err. */
int memory_each(memory_visit *visit, void *arg, struct error *err);

/** memory_forget() - drop those for which @visit returns true. Return: how many, or -1. */
long memory_forget(memory_visit *visit, void *arg, struct error *err);

#endif
