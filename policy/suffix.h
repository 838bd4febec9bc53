/*
 * suffix.h - the public suffix list: below which domains anybody can get a name
 *
 * Of the list, in the compact form in which distributions ship it for libpsl. Pure: whoever has the
 * bytes gives them. Theory of operation, and why libpsl itself is not linked, stand in suffix.c.
 */
#ifndef POLICY_SUFFIX_H
#define POLICY_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/hostname.h"

#define SUFFIX_BYTES_MAX (4 * 1024 * 1024) /* seventy times today's list */

struct suffixes;

/**
 * suffixes_new() - from the bytes of a public_suffix_list.dafsa
 * @bytes: copied
 *
 * Return: to be freed by suffixes_free(); NULL if it is no such list.
 */
struct suffixes *suffixes_new(const void *bytes, size_t n);

/** suffixes_free() - NULL is allowed. */
void suffixes_free(struct suffixes *s);

/**
 * suffix_is_shared() - whether the names below @domain may be different people's
 * @s: NULL for no list: then every domain may be shared
 * @domain: canonical
 * @found: receives the public suffix that @domain is, or one that lies below it; "" where the list
 *         has neither (a single label, or no list); may be NULL
 *
 * The first call unpacks the list, which takes some milliseconds; the others take microseconds.
 */
bool suffix_is_shared(struct suffixes *s, const char *domain, char found[HOSTNAME_MAX + 1]);

#endif
