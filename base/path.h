/*
 * path.h - paths as text, and what may be done with them
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <limits.h>
#include <stdbool.h>

/** path_dir() - the directory that a path is in, "." where it names none; the caller frees. */
char *path_dir(const char *path) __attribute__((returns_nonnull, warn_unused_result));

/** path_name() - what stands behind the last slash; "" where that is the end. */
const char *path_name(const char *path) __attribute__((returns_nonnull));

/** path_beneath() - whether @path is @dir or lies beneath it; both canonical. */
bool path_beneath(const char *path, const char *dir);

/**
 * path_below() - what of @path lies below @dir, which is at or above it; both canonical
 *
 * It points into @path, without a leading slash: "" for the same.
 */
const char *path_below(const char *path, const char *dir) __attribute__((returns_nonnull));

/**
 * path_next() - take the next component out of a path
 * @rest: what is left of it; the component and the slashes around it go
 * Return: false at the end, and where a component is longer than any name.
 */
bool path_next(char *rest, char name[static NAME_MAX + 1]);

/**
 * path_lead() - put the target of a symbolic link before what is left of a path
 * @rest: what is left
 * @dir, @name: the link, as for readlinkat(2)
 *
 * Return: 1 if the target is absolute, 0 if it is of the link's directory; -1 with errno, and @rest as it
 * was: ENAMETOOLONG where both do not fit.
 */
int path_lead(char rest[static PATH_MAX], int dir, const char *name);

/**
 * path_may() - whether this process may do that, by its effective ids
 * @dir: what a relative path is relative to, or AT_FDCWD
 * @mode: as for access(2)
 *
 * An outer filter that is older than faccessat2(2) answers EPERM, as no file system does to this
 * question; libc goes back to the older call after ENOSYS only. That one asks for the real ids.
 * Return: true, or false with errno.
 */
bool path_may(int dir, const char *path, int mode);

/**
 * path_dangles() - whether a path that names nothing is, or lies behind, a symbolic link to nothing
 *
 * Who put the link there wanted a file to be found: it is not the same as none.
 */
bool path_dangles(const char *path);

#endif
