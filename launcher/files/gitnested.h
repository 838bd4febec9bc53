/*
 * gitnested.h - repositories in a working tree, which git outside would look into
 */
#ifndef LAUNCHER_FILES_GITNESTED_H
#define LAUNCHER_FILES_GITNESTED_H

#include <stdbool.h>
#include <stdint.h>

#define GITNESTED_DOT_GIT ".git"

struct gitaway;

/** typedef gitnested_use - takes a directory that has a .git, and its path */
typedef void gitnested_use(void *arg, int dir, const char *path);

/**
 * gitnested_find() - look for repositories in a directory, at every depth, and for its own .git
 * @dir: may be O_PATH
 * @path: what @use is told of @dir
 * @left: how many entries may be looked at, less those that have been
 *
 * No symbolic link is followed. Return: whether all has been looked at.
 */
bool gitnested_find(int dir, const char *path, uint64_t *left, gitnested_use *use, void *arg);

/**
 * gitnested_unmake() - have git see no repository in a directory any more
 * @dir: may be O_PATH
 * @a: of the git directory that knows of it, for its @make_room
 *
 * Its .git gets a name that git does not know; nothing in it is lost. Return: what has become of it, to
 * be told, with the command that gets it back; the caller frees it.
 */
char *gitnested_unmake(int dir, const struct gitaway *a)
	__attribute__((returns_nonnull, warn_unused_result));

#endif
