/*
 * cutgrant.h - grants below a temporary directory, in which something is to be hidden
 */
#ifndef LAUNCHER_FILES_CUTGRANT_H
#define LAUNCHER_FILES_CUTGRANT_H

#include "base/error.h"
#include "launcher/files/mountsteps.h"

/**
 * cutgrant_apply() - have the entries of such a grant mounted in its place
 * @p: with all steps but those that are locked or pinned, not sorted yet
 *
 * Return: 0, or -1 with @err: too many, or they cannot be listed.
 */
int cutgrant_apply(struct mountplan *p, struct error *err);

#endif
