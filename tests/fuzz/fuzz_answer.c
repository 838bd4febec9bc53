/*
 * fuzz_answer.c - whatever a client sends to the stub
 *
 * Properties: a reply repeats the id, is a reply, fits its transport and is never itself answered;
 * an address is given out only after the policy has said yes to the very name that it stands for;
 * a question is asked outside only for such a name, too, and then has no reply of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "dns/answer.h"
#include "dns/fakeip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** struct seen - what the policy was asked; it allows names of an even length */
struct seen {
	struct hostname name;
	bool allowed;
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static enum stub_answer decide(void *arg, const struct hostname *name)
{
	struct seen *s = arg;

	check(name->len > 0 && name->len <= HOSTNAME_MAX && strlen(name->s) == name->len);
	s->name = *name;
	s->allowed = name->len % 2 == 0;
	return s->allowed ? STUB_ALLOW : STUB_DENY;
}

static bool forwards(void *arg, const struct hostname *name, uint16_t type)
{
	const struct seen *s = arg;

	check(s->allowed && hostname_equal(&s->name, name));
	check(type != WIRE_A && type != WIRE_AAAA && type != WIRE_ANY && type != 64 && type != 65);
	return true;
}

static void check_reply(const struct answer_source *src, const uint8_t *data, size_t size, bool tcp)
{
	uint8_t out[WIRE_REPLY_MAX], again[WIRE_REPLY_MAX];
	struct answer_wait wait, other;
	size_t n = answer_message(src, data, size, tcp, &wait, out);

	if (wait.wanted) {
		check(n == 0);
		n = answer_finish(&wait, NULL, out);
		check((out[3] & 0xf) == WIRE_SERVFAIL);
	}
	if (!n)
		return;
	check(size >= 12 && n >= 12 && n <= (tcp ? WIRE_REPLY_MAX : WIRE_EDNS_MAX));
	check(!memcmp(out, data, 2) && (out[2] & 0x80));
	check(answer_message(src, out, n, tcp, &other, again) == 0 && !other.wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct addr first = { .family = AF_INET, .bytes = { 198, 18, 0, 1 } };
	struct seen seen = { 0 };
	struct answer_source src = {
		.names = fakeip_new(), .decide = decide, .forwards = forwards, .arg = &seen
	};
	struct hostname given;

	check_reply(&src, data, size, false);
	check_reply(&src, data, size, true);
	check(fakeip_count(src.names) <= 1);
	if (fakeip_count(src.names) == 1) {
		check(seen.allowed && fakeip_name(src.names, &first, &given));
		check(hostname_equal(&given, &seen.name));
	}
	fakeip_free(src.names);
	return 0;
}
