/*
 * emptyns.h - whether the current network namespace leads nowhere
 */
#ifndef NETNS_EMPTYNS_H
#define NETNS_EMPTYNS_H

#include <stdbool.h>

#include "base/error.h"

/**
 * emptyns_check() - refuse a namespace that has a way out already
 * @admin: who runs in it has CAP_NET_ADMIN, or may come to have it
 * @lo_up: whether its loopback is up
 *
 * Empty means: no interface but the loopback is up or has an address, and no route leads over one.
 * With @admin no other interface may be there at all, but for the tunnel devices that modules of
 * the kernel put into every namespace.
 * Return: 0, or -1 with @err that names what was found.
 */
int emptyns_check(bool admin, bool *lo_up, struct error *err);

#endif
