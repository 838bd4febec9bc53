/*
 * secondname.h - files with a second name (a hard link)
 *
 * What is locked or hidden by its path can be changed, or read, by another.
 */
#ifndef LAUNCHER_FILES_SECONDNAME_H
#define LAUNCHER_FILES_SECONDNAME_H

#include <limits.h>
#include <stdbool.h>

/**
 * secondname_find() - whether a file beneath a directory has a second name
 * @dir: the directory
 * @path: its path, from which @found is made
 * @depth: how many directories deep to look; 0 for @dir's own files
 * @found: receives the path of the first that has
 *
 * Links are not followed, and no more than SECONDNAME_MAX entries are looked at. Files that are called
 * "*.sample", which git makes and nobody obeys, are passed over.
 */
bool secondname_find(int dir, const char *path, unsigned depth, char found[static PATH_MAX]);

#define SECONDNAME_MAX 2000

#endif
