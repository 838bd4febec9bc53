/*
 * lockdown.h - the supervisor confines itself, once everything stands
 *
 * It parses bytes from the sandbox and from the network without a network namespace of its own, so
 * a flaw in it must not be worth much: from here on it starts no program, touches no process but
 * its child, and opens only the files that a reload, the resolver and saved answers need.
 */
#ifndef CLI_LOCKDOWN_H
#define CLI_LOCKDOWN_H

#include <stddef.h>

#include "base/error.h"

/**
 * lockdown_enter() - Landlock, seccomp and no core dumps, for good
 * @files, @n: files to be read again when they change; their directories become readable
 * @sockets: a directory in which our sockets' names are removed at the end, or NULL
 *
 * Should: be the last step before the command is let go; what it does is not undone.
 * Mustn't: be called while something is still to be forked or exec'd.
 *
 * Return: 0, or -1 with @err.
 */
int lockdown_enter(const char *const *files, size_t n, const char *sockets, struct error *err);

#endif
