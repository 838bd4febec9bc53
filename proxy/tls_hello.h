/*
 * tls_hello.h - the server name that a TLS client says (RFC 8446 4.1.2, RFC 6066 3)
 *
 * The ClientHello may come in pieces, in several records, with records as short as one byte. It
 * is only looked at: its bytes go to the server unchanged.
 */
#ifndef PROXY_TLS_HELLO_H
#define PROXY_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "policy/hostname.h"
#include "proxy/limits.h"

/** enum tls_hello_name - what the server_name extension held */
enum tls_hello_name {
	TLS_HELLO_NONE,	   /* no server_name extension */
	TLS_HELLO_NAME,	   /* a host name */
	TLS_HELLO_LITERAL, /* an address, which RFC 6066 forbids */
};

/**
 * struct tls_hello - what a ClientHello says
 * @kind: whether there is a name
 * @name: canonical name or address text, for comparison with the target's host
 * @exact: @name is byte for byte what was sent (no upper case, no final dot)
 * @ech: there is an encrypted ClientHello too (RFC 9849): the name is only the outer one
 */
struct tls_hello {
	enum tls_hello_name kind;
	struct hostname name;
	bool exact;
	bool ech;
};

/**
 * struct tls_hello_scan - how far records have been walked; all zero at first
 * @off: where the next record header starts or is expected
 * @have: handshake bytes before @off
 * @want: handshake bytes of the whole ClientHello with its header; 0 while unknown
 */
struct tls_hello_scan {
	size_t off;
	size_t have;
	size_t want;
};

/**
 * tls_hello_parse() - find the server name
 * @scan: state between calls
 * @p, @n: everything the client sent since the tunnel opened; nothing is consumed
 * @out: filled on OK only
 *
 * BAD: not TLS (first byte not 0x16), malformed, more than TLS_HELLO_MAX bytes, server_name twice
 * or with other than one name, a name that is no host name. MORE is bounded by TLS_HELLO_MAX.
 */
enum parse tls_hello_parse(struct tls_hello_scan *scan, const void *p, size_t n,
			   struct tls_hello *out);

/** tls_hello_size() - after OK: the bytes of the ClientHello, record headers included. */
size_t tls_hello_size(const struct tls_hello_scan *scan);

#endif
