/*
 * gitform.h - a file in a git directory that is new or changed, and must be data
 */
#ifndef LAUNCHER_FILES_GITFORM_H
#define LAUNCHER_FILES_GITFORM_H

#include <stdbool.h>

#include "launcher/files/gitname.h"
#include "launcher/files/gitvisit.h"

/**
 * gitform_visit() - remember a file, or put it away if it is new and not known to be data
 * @at: its path within the git directory that the walk began in
 * @within: the same within its own git directory
 * @is: what its name stands for
 * @unseen: nobody knows whether it was there at the start
 */
void gitform_visit(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		   const char *at, const char *within, const struct gitname *is, bool unseen);

/** gitform_tell_unseen() - of something that may have been there at the start. */
void gitform_tell_unseen(const struct gitvisit *v, const char *at, const char *what,
			 const char *which);

#endif
