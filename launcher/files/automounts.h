/*
 * automounts.h - directories in which each name is a question to a program outside
 *
 * Of an indirect map of autofs(5) the kernel asks the automounter for whatever name somebody looks up in
 * it, and that looks for a host of this name (the map -hosts, at /net) or asks a directory service: the
 * command would have names of its choice looked up, and hosts dialled, past the proxy. No right to a
 * file is needed for that, so neither permissions nor Landlock help; a mount in its place does.
 */
#ifndef LAUNCHER_FILES_AUTOMOUNTS_H
#define LAUNCHER_FILES_AUTOMOUNTS_H

#include <stddef.h>

#include "launcher/files/mountinfo.h"

/**
 * struct automounts - what was found
 * @v, @n: those directories
 * @kept, @nkept: what is mounted in them now
 *
 * The strings are those of the mounts that were looked through.
 */
struct automounts {
	const char **v;
	size_t n;
	const char **kept;
	size_t nkept;
};

/** automounts_find() - look through the mounts; free with automounts_clear(). */
void automounts_find(struct automounts *a, const struct mountinfo *seen);

/** automounts_clear() - release. */
void automounts_clear(struct automounts *a);

#endif
