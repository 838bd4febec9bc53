/*
 * Addresses: text that parses prints to text that parses to the same bytes; a mapped IPv4 address
 * has the class of the plain one, and no wrapping makes a refused address public. The input is
 * text; its first 16 bytes are also tried as the bytes of an IPv6 address.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mapped(const struct addr *v4)
{
	struct addr mapped = { .family = AF_INET6, .bytes = { [10] = 0xff, 0xff } };
	struct addr inner;

	memcpy(mapped.bytes + 12, v4->bytes, 4);
	CHECK(addr_classify(&mapped) == addr_classify(v4));
	CHECK(addr_unwrap(&mapped, &inner) && addr_equal(&inner, v4));
}

static void check_addr(const struct addr *a)
{
	struct cidr all = { .addr = { .family = a->family } };
	struct sockaddr_storage ss;
	char text[ADDR_TEXT_MAX];
	struct addr again, inner;
	uint16_t port;

	CHECK(addr_format(a, text) == text && text[0]);
	CHECK(addr_parse(text, strlen(text), &again));
	CHECK(addr_equal(a, &again));
	CHECK(addr_to_sockaddr(a, 443, &ss) > 0);
	CHECK(addr_from_sockaddr((const struct sockaddr *)&ss, &again, &port));
	CHECK(addr_equal(a, &again) && port == 443);
	if (a->family == AF_INET)
		check_mapped(a);
	if (addr_unwrap(a, &inner) && addr_classify(&inner) != ADDR_PUBLIC)
		CHECK(addr_classify(a) != ADDR_PUBLIC);
	else if (a->family == AF_INET || !addr_unwrap(a, &inner))
		CHECK(cidr_contains(&all, a));
}

static void check_cidr(const char *text, size_t size)
{
	struct cidr c;

	if (!cidr_parse(text, size, &c))
		return;
	CHECK(c.bits <= (c.addr.family == AF_INET ? 32 : 128));
	CHECK(cidr_contains(&c, &c.addr) || c.addr.family == AF_INET6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct addr a;

	check_cidr((const char *)data, size);
	if (addr_parse((const char *)data, size, &a))
		check_addr(&a);
	if (size >= 16) {
		a.family = AF_INET6;
		memcpy(a.bytes, data, 16);
		check_addr(&a);
	}
	return 0;
}
