/*
 * gitstate.h - files of git's own state that have it run a program, or copy a file from elsewhere
 *
 * git writes them for itself and trusts them; a command that may write in .git can write them, too.
 */
#ifndef LAUNCHER_FILES_GITSTATE_H
#define LAUNCHER_FILES_GITSTATE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/files/gitvisit.h"

/**
 * gitstate_dir() - a directory of the walk; if it holds state of an operation, look at it
 * @dir: the directory, open; @name: what it is called
 * @at: its path within the git directory
 */
void gitstate_dir(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		  const char *at);

/**
 * gitstate_linked() - the git directory of a linked worktree
 * @dir: the directory, open
 * @at: its path within the git directory
 */
void gitstate_linked(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at);

/** gitstate_is_file() - whether gitstate_file() is to be called for a file of this name. */
bool gitstate_is_file(const char *name);

/** gitstate_file() - the same for a file @name, which is in @dir. */
void gitstate_file(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		   const char *at);

/** gitstate_is_top() - whether gitstate_top() is to be called for a file of this name. */
bool gitstate_is_top(const char *name);

/**
 * gitstate_top() - the same for a file @name right in the git directory @dir: an index, an autostash
 *
 * A new repository that an index knows of keeps its files, but is none any more: its .git is renamed.
 */
void gitstate_top(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		  const char *at);

/** gitstate_is_exec() - whether a line is "exec COMMAND" or "x COMMAND", as git reads it, or might. */
bool gitstate_is_exec(const char *line, size_t n);

/**
 * gitstate_filter() - take lines that would be run, and are not known, out of the list of a rebase
 * @text: changed in place
 * @what: what is wrong with each
 * @taken: how many
 *
 * Each is told. Return: the length that is left.
 */
size_t gitstate_filter(const struct gitvisit_known *g, const struct gitvisit *v, const char *at,
		       const char *what, char *text, size_t n, unsigned *taken);

/**
 * gitstate_elsewhere() - the first path in a list of conflicts that is no plain file of the tree
 * @text: entries of a number, a tab and a path, each with a zero byte behind it; one more is at @n
 * @tree: O_PATH; -1 if it is not known: then none is
 *
 * Return: into @text; NULL if there is none.
 */
const char *gitstate_elsewhere(const char *text, size_t n, int tree);

/** gitstate_clear() - free what is known; @tree stays open. */
void gitstate_clear(struct gitvisit_known *g);

#endif
