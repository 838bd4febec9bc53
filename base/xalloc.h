/*
 * xalloc.h - memory that is there, or the end of the process
 *
 * Without memory the proxy dies, and a dead proxy is no network: that fails closed.
 */
#ifndef BASE_XALLOC_H
#define BASE_XALLOC_H

#include <stddef.h>

/** die() - print "sbx-net: MESSAGE" on stderr and exit with 125; for lack of memory only. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/** xmalloc() - malloc that does not return NULL. The caller frees. */
void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull, warn_unused_result));

/** xcalloc() - calloc that does not return NULL. The caller frees. */
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull, warn_unused_result));

/** xreallocarray() - grow an array to @n elements of @size bytes; dies on overflow too. */
void *xreallocarray(void *p, size_t n, size_t size) __attribute__((warn_unused_result));

/**
 * xgrow() - room for @n elements of @size bytes in an array that grows by doubling
 * @room: how many it has room for; at least @least from the first time on
 *
 * Return: the array, which may have moved.
 */
void *xgrow(void *p, size_t *room, size_t n, size_t least, size_t size)
	__attribute__((warn_unused_result));

/** xstrdup() - strdup that does not return NULL. The caller frees. */
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull, warn_unused_result));

/** xstrndup() - at most @n bytes of @s, terminated. The caller frees. */
char *xstrndup(const char *s, size_t n)
	__attribute__((malloc, returns_nonnull, warn_unused_result));

/** xasprintf() - a formatted string. The caller frees. */
char *xasprintf(const char *fmt, ...)
	__attribute__((returns_nonnull, warn_unused_result, format(printf, 1, 2)));

#endif
