/* An authority that parses prints to text that parses to the same, and never has port 0. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/target.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target t = { .via = VIA_HTTP }, strict = t, again = t, apart = t;
	char text[TARGET_TEXT_MAX];

	if (target_parse_authority(data, size, 80, &t) != TARGET_OK) {
		CHECK(target_parse_authority(data, size, 0, &strict) != TARGET_OK);
		return 0;
	}
	CHECK(t.port != 0 && t.via == VIA_HTTP);
	CHECK(!memchr(data, '@', size) && !memchr(data, '%', size) && !memchr(data, '/', size));
	CHECK(target_is_literal(&t) == (t.addr.family != AF_UNSPEC));
	CHECK(strlen(target_format(&t, text)) < sizeof(text));
	CHECK(target_parse_authority(text, strlen(text), 0, &again) == TARGET_OK);
	CHECK(target_equal(&t, &again));
	CHECK(target_from_host(t.host.s, t.host.len, t.port, &apart) == TARGET_OK);
	CHECK(target_equal(&t, &apart));
	/* without a default port the port was there, or it is an error */
	if (target_parse_authority(data, size, 0, &strict) == TARGET_OK)
		CHECK(target_equal(&t, &strict));
	else
		CHECK(t.port == 80);
	return 0;
}
