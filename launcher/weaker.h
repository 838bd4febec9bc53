/*
 * weaker.h - what a run may lack, if the user accepts it by name (--accept-weaker)
 *
 * A sandbox without one of these still stands; each names a second wall, or something that is shown
 * and not reached. Nothing is ever left out that has no name here, nor without the name.
 */
#ifndef LAUNCHER_WEAKER_H
#define LAUNCHER_WEAKER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * PROC: no /proc of the sandbox's own, but the surrounding one, read-only: the command sees which
 * processes there are, their command lines and mounts, and by way of them the network of the
 * surroundings: addresses, ports and users of its sockets, names of its unix sockets, its devices and
 * routes (/proc/PID/net). It can neither signal nor look into a process (no environment, descriptors,
 * memory), and connects to none of those sockets.
 */
#define WEAKER_PROC	       (1u << 0)
/*
 * LANDLOCK_SCOPES: signals and abstract sockets are held back by the PID and network namespaces
 * alone (Landlock before ABI 6).
 */
#define WEAKER_LANDLOCK_SCOPES (1u << 1)
/*
 * SPELLING: on a file system that takes .GIT for .git, where the kernel does not know that, what is
 * locked in the workspace is so by one spelling only. What is hidden is never left so.
 */
#define WEAKER_SPELLING	       (1u << 2)

#define WEAKER_NUM 3

/** weaker_name() - of bit number @i, below WEAKER_NUM. */
const char *weaker_name(size_t i);

/** weaker_parse() - NAME[,NAME]... into a set of bits. 0, or -1 with @err that knows the names. */
int weaker_parse(const char *names, unsigned *out, struct error *err);

#endif
