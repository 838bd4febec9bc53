/*
 * workdir.h - whether a directory may be handed to a command as its workspace
 */
#ifndef LAUNCHER_FILES_WORKDIR_H
#define LAUNCHER_FILES_WORKDIR_H

#include "base/error.h"

/**
 * struct workdir_context - what must not be handed over, beside the system's own directories
 * @home: the user's home directory, or NULL
 * @program: our own binary (/proc/self/exe resolved), or NULL
 */
struct workdir_context {
	const char *home;
	const char *program;
};

/**
 * workdir_check() - refuse a workspace that would give too much away
 * @path: the directory; compared by what it is (device and inode), not by how it is spelt
 *
 * Refused: / and the system's directories with all beneath them, the home directory and what is
 * above it, the directory our own binary is in, credential directories with all beneath them, and
 * directories that all users share. Return: 0, or -1 with @err: the reason and the remedy.
 */
int workdir_check(const char *path, const struct workdir_context *context, struct error *err);

/**
 * workdir_check_at() - the same of a directory that is open
 * @path: for messages
 *
 * @err has the code 0 only where it is refused for what it is.
 */
int workdir_check_at(int dir, const char *path, const struct workdir_context *context,
		     struct error *err);

#endif
