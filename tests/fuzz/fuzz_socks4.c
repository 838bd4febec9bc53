/*
 * fuzz_socks4.c - SOCKS4 and SOCKS4a requests
 *
 * Byte by byte says the same as whole; a target written as a 4a request again is itself.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "proxy/socks4.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	enum parse result;
	struct target target;
	struct socks4_error err;
	size_t used;
};

static void parse_in_steps(const uint8_t *data, size_t size, size_t step, struct outcome *out)
{
	size_t have = 0;

	do {
		struct reader r;

		have = size - have < step ? size : have + step;
		r = reader_init(data, have);
		out->result = socks4_parse_request(&r, &out->target, &out->err);
		out->used = (size_t)(r.p - data);
	} while (out->result == PARSE_MORE && have < size);
}

static void check_again(const struct target *t)
{
	uint8_t s[SOCKS4_REQUEST_MAX] = {
		0x04, 0x01, (uint8_t)(t->port >> 8), (uint8_t)t->port, 0, 0, 0, 1
	};
	size_t n = 9u + t->host.len + 1;
	struct outcome again;

	memcpy(s + 9, t->host.s, t->host.len);
	parse_in_steps(s, n, n, &again);
	assert(again.result == PARSE_OK && again.used == n);
	assert(target_equal(t, &again.target) && addr_equal(&t->addr, &again.target.addr));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, split;

	parse_in_steps(data, size, size ? size : 1, &whole);
	parse_in_steps(data, size, 1, &split);
	assert(whole.result == split.result);
	assert(whole.result != PARSE_MORE || size < SOCKS4_REQUEST_MAX);
	if (whole.result == PARSE_BAD)
		assert(whole.err.code == split.err.code && whole.err.text);
	if (whole.result != PARSE_OK)
		return 0;
	assert(whole.used == split.used && whole.used <= SOCKS4_REQUEST_MAX);
	assert(target_equal(&whole.target, &split.target) && whole.target.port);
	check_again(&whole.target);
	return 0;
}
