/*
 * gitmodule.h - git directories of submodules that the command has made
 */
#ifndef LAUNCHER_FILES_GITMODULE_H
#define LAUNCHER_FILES_GITMODULE_H

#include <stdbool.h>

#include "launcher/files/gitvisit.h"

/**
 * gitmodule_is_plain() - whether it is as git submodule update --init makes one; of GITVISIT_SWEEP only
 * @dir: the git directory, in that of the superproject
 * @tree: the superproject's working tree, O_PATH; -1 if it is not known: then none is
 *
 * git obeys its configuration as soon as somebody runs git status in the superproject. So it says nothing
 * but where it was fetched from, which is where the superproject's configuration says, and where its
 * working tree is, which is in @tree; and there is no hook.
 */
bool gitmodule_is_plain(const struct gitvisit *v, int dir, int tree);

/**
 * gitmodule_is_led_to() - whether a file ".git" leads to one that is plain, or was there at the start
 * @worktree: the directory with the .git
 * @git: the git directory whose index knows of it
 */
bool gitmodule_is_led_to(const struct gitvisit_known *g, const struct gitvisit *v, int worktree,
			 int git);

#endif
