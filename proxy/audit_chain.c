#include "proxy/audit_chain.h"

#include <assert.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#define MEMBER_START ",\"chain\":\""

/* Of a line's @n bytes and the brace that ends it. A line that is read may hold any byte, NUL too. */
static void digest(const struct audit_chain *c, const char *line, size_t n,
		   char out[AUDIT_CHAIN_HEX + 1])
{
	uint8_t hash[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	static_assert(sizeof(hash) * 2 == AUDIT_CHAIN_HEX, "two digits a byte");
	sha256_init(&ctx);
	sha256_update(&ctx, AUDIT_CHAIN_HEX, (const uint8_t *)c->last);
	sha256_update(&ctx, n, (const uint8_t *)line);
	sha256_update(&ctx, 1, (const uint8_t *)"}");
	sha256_digest(&ctx, sizeof(hash), hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

void audit_chain_init(struct audit_chain *c)
{
	memset(c->last, '0', AUDIT_CHAIN_HEX);
	c->last[AUDIT_CHAIN_HEX] = '\0';
}

size_t audit_chain_seal(struct audit_chain *c, char *line, size_t n)
{
	char hex[AUDIT_CHAIN_HEX + 1];
	char *p = line + n - 2;

	assert(n > 2 && p[0] == '}' && p[1] == '\n');
	digest(c, line, n - 2, hex);
	memcpy(c->last, hex, sizeof(hex));
	memcpy(p, MEMBER_START, sizeof(MEMBER_START) - 1);
	p += sizeof(MEMBER_START) - 1;
	memcpy(p, hex, AUDIT_CHAIN_HEX);
	memcpy(p + AUDIT_CHAIN_HEX, "\"}\n", 3);
	return n + AUDIT_CHAIN_MEMBER;
}

/* The member at the end of a line without its newline, or NULL. */
static const char *member(const char *line, size_t n)
{
	const char *p;

	if (n < AUDIT_CHAIN_MEMBER + 3 || line[n - 1] != '}' || line[n - 2] != '"')
		return NULL;
	p = line + n - AUDIT_CHAIN_MEMBER - 1;
	if (memcmp(p, MEMBER_START, sizeof(MEMBER_START) - 1) != 0)
		return NULL;
	p += sizeof(MEMBER_START) - 1;
	for (size_t i = 0; i < AUDIT_CHAIN_HEX; i++) {
		if (!strchr("0123456789abcdef", p[i]) || !p[i])
			return NULL;
	}
	return p;
}

bool audit_chain_resume(struct audit_chain *c, const char *line, size_t n)
{
	const char *hex = member(line, n);

	if (!hex)
		return false;
	memcpy(c->last, hex, AUDIT_CHAIN_HEX);
	return true;
}

bool audit_chain_check(struct audit_chain *c, const char *line, size_t n)
{
	const char *hex = member(line, n);
	char expected[AUDIT_CHAIN_HEX + 1];

	if (!hex)
		return false;
	digest(c, line, n - AUDIT_CHAIN_MEMBER - 1, expected);
	if (memcmp(hex, expected, AUDIT_CHAIN_HEX) != 0)
		return false;
	memcpy(c->last, expected, sizeof(expected));
	return true;
}
