/*
 * lockdown.h - the supervisor confines itself, once everything stands
 *
 * It parses bytes from the sandbox and from the network without a network namespace of its own, so
 * a flaw in it must not be worth much: from here on it starts no program, signals no process but
 * its relay and pid 1, and opens only the files that a reload, the resolver and saved answers need.
 */
#ifndef CLI_LOCKDOWN_H
#define CLI_LOCKDOWN_H

#include <stddef.h>

#include "base/error.h"
#include "launcher/seccomp_supervisor.h"

/**
 * struct lockdown_plan - what stays possible beside the network; nothing is owned
 * @files, @nfiles: to be read again when they change; their directories become readable
 * @sockets: a directory in which our sockets' names are removed at the end, or NULL
 * @save: a directory in which files are made and replaced, or NULL
 * @tidy, @ntidy: open directories in which the launcher's placeholders are removed at the end,
 *                should the janitor have been killed
 * @peers: who may be sent signals
 */
struct lockdown_plan {
	const char *const *files;
	size_t nfiles;
	const char *sockets;
	const char *save;
	const int *tidy;
	size_t ntidy;
	struct seccomp_peers peers;
};

/**
 * lockdown_enter() - Landlock, seccomp and no core dumps, for good
 *
 * Should: be the last step before the command is let go; what it does is not undone.
 * Mustn't: be called while something is still to be forked or exec'd.
 *
 * Return: 0, or -1 with @err.
 */
int lockdown_enter(const struct lockdown_plan *plan, struct error *err);

#endif
