/*
 * gitstate.h - files of git's own state that have it run a program, or copy a file from elsewhere
 *
 * git writes them for itself and trusts them; a command that may write in .git can write them, too.
 */
#ifndef LAUNCHER_FILES_GITSTATE_H
#define LAUNCHER_FILES_GITSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "launcher/files/gitseen.h"

/**
 * struct gitstate - what is known of one git directory
 * @tree: the working tree, O_PATH, not owned; -1 if it is not known
 * @since: when another run has begun, which is not over: what is younger may be its command's; or zero
 * @seen: what was there at the start
 */
struct gitstate {
	int tree;
	struct timespec since;
	struct gitseen seen;
};

/** enum gitstate_task - what is to be done about a file */
enum gitstate_task {
	GITSTATE_NOTE,	/* remember what is the user's */
	GITSTATE_WARN,	/* the same, and tell of what may be an earlier run's */
	GITSTATE_SWEEP, /* take away what is new */
};

/**
 * struct gitstate_visit - a walk through a git directory
 * @read: how many bytes of files have been read; a bound of what a command can keep the walk busy with
 * @say: told of each thing; @at is its place, @which more about it or "", @done what has become of it
 */
struct gitstate_visit {
	enum gitstate_task task;
	uint64_t *read;
	void (*say)(void *arg, const char *at, const char *what, const char *which,
		    const char *done);
	void *arg;
};

/**
 * gitstate_dir() - a directory of the walk; if it holds state of an operation, look at it
 * @dir: the directory, open; @name: what it is called
 * @at: its path within the git directory
 */
void gitstate_dir(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		  const char *at);

/**
 * gitstate_linked() - the git directory of a linked worktree
 * @dir: the directory, open
 * @at: its path within the git directory
 */
void gitstate_linked(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *at);

/** gitstate_is_file() - whether gitstate_file() is to be called for a file of this name. */
bool gitstate_is_file(const char *name);

/** gitstate_file() - the same for a file @name, which is in @dir. */
void gitstate_file(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		   const char *at);

/** gitstate_is_top() - whether gitstate_top() is to be called for a file of this name. */
bool gitstate_is_top(const char *name);

/**
 * gitstate_top() - the same for a file @name right in the git directory @dir: an index, an autostash
 *
 * A new repository that an index knows of keeps its files, but is none any more: its .git is renamed.
 */
void gitstate_top(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		  const char *at);

/**
 * gitstate_filter() - take lines that would be run, and are not known, out of the list of a rebase
 * @text: changed in place
 * @what: what is wrong with each
 * @taken: how many
 *
 * Each is told. Return: the length that is left.
 */
size_t gitstate_filter(const struct gitstate *g, const struct gitstate_visit *v, const char *at,
		       const char *what, char *text, size_t n, unsigned *taken);

/**
 * gitstate_elsewhere() - the first path in a list of conflicts that is no plain file of the tree
 * @text: entries of a number, a tab and a path, each with a zero byte behind it; one more is at @n
 * @tree: O_PATH; -1 if it is not known: then none is
 *
 * Return: into @text; NULL if there is none.
 */
const char *gitstate_elsewhere(const char *text, size_t n, int tree);

/** gitstate_is_older() - whether what was changed at @ctime is none of another run's command. */
bool gitstate_is_older(const struct gitstate *g, struct timespec ctime);

/** gitstate_take_away() - remove a file that the command has left. Return: what to say of that. */
const char *gitstate_take_away(int dir, const char *name);

/** gitstate_clear() - free what is known; @tree stays open. */
void gitstate_clear(struct gitstate *g);

/* What to say of something that may be an earlier run's. */
#define GITSTATE_ORPHAN                                                                         \
	"it may be left from a run that was killed with all its processes: remove it if it is " \
	"not yours"

#endif
