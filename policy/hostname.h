/*
 * hostname.h - the one canonical form of a host name
 *
 * Made once at the edge; policy, DNS, dialling and the log see only this type. Lower-case ASCII,
 * no final dot, no empty label, no byte outside a-z 0-9 - _ and the dots between labels.
 */
#ifndef POLICY_HOSTNAME_H
#define POLICY_HOSTNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define HOSTNAME_MAX	   253 /* RFC 1035 2.3.4, without the root dot */
#define HOSTNAME_LABEL_MAX 63  /* RFC 1035 2.3.4 */

/** struct hostname - a canonical name, or the canonical text of a literal address */
struct hostname {
	uint8_t len;
	char s[HOSTNAME_MAX + 1];
};

/** enum hostname_kind - what some text turned out to be */
enum hostname_kind {
	HOSTNAME_BAD,
	HOSTNAME_NAME,
	HOSTNAME_ADDR,
};

/**
 * hostname_parse() - canonical form of the host part of a request
 * @p: the bytes, not terminated; nothing is trimmed or decoded
 * @n: how many
 * @out: the name, or for HOSTNAME_ADDR the address's canonical text without brackets
 * @addr: the address for HOSTNAME_ADDR (family AF_UNSPEC otherwise)
 *
 * A dotted quad and a bracketed IPv6 address are literals; so is a bare IPv6 address when
 * @n bytes parse as one (SOCKS carries them so). A name whose last label is a number (decimal,
 * 0x hex, or 1e3) is BAD: inet_aton(3) and others would take it for an address. A literal with a
 * final dot, a zone identifier, userinfo, a port or any byte outside the alphabet is BAD.
 */
enum hostname_kind hostname_parse(const void *p, size_t n, struct hostname *out, struct addr *addr);

/** hostname_equal() - byte equality of two canonical names. */
bool hostname_equal(const struct hostname *a, const struct hostname *b);

/** hostname_is_under() - whether @h is the canonical name @suffix or lies below it. */
bool hostname_is_under(const struct hostname *h, const char *suffix);

/** hostname_text_is_under() - the same of a canonical name as text. */
bool hostname_text_is_under(const char *name, const char *suffix);

/** hostname_is_local() - localhost, *.localhost, ip6-localhost and the like (RFC 6761 6.3). */
bool hostname_is_local(const struct hostname *h);

/** hostname_is_metadata() - a name by which clouds publish their metadata service. */
bool hostname_is_metadata(const struct hostname *h);

#endif
