/*
 * homenames.h - the one table of what shells, sessions and tools run or obey below a home directory
 */
#ifndef LAUNCHER_FILES_HOMENAMES_H
#define LAUNCHER_FILES_HOMENAMES_H

#include <stddef.h>

/**
 * typedef homenames_use - takes one name
 * @dir: the directory it is in, absolute; many names of one directory come one after the other
 * @name: in it, without a slash
 * @content: of a placeholder, for those that programs read as files; NULL for a directory
 *
 * Return: other than 0 ends the enumeration.
 */
typedef int homenames_use(void *arg, const char *dir, const char *name, const char *content);

/** homenames_each() - those of one home directory, there or not. Return: 0, or what @use returned. */
int homenames_each(const char *home, homenames_use *use, void *arg);

/**
 * homenames_moved() - where variables of our own environment have moved some of them
 *
 * XDG_CONFIG_HOME and the like move a part of the table, BASH_ENV and the like name a file. Whoever reads
 * them may be started elsewhere: a relative value counts for GIT_CONFIG_GLOBAL only, which is a word of
 * people's; ENV is "production" often. Return: as above.
 */
int homenames_moved(homenames_use *use, void *arg);

/**
 * homenames_above() - what of the table is, or holds, a directory
 * @path: canonical
 * @homes, @n: home directories
 *
 * Return: its canonical path, which the caller frees; NULL for none.
 */
char *homenames_above(const char *path, char *const *homes, size_t n);

#endif
