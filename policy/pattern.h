/*
 * pattern.h - one entry of an allow or deny list, parsed
 *
 *	host	    that name			*.host	    names below it, at any depth, not itself
 *	**.host	    that name and below		*	    everything (only alone)
 *	1.2.3.4	    that address		[2001:db8::1]
 *	10.0.0.0/8  a block			[fd00::]/8, fd00::/8
 *
 * each with an optional ":" and ports: "443", "8000-8100", or several of these with commas.
 * No port is every port. Names are canonical (hostname.h); an entry that could never match a
 * canonical host is an error whose message says what to write instead.
 */
#ifndef POLICY_PATTERN_H
#define POLICY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/hostname.h"

#define PATTERN_PORTS_MAX 16 /* intervals of ports in one entry */
/* "**." name ":" and intervals "65535-65535," and the final zero byte */
#define PATTERN_TEXT_MAX  (HOSTNAME_MAX + 4 + 12 * PATTERN_PORTS_MAX + 1)

/** enum pattern_kind - the forms above, in the same order */
enum pattern_kind {
	PATTERN_HOST,
	PATTERN_BELOW,
	PATTERN_TREE,
	PATTERN_ANY,
	PATTERN_ADDR,
	PATTERN_CIDR,
	PATTERN_NUM_KINDS
};

/** struct port_range - @lo..@hi, both included */
struct port_range {
	uint16_t lo, hi;
};

/**
 * struct pattern - a parsed entry; a value
 * @kind: which form
 * @host: the name without its stars, for the first three forms
 * @cidr: the block; an address is a block of all its bits
 * @nports: how many of @ports; 0 is every port
 * @ports: ascending, neither overlapping nor adjacent
 */
struct pattern {
	enum pattern_kind kind;
	struct hostname host;
	struct cidr cidr;
	uint8_t nports;
	struct port_range ports[PATTERN_PORTS_MAX];
};

/**
 * pattern_parse() - parse all of (@text, @len)
 * @out: filled on success only
 *
 * Return: 0, or -1 with @err naming the entry, what is wrong and what to write instead.
 */
int pattern_parse(const char *text, size_t len, struct pattern *out, struct error *err);

/** pattern_format() - canonical text, which parses to an equal pattern. Return: @out. */
const char *pattern_format(const struct pattern *p, char out[PATTERN_TEXT_MAX]);

/**
 * pattern_is_too_wide() - a wildcard right under a public registry: *.com, **.co.uk
 *
 * On an allow list that is everybody's names. Private and special-use domains (*.internal,
 * *.lan, *.test) are not registries.
 */
bool pattern_is_too_wide(const struct pattern *p);

/** pattern_is_name() - whether it matches names (rather than addresses only). */
bool pattern_is_name(const struct pattern *p);

/** pattern_has_port() - whether @port (1..65535) is among its ports. */
bool pattern_has_port(const struct pattern *p, uint16_t port);

#endif
