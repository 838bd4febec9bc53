#include "base/addr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/decimal.h"
#include "base/reader.h"

#define V4_BITS 32
#define V6_BITS 128

/*
 * Cloud metadata services by exact address: the ranges around them are refused anyway, but these
 * must never be opened by a block or a wildcard, and two of them look public.
 */
static const struct addr metadata[] = {
	{ AF_INET, { 169, 254, 169, 254 } }, /* AWS, Azure, Google, Oracle, DigitalOcean, ... */
	{ AF_INET, { 169, 254, 170, 2 } },   /* AWS ECS task credentials */
	{ AF_INET, { 169, 254, 170, 23 } },  /* AWS EKS pod identity */
	{ AF_INET, { 169, 254, 169, 253 } }, /* AWS resolver */
	{ AF_INET, { 169, 254, 169, 123 } }, /* AWS time */
	{ AF_INET, { 169, 254, 42, 42 } },   /* Scaleway */
	{ AF_INET, { 169, 254, 0, 23 } },    /* Tencent */
	{ AF_INET, { 169, 254, 10, 10 } },   /* Tencent */
	{ AF_INET, { 100, 100, 100, 200 } }, /* Alibaba */
	{ AF_INET, { 168, 63, 129, 16 } },   /* Azure wire server, a public-looking address */
	{ AF_INET, { 192, 0, 0, 192 } },     /* Oracle classic */
	{ AF_INET6, { 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54 } }, /* fd00:ec2::254 AWS */
	{ AF_INET6, { 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x53 } }, /* fd00:ec2::253 AWS resolver */
	{ AF_INET6, { 0xfd, 0, 0x0e, 0xc2, [15] = 0x23 } },	  /* fd00:ec2::23 AWS EKS */
	{ AF_INET6, { 0xfd, 0, 0x0e, 0xc2, [14] = 0x01, 0x23 } }, /* fd00:ec2::123 AWS time */
	{ AF_INET6, { 0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54 } }, /* fd20:ce::254 Google */
	{ AF_INET6, { 0xfd, 0, 0, 0x42, [15] = 0x42 } },	  /* fd00:42::42 Scaleway */
	{ AF_INET6,
	  { 0xfd, 0, 0, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe } },     /* fd00:c1::a9fe:a9fe Oracle */
	{ AF_INET6, { 0xfd, 0, 0xa9, 0xfe, 0xa9, 0xfe, [15] = 1 } }, /* fd00:a9fe:a9fe::1 Akamai */
	{ AF_INET6, { 0xfd, 0, 0x01, 0, [12] = 0x01, 0, 0x02, 0 } }, /* fd00:100::100:200 Alibaba */
	{ AF_INET6, { 0xfe, 0x80, [12] = 0xa9, 0xfe, 0xa9, 0xfe } }, /* OpenStack */
};

struct block {
	struct cidr cidr;
	enum addr_class class;
};

/* IANA special-purpose registry; the first block that holds an address decides. */
static const struct block v4_blocks[] = {
	{ { { AF_INET, { 0 } }, 8 }, ADDR_LOOPBACK }, /* Linux connects 0.0.0.0 to loopback */
	{ { { AF_INET, { 127 } }, 8 }, ADDR_LOOPBACK },
	{ { { AF_INET, { 169, 254 } }, 16 }, ADDR_LINK_LOCAL },
	{ { { AF_INET, { 10 } }, 8 }, ADDR_PRIVATE },
	{ { { AF_INET, { 172, 16 } }, 12 }, ADDR_PRIVATE },
	{ { { AF_INET, { 192, 168 } }, 16 }, ADDR_PRIVATE },
	{ { { AF_INET, { 100, 64 } }, 10 }, ADDR_PRIVATE },	 /* RFC 6598 */
	{ { { AF_INET, { 192, 0, 0 } }, 24 }, ADDR_SPECIAL },	 /* RFC 6890 */
	{ { { AF_INET, { 192, 0, 2 } }, 24 }, ADDR_SPECIAL },	 /* RFC 5737 */
	{ { { AF_INET, { 198, 51, 100 } }, 24 }, ADDR_SPECIAL }, /* RFC 5737 */
	{ { { AF_INET, { 203, 0, 113 } }, 24 }, ADDR_SPECIAL },	 /* RFC 5737 */
	{ { { AF_INET, { 192, 88, 99 } }, 24 }, ADDR_SPECIAL },	 /* RFC 7526 */
	{ { { AF_INET, { 198, 18 } }, 15 }, ADDR_SPECIAL },	 /* RFC 2544 */
	{ { { AF_INET, { 224 } }, 4 }, ADDR_SPECIAL },		 /* RFC 5771 */
	{ { { AF_INET, { 240 } }, 4 }, ADDR_SPECIAL },		 /* RFC 1112, broadcast included */
};

