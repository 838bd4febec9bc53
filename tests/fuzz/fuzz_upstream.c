/*
 * fuzz_upstream.c - the URL of a parent proxy, and what it answers
 *
 * The first line is a URL. What follows is the parent's side of the handshake: byte by byte it
 * gives the same result, error and number of bytes taken as whole.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "proxy/upstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	enum parse result;
	enum upstream_step step;
	size_t used;
	int error;
};

static void talk_in_steps(const struct upstream *up, const uint8_t *p, size_t n, size_t step,
			  struct outcome *out)
{
	static const char name[] = "good.example:443";
	struct target to = { .via = VIA_CONNECT };
	struct upstream_talk t;
	size_t have = 0;

	assert(target_parse_authority(name, strlen(name), 0, &to) == TARGET_OK);
	upstream_talk_start(&t, up, &to);
	*out = (struct outcome){ .result = PARSE_MORE };
	while (t.step != UPSTREAM_STEP_THROUGH) {
		size_t used = 0;

		assert(t.say_n <= sizeof(t.say));
		t.say_n = 0;
		out->result = upstream_talk_hear(&t, p + out->used, have, &used);
		if (out->result == PARSE_BAD)
			break;
		if (out->result == PARSE_OK) {
			assert(used > 0 && used <= have);
			out->used += used;
			have -= used;
		} else if (out->used + have == n) {
			break;
		} else {
			have = n - out->used - have < step ? n - out->used : have + step;
		}
	}
	out->step = t.step;
	out->error = t.error;
	assert((out->result == PARSE_BAD) == (out->error != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : 0;
	struct outcome whole, split;
	struct upstream up;
	struct error err;
	char url[1024];

	if (!end || n >= sizeof(url))
		return 0;
	memcpy(url, data, n);
	url[n] = '\0';
	if (upstream_parse(url, &up, &err) < 0)
		return 0;
	assert(up.at.port && up.at.host.len);
	n = size - n - 1;
	talk_in_steps(&up, end + 1, n, n ? n : 1, &whole);
	talk_in_steps(&up, end + 1, n, 1, &split);
	assert(whole.result == split.result && whole.step == split.step &&
	       whole.used == split.used && whole.error == split.error);
	return 0;
}
