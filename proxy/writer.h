/*
 * writer.h - inside proxy/: text put together in a buffer that is known to be large enough
 *
 * printf(3) would be most of the work. Inlined: the length of a literal is then known to the compiler.
 */
#ifndef PROXY_WRITER_H
#define PROXY_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

/**
 * struct writer - a buffer whose size was computed before the first byte
 * @p, @size: the buffer
 * @n: how much of it is written
 *
 * Running over it is our bug, and as the bytes are a stranger's the check stays in every build.
 */
struct writer {
	char *p;
	size_t n, size;
};

/** writer_put() - add @n bytes. */
static inline void writer_put(struct writer *w, const void *p, size_t n)
{
	if (n > w->size - w->n)
		abort();
	if (n)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

/** writer_text() - add a string without its terminator. */
static inline void writer_text(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

/** writer_number() - add a number. */
static inline void writer_number(struct writer *w, uint64_t v)
{
	char digits[DECIMAL_MAX];

	writer_put(w, digits, decimal_format(v, digits));
}

#endif
