/*
 * lockseen.h - whether what was locked is still what it was when the run began
 *
 * A lock is a mount on a file or a directory. Who renames another into its place outside, or removes
 * it there, takes the mount away: git clean, git checkout, many an editor. The command may write the
 * name from then on, and nothing can keep it from that; but it can be told.
 */
#ifndef LAUNCHER_FILES_LOCKSEEN_H
#define LAUNCHER_FILES_LOCKSEEN_H

#include <stddef.h>

/** struct lockseen - what was under each name; @v is parallel to the names, which stay the caller's */
struct lockseen {
	struct lockseen_one *v;
	char *const *names;
	size_t n;
};

/** lockseen_note() - look at @n canonical paths; the array stays as it is until lockseen_clear(). */
void lockseen_note(struct lockseen *s, char *const *names, size_t n);

/** lockseen_except() - tell nothing of @path: the user has granted it, and it is not locked. */
void lockseen_except(struct lockseen *s, const char *path);

/**
 * lockseen_compare() - look again
 * @tell: a line for the user, without a line feed, for each name that is there and is another one, and
 *        one for those that cannot be looked at
 *
 * To be called when the command has ended, and before placeholders are removed.
 */
void lockseen_compare(const struct lockseen *s, void (*tell)(void *arg, const char *line),
		      void *arg);

/** lockseen_clear() - free. */
void lockseen_clear(struct lockseen *s);

#endif
