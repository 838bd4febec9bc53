/*
 * leftover.h - what a command leaves in git directories, and git outside would follow or run
 *
 * .git must be writable for `git commit`. So its state is compared at the end of a run with what it
 * was at the start, and what git must not meet there is taken away.
 */
#ifndef LAUNCHER_FILES_LEFTOVER_H
#define LAUNCHER_FILES_LEFTOVER_H

#include <stddef.h>

/** enum leftover_kind - what a directory is */
enum leftover_kind {
	LEFTOVER_GIT,	 /* a git directory */
	LEFTOVER_SHARED, /* the same, and another run has begun in it, and not ended */
	LEFTOVER_ORPHAN, /* the same, and nobody has looked after an earlier run in it */
	LEFTOVER_TREE,	 /* a working tree with a .git of its own */
	LEFTOVER_LED,	 /* a working tree whose .git leads to a git directory, which comes later */
	LEFTOVER_ROOT,	 /* what the command may write in */
	LEFTOVER_LOCKED, /* in a git directory, and the command cannot write in it */
};

/**
 * leftover_tell - called with a line for the user, without a newline
 *
 * Names in it are escaped.
 */
typedef void leftover_tell(void *arg, const char *line);

struct leftover;

/**
 * leftover_note() - remember what is there
 * @dir: duplicated
 * @kind: one of the first four
 * @trees, @ntrees: those of LEFTOVER_LED, duplicated
 * @tell: what an earlier run may have left, of an orphan
 *
 * To be called before the command runs. Return: the memory of it, which leftover_free() releases.
 */
struct leftover *leftover_note(int dir, enum leftover_kind kind, const int *trees, size_t ntrees,
			       leftover_tell *tell, void *arg);

/**
 * leftover_reach() - what the command may write in: elsewhere nothing is changed for what an index says
 * @roots: kept by the caller until leftover_sweep() is over
 */
void leftover_reach(struct leftover *l, const int *roots, size_t n);

/** leftover_lock() - leave alone what is in @dir, wherever it lies: the user's own, old and new. */
void leftover_lock(struct leftover *l, int dir);

/**
 * leftover_sweep() - take away what the command has left, and tell of it
 * @make_room: called with @arg, perhaps more than once, where the file system is full; NULL is allowed
 *
 * To be called when no process of the command is left. What cannot be taken away is told, too.
 */
void leftover_sweep(struct leftover *l, leftover_tell *tell, void (*make_room)(void *arg),
		    void *arg);

/** leftover_free() - release; NULL is allowed. */
void leftover_free(struct leftover *l);

#endif
