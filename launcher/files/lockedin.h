/*
 * lockedin.h - locked files at descriptors 0, 1 and 2
 *
 * They were opened outside, where their mount is writable, and /proc/self/fd opens them by that mount
 * again, for writing, too. Landlock does not stand in the way: what is locked lies in a directory that is
 * granted.
 */
#ifndef LAUNCHER_FILES_LOCKEDIN_H
#define LAUNCHER_FILES_LOCKEDIN_H

#include "base/error.h"
#include "launcher/files/protect.h"

/**
 * lockedin_reopen() - open those that are for reading by the mounts inside
 *
 * Called by pid 1 once its mounts stand. Reading goes on where it was, and what others read of the file
 * moves no more with it. What the caller has opened for writing is the command's to write. Return: 0, or
 * -1 with @err.
 */
int lockedin_reopen(const struct protect *p, struct error *err);

#endif
