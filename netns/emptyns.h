/*
 * emptyns.h - whether the current network namespace leads nowhere
 */
#ifndef NETNS_EMPTYNS_H
#define NETNS_EMPTYNS_H

#include <stdbool.h>

#include "base/error.h"

/**
 * emptyns_check() - refuse a namespace that has a way out already
 * @lo_up: whether its loopback is up
 *
 * Empty means: no interface but the loopback is up or has an address, and no route leads over one.
 * Return: 0, or -1 with @err that names what was found.
 */
int emptyns_check(bool *lo_up, struct error *err);

#endif
