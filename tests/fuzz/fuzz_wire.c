/*
 * fuzz_wire.c - the DNS codec
 *
 * Properties: a prefix of a good query is never good; an answer that we build is read back as what
 * was put in, and is never taken for a query; a name survives the way to a host name and back; of
 * whatever a server sends, a bounded number of addresses is taken, each of them from its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "dns/wire.h"

#define PREFIXES_MAX 600 /* a question with its name is half as long */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static enum wire_verdict parse(const uint8_t *p, size_t n)
{
	enum wire_rcode rcode = WIRE_NOERROR;
	enum wire_verdict v;
	struct wire_query q;

	v = wire_parse_query(p, n, &q, &rcode);
	check(v != WIRE_ERROR || rcode != WIRE_NOERROR);
	return v;
}

/* Each at the very end of one allocation: a sanitizer sees an over-read, and is asked for memory once. */
static void check_prefixes(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n + 1);

	check(copy);
	for (size_t part = 0; part < n; part++) {
		memcpy(copy + n + 1 - part, p, part);
		check(parse(copy + n + 1 - part, part) != WIRE_QUERY);
	}
	free(copy);
}

static void check_name(const struct wire_query *q)
{
	struct wire_name back;
	struct hostname h;
	struct addr a;

	(void)wire_name_reverse(&q->name, &a);
	if (!wire_name_host(&q->name, &h))
		return;
	check(strlen(h.s) == h.len);
	wire_name_from_host(&h, &back);
	check(wire_name_equal(&q->name, &back));
}

static void check_reply(struct wire_query *q)
{
	struct addr a = { .family = AF_INET, .bytes = { 198, 18, 1, 2 } };
	struct wire_reply r = { .addr = &a, .ttl = 10 };
	uint8_t out[WIRE_REPLY_MAX];
	struct wire_addrs found;
	struct hostname h;
	size_t n;

	q->type = WIRE_A;
	q->class = WIRE_IN;
	n = wire_build_reply(q, &r, WIRE_UDP_MAX, out);
	check(n >= 12 && n <= WIRE_UDP_MAX);
	check(parse(out, n) == WIRE_DROP);
	if (!wire_name_host(&q->name, &h))
		return;
	check(wire_parse_answer(out, n, &h, WIRE_A, &found) == PARSE_OK);
	check(found.n == 1 && found.ttl == 10 && addr_equal(&found.v[0], &a));
}

static void check_query(const uint8_t *data, size_t size)
{
	enum wire_rcode rcode;
	struct wire_query q;

	if (wire_parse_query(data, size, &q, &rcode) != WIRE_QUERY)
		return;
	check(q.has_question && q.opcode == 0);
	check_prefixes(data, size < PREFIXES_MAX ? size : PREFIXES_MAX);
	check_name(&q);
	check_reply(&q);
}

static void check_answer(const uint8_t *data, size_t size, uint16_t type)
{
	size_t len = type == WIRE_A ? 4 : 16;
	struct hostname h = { 0 };
	struct wire_addrs found;
	struct wire_query q;
	enum wire_rcode rcode;

	/* The name that was asked is the one of the question, if it is one. */
	h.len = 9;
	memcpy(h.s, "a.example", 10);
	if (size > 12) {
		uint8_t *copy = malloc(size);

		check(copy);
		memcpy(copy, data, size);
		copy[2] = copy[2] & 1;
		(void)wire_parse_query(copy, size, &q, &rcode);
		if (q.has_question && !wire_name_host(&q.name, &h))
			memcpy(h.s, "a.example", 10), h.len = 9;
		free(copy);
	}
	if (wire_parse_answer(data, size, &h, type, &found) != PARSE_OK)
		return;
	check(found.n <= WIRE_ADDRS_MAX);
	check(found.n || found.ttl == UINT32_MAX);
	for (size_t i = 0; i < found.n; i++)
		check(memmem(data, size, found.v[i].bytes, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_query(data, size);
	check_answer(data, size, WIRE_A);
	check_answer(data, size, WIRE_AAAA);
	return 0;
}
