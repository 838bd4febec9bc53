/*
 * fuzz_records.c - answers whose records are passed on
 *
 * Properties: what is taken fits a reply, and a reply made of it is read back as the same, over TCP
 * whole and over UDP whole or cut; a prefix of the message never gives more records; nothing is
 * taken for a type that may hold addresses.
 */
#include <stdlib.h>
#include <string.h>

#include "dns/records.h"
#include "policy/recordtype.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static enum parse parse(const uint8_t *p, size_t n, const struct hostname *name, uint16_t type,
			struct wire_records *out)
{
	uint8_t *copy = malloc(n ? n : 1); /* exact size: a sanitizer sees an over-read */
	enum parse got;

	check(copy);
	if (n)
		memcpy(copy, p, n);
	got = records_parse(copy, n, name, type, out);
	free(copy);
	return got;
}

static void check_again(const struct hostname *name, uint16_t type, const struct wire_records *got)
{
	struct wire_query q = { .has_question = true, .type = type, .class = WIRE_IN };
	struct wire_reply r = { .records = got, .ttl = got->ttl };
	uint8_t out[WIRE_REPLY_MAX];
	struct wire_records back;
	size_t n;

	wire_name_from_host(name, &q.name);
	n = wire_build_reply(&q, &r, WIRE_REPLY_MAX, out);
	check(!(out[2] & 2)); /* not cut */
	check(parse(out, n, name, type, &back) == PARSE_OK);
	check(back.n == got->n && back.len == got->len);
	check(!memcmp(back.data, got->data, got->len));
	n = wire_build_reply(&q, &r, WIRE_UDP_MAX, out);
	check(n <= WIRE_UDP_MAX && parse(out, n, name, type, &back) == PARSE_OK);
	check(back.n == ((out[2] & 2) ? 0 : got->n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = { RECORDTYPE_MX,  RECORDTYPE_TXT,  RECORDTYPE_SRV,
					  RECORDTYPE_CAA, RECORDTYPE_TLSA, RECORDTYPE_SSHFP,
					  WIRE_A,	  WIRE_AAAA,	   65,
					  WIRE_CNAME };
	const struct hostname name = { .len = 9, .s = "a.example" };
	struct wire_records got, less;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (parse(data, size, &name, types[i], &got) != PARSE_OK)
			continue;
		check(records_known(types[i]) && types[i] != WIRE_A && types[i] != WIRE_AAAA);
		check(got.n <= WIRE_RECORDS_MAX && got.len <= WIRE_RECORDS_BYTES);
		check_again(&name, types[i], &got);
		for (size_t n = 0; n < size; n += 1 + size / 64)
			check(parse(data, n, &name, types[i], &less) != PARSE_OK ||
			      less.n <= got.n);
	}
	return 0;
}
