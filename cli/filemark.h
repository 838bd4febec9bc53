/*
 * filemark.h - the files that a policy is read from and that lie where the command may write
 *
 * Such a file is locked inside for the run, and its descriptor is kept here: it alone is read in a
 * reload. So it makes no difference that the command takes the permission to search from a
 * directory above it. And when somebody outside puts another file in its place, the lock goes with
 * the old one (the kernel removes a mount whose file is renamed over), and the command could write
 * the new one: that must not be read in this run.
 */
#ifndef CLI_FILEMARK_H
#define CLI_FILEMARK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct filemark;

/** enum filemark_found - what is known about a path */
enum filemark_found {
	FILEMARK_UNKNOWN, /* no file that was marked */
	FILEMARK_SAME,	  /* the path leads to the file that was marked, or to none as then */
	FILEMARK_MOVED,	  /* it leads elsewhere, or cannot be followed */
};

/**
 * filemark_new() - open the files that lie beneath a writable root
 * @files, @n: the policy's files, present or not
 * @roots, @nroots: where the command may write
 *
 * Return: to be freed by filemark_free().
 */
struct filemark *filemark_new(const char *const *files, size_t n, const char *const *roots,
			      size_t nroots);

/**
 * filemark_open() - the file that was marked, from its start
 * @fd: where the path is known: a descriptor for the caller to close, of the marked file wherever
 *      the path leads by now; -1 with errno (ENOENT if there was none)
 * @why: of FILEMARK_MOVED, for the user
 *
 * The descriptors that one file is given share their offset: read one at a time.
 */
enum filemark_found filemark_open(const struct filemark *m, const char *path, int *fd,
				  struct error *why);

/** filemark_fd() - the descriptor that is kept of a marked file; -1 without one. NULL for @m is allowed. */
int filemark_fd(const struct filemark *m, const char *path);

/** filemark_is_open_to_writes() - whether an open file lies beneath one of the roots, or nobody can tell. */
bool filemark_is_open_to_writes(const struct filemark *m, int fd);

/** filemark_free() - NULL is allowed. */
void filemark_free(struct filemark *m);

#endif
