/*
 * protect.h - names inside writable roots that the command may not write, present or not
 *
 * Files that the user's own tools run or obey later: git's hooks and configuration, agents' and
 * editors' settings, shell start-up files in the home directory; and files of ours, from which
 * the policy is read. A name that is absent cannot be covered by a mount, so an empty placeholder
 * is made for as long as the run lasts, and removed after it.
 */
#ifndef LAUNCHER_FILES_PROTECT_H
#define LAUNCHER_FILES_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "launcher/launcher.h"

/**
 * struct placeholder - something without content that we made or found, to be removed again
 * @dir: the directory it is in, one of struct protect's
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

/** struct protect_root - a writable root: its canonical path, and what it is */
struct protect_root {
	char *path;
	dev_t dev;
	ino_t ino;
};

/**
 * struct protect_watch - somebody who is told of every placeholder before it is made, and after it
 * @tell: @m has no @ino before it is made; the copy is the callee's to make. 0, or -1 with errno,
 *        and then it is not made
 */
struct protect_watch {
	int (*tell)(void *arg, const struct placeholder *m);
	void *arg;
};

/**
 * struct protect - what is to be read-only, and what was made for that
 * @paths, @npaths: canonical but for the last component, which may be a symbolic link
 * @first_denied: from this one on they are --deny-write's and our own, which no grant lifts
 * @roots, @nroots: the writable roots; nothing else may be granted for writing (mountplan.c)
 * @made, @nmade: the placeholders
 * @dirs, @ndirs: the directories they are in, each under a shared lock
 * @watch: not owned, while protect_prepare() runs; NULL afterwards
 */
struct protect {
	char **paths;
	size_t npaths;
	size_t first_denied;
	struct protect_root *roots;
	size_t nroots;
	struct placeholder *made;
	size_t nmade;
	int *dirs;
	size_t ndirs;
	const struct protect_watch *watch;
};

/**
 * protect_prepare() - find what must be protected and make what is missing
 * @plan: its writable roots (the workspace, --write), --deny-write and private paths
 * @watch: may be NULL
 * @out: cleared by protect_clear()
 *
 * Called outside, before the namespaces are made. A name is left out where this user could not
 * make it: the command could not either. A file of ours that cannot be protected is an error.
 * Return: 0, or -1 with @err and nothing left behind.
 */
int protect_prepare(const struct launcher_plan *plan, const struct protect_watch *watch,
		    struct protect *out, struct error *err);

/**
 * protect_remove() - remove the placeholders that no other run needs
 *
 * Only what is still as it was made is ever removed. To be called when no process of
 * the run is left: removing a mount point takes the mount away.
 */
void protect_remove(const struct protect *p);

/** protect_clear() - close and free; removes nothing. */
void protect_clear(struct protect *p);

#endif
