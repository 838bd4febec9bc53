/*
 * lockowner.h - who keeps a directory locked
 *
 * flock(2) asks for nothing but a descriptor to read, so that any command may lock any directory which it
 * may list, and by that be taken for another run there. The kernel tells who has taken a lock.
 */
#ifndef LAUNCHER_FILES_LOCKOWNER_H
#define LAUNCHER_FILES_LOCKOWNER_H

#include <sys/types.h>

/**
 * struct lockowner - who has locks on a directory
 * @run: a process that may be what a run locks it with: pid 1 of a namespace, or one that is in none of its
 *       own; -1 where nobody can tell who has; 0: none
 * @other: one that is neither, a command as a rule, or one that has ended and left the lock to another
 */
struct lockowner {
	pid_t run, other;
};

/**
 * lockowner_find() - who keeps @dir locked, as /proc shows it
 *
 * Locks on other objects with the number of this inode count, too: the number of the file system is not
 * always the one that stat(2) tells.
 */
struct lockowner lockowner_find(int dir);

#endif
