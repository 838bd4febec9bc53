/*
 * gitseen.h - what was there at the start, to be told from what a command has left
 */
#ifndef LAUNCHER_FILES_GITSEEN_H
#define LAUNCHER_FILES_GITSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/** enum gitseen_kind - what something is; things of different kinds are never the same */
enum gitseen_kind {
	GITSEEN_LINE,	  /* of a rebase, anywhere */
	GITSEEN_STRATEGY, /* its name, anywhere */
	GITSEEN_FILE,	  /* the whole text of a file of git's state */
	GITSEEN_TREE,	  /* where a working tree is */
	GITSEEN_PLACE,	  /* where one is said to be */
	GITSEEN_BACK,	  /* what is in the place that a linked worktree's git directory names */
	GITSEEN_ODD,	  /* neither a file nor a directory */
	GITSEEN_GIT,	  /* a submodule's git directory */
	GITSEEN_INDEX,	  /* a file that holds git's index, by what it is and when it was changed */
	GITSEEN_PLAIN, /* the same of one that knows of no repository, and leaves out no directory */
	GITSEEN_REPO,  /* the .git of a repository that the index knows of */
	GITSEEN_LINK,  /* the name of one, where the working tree is not known */
	GITSEEN_SPARSE,	   /* a directory that an index leaves out, by its object */
	GITSEEN_FORM,	   /* any other file, by what it is and when it was changed */
	GITSEEN_REPLACED,  /* an object that another stands for, by a line of packed-refs */
	GITSEEN_TOOL_TREE, /* one that is a working tree, which some tools keep in a git directory */
	GITSEEN_STORE,	   /* a directory of objects */
	GITSEEN_DIR,	   /* a directory of which nothing is known */
	GITSEEN_LOCKED,	   /* a directory in which the command cannot write */
};

/**
 * struct gitseen - a set; all zero is an empty one
 *
 * It keeps checksums under a key of its own, which no command can choose its names for.
 */
struct gitseen {
	struct hash_key key;
	uint64_t *slots;
	size_t n, room;
};

/**
 * gitseen_add() - put something in
 * @at: where it is, or "" if that is all the same
 * @p, @n: what it is
 *
 * What comes when the set is full (1 Mi) is not in it, and counts as the command's later.
 */
void gitseen_add(struct gitseen *s, enum gitseen_kind kind, const char *at, const void *p,
		 size_t n);

/** gitseen_has() - whether it was put in. */
bool gitseen_has(const struct gitseen *s, enum gitseen_kind kind, const char *at, const void *p,
		 size_t n);

/** gitseen_clear() - release. */
void gitseen_clear(struct gitseen *s);

#endif
