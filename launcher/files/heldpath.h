/*
 * heldpath.h - a path that the command may not change, wherever it leads
 *
 * Each component is looked at: symbolic links on the way are locked, and what is missing is held.
 */
#ifndef LAUNCHER_FILES_HELDPATH_H
#define LAUNCHER_FILES_HELDPATH_H

#include <stdbool.h>

#include "base/error.h"
#include "launcher/files/protect.h"

/**
 * struct heldpath - what is to be held
 * @path: as it was given; relative to the current directory
 * @content: of the placeholder that is made if it is missing; NULL for a directory
 * @directory: it is a directory, made for good where it is missing, if this user may
 * @denied: the user has named it: "/" cannot be held, and must not be passed over then
 */
struct heldpath {
	const char *path;
	const char *content;
	bool directory;
	bool denied;
};

/**
 * heldpath_hold() - lock it, what leads to it, and the place of what is missing
 *
 * What lies outside of the writable roots needs no lock; that a file has another name, by which it can
 * be changed, is an error. Return: 0, or -1 with @err.
 */
int heldpath_hold(struct protect *p, const struct heldpath *what, struct error *err);

#endif
