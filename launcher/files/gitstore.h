/*
 * gitstore.h - what is no file among git's objects
 */
#ifndef LAUNCHER_FILES_GITSTORE_H
#define LAUNCHER_FILES_GITSTORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "launcher/files/gitvisit.h"

/** gitstore_kind() - what a link, a pipe or the like is, for people. */
const char *gitstore_kind(mode_t mode);

/**
 * gitstore_visit() - remove links, pipes and the like from a directory of objects, and tell of them
 * @at: its path
 * @started: what was there then stays; zero if the directory itself was not
 * @left: how many more entries may be looked at
 *
 * Return: whether all of it could be looked at.
 */
bool gitstore_visit(const struct gitvisit *v, int dir, const char *name, const char *at,
		    struct timespec started, uint64_t *left);

#endif
