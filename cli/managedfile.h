/*
 * managedfile.h - who may have written the administrator's settings file
 */
#ifndef CLI_MANAGEDFILE_H
#define CLI_MANAGEDFILE_H

#include "base/error.h"

/**
 * managedfile_check() - it binds everybody, so nobody but root may have written it
 * @fd: the open file, wherever @path has led to
 * @path: as it was named, for messages
 *
 * The file, the directory of @path, and each directory above the file must be root's, and no one else
 * may write them. Return: 0, or -1 with @err.
 */
int managedfile_check(int fd, const char *path, struct error *err);

#endif
