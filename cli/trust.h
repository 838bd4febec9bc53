/*
 * trust.h - which projects' settings files a person has trusted, by path and SHA-256
 *
 * Kept in $XDG_STATE_HOME/sbx-net/trusted (~/.local/state), one "DIGEST PATH" a line, outside every
 * sandbox. A file that changes is no longer trusted.
 */
#ifndef CLI_TRUST_H
#define CLI_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/** trust_check() - whether this very content of @path is trusted; -1 with @err if unreadable. */
int trust_check(const char *path, const void *text, size_t len, struct error *err);

/** trust_remember() - trust this content of @path from now on. 0, or -1 with @err. */
int trust_remember(const char *path, const void *text, size_t len, struct error *err);

#endif
