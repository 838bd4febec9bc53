/*
 * fakeip.h - addresses of 198.18.0.0/15 that stand for names, one table a run
 *
 * RFC 2544 set this block aside for benchmarks, so no real destination has an address in it. An
 * address is given to one name and to no other as long as the table lives: a program may keep it
 * for as long as it likes. When all are given out there are no more; the caller then refuses.
 */
#ifndef DNS_FAKEIP_H
#define DNS_FAKEIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "policy/hostname.h"

#define FAKEIP_MAX 131070 /* 198.18.0.1 to 198.19.255.254 */

struct fakeip;

/** fakeip_new() - a table without names. Free with fakeip_free(). */
struct fakeip *fakeip_new(void);

/** fakeip_free() - NULL is allowed. */
void fakeip_free(struct fakeip *f);

/**
 * fakeip_assign() - the address that stands for @name, a new one if it has none yet
 *
 * Return: false, and @out untouched, when every address stands for another name.
 */
bool fakeip_assign(struct fakeip *f, const struct hostname *name, struct addr *out);

/**
 * fakeip_name() - the name that an address stands for
 * @a: IPv4, or the same mapped into IPv6 (a listener on [::] sees it so)
 *
 * Return: false if it stands for none.
 */
bool fakeip_name(const struct fakeip *f, const struct addr *a, struct hostname *out);

/** fakeip_covers() - whether the address is in the block, given out or not; mapped ones too. */
bool fakeip_covers(const struct addr *a);

/** fakeip_count() - how many addresses have been given out. */
size_t fakeip_count(const struct fakeip *f);

#endif
