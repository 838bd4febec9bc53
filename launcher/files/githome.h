/*
 * githome.h - the repository that a directory belongs to, as git would find it
 */
#ifndef LAUNCHER_FILES_GITHOME_H
#define LAUNCHER_FILES_GITHOME_H

#include <stdbool.h>

/**
 * struct githome - where it is
 * @git: the git directory in which objects and refs are, canonical
 * @tree: the working tree whose ".git" that is; NULL for a linked one, or a submodule's
 */
struct githome {
	char *git;
	char *tree;
};

/**
 * githome_find() - look for it, from a directory upwards
 * @dir: canonical
 *
 * To be named to the user as what may be granted: a ".git" file, which a command may have made, counts
 * only if what it leads to agrees, as a linked working tree's does, or if that is the .git of a working
 * tree around it. Return: whether there is one; githome_clear() frees it.
 */
bool githome_find(const char *dir, struct githome *out);

/** githome_clear() - free. */
void githome_clear(struct githome *g);

#endif
