/*
 * indexstate.h - a git directory's index: names that lead elsewhere, and repositories that it knows of
 */
#ifndef LAUNCHER_FILES_INDEXSTATE_H
#define LAUNCHER_FILES_INDEXSTATE_H

#include <stdbool.h>

#include "launcher/files/gitvisit.h"

/** indexstate_is_shared() - whether a name is that of a file that a split index refers to. */
bool indexstate_is_shared(const char *name);

/**
 * indexstate_visit() - look at an index
 * @dir: the git directory
 * @at: the index's path within the one that the walk began in
 *
 * A new repository that it knows of keeps its files, but is none any more: its .git is renamed.
 */
void indexstate_visit(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		      const char *at);

#endif
