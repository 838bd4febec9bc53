#include "launcher/digest.h"

#include <openssl/evp.h>

int digest_hex(const void *p, size_t n, char out[DIGEST_HEX_SIZE], struct error *err)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t md[(DIGEST_HEX_SIZE - 1) / 2];

	if (EVP_Digest(p, n, md, NULL, EVP_sha256(), NULL) != 1)
		return error_set(err, 0, "SHA-256 failed");
	for (size_t i = 0; i < sizeof(md); i++) {
		out[2 * i] = hex[md[i] >> 4];
		out[2 * i + 1] = hex[md[i] & 15];
	}
	out[DIGEST_HEX_SIZE - 1] = '\0';
	return 0;
}