static const struct block v6_blocks[] = {
	{ { { AF_INET6, { 0 } }, 127 }, ADDR_LOOPBACK }, /* :: and ::1 */
	{ { { AF_INET6, { 0xfe, 0x80 } }, 10 }, ADDR_LINK_LOCAL },
	{ { { AF_INET6, { 0xfc } }, 7 }, ADDR_PRIVATE },		/* RFC 4193 */
	{ { { AF_INET6, { 0xfe, 0xc0 } }, 10 }, ADDR_PRIVATE },		/* RFC 3879 */
	{ { { AF_INET6, { 0, 0x64, 0xff, 0x9b } }, 96 }, ADDR_PUBLIC }, /* RFC 6052: as embedded */
	{ { { AF_INET6, { 0x20, 0x01 } }, 23 }, ADDR_SPECIAL }, /* RFC 2928, Teredo, ORCHID */
	{ { { AF_INET6, { 0x20, 0x01, 0x0d, 0xb8 } }, 32 }, ADDR_SPECIAL }, /* RFC 3849 */
	{ { { AF_INET6, { 0x20, 0x02 } }, 16 }, ADDR_SPECIAL },		    /* 6to4, RFC 7526 */
	{ { { AF_INET6, { 0x3f, 0xff } }, 20 }, ADDR_SPECIAL },		    /* RFC 9637 */
	{ { { AF_INET6, { 0x3f, 0xfe } }, 16 }, ADDR_SPECIAL }, /* 6bone, returned: RFC 3701 */
	{ { { AF_INET6, { 0x20 } }, 3 }, ADDR_PUBLIC },
	/* All else is reserved: 64:ff9b:1::/48, 100::/64, 5f00::/16 and ff00::/8 among it. */
	{ { { AF_INET6, { 0 } }, 0 }, ADDR_SPECIAL },
};

/* What an embedded address adds: the class that is harder to open wins. */
static const uint8_t badness[] = {
	[ADDR_PUBLIC] = 0,   [ADDR_PRIVATE] = 1,    [ADDR_SPECIAL] = 2,
	[ADDR_LOOPBACK] = 3, [ADDR_LINK_LOCAL] = 4, [ADDR_METADATA] = 5,
};
static_assert(ARRAY_SIZE(badness) == ADDR_NUM_CLASSES, "one badness a class");

bool addr_parse(const char *text, size_t len, struct addr *out)
{
	struct addr a = { .family = AF_INET };
	char buf[ADDR_TEXT_MAX];

	if (len == 0 || len >= sizeof(buf) || memchr(text, '\0', len))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	if (memchr(text, ':', len))
		a.family = AF_INET6;
	if (inet_pton(a.family, buf, a.bytes) != 1)
		return false;
	*out = a;
	return true;
}

/* inet_ntop(3) does it by sprintf(3): 1,700 instructions, three times a tunnel. */
static void format_v4(const uint8_t bytes[4], char *out)
{
	char digits[DECIMAL_MAX];

	for (size_t i = 0; i < 4; i++) {
		size_t n = decimal_format(bytes[i], digits);

		memcpy(out, digits, n);
		out += n;
		*out++ = i < 3 ? '.' : '\0';
	}
}

const char *addr_format(const struct addr *a, char out[ADDR_TEXT_MAX])
{
	out[0] = '\0';
	if (a->family == AF_INET)
		format_v4(a->bytes, out);
	else if (a->family == AF_INET6)
		(void)inet_ntop(AF_INET6, a->bytes, out, ADDR_TEXT_MAX);
	return out;
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	size_t n = a->family == AF_INET ? 4 : 16;

	return a->family == b->family && !memcmp(a->bytes, b->bytes, n);
}

bool addr_from_sockaddr(const struct sockaddr *sa, struct addr *out, uint16_t *port)
{
	struct addr a = { .family = sa->sa_family };
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		memcpy(a.bytes, &in.sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof(in6));
		memcpy(a.bytes, &in6.sin6_addr, 16);
	} else {
		return false;
	}
	if (port)
		*port = ntohs(sa->sa_family == AF_INET ? in.sin_port : in6.sin6_port);
	*out = a;
	return true;
}

socklen_t addr_to_sockaddr(const struct addr *a, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	memset(out, 0, sizeof(*out));
	if (a->family == AF_INET) {
		memcpy(&in.sin_addr, a->bytes, 4);
		memcpy(out, &in, sizeof(in));
		return sizeof(in);
	}
	if (a->family != AF_INET6)
		return 0; /* no address: connect(2) says EINVAL, where "::" would be loopback */
	memcpy(&in6.sin6_addr, a->bytes, 16);
	memcpy(out, &in6, sizeof(in6));
	return sizeof(in6);
}

