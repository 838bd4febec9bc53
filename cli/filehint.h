/*
 * filehint.h - what to do about files that the command cannot write, where nobody else says it
 *
 * A program that cannot write has the kernel's words for it only ("Read-only file system").
 */
#ifndef CLI_FILEHINT_H
#define CLI_FILEHINT_H

#include <stdbool.h>

struct launcher_plan;

/**
 * filehint_owner() - a workspace that root cannot write without its capabilities
 *
 * As in a container whose checkout belongs to another user. Return: a line without its end, which the
 * caller frees; NULL where there is nothing to say.
 */
char *filehint_owner(const struct launcher_plan *plan);

/**
 * filehint_git() - what git cannot write of the repository that the workspace belongs to
 * @inside: whether its .git is in the workspace: then only what git runs or obeys there is locked
 *
 * To be called before the command runs, which could make one up. Return: as above, for filehint_is_git().
 */
char *filehint_git(const struct launcher_plan *plan, bool *inside);

/** filehint_is_git() - whether a status looks as if git had failed to write: git's own, or one of it. */
bool filehint_is_git(const char *command, int status, bool inside);

#endif
