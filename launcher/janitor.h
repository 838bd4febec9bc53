/*
 * janitor.h - a small process that tidies up outside when the run is over, however it ended
 */
#ifndef LAUNCHER_JANITOR_H
#define LAUNCHER_JANITOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "launcher/files/placeholder.h"

/**
 * struct janitor - the process, or nothing when there is nothing to tidy up
 * @pid: 0 if there is none
 * @sock: its end is the sign to begin; -1 if there is none
 * @done: janitor_finish() has been called
 */
struct janitor {
	pid_t pid;
	int sock;
	bool done;
};

/**
 * janitor_tell() - what it has to remove, before it is made and again when it has been
 * @arg: struct janitor; the process is forked when it is first told something
 *
 * A placeholder_watch's @tell. To be called before the namespaces are made. Return: 0, or -1 with errno.
 */
int janitor_tell(void *arg, const struct placeholder *m);

/** janitor_watch() - tell it whose end to wait for: pid 1. 0, or -1 with @err. */
int janitor_watch(const struct janitor *j, int pidfd, struct error *err);

/**
 * janitor_finish() - let it work and wait until it is done; if there is none, do its work
 *
 * To be called when pid 1 has been reaped, or was never made.
 */
void janitor_finish(struct janitor *j, const struct placeholders *what);

#endif
