/*
 * closefds.h - keep a few descriptors and close every other one
 */
#ifndef BASE_CLOSEFDS_H
#define BASE_CLOSEFDS_H

#include <stddef.h>

#include "base/error.h"

/**
 * closefds_except() - close every descriptor above 2 that is not listed
 * @keep: the ones to keep, in any order; -1 entries are skipped
 * @n: how many
 *
 * By close_range(2); where that is refused (an outer filter), by /proc/self/fd. Return: 0, or -1
 * with @err when neither works: the caller must not go on then.
 */
int closefds_except(const int *keep, size_t n, struct error *err);

/** closefds_fill_stdio() - open /dev/null on each of 0, 1, 2 that is closed. 0, or -1 with @err. */
int closefds_fill_stdio(struct error *err);

#endif
