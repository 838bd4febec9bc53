/*
 * attach.h - the control socket of serve: sandboxes that attach, reload, stats
 *
 * Theory of operation stands in attach.c.
 */
#ifndef CLI_SERVE_ATTACH_H
#define CLI_SERVE_ATTACH_H

#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"
#include "cli/outside.h"

struct attach;
struct gate;
struct reload;
struct usher;
struct whose;

/**
 * struct attach_config - what the sessions are made of; nothing is owned
 * @options: serve's own; a session's are these and its bounds
 * @cwd: where serve was started
 * @usher: receives what clients send
 * @whose: who connects, for the audit log; NULL if that is not asked
 * @base: serve's own session (proxy.sock), which is reloaded with the others
 */
struct attach_config {
	const struct outside *outside;
	const struct run_options *options;
	const char *cwd;
	struct usher *usher;
	const struct whose *whose;
	struct gate *base;
};

/** attach_new() - nobody is attached. @cfg is copied. */
struct attach *attach_new(const struct attach_config *cfg);

/** attach_listen() - take clients of a listening unix socket, which stays the caller's. */
int attach_listen(struct attach *a, int fd, struct error *err);

/** attach_reload() - read the policy again, for every session: soon, and not too often. */
void attach_reload(struct attach *a);

/** attach_set_files() - a session that begins is to see what has changed there, by attach_reload(). */
void attach_set_files(struct attach *a, struct reload *files);

/** attach_drain() - take nobody and no connection any more; what is open goes on. */
void attach_drain(struct attach *a);

/** attach_connections() - open connections of all sessions, the base one included. */
size_t attach_connections(const struct attach *a);

/** attach_free() - ends every session; NULL is allowed. */
void attach_free(struct attach *a);

#endif
