/*
 * gitshown.h - texts of git's that a prompt shows
 */
#ifndef LAUNCHER_FILES_GITSHOWN_H
#define LAUNCHER_FILES_GITSHOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/files/gitname.h"
#include "launcher/files/gitvisit.h"

/**
 * gitshown_quieten() - write "?" for what controls a terminal in a text
 * @head: only up to the first empty line
 *
 * Tabs stay, carriage returns at the end of a line, and lines of a rebase that are run, which are the
 * user's (gitstate.c).
 * Return: whether there was anything.
 */
bool gitshown_quieten(char *text, size_t n, bool head);

/** gitshown_visit() - do that to a file, if it is one of those, and new or changed; see gitvisit.h. */
void gitshown_visit(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		    const char *at, enum gitname_place place);

#endif
