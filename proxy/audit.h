/*
 * audit.h - the record of a run: one JSON object a line, every decision and every close
 *
 * docs/audit.schema.json describes the lines. Keys come in one stable order.
 */
#ifndef PROXY_AUDIT_H
#define PROXY_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "proxy/proxy.h"

#define AUDIT_LINE_MAX 16384 /* texts of 512 bytes: three escaped sixfold, five twofold */

struct event_base;
struct jsonout;
struct audit;

/**
 * audit_format() - one event as a line
 * @out: receives the line with its newline, without a final zero byte
 * @now: when it happened (CLOCK_REALTIME)
 * @session: number of the session; 0 leaves it out
 *
 * Return: its length.
 */
size_t audit_format(char out[AUDIT_LINE_MAX], const struct proxy_event *ev,
		    const struct timespec *now, unsigned session);

/** audit_is_path() - whether --audit's value names a file: neither "fd:N" nor "journald". */
bool audit_is_path(const char *where);

/**
 * audit_open_file() - open a file to append lines to; it is made with mode 0600 if it is missing
 *
 * A regular file, and no symbolic link: the command, in an earlier run perhaps, may have planted
 * one that leads to something precious. Anything else goes by way of "fd:N", which the caller has
 * opened. Return: a descriptor, which the caller owns; -1 with @err.
 */
int audit_open_file(const char *where, struct error *err);

/**
 * audit_open() - a sink for lines
 * @base: lines are gathered and written once a turn of this loop
 * @where: a path (audit_open_file()), "fd:N", "journald" or "journald:SOCKET"
 * @chained: seal each line with a hash of the one before (audit_chain.h); a file that has lines is
 *           gone on with, and belongs to one writer at a time
 *
 * A full disk or a reader that has gone never blocks the proxy and never opens anything: lines are
 * dropped and counted, and one warning says so.
 *
 * Return: the sink, to be freed by audit_close(); NULL with @err.
 */
struct audit *audit_open(struct event_base *base, const char *where, bool chained,
			 struct error *err);

/** audit_put_time() - the last key of every line: "time", UTC with milliseconds. */
void audit_put_time(struct jsonout *j, const struct timespec *now);

/** audit_write() - take a line; (@line, @n) ends in a newline. */
void audit_write(struct audit *a, const char *line, size_t n);

/** audit_event() - audit_format() and audit_write() with the time of now. */
void audit_event(struct audit *a, const struct proxy_event *ev, unsigned session);

/** audit_close() - write what is gathered, tell how many lines were lost, close; NULL is allowed. */
void audit_close(struct audit *a);

#endif
