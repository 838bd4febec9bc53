#include "policy/target.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/decimal.h"
#include "base/reader.h"

static const char *const via_name[] = {
	[VIA_CONNECT] = "connect", [VIA_HTTP] = "http",	      [VIA_SOCKS5] = "socks5",
	[VIA_SOCKS4A] = "socks4a", [VIA_CAPTURE] = "capture", [VIA_DNS] = "dns",
	[VIA_FORWARD] = "forward",
};
static_assert(ARRAY_SIZE(via_name) == VIA_NUM, "one name a way in");

enum target_parse target_from_host(const void *p, size_t n, uint16_t port, struct target *out)
{
	struct hostname host;
	struct addr addr;

	if (hostname_parse(p, n, &host, &addr) == HOSTNAME_BAD)
		return TARGET_BAD_HOST;
	if (port == 0)
		return TARGET_BAD_PORT;
	out->host = host;
	out->addr = addr;
	out->port = port;
	return TARGET_OK;
}

/* Length of the host part: up to "]" of a bracketed literal, or to the one colon there may be. */
static bool split_host(const char *s, size_t n, size_t *host_len)
{
	const char *end;

	if (n && s[0] == '[') {
		end = memchr(s, ']', n);
		if (!end)
			return false;
		*host_len = (size_t)(end - s) + 1;
		return *host_len == n || s[*host_len] == ':';
	}
	end = n ? memchr(s, ':', n) : NULL;
	*host_len = end ? (size_t)(end - s) : n;
	return !end || !memchr(end + 1, ':', n - *host_len - 1);
}

enum target_parse target_parse_authority(const void *p, size_t n, uint16_t default_port,
					 struct target *out)
{
	const char *s = p;
	uint64_t port = default_port;
	size_t host_len;

	if (!split_host(s, n, &host_len))
		return TARGET_BAD_HOST;
	if (host_len < n && !reader_decimal(s + host_len + 1, n - host_len - 1, UINT16_MAX, &port))
		port = 0;
	return target_from_host(s, host_len, (uint16_t)port, out);
}

void target_from_addr(const struct addr *a, uint16_t port, struct target *out)
{
	struct hostname host = { 0 };

	host.len = (uint8_t)strlen(addr_format(a, host.s));
	out->host = host;
	out->addr = *a;
	out->port = port;
}

bool target_is_literal(const struct target *t)
{
	return t->addr.family != AF_UNSPEC;
}

const char *target_format(const struct target *t, char out[TARGET_TEXT_MAX])
{
	bool v6 = t->addr.family == AF_INET6;
	char port[DECIMAL_MAX], *p = out;

	if (v6)
		*p++ = '[';
	p = mempcpy(p, t->host.s, t->host.len);
	if (v6)
		*p++ = ']';
	if (t->port) {
		*p++ = ':';
		p = mempcpy(p, port, decimal_format(t->port, port));
	}
	*p = '\0';
	return out;
}

bool target_equal(const struct target *a, const struct target *b)
{
	return a->port == b->port && a->addr.family == b->addr.family &&
	       hostname_equal(&a->host, &b->host);
}

const char *target_via_name(enum via via)
{
	return via_name[via];
}
