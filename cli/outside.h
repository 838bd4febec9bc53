/*
 * outside.h - what all sessions of a process share: loop, resolver, own addresses, proxy
 */
#ifndef CLI_OUTSIDE_H
#define CLI_OUTSIDE_H

#include <stdbool.h>

#include "base/error.h"

struct audit;
struct event_base;
struct hostaddrs;
struct proxy;
struct resolver;

/** struct outside - owned parts, in the order of making; @audit is NULL when there is none */
struct outside {
	struct event_base *base;
	struct resolver *resolver;
	struct hostaddrs *own;
	struct proxy *proxy;
	struct audit *audit;
};

/**
 * outside_open() - make the loop and what runs on it
 * @out: zeroed; release with outside_close() also after a failure
 * @servers: DNS servers, NULL-terminated, or NULL for /etc/resolv.conf
 *
 * Ignores SIGPIPE and raises the soft limit of descriptors to the hard one: each tunnel costs two.
 * Return: 0, or -1 with @err.
 */
int outside_open(struct outside *out, const char *const *servers, struct error *err);

/**
 * outside_audit() - write every session's decisions to @where (--audit)
 * @chained: as a hash chain (--audit-chain)
 *
 * Return: 0, or -1 with @err.
 */
int outside_audit(struct outside *out, const char *where, bool chained, struct error *err);

/** outside_close() - everything that was made. */
void outside_close(struct outside *out);

#endif
