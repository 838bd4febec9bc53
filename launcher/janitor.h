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
 * @sock: the end of what it reads there is the sign to begin; -1 if there is none
 * @done: janitor_finish() has been called
 * @noted: it compares git directories at the end
 * @lines, @nlines: what it has told, for the user
 */
struct janitor {
	pid_t pid;
	int sock;
	bool done;
	bool noted;
	char **lines;
	size_t nlines;
};

/**
 * janitor_tell() - what it has to remove, before it is made and again when it has been
 * @arg: struct janitor; the process is forked when it is first told something
 *
 * A placeholder_watch's @tell. To be called before the namespaces are made. Return: 0, or -1 with errno.
 */
int janitor_tell(void *arg, const struct placeholder *m);

/** janitor_note() - a directory to compare at the end; a placeholder_watch's @note, as above. */
int janitor_note(void *arg, int dir, enum leftover_kind kind);

/** janitor_watch() - tell it whose end to wait for: pid 1. 0, or -1 with @err. */
int janitor_watch(const struct janitor *j, int pidfd, struct error *err);

/**
 * janitor_await() - wait until it remembers what is in the directories that it is to compare
 *
 * The command must not run before. Return: 0, or -1 with @err.
 */
int janitor_await(struct janitor *j, struct error *err);

/**
 * janitor_finish() - let it work and wait until it is done; if there is none, do its work
 *
 * To be called when pid 1 has been reaped, or was never made.
 */
void janitor_finish(struct janitor *j, const struct placeholders *what);

/** janitor_say() - one more line for the user; a copy is made. @arg: struct janitor. */
void janitor_say(void *arg, const char *line);

/** janitor_clear() - free what it has told. */
void janitor_clear(struct janitor *j);

#endif
