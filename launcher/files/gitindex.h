/*
 * gitindex.h - git's index, as far as it takes to see where its names lead
 *
 * git checks a name when it puts it into the index, and trusts it from then on; a command that may
 * write in .git can write the index, too.
 */
#ifndef LAUNCHER_FILES_GITINDEX_H
#define LAUNCHER_FILES_GITINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GITINDEX_SHA1	20 /* the size of an object's name */
#define GITINDEX_SHA256 32

/** enum gitindex - what an index is */
enum gitindex {
	GITINDEX_OK,
	GITINDEX_ELSEWHERE, /* a name leads out of the working tree, or into .git */
	GITINDEX_BAD,	    /* git would not read it either, or not in one way only */
};

/**
 * typedef gitindex_use - takes the name of a repository in the working tree, a submodule, say
 * @tree: NULL; or of a directory whose names the index leaves out (a sparse index) the object that has them
 */
typedef void gitindex_use(void *arg, const char *name, const uint8_t *tree);

/**
 * gitindex_check() - look at every name (gitformat-index(5), versions 2 to 4)
 * @p, @n: the file
 * @hash: the size of an object's name in this repository
 * @all: of a file that a split index refers to, in which any name may become a repository's
 * @use: called for each repository and each directory, or each name, with @arg; or NULL
 * @name: receives the name that leads elsewhere, which the caller frees; else NULL
 */
enum gitindex gitindex_check(const void *p, size_t n, size_t hash, bool all, gitindex_use *use,
			     void *arg, char **name);

#endif
