/*
 * fuzz_chunked.c - bodies in chunks
 *
 * Byte by byte yields the same data and the same end as whole; the data, encoded by us, decodes
 * to itself.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/chunked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct body {
	enum parse result;
	uint8_t *p;
	size_t n;
	size_t used;
};

static void decode(const uint8_t *data, size_t size, size_t step, struct body *out)
{
	struct chunked c = { 0 };
	struct http_slice part;
	size_t have = 0;

	*out = (struct body){ .result = PARSE_MORE, .p = malloc(size ? size : 1) };
	assert(out->p);
	do {
		size_t n = size - have < step ? size - have : step;
		struct reader r = reader_init(data + have, n);

		while ((out->result = chunked_next(&c, &r, &part)) == PARSE_OK && part.n) {
			assert(part.n <= size - out->n);
			memcpy(out->p + out->n, part.p, part.n);
			out->n += part.n;
		}
		assert(out->result != PARSE_MORE || !r.n);
		have += n - r.n;
	} while (out->result == PARSE_MORE && have < size);
	assert(chunked_done(&c) == (out->result == PARSE_OK));
	out->used = have;
}

/* In two chunks, so that more than one size line is written. */
static uint8_t *encode(const struct body *body, size_t *len)
{
	size_t half = body->n / 2, sizes[] = { half, body->n - half }, n = 0, at = 0;
	uint8_t *out = malloc(body->n + 2 * (CHUNKED_SIZE_MAX + 2) + 5);

	assert(out);
	for (int i = 0; i < 2; i++) {
		if (!sizes[i])
			continue;
		n += chunked_format_size(sizes[i], (char *)out + n);
		memcpy(out + n, body->p + at, sizes[i]);
		memcpy(out + n + sizes[i], CHUNKED_DATA_END, 2);
		n += sizes[i] + 2;
		at += sizes[i];
	}
	memcpy(out + n, CHUNKED_LAST, 5);
	*len = n + 5;
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct body whole, split, again;
	uint8_t *encoded;
	size_t n;

	decode(data, size, size ? size : 1, &whole);
	decode(data, size, 1, &split);
	assert(whole.result == split.result && whole.used == split.used);
	assert(whole.n == split.n && !memcmp(whole.p, split.p, whole.n));
	encoded = encode(&whole, &n);
	decode(encoded, n, n, &again);
	assert(again.result == PARSE_OK && again.used == n);
	assert(again.n == whole.n && !memcmp(again.p, whole.p, whole.n));
	free(encoded);
	free(whole.p);
	free(split.p);
	free(again.p);
	return 0;
}
