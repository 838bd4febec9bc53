/*
 * digest.c - SHA-256 of bytes in memory
 *
 * By nettle: libcrypto costs a millisecond at every start for being linked, and two more for its
 * first digest.
 */
#include "launcher/digest.h"

#include <assert.h>
#include <nettle/sha2.h>

void digest_hex(const void *p, size_t n, char out[DIGEST_HEX_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t md[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	static_assert(sizeof(md) * 2 + 1 == DIGEST_HEX_SIZE, "two digits a byte");
	sha256_init(&ctx);
	sha256_update(&ctx, n, p);
	sha256_digest(&ctx, sizeof(md), md);
	for (size_t i = 0; i < sizeof(md); i++) {
		out[2 * i] = hex[md[i] >> 4];
		out[2 * i + 1] = hex[md[i] & 15];
	}
	out[DIGEST_HEX_SIZE - 1] = '\0';
}
