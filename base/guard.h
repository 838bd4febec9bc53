/*
 * guard.h - opening files of ours where a command may have left symbolic links
 *
 * A command that may write in a directory can leave a link there, in whose place a later run would
 * then make its audit log, its report or what it has learnt: somewhere else, with its user's rights.
 * So links are followed only where they are the user's own: which is the same question as for a path that
 * is granted, and has the same answer (launcher/files/grantpath.h), but that in a directory where this very
 * run's command may write none is followed.
 */
#ifndef BASE_GUARD_H
#define BASE_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * guard_distrust() - from now on, follow no link that lies in @dir or below it
 *
 * For the whole process, and for good. A directory that does not exist is passed over. There is room
 * for GUARD_MAX; beyond that every directory is distrusted.
 */
void guard_distrust(const char *dir);

#define GUARD_MAX 64

/** typedef guard_trust - whether no command, of an earlier run, can have made a link in an open directory */
typedef bool guard_trust(int dir);

/**
 * guard_judge_by() - who judges all other directories, for the whole process
 *
 * Where a link is not trusted, it is followed only to what lies beside it or below. Without a judge all are.
 */
void guard_judge_by(guard_trust *trust);

/**
 * guard_open() - open(2); the last component is never followed
 * @flags: O_CLOEXEC and O_NOFOLLOW are added
 * @mode: with O_CREAT
 *
 * Directories on the way are opened one by one, so that none can be replaced by a link meanwhile.
 * Return: the descriptor, which the caller owns; -1 with errno: ELOOP for a link that is not
 * followed.
 */
int guard_open(const char *path, int flags, mode_t mode);

#endif
