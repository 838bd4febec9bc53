/*
 * credentials.h - the one table of paths that hold secrets and are never shown by default
 */
#ifndef LAUNCHER_FILES_CREDENTIALS_H
#define LAUNCHER_FILES_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * credentials_path() - the @i-th path of the table
 * @home: the user's home directory, or NULL if there is none
 * @uid: for /run/user/UID
 *
 * Return: an absolute path, which the caller frees; NULL for an entry beneath a home that there is
 * not. Whether it exists is not looked at.
 */
char *credentials_path(size_t i, const char *home, uid_t uid);

/** credentials_count() - how many entries the table has. */
size_t credentials_count(void);

/**
 * credentials_barred() - whether the @i-th path must not even be read as empty
 *
 * vim, which cannot replace its .viminfo, says so at each end and waits for a key; one that it cannot
 * read it leaves alone.
 */
bool credentials_barred(size_t i);

/** typedef credentials_use - takes one path; other than 0 ends the enumeration */
typedef int credentials_use(void *arg, const char *variable, const char *path);

/**
 * credentials_moved() - the places to which variables of our own environment have moved secrets
 * @home: for "~/" in a value, or NULL
 * @use: called for each absolute path, with the name of the variable
 *
 * XDG_CONFIG_HOME and the like move a part of the table; KUBECONFIG and the like name files.
 * Relative values are taken from the current directory. Return: 0, or what @use returned.
 */
int credentials_moved(const char *home, credentials_use *use, void *arg);

/**
 * credentials_own() - the @i-th directory of our own: settings, answers, trust
 * @home: as above
 *
 * $XDG_CONFIG_HOME/sbx-net and the like, and where they would be without these variables: a later
 * run may be without. Return: an absolute path, which the caller frees; NULL where there is none.
 */
char *credentials_own(size_t i, const char *home);

/** credentials_own_count() - how many there are. */
size_t credentials_own_count(void);

#endif
