/*
 * arena.h - many small texts, at offsets of four bytes and addresses that never move
 */
#ifndef POLICY_ARENA_H
#define POLICY_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define ARENA_CHUNK_BITS 16
#define ARENA_CHUNK_SIZE (1u << ARENA_CHUNK_BITS) /* bytes; the longest text */
#define ARENA_NONE	 UINT32_MAX		  /* the offset of NULL */

/**
 * struct arena - zero is an empty one; release with arena_clear()
 * @chunk: pieces of ARENA_CHUNK_SIZE bytes
 * @n: how many
 * @used: bytes of the last one
 */
struct arena {
	char **chunk;
	size_t n;
	size_t used;
};

/** arena_clear() - release all texts. */
void arena_clear(struct arena *a);

/** arena_at() - the text at an offset that arena_alloc() gave. */
static inline char *arena_at(const struct arena *a, uint32_t off)
{
	return a->chunk[off >> ARENA_CHUNK_BITS] + (off & (ARENA_CHUNK_SIZE - 1));
}

/**
 * arena_alloc() - room for @n bytes in one piece
 * @n: at most ARENA_CHUNK_SIZE; more is a bug, and dies
 * @off: its offset
 */
char *arena_alloc(struct arena *a, size_t n, uint32_t *off);

/** arena_string() - a copy of at most @max bytes of @s, terminated; ARENA_NONE for NULL. */
uint32_t arena_string(struct arena *a, const char *s, size_t max);

/** arena_memory() - bytes held. */
size_t arena_memory(const struct arena *a);

#endif
