/*
 * target.h - what a connection wants to reach, and by which way it asked
 */
#ifndef POLICY_TARGET_H
#define POLICY_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "policy/hostname.h"

/** enum via - the way in; target_via_name() gives "connect", "http", "socks5", ... */
enum via {
	VIA_CONNECT,
	VIA_HTTP,
	VIA_SOCKS5,
	VIA_SOCKS4A,
	VIA_CAPTURE,
	VIA_DNS,
	VIA_FORWARD,
	VIA_NUM
};

/**
 * struct target - a canonical host or a literal address, and a port
 * @host: canonical text of either
 * @addr: the literal; family AF_UNSPEC when @host is a name
 * @port: 1..65535; 0 only for VIA_DNS, where no port is known yet
 * @via: how it came
 */
struct target {
	struct hostname host;
	struct addr addr;
	uint16_t port;
	enum via via;
};

/* "[" IPv6 or name "]" ":" port and the final zero byte */
#define TARGET_TEXT_MAX (HOSTNAME_MAX + 9)

/** enum target_parse - why an authority was refused */
enum target_parse {
	TARGET_OK,
	TARGET_BAD_HOST,
	TARGET_BAD_PORT,
};

/**
 * target_parse_authority() - "host:port" or "[v6]:port" (RFC 9110 7.1, RFC 3986 3.2)
 * @p, @n: the bytes; nothing is trimmed or decoded; userinfo is BAD
 * @default_port: the port when there is none; 0 makes a missing port BAD. An empty one is BAD.
 * @out: filled on TARGET_OK only, @out->via untouched
 */
enum target_parse target_parse_authority(const void *p, size_t n, uint16_t default_port,
					 struct target *out);

/** target_from_host() - the same for a host and a port that came apart (SOCKS). */
enum target_parse target_from_host(const void *p, size_t n, uint16_t port, struct target *out);

/** target_from_addr() - a literal target. */
void target_from_addr(const struct addr *a, uint16_t port, struct target *out);

/** target_is_literal() - whether it names an address rather than a host. */
bool target_is_literal(const struct target *t);

/** target_format() - "host:port" or "[v6]:port" ("host" when the port is 0). Return: @out. */
const char *target_format(const struct target *t, char out[TARGET_TEXT_MAX]);

/** target_equal() - same host and port; the way in does not matter. */
bool target_equal(const struct target *a, const struct target *b);

/** target_via_name() - the stable word for the audit log. */
const char *target_via_name(enum via via);

#endif
