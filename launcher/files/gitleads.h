/*
 * gitleads.h - what git's configuration and hooks lead to
 */
#ifndef LAUNCHER_FILES_GITLEADS_H
#define LAUNCHER_FILES_GITLEADS_H

#include "launcher/files/gitsearch.h"

/**
 * gitleads_config() - take what a configuration file leads to, and those that it includes
 * @worktree: NULL, or receives core.worktree, which the caller frees, unless there is none
 */
void gitleads_config(struct gitsearch *s, const char *file, char **worktree);

/** gitleads_users_config() - the same of what is configured for all repositories. */
void gitleads_users_config(struct gitsearch *s);

/** gitleads_hooks() - hooks that are links: the link is locked with its directory, where it leads is not. */
void gitleads_hooks(struct gitsearch *s, const char *hooks);

#endif
