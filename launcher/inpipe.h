/*
 * inpipe.h - a pipe at standard input, so that the command cannot write into its caller's
 *
 * Both ends of a pipe are one file, and /proc/self/fd/0 opens it for writing, too: what the command
 * wrote there, a shell outside would read that takes its commands from the same pipe, as in
 * `cat script | sh`. No rule and no mount stands before that, and permissions are the command's to
 * change. So it gets a pipe of its own, and a small process copies.
 */
#ifndef LAUNCHER_INPIPE_H
#define LAUNCHER_INPIPE_H

#include <sys/types.h>

#include "base/error.h"

/**
 * struct inpipe - the copying process
 * @relay: 0 if there is none
 * @caller: the caller's pipe while the command's is in its place, or -1
 */
struct inpipe {
	pid_t relay;
	int caller;
};

/**
 * inpipe_start() - put a pipe of the command's own in the place of descriptor 0, if that is a pipe
 *
 * A pipe with a name is left alone: file rules hold for that. Return: 0, or -1 with @err, descriptor 0
 * as it was.
 */
int inpipe_start(struct inpipe *out, struct error *err);

/** inpipe_started() - the command has been forked: the caller's pipe comes back to its place. */
void inpipe_started(struct inpipe *p);

/** inpipe_finish() - nobody has the command's end open any more: wait for the process. */
void inpipe_finish(struct inpipe *p);

#endif
