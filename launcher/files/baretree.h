/*
 * baretree.h - a working tree that a command makes a bare repository of
 *
 * HEAD and commondir, or HEAD, objects and refs in a working tree that has a .git: where that .git is broken,
 * git takes the tree for a bare repository, and obeys the configuration in it or where the commondir leads.
 */
#ifndef LAUNCHER_FILES_BARETREE_H
#define LAUNCHER_FILES_BARETREE_H

#include <stdbool.h>

#include "launcher/files/gitvisit.h"

/**
 * struct baretree - what was there at the start: all of it, or a part that git would take
 * @dotest: the directory in which zsh's prompt looks for an old git's rebase
 */
struct baretree {
	bool bare, head, commondir, dotest;
};

/** baretree_note() - remember what is in a working tree. */
void baretree_note(struct baretree *b, int dir);

/** baretree_sweep() - remove either of the two: what is missing could come with the next run, or be the user's. */
void baretree_sweep(const struct baretree *b, int dir, const struct gitvisit *v);

#endif
