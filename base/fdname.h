/*
 * fdname.h - descriptors of the caller by name, as options that write to a FILE take them
 */
#ifndef BASE_FDNAME_H
#define BASE_FDNAME_H

#include <stdbool.h>

#include "base/error.h"

/**
 * fdname_is() - whether @where names a descriptor, not a file
 *
 * "fd:N", and what a shell makes of its own: /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N.
 * Opened by such a path, a regular file would be written from its start again, over what is there.
 */
bool fdname_is(const char *where);

/**
 * fdname_check() - whether the descriptor that @where names, if it names one, is open
 *
 * Only as long as none of ours has taken a number is a descriptor the caller's: to be asked while
 * options are read. 0, or -1 with @err.
 */
int fdname_check(const char *where, struct error *err);

/**
 * fdname_open() - a copy of the descriptor that @where names (fdname_is()), to write to
 * @what: "the audit log", for the message
 *
 * It shares its offset with the caller's. Return: the copy, above 2, which the caller owns; -1 with
 * @err, also where it is open for reading only.
 */
int fdname_open(const char *where, const char *what, struct error *err);

/**
 * fdname_file() - the regular file that the descriptor which @where names leads to, by its path
 *
 * NULL if it leads to none, or to one without a name, or to what 0, 1 or 2 is, too: that is the command's.
 * Return: what the caller frees.
 */
char *fdname_file(const char *where);

#endif
