/*
 * gitaway.h - where things of a git directory are put that git must not meet
 *
 * They may be the user's: nothing is lost. git knows no such name.
 */
#ifndef LAUNCHER_FILES_GITAWAY_H
#define LAUNCHER_FILES_GITAWAY_H

#include <stdbool.h>

#define GITAWAY_NAME "sbx-net.away" /* in the git directory; others begin with it */

/**
 * struct gitaway - where that is
 * @top: the git directory, not owned
 * @path: its path
 * @make_room: called where the file system is full; NULL if nothing can be done about it
 * @arg: for that
 */
struct gitaway {
	int top;
	const char *path;
	void (*make_room)(void *arg);
	void *arg;
};

/**
 * gitaway_put() - put a file or a directory away
 * @dir, @name: what it is
 * @at: its path within the git directory
 *
 * Nothing is followed and nothing replaced. A file for which there is no room at all is removed: a command
 * can have used that up. Return: what has become of it, to be told; the caller frees it.
 */
char *gitaway_put(const struct gitaway *a, int dir, const char *name, const char *at)
	__attribute__((returns_nonnull, warn_unused_result));

/**
 * gitaway_rename() - give something a name that nothing has
 *
 * Where the file system cannot tell by itself whether one is free (NFS, FUSE), it is looked at before. Return:
 * 0, or -1 with errno.
 */
int gitaway_rename(int dir, const char *name, int to, const char *other);

/**
 * gitaway_make_room() - have room made where a call has failed for want of it
 * @code: its errno
 *
 * Return: whether to call again.
 */
bool gitaway_make_room(const struct gitaway *a, int code);

/**
 * gitaway_back() - how to get something back
 * @from, @to: paths
 *
 * Return: the command, behind "; to get it back: ", or what it is called where a shell would not take the
 * names as they are. The caller frees it.
 */
char *gitaway_back(const char *from, const char *to)
	__attribute__((returns_nonnull, warn_unused_result));

#endif
