/*
 * untouched.h - whether a command of a run may have written a file, or what leads to it
 *
 * What sbx-net itself runs, or has others run, outside of the sandbox must not be the command's work: of
 * this run's, or of an earlier one in the same place. So a path is followed component by component, links
 * included, and must lead through no directory in which a command may write: the working directory, whatever
 * the mode, and what --write and settings grant; nor through one in which every user may. Where other runs
 * may write is not known.
 */
#ifndef CLI_UNTOUCHED_H
#define CLI_UNTOUCHED_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/options.h"

struct layers;
struct untouched;

/**
 * untouched_new() - take down where commands may write
 * @o: its --write
 * @layers: what settings grant; NULL for nothing
 * @cwd: where the command starts
 *
 * Return: to be freed by untouched_free(); NULL with @err.
 */
struct untouched *untouched_new(const struct run_options *o, struct layers *layers, const char *cwd,
				struct error *err);

/** untouched_free() - NULL is allowed. */
void untouched_free(struct untouched *u);

/** enum untouched_found - what a path leads to, and by what */
enum untouched_found {
	UNTOUCHED,
	TOUCHED,	/* a command may have written it */
	TOUCHED_OTHERS, /* every user may have */
	TOUCHED_UNKNOWN /* it cannot be followed to its end, and until there nobody may have */
};

/**
 * untouched_look() - follow a path
 * @path: absolute
 * @why: a clause about what it leads to ("it lies in ..."), where it is not UNTOUCHED
 */
enum untouched_found untouched_look(const struct untouched *u, const char *path, struct error *why);

/**
 * untouched_look_closely() - the same of a program, or a directory of them
 *
 * Its other names count, too: by a hard link, or a file system that is mounted twice.
 */
enum untouched_found untouched_look_closely(const struct untouched *u, const char *path,
					    struct error *why);

/** untouched_is_open() - whether the command may write whatever this user may (--fs off). */
bool untouched_is_open(const struct untouched *u);

/** untouched_is_named() - whether the name of a directory in which a command may write is in a text. */
bool untouched_is_named(const struct untouched *u, const char *text);

/** untouched_grants_in() - whether --write or a setting grants something in a directory, or all of it, or may. */
bool untouched_grants_in(const struct untouched *u, const char *dir);

#endif
