/*
 * mountsteps.h - the steps of a mount plan: what each is, and how those who make the plan add one
 */
#ifndef LAUNCHER_FILES_MOUNTSTEPS_H
#define LAUNCHER_FILES_MOUNTSTEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "launcher/launcher.h"
#include "launcher/files/mountinfo.h"
#include "launcher/files/mounts.h"
#include "launcher/files/protect.h"

/** enum mountplan_kind - in the order in which steps of one path are taken */
enum mountplan_kind {
	STEP_ROOT,    /* --fs off: everything is writable to begin with */
	STEP_DEVICES, /* /dev, the one place in which device nodes work; or one of them */
	STEP_COVER,   /* nothing but what lies beneath in other steps (automounts.h) */
	STEP_PRIVATE, /* an empty directory of the run's own */
	STEP_GRANT,   /* what the user or the mode grants */
	STEP_PIN,     /* a directory above a locked name: cannot be renamed, being a mount point */
	STEP_LOCK,    /* read-only inside something writable */
	STEP_HIDE,    /* empty in its place */
};

/**
 * struct mountplan_step - one path and what happens to it
 * @firm: for STEP_LOCK and STEP_HIDE: no grant lifts it
 * @own: for STEP_GRANT: the user has named it
 * @mounted: something is attached here; a grant that is not is only an open descriptor
 * @as_is: for STEP_ROOT, and for a grant of "/" for writing: nothing is attached, it is what is there.
 *         On "/" a mount would be seen by nobody: every look-up begins below it
 * @dropped: overruled; as if it were not there
 * @fresh: for STEP_COVER, and for STEP_HIDE: grants lie beneath, so that it needs a file system of its own
 * @apart: a file system of its own, which may be gone, or not answer (FUSE): nothing is asked of it
 * @barred: for STEP_HIDE: a file cannot even be read as empty (credentials_barred())
 * @tmpdir: for STEP_PRIVATE: LAUNCHER_TMPDIR, perhaps by another name
 * @use: for STEP_GRANT
 * @path: canonical
 * @fd: O_PATH; -1 until attached for STEP_PIN and STEP_LOCK, which are opened where they are then
 * @tree: the detached copy that is to be attached, -1 if there is none
 * @dev, @ino, @mode: what the path led to when it was opened (not for STEP_PIN and STEP_LOCK)
 */
struct mountplan_step {
	enum mountplan_kind kind;
	bool firm, own, mounted, as_is, dropped, fresh, apart, barred, tmpdir;
	enum mounts_use use;
	char *path;
	int fd;
	int tree;
	dev_t dev;
	ino_t ino;
	mode_t mode;
};

struct mountplan_parent;

/**
 * struct mountplan - what is to be done
 * @v, @n: the steps, sorted so that a directory comes before what is beneath it
 * @hidden, @nhidden: canonical paths, sorted: what is hidden that this user could read, and what
 *                    would be if it were there
 * @second: the first of what is hidden that has a second name, or a file in it has; or NULL
 * @parents, @nparents: directories that have been looked at for that
 * @seen: the mounts, while the plan is made
 */
struct mountplan {
	struct mountplan_step *v;
	size_t n;
	char **hidden;
	size_t nhidden;
	char *second;
	struct mountplan_parent *parents;
	size_t nparents;
	const struct mountinfo *seen;
};

/** mountplan_add_later() - one whose path is canonical; it is opened when what is above it is mounted. */
void mountplan_add_later(struct mountplan *p, struct mountplan_step step, const char *path);

/**
 * mountplan_add() - add a step for an open descriptor, which it takes over
 *
 * Its path is where that leads. For those who make the plan. Return: 0, or -1 with @err.
 */
int mountplan_add(struct mountplan *p, struct mountplan_step step, int *fd, struct error *err);

/** mountplan_above() - the nearest mounted step above step @i (or on it); NULL if there is none. */
struct mountplan_step *mountplan_above(const struct mountplan *p, size_t i);

/**
 * mountplan_below() - the path of @s from what @above is attached at, which lies above it
 *
 * It points into the path of @s. "" for the same.
 */
const char *mountplan_below(const struct mountplan_step *s, const struct mountplan_step *above);

/** mountplan_in_proc() - whether a path lies in /proc, which is mounted anew after the steps. */
bool mountplan_in_proc(const char *path);

/**
 * mountplan_look() - what a descriptor leads to, without a question to a file server
 *
 * Fills @dev, @ino, @mode and @apart. Return: 0, or -1 with errno.
 */
int mountplan_look(int fd, struct mountplan_step *out);

#endif
