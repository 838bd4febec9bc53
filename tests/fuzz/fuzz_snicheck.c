/*
 * fuzz_snicheck.c - the first bytes of a tunnel to port 443
 *
 * Properties: byte by byte the verdict is the same, and falls no earlier than the bytes allow; what
 * strict lets pass, the default does; nothing that names a server passes for two different
 * targets; and under strict nothing at all does.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "proxy/snicheck.h"
#include "proxy/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct target name(const char *host)
{
	struct target t = { .port = SNICHECK_PORT, .via = VIA_CONNECT };

	t.host.len = (uint8_t)strlen(host);
	memcpy(t.host.s, host, t.host.len + 1u);
	return t;
}

/* The first verdict that is none of "wait", with @step more bytes at a time. */
static enum snicheck_verdict judge(enum sni_check check, const char *host, const uint8_t *p,
				   size_t n, size_t step)
{
	struct target t = name(host);
	struct snicheck *s = snicheck_new(check, &t);
	enum snicheck_verdict v = SNICHECK_WAIT;
	size_t have = 0;

	assert(s);
	while (v == SNICHECK_WAIT && have < n) {
		have = n - have < step ? n : have + step;
		v = snicheck_judge(s, p, have, false);
	}
	if (v == SNICHECK_WAIT)
		v = snicheck_judge(s, p, n, true);
	snicheck_free(s);
	return v;
}

static bool names_nobody(const uint8_t *p, size_t n)
{
	struct tls_hello_scan scan = { 0 };
	struct tls_hello h;

	if (n == 0 || p[0] != 0x16)
		return true;
	return tls_hello_parse(&scan, p, n, &h) == PARSE_OK && h.kind == TLS_HELLO_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum sni_check checks[] = { SNI_NAME, SNI_STRICT };
	static const char *const hosts[] = { "good.example", "evil.test" };
	enum snicheck_verdict v[2][2];

	for (size_t c = 0; c < 2; c++) {
		for (size_t h = 0; h < 2; h++) {
			v[c][h] = judge(checks[c], hosts[h], data, size, size ? size : 1);
			assert(v[c][h] != SNICHECK_WAIT);
			assert(judge(checks[c], hosts[h], data, size, 1) == v[c][h]);
		}
	}
	for (size_t h = 0; h < 2; h++)
		assert(v[1][h] != SNICHECK_PASS || v[0][h] == SNICHECK_PASS);
	if (v[0][0] == SNICHECK_PASS && v[0][1] == SNICHECK_PASS)
		assert(names_nobody(data, size));
	if (size)
		assert(v[1][0] != SNICHECK_PASS || v[1][1] != SNICHECK_PASS);
	return 0;
}
