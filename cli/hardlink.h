/*
 * hardlink.h - whether a file has one of its other names beneath a directory
 */
#ifndef CLI_HARDLINK_H
#define CLI_HARDLINK_H

#include <stdbool.h>
#include <sys/stat.h>

#define HARDLINK_MAX 200000 /* names that are looked at */

/**
 * hardlink_beneath() - look through a directory, or at a file
 * @st: of the file; such a one has more than one name as a rule
 *
 * Links are not followed, nor other file systems entered. Return: true also where not all of it can be looked
 * at, or it is too much.
 */
bool hardlink_beneath(const char *dir, const struct stat *st);

#endif
