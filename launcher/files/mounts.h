/*
 * mounts.h - the run's own mount namespace: read-only but for the grants, private /tmp, fresh /proc
 */
#ifndef LAUNCHER_FILES_MOUNTS_H
#define LAUNCHER_FILES_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "launcher/launcher.h"

struct protect;

/** enum mounts_use - what a grant grants */
enum mounts_use {
	MOUNTS_READ,
	MOUNTS_WRITE,
	MOUNTS_EXEC,
	MOUNTS_SCRATCH, /* a private temporary directory */
	MOUNTS_SEE,	/* the working directory in strict mode: it must exist, no more */
};

/** struct mounts_root - a grant as the command sees it: an O_PATH descriptor for Landlock */
struct mounts_root {
	enum mounts_use use;
	int fd;
};

/**
 * struct mounts - what mounts_setup() leaves behind
 * @v, @n: the grants and the run's own temporary directories
 * @cwd: the working directory as the command sees it, O_PATH
 * @tmpdir: the private /tmp, O_PATH, or -1 if /tmp is the host's
 * @hidden, @nhidden: canonical paths, sorted, of what is covered, or would be if it were there
 * @second: the first of what is hidden that can be read by a second name; NULL if there is none
 * @covers: the empty directory and the empty file that are shown in their place; -1 if none are
 * @weaker: WEAKER_ bits of what is missing and had been accepted
 * @private_pts: /dev/pts is the run's own
 */
struct mounts {
	struct mounts_root *v;
	size_t n;
	int cwd;
	int tmpdir;
	char **hidden;
	size_t nhidden;
	char *second;
	int covers[2];
	unsigned weaker;
	bool private_pts;
};

/**
 * mounts_setup() - make the mount namespace just entered the command's
 * @plan: grants, denials and mode
 * @protect: what is locked inside writable roots
 * @out: cleared by mounts_clear()
 *
 * Needs CAP_SYS_ADMIN in the user namespace that owns the mount and PID namespaces. A grant that
 * does not exist is an error. Return: 0, or -1 with @err.
 */
int mounts_setup(const struct launcher_plan *plan, const struct protect *protect,
		 struct mounts *out, struct error *err);

/**
 * mounts_roots() - the descriptors of one use, for Landlock
 * @out: an array that the caller frees; the descriptors stay @m's
 *
 * Return: how many.
 */
size_t mounts_roots(const struct mounts *m, enum mounts_use use, int **out);

/** mounts_detach() - let no mount go outside from here on. Return: 0, or -1 with @err. */
int mounts_detach(struct error *err);

/**
 * mounts_proc() - mount a /proc of the own PID namespace over what is there
 *
 * Return: 0, or -1 with @err; a container that hides parts of its /proc makes it fail with EPERM.
 */
int mounts_proc(struct error *err);

#endif
