/*
 * fuzz_tls_hello.c - ClientHellos
 *
 * Byte by byte says the same as whole, and so does the same message in records of seven bytes.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORD 7

static enum parse parse_in_steps(const uint8_t *data, size_t size, size_t step,
				 struct tls_hello *out)
{
	struct tls_hello_scan scan = { 0 };
	enum parse result;
	size_t have = 0;

	do {
		have = size - have < step ? size : have + step;
		result = tls_hello_parse(&scan, data, have, out);
	} while (result == PARSE_MORE && have < size);
	return result;
}

static void assert_same(const struct tls_hello *a, const struct tls_hello *b)
{
	assert(a->kind == b->kind && a->exact == b->exact && a->ech == b->ech);
	assert(hostname_equal(&a->name, &b->name));
	assert(a->kind == TLS_HELLO_NONE || a->name.len);
}

/* The handshake bytes of whole records, each cut again. */
static uint8_t *cut(const uint8_t *data, size_t size, size_t *len)
{
	uint8_t *bytes = malloc(size), *out = malloc(size + size / RECORD * 5 + 5);
	size_t n = 0, at = 0;

	assert(bytes && out);
	while (at + 5 <= size && at + 5 + (size_t)(data[at + 3] << 8 | data[at + 4]) <= size) {
		size_t part = (size_t)(data[at + 3] << 8 | data[at + 4]);

		if (data[at] != 0x16)
			break;
		memcpy(bytes + n, data + at + 5, part);
		n += part;
		at += 5 + part;
	}
	*len = 0;
	for (size_t i = 0; i < n; i += RECORD) {
		uint8_t part = (uint8_t)(n - i < RECORD ? n - i : RECORD);
		uint8_t head[5] = { 0x16, 0x03, 0x03, 0, part };

		memcpy(out + *len, head, 5);
		memcpy(out + *len + 5, bytes + i, part);
		*len += 5u + part;
	}
	free(bytes);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_hello whole, split, again;
	enum parse result = parse_in_steps(data, size, size ? size : 1, &whole);
	uint8_t *records;
	size_t n;

	assert(parse_in_steps(data, size, 1, &split) == result);
	assert(result != PARSE_MORE || size < TLS_HELLO_MAX);
	if (result != PARSE_OK)
		return 0;
	assert_same(&whole, &split);
	records = cut(data, size, &n);
	/* a second message may share a record with the end of the first one now */
	result = parse_in_steps(records, n, n, &again);
	if (result == PARSE_OK)
		assert_same(&whole, &again);
	free(records);
	return 0;
}
