/*
 * hostaddrs.h - this machine's own addresses, kept current while the loop runs
 */
#ifndef CLI_HOSTADDRS_H
#define CLI_HOSTADDRS_H

#include "base/addr.h"
#include "base/error.h"

struct event_base;
struct hostaddrs;

/**
 * hostaddrs_new() - list the addresses and follow their changes (rtnetlink)
 *
 * Return: the list's keeper, to be freed by hostaddrs_free(); NULL with @err.
 */
struct hostaddrs *hostaddrs_new(struct event_base *base, struct error *err);

/** hostaddrs_free() - NULL is allowed. */
void hostaddrs_free(struct hostaddrs *h);

/** hostaddrs_set() - the addresses as of now; stays valid and current until hostaddrs_free(). */
const struct addr_set *hostaddrs_set(const struct hostaddrs *h);

#endif
