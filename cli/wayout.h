/*
 * wayout.h - what the run's own network is like: the proxy to go through, the servers to ask
 */
#ifndef CLI_WAYOUT_H
#define CLI_WAYOUT_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/layers/layers.h"
#include "cli/options.h"

struct tls_trust;
struct upstreams;

/**
 * wayout_upstream() - the proxy that we must go through
 * @trust: whose certificates are believed: read when they are first wanted and kept for later calls;
 *         the caller's, for tls_trust_free()
 * @again: after the lock-down (a reload, a session of serve): nothing is read any more
 * @out: to be freed by upstreams_free(); NULL for direct connections
 *
 * The managed file, --upstream-proxy, the other files and our own environment, in that order; the
 * first that says something counts. Return: 0, or -1 with @err.
 */
int wayout_upstream(const struct run_options *o, const struct layers *l, struct tls_trust **trust,
		    bool again, struct upstreams **out, struct error *err);

/**
 * wayout_resolvers() - the DNS servers of --resolver, else of the settings files
 * @out: NULL-terminated, owned by @o or @l; NULL for those of /etc/resolv.conf
 *
 * Return: 0, or -1 with @err if a file names no server where it should.
 */
int wayout_resolvers(const struct run_options *o, struct layers *l, const char *const **out,
		     struct error *err);

#endif
