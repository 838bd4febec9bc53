/*
 * landlock_tree.h - what is granted of a tree in which something is hidden
 */
#ifndef LAUNCHER_FILES_LANDLOCK_TREE_H
#define LAUNCHER_FILES_LANDLOCK_TREE_H

#include <stdbool.h>

#include "base/error.h"
#include "launcher/launcher.h"

/* Each takes some seven microseconds of the start. */
#define LANDLOCK_TREE_CROWD 4096

/** enum landlock_tree_what - a piece of the tree that may be granted */
enum landlock_tree_what {
	LANDLOCK_TREE_WHOLE, /* a directory with all that is, and will be, beneath it */
	LANDLOCK_TREE_FILE,  /* anything but a directory */
	LANDLOCK_TREE_NAMES, /* a directory with something hidden in it: its list of names only */
};

/**
 * struct landlock_tree - how a tree is cut up
 * @hidden: canonical paths, sorted by strcmp(3), whether there is something or not
 * @skip: NULL, or the one name at the top that is left out
 * @grant: called for each piece; what it returns other than 0 ends the walk
 * @crowded: NULL, or called for a directory of the way with too much in it; @all: nothing right in it
 *           is granted, else no files that are right in it
 * @arg: for both
 * @err: for failures of the walk itself
 */
struct landlock_tree {
	struct path_list hidden;
	const char *skip;
	int (*grant)(void *arg, int fd, enum landlock_tree_what what, const char *path);
	void (*crowded)(void *arg, const char *path, bool all);
	void *arg;
	struct error *err;
};

/**
 * landlock_tree_walk() - grant what is beneath @dir, but for what is hidden there
 * @dir: an open directory (O_PATH will do), whose canonical path is @path
 *
 * A tree without anything hidden is one piece. Else the directories on the way to what is hidden
 * are cut up into the entries that they have now, LANDLOCK_TREE_CROWD of a kind at most. Return: 0, or
 * -1 with @t->err.
 */
int landlock_tree_walk(const struct landlock_tree *t, int dir, const char *path);

#endif
