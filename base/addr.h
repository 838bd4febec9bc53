/*
 * addr.h - IPv4 and IPv6 addresses as bytes, their classes, and blocks of them
 *
 * Text is parsed strictly (inet_pton, RFC 4291 2.2; never inet_aton) and addresses are compared
 * and classified by bytes, never by text.
 */
#ifndef BASE_ADDR_H
#define BASE_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDR_TEXT_MAX INET6_ADDRSTRLEN /* longest text with its final zero byte */

/**
 * struct addr - an address without a port
 * @family: AF_INET, AF_INET6, or AF_UNSPEC for none
 * @bytes: network order; for AF_INET the first four, the rest zero
 */
struct addr {
	sa_family_t family;
	uint8_t bytes[16];
};

/**
 * enum addr_class - where an address leads
 *
 * Only ADDR_PUBLIC may be dialled without a rule that names the address.
 */
enum addr_class {
	ADDR_PUBLIC,
	ADDR_LOOPBACK, /* 127/8, ::1, 0/8 and :: (the kernel connects those to loopback) */
	ADDR_METADATA, /* cloud metadata services, by exact address, public-looking ones included */
	ADDR_LINK_LOCAL, /* 169.254/16, fe80::/10 */
	ADDR_PRIVATE,	 /* RFC 1918, CGNAT 100.64/10, fc00::/7, fec0::/10 */
	ADDR_SPECIAL, /* multicast, reserved, documentation, benchmarking, protocol assignments */
	ADDR_NUM_CLASSES
};

/** struct cidr - a block: the first @bits bits of @addr */
struct cidr {
	struct addr addr;
	uint8_t bits;
};

/** addr_parse() - strict text to address; brackets, zones, ports and blanks are refused. */
bool addr_parse(const char *text, size_t len, struct addr *out);

/** addr_format() - canonical text (RFC 5952, no brackets) into @out, which is returned. */
const char *addr_format(const struct addr *a, char out[ADDR_TEXT_MAX]);

/** addr_equal() - same family, same bytes. */
bool addr_equal(const struct addr *a, const struct addr *b);

/** addr_from_sockaddr() - false if @sa is neither AF_INET nor AF_INET6; @port may be NULL. */
bool addr_from_sockaddr(const struct sockaddr *sa, struct addr *out, uint16_t *port);

/** addr_to_sockaddr() - fill @out for connect(2). Return: the length to pass, 0 for no address. */
socklen_t addr_to_sockaddr(const struct addr *a, uint16_t port, struct sockaddr_storage *out);

/**
 * addr_unwrap() - the IPv4 address inside an IPv6 one, however deep
 *
 * Knows ::ffff:0:0/96 (mapped), ::/96 (compatible), 64:ff9b::/96 (NAT64, RFC 6052),
 * 2002::/16 (6to4, RFC 3056), 2001::/32 (Teredo, RFC 4380) and ISATAP interface identifiers.
 *
 * Return: true and the IPv4 address in @out when there is one; false otherwise.
 */
bool addr_unwrap(const struct addr *a, struct addr *out);

/** addr_unmapped() - of ::ffff:1.2.3.4 the IPv4 address that a connection leads to; else @a. */
struct addr addr_unmapped(const struct addr *a);

/** addr_classify() - the class; an embedded IPv4 address makes it at least as bad as its own. */
enum addr_class addr_classify(const struct addr *a);

/** cidr_parse() - "10.0.0.0/8", "[fd00::]/8" or "fd00::/8"; host bits must be zero. */
bool cidr_parse(const char *text, size_t len, struct cidr *out);

/** cidr_contains() - whether @a lies in @c; a mapped IPv4 address is compared as IPv4. */
bool cidr_contains(const struct cidr *c, const struct addr *a);

/**
 * struct addr_set - this machine's own addresses, kept by the caller
 * @v, @n: the addresses
 * @blocks, @nblocks: whole blocks that lead to this machine
 */
struct addr_set {
	struct addr *v;
	size_t n;
	struct cidr *blocks;
	size_t nblocks;
};

/** addr_set_contains() - as an address or in a block; a mapped IPv4 address is looked up as IPv4 too. */
bool addr_set_contains(const struct addr_set *s, const struct addr *a);

#endif
