/*
 * stats.h - what a session has done so far, as `sbx-net top` shows it
 *
 * Counted by the session's gate, told on the control sockets (docs/control.md), read by top.
 */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/target.h"
#include "proxy/proxy.h"

#define STATS_SESSION_MAX 32
#define STATS_COMMAND_MAX 512
#define STATS_LAST_MAX	  (TARGET_TEXT_MAX + 32)
#define STATS_LINE_MAX	  (6 * (STATS_COMMAND_MAX + STATS_LAST_MAX + STATS_SESSION_MAX) + 512)

struct jsonout;

/**
 * struct stats - one session; a value
 * @session: its name, or number in decimal
 * @command: of a run; of a session of serve "bridge: " and what the bridge says that it runs, or ""
 * @pid: of the run's supervisor; of a session of serve who attached it, 0 where serve cannot see that
 * @seconds: since it began
 * @connections: open now
 * @allowed, @refused, @failed: decisions
 * @bytes_up, @bytes_down: payload, that of open connections included
 * @questions: open now
 * @last: "host:port (code)" of what was refused last, or ""
 */
struct stats {
	char session[STATS_SESSION_MAX];
	char command[STATS_COMMAND_MAX];
	uint64_t pid, seconds, connections, allowed, refused, failed, bytes_up, bytes_down,
		questions;
	char last[STATS_LAST_MAX];
};

/** stats_note() - count an event of the session. */
void stats_note(struct stats *s, const struct proxy_event *ev);

/** stats_put() - as members of the object that @j is in. */
void stats_put(struct jsonout *j, const struct stats *s);

/**
 * stats_parse() - a line that has them
 * @out: its texts are printable ASCII, whatever the line holds
 *
 * Return: false for any other line; @out is untouched then.
 */
bool stats_parse(const char *line, size_t n, struct stats *out);

#endif
