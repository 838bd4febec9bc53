/*
 * grantpath.h - paths that a user types, and links on the way that a command may have made
 *
 * A command that may write in a directory can put a link there in the place of a file or a directory.
 * A later run that is granted that name, or started in it, would be given what the link leads to.
 */
#ifndef LAUNCHER_FILES_GRANTPATH_H
#define LAUNCHER_FILES_GRANTPATH_H

#include <stdbool.h>

#include "base/error.h"
#include "launcher/launcher.h"

/**
 * struct grantpath - what is granted, and to whom
 * @what: for messages: the option or setting
 * @path: absolute, as it was given
 * @home: the user's home directory, or NULL
 * @writable: the command may write there; otherwise links to the system's programs and libraries,
 *            which every command may use, are no matter
 */
struct grantpath {
	const char *what;
	const char *path;
	const char *home;
	bool writable;
};

/**
 * grantpath_trusts() - whether no command of an earlier run can have made a link in an open directory
 * @home: the user's home directory, or NULL
 *
 * It lies where this user may not write, or in a directory that is never a workspace (workdir.h), such as
 * the home directory itself.
 */
bool grantpath_trusts(int dir, const char *home);

/**
 * grantpath_open() - open a path, but refuse one that leads through such a link
 *
 * A link is trusted if it leads to what lies beside it or below, or lies where no command can have
 * made it (grantpath_trusts()). Each component is opened and judged as it is then: nothing is looked up
 * twice, so that a command which exchanges them meanwhile gains nothing.
 *
 * Return: a descriptor (O_PATH, CLOEXEC), which the caller owns; -1 with @err.
 */
int grantpath_open(const struct grantpath *g, struct error *err);

/**
 * grantpath_same() - whether an open descriptor is what was judged
 * @id: NULL where nothing was
 * @path: for the message
 *
 * Return: 0, or -1 with @err.
 */
int grantpath_same(int fd, const struct file_id *id, const char *path, struct error *err);

#endif
