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

/** typedef pathglob_cb - a path that exists and matches; valid during the call */
typedef void pathglob_cb(void *arg, const char *path);

/** pathglob_is() - whether a path has a wildcard: "*", "?" or "[". */
bool pathglob_is(const char *path);

/**
 * pathglob_expand() - call @cb for everything that matches
 * @pattern: absolute. "*", "?" and "[...]" match within one component, a leading dot included; a
 *           component "**" is any number of directories. Symbolic links are not searched, but match.
 *
 * What this user cannot search is passed over: neither could the command. Return: 0, or -1 with
 * @err if the pattern would cost more than the limits above; then not all was told.
 */
int pathglob_expand(const char *pattern, pathglob_cb *cb, void *arg, struct error *err);

#endif
