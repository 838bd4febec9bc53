/*
 * gitsearch.h - the parts of gitobeys.c: a search through repositories, and what it has found so far
 */
#ifndef LAUNCHER_FILES_GITSEARCH_H
#define LAUNCHER_FILES_GITSEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launcher/files/gitobeys.h"

/** enum gitsearch_task - what is done once */
enum gitsearch_task {
	GITSEARCH_LOCK,	      /* a git directory is taken */
	GITSEARCH_READ,	      /* it is read for a working tree */
	GITSEARCH_BELONGINGS, /* its modules and linked worktrees are looked for */
};

/** struct gitsearch_seen - one of those, of a git directory and a working tree, or none */
struct gitsearch_seen {
	enum gitsearch_task task;
	dev_t dev, tree_dev;
	ino_t ino, tree_ino;
};

/**
 * struct gitsearch - where we are
 * @top: the root of the search; @root: the working tree that is read for, of which relative names are
 * @own: the git directory that protect.c sees to, or NULL
 * @seen, @nseen: what has been read
 * @dirs: git directories, @entries: what may be one, @looked: repositories of indices, @depth: of nesting
 * @read: how much of indices
 * @hash: the size of an object's name in this repository
 * @around: in a repository around, where the command cannot take permissions
 */
struct gitsearch {
	struct gitobeys *out;
	const struct gitobeys_scope *scope;
	const char *top, *root, *own;
	struct gitsearch_seen *seen;
	size_t nseen;
	unsigned dirs, entries, looked, depth;
	size_t read, hash;
	bool around;
};

/** gitsearch_add() - take @path, which is freed with the rest; @file as of struct gitobeys_path. */
void gitsearch_add(struct gitsearch *s, char *path, bool file);

/** gitsearch_add_file() - the same of a file, if it is one, or nobody can tell; else @path is freed. */
void gitsearch_add_file(struct gitsearch *s, char *path);

/** gitsearch_in_roots() - whether the command can write in @path, a canonical one. */
bool gitsearch_in_roots(const struct gitsearch *s, const char *path);

/**
 * gitsearch_unread() - @path could not be read for @code, an errno
 *
 * What is missing or no file names nothing, and of the user's own files elsewhere some may be root's;
 * whatever else cannot be read may name anything.
 */
void gitsearch_unread(struct gitsearch *s, const char *path, int code);

/** gitsearch_has() - whether @name is in @dir, a link to nothing, too. */
bool gitsearch_has(const char *dir, const char *name);

/** gitsearch_remote() - take what a remote's URL leads to, if that is a path. */
void gitsearch_remote(struct gitsearch *s, const char *url);

#endif
