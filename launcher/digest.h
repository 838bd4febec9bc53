/*
 * digest.h - SHA-256 of bytes in memory
 */
#ifndef LAUNCHER_DIGEST_H
#define LAUNCHER_DIGEST_H

#include <stddef.h>

#define DIGEST_HEX_SIZE 65 /* 64 digits and the final zero byte */

/** digest_hex() - SHA-256 of (@p, @n) as lower-case digits. */
void digest_hex(const void *p, size_t n, char out[DIGEST_HEX_SIZE]);

#endif
