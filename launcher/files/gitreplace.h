/*
 * gitreplace.h - references by which git shows one object in the place of another (git-replace(1))
 *
 * What the user looks at then is not what is pushed.
 */
#ifndef LAUNCHER_FILES_GITREPLACE_H
#define LAUNCHER_FILES_GITREPLACE_H

#include "launcher/files/gitvisit.h"

#define GITREPLACE_PACKED "packed-refs"

/**
 * gitreplace_loose() - such a reference in a file of its own: remember it, or put it away if it is new
 * @at: the file's path within the git directory that the walk began in
 * @within: the same within its own git directory, the reference's name
 */
void gitreplace_loose(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		      const char *at, const char *within);

/** gitreplace_packed() - the same for those in packed-refs, in @dir: new ones are taken out. */
void gitreplace_packed(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at);

#endif
