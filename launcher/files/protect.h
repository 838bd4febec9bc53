/*
 * protect.h - names inside writable roots that the command may not write, present or not
 *
 * Files that the user's own tools run or obey later: git's hooks and configuration, agents' and
 * editors' settings, shell start-up files in the home directory; and files of ours, from which
 * the policy is read. A name that is absent cannot be covered by a mount, so an empty placeholder
 * is made for as long as the run lasts, and removed after it (placeholder.h).
 */
#ifndef LAUNCHER_FILES_PROTECT_H
#define LAUNCHER_FILES_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "launcher/launcher.h"
#include "launcher/files/placeholder.h"

/** struct protect_root - a writable root: its canonical path, and what it is */
struct protect_root {
	char *path;
	dev_t dev;
	ino_t ino;
};

/**
 * struct protect - what is to be read-only, and what was made for that
 * @paths, @npaths: canonical but for the last component, which may be a symbolic link
 * @first_denied: from this one on they are --deny-write's and our own, which no grant lifts
 * @elsewhere, @nelsewhere: what would be locked, if it lay in a root; a second mount may show it there
 * @roots, @nroots: the writable roots; nothing else may be granted for writing (mountplan.c)
 * @unlocked: the plan's; read while names are looked for only
 * @held: the placeholders
 * @noted, @nnoted: paths of directories that are compared with themselves at the end (leftover.h)
 */
struct protect {
	char **paths;
	size_t npaths;
	size_t first_denied;
	char **elsewhere;
	size_t nelsewhere;
	struct protect_root *roots;
	size_t nroots;
	struct path_list unlocked;
	struct placeholders held;
	char **noted;
	size_t nnoted;
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
int protect_prepare(const struct launcher_plan *plan, const struct placeholder_watch *watch,
		    struct protect *out, struct error *err);

/** protect_add() - lock @name in @dir, a canonical path; for heldpath.c. */
void protect_add(struct protect *p, const char *dir, const char *name);

/** protect_elsewhere() - the same, of what lies in no writable root, so that only another name matters. */
void protect_elsewhere(struct protect *p, const char *dir, const char *name);

/** protect_covers() - whether @path lies in something that is locked already; for heldpath.c. */
bool protect_covers(const struct protect *p, const char *path);

/**
 * protect_root_of() - the canonical writable root at or above a canonical path; for heldpath.c
 *
 * Return: the root's path, which stays @p's; NULL if there is none.
 */
const char *protect_root_of(const struct protect *p, const char *path);

/**
 * protect_is_name() - whether @name is one of those that are locked right in each writable root
 *
 * Such a name that does not exist yet can be granted by the plan's @unlocked.
 */
bool protect_is_name(const char *name);

/** protect_clear() - close and free; removes nothing. */
void protect_clear(struct protect *p);

#endif
