/*
 * gitvisit.h - what a walk through a git directory knows, and does about a file
 */
#ifndef LAUNCHER_FILES_GITVISIT_H
#define LAUNCHER_FILES_GITVISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "launcher/files/gitaway.h"
#include "launcher/files/gitseen.h"

#define GITVISIT_READ_MAX (512 * 1024 * 1024) /* of all files, a fraction of a second */

/** struct gitvisit_tree - a git directory, by its device and number, and the working tree that leads to it */
struct gitvisit_tree {
	uint64_t git[2];
	int tree;
};

/**
 * struct gitvisit_known - what is known of one git directory
 * @tree: the working tree that it lies in, or that leads to it, O_PATH, not owned; -1 if it is not known
 * @led, @nled: of this or other git directories, as the start has found them
 * @roots, @nroots: what the command may write in, not owned; none if that is not known
 * @since: when another run has begun, which is not over: what is younger may be its command's; or zero
 * @seen: what was there at the start
 */
struct gitvisit_known {
	int tree;
	struct gitvisit_tree *led;
	size_t nled;
	const int *roots;
	size_t nroots;
	struct timespec since;
	struct gitseen seen;
};

/** enum gitvisit_task - what is to be done about a file */
enum gitvisit_task {
	GITVISIT_NOTE,	/* remember what is the user's */
	GITVISIT_WARN,	/* the same, and tell of what may be an earlier run's */
	GITVISIT_SWEEP, /* take away what is new */
};

/**
 * struct gitvisit - a walk through a git directory
 * @read: how many bytes of files have been read; a bound of what a command can keep the walk busy with
 * @away: where files are put that git must not meet; of GITVISIT_SWEEP
 * @say: told of each thing; @at is its place, @which more about it or "", @done what has become of it
 */
struct gitvisit {
	enum gitvisit_task task;
	uint64_t *read;
	const struct gitaway *away;
	void (*say)(void *arg, const char *at, const char *what, const char *which,
		    const char *done);
	void *arg;
};

/* What to say of something that may be an earlier run's. */
#define GITVISIT_ORPHAN                                                                         \
	"it may be left from a run that was killed with all its processes: remove it if it is " \
	"not yours"

/* How each text begins that says that what was there is no more. */
#define GITVISIT_GONE "the command has left it, and "

/** gitvisit_is_older() - whether what was changed at @ctime is none of another run's command. */
bool gitvisit_is_older(const struct gitvisit_known *g, struct timespec ctime);

/** gitvisit_remove() - remove what holds nothing, such as a link. Return: what to say of that. */
const char *gitvisit_remove(int dir, const char *name);

/**
 * gitvisit_put_away() - put away a file that the command has left, and tell of it
 * @at: its path within the git directory
 * @what, @which: for struct gitvisit's @say
 */
void gitvisit_put_away(const struct gitvisit *v, int dir, const char *name, const char *at,
		       const char *what, const char *which);

/** struct gitvisit_identity - of a file, until somebody changes it; @older: it is none of another run */
struct gitvisit_identity {
	uint64_t v[4];
	bool older;
};

/** gitvisit_identify() - which file it is. Return: whether it is there. */
bool gitvisit_identify(const struct gitvisit_known *g, int dir, const char *name,
		       struct gitvisit_identity *id);

/** gitvisit_is_still() - at the start: that a file is what @kind says; later: whether it was, and is as it was. */
bool gitvisit_is_still(struct gitvisit_known *g, const struct gitvisit *v, enum gitseen_kind kind,
		       const char *at, const struct gitvisit_identity *id);

/** gitvisit_read_all() - all of an open file, within the bounds of the walk; NULL with errno. */
char *gitvisit_read_all(const struct gitvisit *v, int fd, size_t max, size_t *n);

/**
 * gitvisit_read() - the text of a file of git's state
 * @at: its path within the git directory
 *
 * One that cannot be read whole is dealt with here; of links and pipes leftover.c takes care. Return: NULL
 * if there is none, or at the start, if it may be another run's. The caller frees it.
 */
char *gitvisit_read(const struct gitvisit_known *g, const struct gitvisit *v, int dir,
		    const char *name, const char *at, size_t *n);

/** gitvisit_replace() - put another text into a file. Return: 0, or -1 with errno. */
int gitvisit_replace(int dir, const char *name, const char *text, size_t n);

/** gitvisit_deal() - take away a file that git must not meet, or tell of it. */
void gitvisit_deal(const struct gitvisit *v, int dir, const char *name, const char *at,
		   const char *what, const char *which);

/**
 * gitvisit_is_users() - whether the user has it so
 *
 * At the start it is remembered, and nobody knows of an orphan.
 */
bool gitvisit_is_users(struct gitvisit_known *g, const struct gitvisit *v, enum gitseen_kind kind,
		       const char *at, const char *text, size_t n);

/** gitvisit_text() - a file whose whole text must be harmless by @is, or the user's. */
void gitvisit_text(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		   const char *at, const char *what, bool (*is)(const char *text, size_t n));

#endif
