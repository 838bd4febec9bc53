#include "policy/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* Offsets have 32 bits; the last chunk stays free, so that no offset is ARENA_NONE. */
#define CHUNKS_MAX (UINT32_MAX >> ARENA_CHUNK_BITS)

void arena_clear(struct arena *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->chunk[i]);
	free(a->chunk);
	*a = (struct arena){ 0 };
}

char *arena_alloc(struct arena *a, size_t n, uint32_t *off)
{
	char *p;

	if (n > ARENA_CHUNK_SIZE)
		die("out of memory for texts");
	if (!a->n || a->used + n > ARENA_CHUNK_SIZE) {
		if (a->n == CHUNKS_MAX)
			die("out of memory for texts");
		a->chunk = xreallocarray(a->chunk, a->n + 1, sizeof(a->chunk[0]));
		a->chunk[a->n++] = xmalloc(ARENA_CHUNK_SIZE);
		a->used = 0;
	}
	*off = (uint32_t)((a->n - 1) << ARENA_CHUNK_BITS | a->used);
	p = a->chunk[a->n - 1] + a->used;
	a->used += n;
	return p;
}

uint32_t arena_string(struct arena *a, const char *s, size_t max)
{
	size_t n = s ? strnlen(s, max) : 0;
	uint32_t off;
	char *p;

	if (!s)
		return ARENA_NONE;
	p = arena_alloc(a, n + 1, &off);
	memcpy(p, s, n);
	p[n] = '\0';
	return off;
}

size_t arena_memory(const struct arena *a)
{
	return a->n * ARENA_CHUNK_SIZE;
}
