#include "base/hash.h"

#include <string.h>
#include <sys/random.h>

#include "base/xalloc.h"

struct hash_key hash_key_random(void)
{
	struct hash_key key;

	if (getrandom(&key, sizeof(key), 0) != sizeof(key))
		die("no random bytes from the kernel");
	return key;
}

/* Inlined by force: the state then lives in registers, which halves the time of a short key. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE uint64_t rotl(uint64_t x, unsigned b)
{
	return x << b | x >> (64 - b);
}

/* Aumasson, Bernstein: "SipHash: a fast short-input PRF"; one round a word, three to finish. */
ALWAYS_INLINE void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

ALWAYS_INLINE void sip_word(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	sip_round(v);
	v[0] ^= m;
}

uint64_t hash_bytes(const struct hash_key *key, const void *p, size_t n)
{
	const uint8_t *s = p;
	uint64_t v[4] = {
		key->k0 ^ 0x736f6d6570736575ULL,
		key->k1 ^ 0x646f72616e646f6dULL,
		key->k0 ^ 0x6c7967656e657261ULL,
		key->k1 ^ 0x7465646279746573ULL,
	};
	uint64_t last = (uint64_t)n << 56;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		uint64_t m;

		memcpy(&m, s + i, sizeof(m));
		sip_word(v, m);
	}
	for (unsigned shift = 0; i < n; i++, shift += 8)
		last |= (uint64_t)s[i] << shift;
	sip_word(v, last);
	v[2] ^= 0xff;
	for (int r = 0; r < 3; r++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
