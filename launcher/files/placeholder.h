/*
 * placeholder.h - things without content that hold a name for as long as a run lasts
 *
 * A name that is absent cannot be covered by a mount, so something empty is made there, and removed
 * after the run.
 */
#ifndef LAUNCHER_FILES_PLACEHOLDER_H
#define LAUNCHER_FILES_PLACEHOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launcher/files/leftover.h"

/**
 * struct placeholder - something without content that we made or found, to be removed again
 * @dir: the directory it is in, one of struct placeholders'
 * @name: its name
 * @content: what the file holds, NULL for a directory
 * @dev, @ino: what we made ourselves; 0 if it was found
 * @absent: it was not there yet when this was told; with no @ino it may be half made
 */
struct placeholder {
	int dir;
	char *name;
	const char *content;
	dev_t dev;
	ino_t ino;
	bool absent;
};

/**
 * struct placeholder_watch - somebody who tidies up after the run
 * @tell: of every placeholder before it is made, and after. @m has no @ino before it is made; the copy
 *        is the callee's to make. 0, or -1 with errno, and then it is not made
 * @note: a directory that is to be compared with itself after the run (leftover.h). 0, or -1 with errno
 */
struct placeholder_watch {
	int (*tell)(void *arg, const struct placeholder *m);
	int (*note)(void *arg, int dir, enum leftover_kind kind);
	void *arg;
};

/**
 * struct placeholders - all of a run's
 * @v, @n: in the order in which they were made
 * @dirs, @ndirs: the directories they are in, each under a shared lock
 * @locked_by: after EWOULDBLOCK: a process that keeps a directory locked; -1 if nobody can tell
 * @watch: not owned; NULL if nobody is to be told
 */
struct placeholders {
	struct placeholder *v;
	size_t n;
	int *dirs;
	size_t ndirs;
	pid_t locked_by;
	const struct placeholder_watch *watch;
};

/**
 * placeholders_open_dir() - a directory in which placeholders may be made, under a shared lock
 * @path: no component may be a symbolic link, which an earlier run may have left
 * @canonical: receives its path
 *
 * Return: a descriptor, which stays @h's; -1 with errno (EWOULDBLOCK: somebody else keeps it locked).
 */
int placeholders_open_dir(struct placeholders *h, const char *path,
			  char canonical[static PATH_MAX]);

/**
 * placeholders_settle() - see to it that a name exists
 * @dir: from placeholders_open_dir()
 * @content: of the file that is made if it is absent; NULL makes a directory
 *
 * Return: 0, or -1 with errno.
 */
int placeholders_settle(struct placeholders *h, int dir, const char *name, const char *content);

/** placeholders_adopt() - if what is there is one that a killed run has left, remove it at the end. */
void placeholders_adopt(struct placeholders *h, int dir, const char *name, const char *content);

/**
 * placeholders_make_way() - make a directory in which something is to be made
 *
 * It is removed at the end if it is empty then. Return: 0, or -1 with errno.
 */
int placeholders_make_way(struct placeholders *h, int dir, const char *name);

/** placeholders_is() - whether something is one, of whichever run and user; also one on the way. */
bool placeholders_is(int dir, const char *name, const char *content);

/**
 * placeholders_is_orphan() - whether a killed run has left a placeholder, and nobody is there to tidy up
 * @dir: from placeholders_open_dir()
 *
 * To be asked before anything is settled in @dir. Return: 0, 1; -1 with errno: @dir is locked no more.
 */
int placeholders_is_orphan(struct placeholders *h, int dir, const char *name, const char *content);

/**
 * placeholders_are_all() - whether nothing is in a directory but what a killed run left behind
 * @top: from placeholders_open_dir()
 *
 * That is removed. Placeholders of a run that lasts count as something. Return: as
 * placeholders_is_orphan().
 */
int placeholders_are_all(struct placeholders *h, int top);

/**
 * placeholders_remove() - remove those that no other run needs
 *
 * Only what is still as it was made is ever removed. To be called when no process of
 * the run is left: removing a mount point takes the mount away.
 */
void placeholders_remove(const struct placeholders *h);

/** placeholders_clear() - close and free; removes nothing. */
void placeholders_clear(struct placeholders *h);

#endif
