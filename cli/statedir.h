/*
 * statedir.h - where we keep what outlives a run, and how files there are replaced
 */
#ifndef CLI_STATEDIR_H
#define CLI_STATEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/** statedir_path() - $XDG_STATE_HOME/sbx-net or ~/.local/state/sbx-net; the caller frees. */
char *statedir_path(struct error *err);

/** statedir_home() - $HOME, else the passwd entry's; NULL if neither is an absolute path. */
const char *statedir_home(void);

/**
 * statedir_open() - open the directory
 * @make: make it (0700) if it is missing
 *
 * It must be this user's, whatever the variables say: what it holds is obeyed. Return: the descriptor, which the caller owns; -1 with @err.
 */
int statedir_open(bool make, struct error *err);

/**
 * statedir_lock() - hold the directory's lock until the returned descriptor is closed
 * Return: the lock, which the caller owns; -1 with @err.
 */
int statedir_lock(int dir, struct error *err);

/**
 * statedir_read() - the contents of a file there
 * Return: to be freed by the caller, with *@len; NULL with errno ENOENT if it is missing.
 */
char *statedir_read(int dir, const char *name, size_t max, size_t *len, struct error *err);

/**
 * statedir_replace() - write a file anew: temporary file, fsync, rename
 * @mode: the new file's, less the umask
 *
 * Return: 0, or -1 with @err.
 */
int statedir_replace(int dir, const char *name, const void *text, size_t len, mode_t mode,
		     struct error *err);

#endif
