/*
 * hash.h - a keyed hash for tables whose keys a stranger chooses (SipHash-1-3)
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct hash_key - the secret of one table
 * @k0, @k1: 128 random bits
 */
struct hash_key {
	uint64_t k0, k1;
};

/** hash_key_random() - a fresh key from getrandom(2); dies if the kernel has none. */
struct hash_key hash_key_random(void);

/** hash_bytes() - 64-bit hash of (@p, @n) under @key. */
uint64_t hash_bytes(const struct hash_key *key, const void *p, size_t n);

#endif
