/*
 * supervisor.h - the event loop over one confined command
 *
 * Theory of operation stands in supervisor.c.
 */
#ifndef CLI_SUPERVISOR_H
#define CLI_SUPERVISOR_H

#include <stdbool.h>

#include "base/error.h"

struct asking;
struct event_base;
struct launcher;
struct session;

/**
 * struct supervisor_config - what to watch
 * @base: the loop that the proxy runs on
 * @launcher: the command, started and not yet released
 * @session: its session; what it still sends when the command has ended is delivered first
 * @asking: gives the terminal back before we are stopped
 * @proven: called when the sandbox has been tried from inside and holds (LAUNCHER_PROVEN); -1 with
 *          @err: the command is not let go
 * @arg: passed to @proven
 * @timeout: seconds after which the run is killed, 0 for none
 * @quiet: do not say on stderr that it was
 */
struct supervisor_config {
	struct event_base *base;
	struct launcher *launcher;
	struct session *session;
	struct asking *asking;
	int (*proven)(void *arg, struct error *err);
	void *arg;
	unsigned timeout;
	bool quiet;
};

/**
 * supervisor_run() - answer the proof, release the command and serve it until it ends
 *
 * Return: the exit status of the run: the command's, 128+N, 124, or 125..127 with @err set when
 * the command never ran.
 */
int supervisor_run(const struct supervisor_config *cfg, struct error *err);

#endif
