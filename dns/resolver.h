/*
 * resolver.h - names to addresses, asynchronously (c-ares on libevent)
 *
 * Theory of operation stands in resolver.c. Names are absolute: no search list, no HOSTALIASES or
 * RES_OPTIONS from the environment. /etc/hosts is honoured, answers are cached by their TTL.
 * A and AAAA are asked for at once and reported as they come (RFC 8305 section 3).
 */
#ifndef DNS_RESOLVER_H
#define DNS_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/hostname.h"

struct event_base;
struct resolver;
struct resolver_query;

#define RESOLVER_TIMEOUT_MS (10 * 1000) /* a whole lookup, all tries */
#define RESOLVER_ASKS_MAX   2048 /* questions out; ids have 16 bits: guesses get easier with each */
#define RESOLVER_ADDRS_MAX  64	 /* addresses taken from one answer */

/** enum resolver_status - how a lookup ended */
enum resolver_status {
	RESOLVER_MORE,	   /* these addresses now, another family is still out */
	RESOLVER_DONE,	   /* the last call for this query; possibly with addresses */
	RESOLVER_NOTFOUND, /* last call: the name has no address (NXDOMAIN, NODATA) */
	RESOLVER_FAILED,   /* last call: SERVFAIL, refused, malformed */
	RESOLVER_TIMEOUT,  /* last call: no server answered in time */
	RESOLVER_BUSY,	   /* last call: too many lookups before it, nobody has been asked */
};

/**
 * typedef resolver_cb - addresses have come
 * @status: RESOLVER_MORE promises another call; anything else is the last one
 * @addrs, @n: valid during the call only
 *
 * The statuses NOTFOUND, FAILED, TIMEOUT and BUSY are reported only when the query gave no address at
 * all: a good A with a failing AAAA ends in RESOLVER_DONE.
 */
typedef void resolver_cb(void *arg, enum resolver_status status, const struct addr *addrs,
			 size_t n);

/**
 * struct resolver_config
 * @servers: "ADDR" or "ADDR:PORT" or "[V6]:PORT", NULL-terminated, or NULL for those of
 *           @resolv_conf
 * @hosts_file: normally NULL for /etc/hosts; tests name another
 * @resolv_conf: normally NULL for /etc/resolv.conf; followed when it changes
 * @timeout_ms: normally 0 for RESOLVER_TIMEOUT_MS; tests are less patient
 * @asks: normally 0 for RESOLVER_ASKS_MAX; tests need fewer
 */
struct resolver_config {
	const char *const *servers;
	const char *hosts_file;
	const char *resolv_conf;
	unsigned timeout_ms;
	size_t asks;
};

/** resolver_new() - NULL with @err on failure. Free with resolver_free(). */
struct resolver *resolver_new(struct event_base *base, const struct resolver_config *cfg,
			      struct error *err);

/** resolver_free() - running queries end silently; not from a callback. NULL is allowed. */
void resolver_free(struct resolver *r);

/**
 * resolver_known() - what /etc/hosts said of a name when it was read last; nobody is asked
 * @out: receives at most @max addresses
 *
 * Return: how many; 0 if it says nothing.
 */
size_t resolver_known(struct resolver *r, const struct hostname *name, struct addr *out,
		      size_t max);

struct resolver_share;

/**
 * resolver_share_new() - one of those who look names up, and must leave others their part
 *
 * How many questions a share may have out is base/fairshare.h's to say; one that is alone, all of them.
 * What is more waits for an answer to another, and for RESOLVER_TIMEOUT_MS at most.
 */
struct resolver_share *resolver_share_new(struct resolver *r);

/** resolver_share_free() - its lookups end by themselves, later; before the resolver. NULL is allowed. */
void resolver_share_free(struct resolver_share *s);

/**
 * resolver_start() - look a name up
 * @share: who asks; NULL for the resolver's own
 *
 * Never calls back before it returns, not for cached or /etc/hosts answers either.
 *
 * Return: the query, owned by the resolver, valid until the last callback or resolver_cancel().
 */
struct resolver_query *resolver_start(struct resolver *r, struct resolver_share *share,
				      const struct hostname *name, resolver_cb *cb, void *arg);

struct channel;

/**
 * resolver_channel() - the servers of the moment, for questions that are not about addresses
 *
 * For use at once: a change of /etc/resolv.conf replaces it, and keeps it only while questions are
 * out. Return: NULL when half as many questions are out as may be: the rest is kept for addresses.
 */
struct channel *resolver_channel(struct resolver *r);

/** resolver_cancel() - guarantees that @cb is not called again. */
void resolver_cancel(struct resolver_query *q);

#endif
