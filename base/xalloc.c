#include "base/xalloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_SETUP 125

void die(const char *fmt, ...)
{
	va_list ap;

	(void)fputs("sbx-net: ", stderr);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	exit(EXIT_SETUP);
}

static void *there(void *p)
{
	if (!p)
		die("out of memory");
	return p;
}

void *xmalloc(size_t size)
{
	return there(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return there(calloc(n ? n : 1, size ? size : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	return there(reallocarray(p, n ? n : 1, size ? size : 1));
}

void *xgrow(void *p, size_t *room, size_t n, size_t least, size_t size)
{
	size_t wanted = *room ? *room * 2 : least; /* what is in memory can be counted twice */

	if (n <= *room)
		return p;
	*room = wanted > n ? wanted : n;
	return xreallocarray(p, *room, size);
}

char *xstrdup(const char *s)
{
	return there(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return there(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return there(s);
}