static bool has_prefix(const uint8_t *bytes, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8;
	unsigned rest = bits % 8;

	if (memcmp(bytes, prefix, whole) != 0)
		return false;
	return !rest || (bytes[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

static struct addr v4_at(const uint8_t *p, uint8_t mask)
{
	struct addr a = { .family = AF_INET };

	for (int i = 0; i < 4; i++)
		a.bytes[i] = p[i] ^ mask;
	return a;
}

static bool is_mapped(const struct addr *a)
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };

	return a->family == AF_INET6 && has_prefix(a->bytes, prefix, 96);
}

struct addr addr_unmapped(const struct addr *a)
{
	return is_mapped(a) ? v4_at(a->bytes + 12, 0) : *a;
}

#define EMBEDDED_MAX 3

/* Every IPv4 address inside @a, most telling first: 6to4 and Teredo may hold ISATAP as well. */
static size_t embedded(const struct addr *a, struct addr out[EMBEDDED_MAX])
{
	static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };
	static const uint8_t teredo[4] = { 0x20, 0x01 };
	static const uint8_t sixto4[2] = { 0x20, 0x02 };
	static const uint8_t zero[16] = { 0 };
	const uint8_t *b = a->bytes;
	size_t n = 0;

	if (a->family != AF_INET6 || has_prefix(b, zero, 127))
		return 0;
	if (is_mapped(a) || has_prefix(b, zero, 96) || has_prefix(b, nat64, 96))
		out[n++] = v4_at(b + 12, 0);
	if (has_prefix(b, sixto4, 16))
		out[n++] = v4_at(b + 2, 0);
	if (has_prefix(b, teredo, 32)) {
		out[n++] = v4_at(b + 12, 0xff); /* RFC 4380 4: the client, bits inverted */
		out[n++] = v4_at(b + 4, 0);	/* the server */
	}
	/* RFC 5214 6.1: 0000:5efe or 0200:5efe (u bit set), then the IPv4 address. */
	if ((b[8] & ~0x02) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe)
		out[n++] = v4_at(b + 12, 0);
	return n;
}

bool addr_unwrap(const struct addr *a, struct addr *out)
{
	struct addr v4[EMBEDDED_MAX];

	if (!embedded(a, v4))
		return false;
	*out = v4[0];
	return true;
}

static enum addr_class class_of(const struct addr *a)
{
	const struct block *blocks = a->family == AF_INET ? v4_blocks : v6_blocks;
	size_t n = a->family == AF_INET ? ARRAY_SIZE(v4_blocks) : ARRAY_SIZE(v6_blocks);

	for (size_t i = 0; i < ARRAY_SIZE(metadata); i++)
		if (a->bytes[0] == metadata[i].bytes[0] && addr_equal(a, &metadata[i]))
			return ADDR_METADATA;
	for (size_t i = 0; i < n; i++)
		if (has_prefix(a->bytes, blocks[i].cidr.addr.bytes, blocks[i].cidr.bits))
			return blocks[i].class;
	return ADDR_PUBLIC;
}

enum addr_class addr_classify(const struct addr *a)
{
	struct addr v4[EMBEDDED_MAX];
	enum addr_class worst;
	size_t n;

	if (a->family != AF_INET && a->family != AF_INET6)
		return ADDR_SPECIAL;
	if (is_mapped(a)) {
		v4[0] = addr_unmapped(a);
		return class_of(&v4[0]);
	}
	worst = class_of(a);
	n = embedded(a, v4);
	for (size_t i = 0; i < n; i++) {
		enum addr_class c = class_of(&v4[i]);

		if (badness[c] > badness[worst])
			worst = c;
	}
	return worst;
}

static unsigned addr_bits(const struct addr *a)
{
	return a->family == AF_INET ? V4_BITS : V6_BITS;
}

static bool host_bits_zero(const struct cidr *c)
{
	struct addr rest = c->addr;

	for (unsigned bit = 0; bit < c->bits; bit++)
		rest.bytes[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
	for (size_t i = 0; i < sizeof(rest.bytes); i++)
		if (rest.bytes[i])
			return false;
	return true;
}

bool cidr_parse(const char *text, size_t len, struct cidr *out)
{
	const char *slash = len ? memchr(text, '/', len) : NULL;
	const char *end;
	struct cidr c = { 0 };
	uint64_t bits;

	if (!slash)
		return false;
	end = slash;
	if (text[0] == '[') {
		text++;
		len--;
		if (--end <= text || *end != ']' || !memchr(text, ':', (size_t)(end - text)))
			return false;
	}
	if (!addr_parse(text, (size_t)(end - text), &c.addr))
		return false;
	if (!reader_decimal(slash + 1, len - (size_t)(slash + 1 - text), addr_bits(&c.addr), &bits))
		return false;
	c.bits = (uint8_t)bits;
	if (!host_bits_zero(&c))
		return false;
	if (is_mapped(&c.addr) && bits >= 96) {
		c.addr = addr_unmapped(&c.addr);
		c.bits = (uint8_t)(bits - 96);
	}
	*out = c;
	return true;
}

bool cidr_contains(const struct cidr *c, const struct addr *a)
{
	struct addr plain = addr_unmapped(a);

	return plain.family == c->addr.family && has_prefix(plain.bytes, c->addr.bytes, c->bits);
}

bool addr_set_contains(const struct addr_set *s, const struct addr *a)
{
	struct addr plain = addr_unmapped(a);

	for (size_t i = 0; i < s->n; i++) {
		struct addr own = addr_unmapped(&s->v[i]);

		if (addr_equal(&own, &plain))
			return true;
	}
	for (size_t i = 0; i < s->nblocks; i++) {
		if (cidr_contains(&s->blocks[i], &plain))
			return true;
	}
	return false;
}
