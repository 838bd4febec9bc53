/*
 * fuzz_socks5.c - SOCKS5 greetings and requests (S-036)
 *
 * Byte by byte says the same as whole; a target written as a request again is itself.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "proxy/socks5.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	enum parse result;
	struct target target;
	struct socks5_error err;
	size_t used;
};

static void parse_in_steps(const uint8_t *data, size_t size, size_t step, struct outcome *out)
{
	size_t have = 0;

	do {
		struct reader r;

		have = size - have < step ? size : have + step;
		r = reader_init(data, have);
		out->result = socks5_parse_request(&r, &out->target, &out->err);
		out->used = (size_t)(r.p - data);
	} while (out->result == PARSE_MORE && have < size);
}

static void check_again(const struct target *t)
{
	uint8_t s[SOCKS5_REQUEST_MAX] = { 0x05, 0x01, 0x00, 0x03, t->host.len };
	size_t n = 5u + t->host.len + 2;
	struct outcome again;

	memcpy(s + 5, t->host.s, t->host.len);
	s[n - 2] = (uint8_t)(t->port >> 8);
	s[n - 1] = (uint8_t)t->port;
	parse_in_steps(s, n, n, &again);
	assert(again.result == PARSE_OK && again.used == n);
	assert(target_equal(t, &again.target) && addr_equal(&t->addr, &again.target.addr));
}

static void check_greeting(const uint8_t *data, size_t size)
{
	bool whole, split = false;
	struct reader r = reader_init(data, size);
	enum parse result = socks5_parse_greeting(&r, &whole), later = PARSE_MORE;

	for (size_t n = 0; n <= size && later == PARSE_MORE; n++) {
		struct reader part = reader_init(data, n);

		later = socks5_parse_greeting(&part, &split);
	}
	assert(result == later);
	if (result == PARSE_OK)
		assert(whole == split && size - r.n <= SOCKS5_GREETING_MAX);
	else
		assert(result != PARSE_MORE || size < SOCKS5_GREETING_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, split;

	check_greeting(data, size);
	parse_in_steps(data, size, size ? size : 1, &whole);
	parse_in_steps(data, size, 1, &split);
	assert(whole.result == split.result);
	assert(whole.result != PARSE_MORE || size < SOCKS5_REQUEST_MAX);
	if (whole.result == PARSE_BAD)
		assert(whole.err.rep == split.err.rep && whole.err.rep != SOCKS5_SUCCEEDED &&
		       whole.err.code == split.err.code && whole.err.text);
	if (whole.result != PARSE_OK)
		return 0;
	assert(whole.used == split.used && whole.used <= SOCKS5_REQUEST_MAX);
	assert(target_equal(&whole.target, &split.target) && whole.target.port);
	assert(!memchr(whole.target.host.s, 0, whole.target.host.len));
	check_again(&whole.target);
	return 0;
}
