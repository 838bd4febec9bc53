/*
 * control.h - ask whoever connects: a unix socket with one JSON object a line
 *
 * docs/control.md describes the lines. The socket is in a directory that only this user enters,
 * and the peer must be this user, in this network namespace: nothing inside a sandbox is let in. Nor
 * can the command of this run reach it (struct launcher_plan .private_paths).
 */
#ifndef CLI_ASK_CONTROL_H
#define CLI_ASK_CONTROL_H

#include <stdbool.h>

#include "cli/ask/asker.h"

#define CONTROL_SUFFIX ".sock" /* "SESSION.sock" */

/** control_path() - $XDG_RUNTIME_DIR/sbx-net-runs, else "run" in our state directory; caller frees. */
char *control_path(struct error *err);

/**
 * control_dir() - open that directory
 * @make: make it if it is missing
 *
 * Return: the descriptor, owned by the caller; -1 with @err, also if others may enter it.
 */
int control_dir(bool make, struct error *err);

/** control_connect() - connect to "NAME" in the directory @dir. Return: the socket; -1, errno. */
int control_connect(int dir, const char *name);

/**
 * control_new() - an asker that listens
 * @alone: nobody else is asked: when the last subscriber goes, what it was asked is answered no,
 *         and a line on stderr says where to answer
 *
 * Return: 0, or -1 with @err.
 */
int control_new(struct asker *out, struct asking *asking, struct event_base *base, bool alone,
		struct error *err);

#endif
