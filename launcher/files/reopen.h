/*
 * reopen.h - what lies at descriptors 0, 1 and 2, by the mounts inside
 *
 * It was opened outside, where its mount is writable, and /proc/self/fd opens it by that mount again, for
 * writing, too, or changes its mode: Landlock does not stand in the way of what lies in a directory that
 * is granted, and knows no rights for modes.
 */
#ifndef LAUNCHER_FILES_REOPEN_H
#define LAUNCHER_FILES_REOPEN_H

#include "base/error.h"
#include "launcher/files/protect.h"

/**
 * reopen_inside() - open locked files that are for reading, and the devices that every program needs
 *
 * Called by pid 1 once its mounts stand. Reading goes on where it was, and what others read of the file
 * moves no more with it. What the caller has opened for writing is the command's to write. A device is
 * /dev/null or one of its kind, whatever its name outside: a command of root's, or of a container's
 * owner, could take everybody's permission to use it. Return: 0, or -1 with @err.
 */
int reopen_inside(const struct protect *p, struct error *err);

#endif
