/*
 * takendir.h - directories whose permissions a command may have taken from their owner
 */
#ifndef LAUNCHER_FILES_TAKENDIR_H
#define LAUNCHER_FILES_TAKENDIR_H

#include <stdbool.h>
#include <sys/stat.h>

/**
 * takendir_give_back() - give the owner's permissions back
 * @was: what they were
 *
 * Return: whether they had been taken, and are back.
 */
bool takendir_give_back(int dir, struct stat *was);

/**
 * takendir_enter() - open a directory; no link is followed
 * @take: give permissions back where they are missing
 * @locked: receives an O_PATH descriptor, which the caller owns, if that was done; @was what they were
 *
 * Return: the descriptor, which the caller owns; -1 with errno.
 */
int takendir_enter(int dir, const char *name, bool take, int *locked, struct stat *was);

/**
 * takendir_put_back() - put the mode back that the user may want so
 * @locked: -1 for none
 *
 * A directory that cannot be read stays readable: the next run could not tell what was in it.
 */
void takendir_put_back(int locked, const struct stat *was);

#endif
