/*
 * pathglob.h - paths with wildcards in the deny lists of settings files
 *
 * Other programs' files name what is to be hidden by patterns (Read(./.env.*), "~/.ssh/id_*",
 * "src/" "**" "/x.key"). The kernel's mounts know paths only, so a pattern stands for what matches when the
 * command starts.
 */
#ifndef CLI_PATHGLOB_H
#define CLI_PATHGLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define PATHGLOB_MATCHES_MAX 4096    /* of one pattern; each costs a mount */
#define PATHGLOB_LOOKS_MAX   1000000 /* directory entries that are looked at for one pattern */

/** typedef pathglob_cb - a path that matches; valid during the call */
typedef void pathglob_cb(void *arg, const char *path);

/**
 * typedef pathglob_barred - a directory of this user's that cannot be looked into: what is in it may match
 *
 * The permission may have been taken by a command, which can give it back. Return: 0, or -1 with @err.
 */
typedef int pathglob_barred(void *arg, const char *path, struct error *err);

/** struct pathglob - what to tell, and whom */
struct pathglob {
	pathglob_cb *match;
	pathglob_barred *barred;
	void *arg;
};

/** pathglob_is() - whether a path has a wildcard, "*", "?" or "[", or a backslash before one. */
bool pathglob_is(const char *path);

/**
 * pathglob_expand() - tell everything that matches
 * @pattern: absolute. "*", "?" and "[...]" match within one component, a leading dot included; a
 *           component "**" is any number of directories, and within a component it may be any text, slashes
 *           included. Symbolic links are not searched, but match.
 *
 * Where nothing but "**" is wild, the name that it has without directories matches, too, if it is missing:
 * it may be made later. What another user keeps from this one is passed over: the command cannot look
 * there either. Return: 0, or -1 with @err if the pattern would cost more than the limits above, or
 * @barred says so; then not all was told.
 */
int pathglob_expand(const char *pattern, const struct pathglob *to, struct error *err);

#endif
