/*
 * ifaddrs.h - this machine's own addresses, and word when they change
 */
#ifndef NETNS_IFADDRS_H
#define NETNS_IFADDRS_H

#include <stdbool.h>

#include "base/addr.h"
#include "base/error.h"

/**
 * ifaddrs_list() - every address of every interface in the current network namespace, and what
 * else the kernel delivers here: the blocks of table local
 * @out: replaced by the list on success (what it held is freed), untouched on failure
 *
 * Return: 0, or -1 with @err.
 */
int ifaddrs_list(struct addr_set *out, struct error *err);

/** ifaddrs_clear() - free the list of ifaddrs_list(). */
void ifaddrs_clear(struct addr_set *s);

/** ifaddrs_watch() - a non-blocking descriptor, readable when addresses or routes change; -1 with @err. */
int ifaddrs_watch(struct error *err);

/**
 * ifaddrs_changed() - read what the watch has to say
 * Return: whether the list must be made anew (a lost message counts as a change).
 */
bool ifaddrs_changed(int watch);

#endif
