/*
 * fuzz_http_response.c - response heads, the first byte says what was asked
 *
 * Byte by byte says the same as whole. What was accepted and rewritten is read by the client as
 * what we mean to send: same status, the framing that http_rewrite_response() promised.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/http_rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OWN_FIELDS_MAX 4

struct outcome {
	enum parse result;
	struct http_response resp;
	size_t used;
};

static void parse_in_steps(const struct http_asked *asked, const uint8_t *data, size_t size,
			   size_t step, struct outcome *out)
{
	struct http_scan scan = { 0 };
	struct http_error err;
	size_t have = 0;

	do {
		struct reader r;

		have = size - have < step ? size : have + step;
		r = reader_init(data, have);
		out->result = http_response_parse(&r, &scan, asked, &out->resp, &err);
		out->used = (size_t)(r.p - data);
		assert(out->result != PARSE_BAD || err.status == 502);
	} while (out->result == PARSE_MORE && have < size);
}

static void check_rewritten(const struct http_response *resp, const struct http_asked *asked)
{
	struct http_delivery delivery;
	struct http_text head = http_rewrite_response(resp, asked, &delivery);
	static struct outcome second;

	if (head.n <= HTTP_RESPONSE_HEAD_MAX &&
	    resp->fields.n + OWN_FIELDS_MAX <= HTTP_RESPONSE_FIELDS_MAX) {
		parse_in_steps(asked, (const uint8_t *)head.p, head.n, head.n, &second);
		assert(second.result == PARSE_OK && second.used == head.n);
		assert(second.resp.status == resp->status);
		assert(second.resp.framing == delivery.framing);
		assert(second.resp.length == resp->length);
		assert(second.resp.interim == resp->interim);
		assert(second.resp.upgraded == resp->upgraded);
		if (!resp->interim && !resp->upgraded)
			assert(second.resp.keep_alive == delivery.keep_alive);
	}
	free(head.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome whole, split;
	struct http_asked asked;

	if (!size)
		return 0;
	asked = (struct http_asked){
		.head = data[0] & 1,
		.websocket = data[0] & 2,
		.minor = !(data[0] & 4),
		.keep_alive = data[0] & 8,
	};
	data++;
	size--;
	parse_in_steps(&asked, data, size, size ? size : 1, &whole);
	parse_in_steps(&asked, data, size, 1, &split);
	assert(whole.result == split.result);
	if (whole.result != PARSE_OK)
		return 0;
	assert(whole.used == split.used && whole.used <= HTTP_RESPONSE_HEAD_MAX);
	assert(whole.resp.status == split.resp.status);
	assert(whole.resp.framing == split.resp.framing);
	assert(whole.resp.length == split.resp.length);
	if (!whole.resp.interim || asked.minor == 1)
		check_rewritten(&whole.resp, &asked);
	return 0;
}
