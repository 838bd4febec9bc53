/*
 * path.h - paths as text
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/** path_dir() - the directory that a path is in, "." where it names none; the caller frees. */
char *path_dir(const char *path) __attribute__((returns_nonnull, warn_unused_result));

#endif
