/*
 * sniff.h - which protocol a client of the proxy port speaks, by its first byte
 */
#ifndef PROXY_SNIFF_H
#define PROXY_SNIFF_H

#include <stdint.h>

/** enum sniff - the protocol, or SNIFF_BAD: close without a word */
enum sniff {
	SNIFF_BAD,
	SNIFF_HTTP,
	SNIFF_SOCKS5,
	SNIFF_SOCKS4,
};

/**
 * sniff_first_byte() - judge the first byte of a connection; it is not consumed
 *
 * A letter is HTTP, and so is CR (one empty line may precede a request). Lower-case letters are
 * no method, but the HTTP parser gives them a readable 400. TLS (0x16) is BAD.
 */
enum sniff sniff_first_byte(uint8_t byte);

#endif
