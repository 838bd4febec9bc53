/*
 * fuzz_snicheck.c - the first bytes of a tunnel to port 443
 *
 * The input is what the client sends, then perhaps SEPARATOR and what the server does: in answer to
 * the client's first hello, or not before everything of the client's has come. Properties: byte by
 * byte the verdict and what has gone are the same; what strict lets pass, the default does; nothing
 * that names a server passes for two different targets; and under strict nothing at all goes for both.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "proxy/snicheck.h"
#include "proxy/tls_hello.h"

#define SEPARATOR      "\377server\377"
#define SEPARATOR_SIZE 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* struct talk - @first: bytes of the client's first hello, or all there are */
struct talk {
	const uint8_t *client, *server;
	size_t nclient, nserver, first;
};

/* struct run - what became of it: the verdict, and the bytes of the client that have gone */
struct run {
	enum snicheck_verdict v;
	size_t gone;
};

static struct target name(const char *host)
{
	struct target t = { .port = SNICHECK_PORT, .via = VIA_CONNECT };

	t.host.len = (uint8_t)strlen(host);
	memcpy(t.host.s, host, t.host.len + 1u);
	return t;
}

/* The client's bytes up to @to, @step more at a time. */
static void client_sends(struct snicheck *s, const struct talk *k, size_t from, size_t to,
			 size_t step, struct run *run)
{
	while (run->v == SNICHECK_WAIT && from < to) {
		size_t go;

		from = to - from < step ? to : from + step;
		run->v = snicheck_client(s, k->client + run->gone, from - run->gone, false, &go);
		assert(go <= from - run->gone);
		run->gone += go;
	}
}

static struct run judge(enum sni_check check, const char *host, const struct talk *k, size_t step,
			bool late)
{
	struct target t = name(host);
	struct snicheck *s = snicheck_new(check, &t);
	struct run run = { .v = SNICHECK_WAIT };
	size_t go, before = late ? k->nclient : k->first;

	assert(s);
	client_sends(s, k, 0, before, step, &run);
	for (size_t off = 0; off < k->nserver; off += step)
		snicheck_server(s, k->server + off,
				k->nserver - off < step ? k->nserver - off : step);
	client_sends(s, k, before, k->nclient, step, &run);
	if (run.v == SNICHECK_WAIT) {
		run.v = snicheck_client(s, k->client + run.gone, k->nclient - run.gone, true, &go);
		run.gone += go;
	}
	assert(run.v == SNICHECK_PASS || run.v == SNICHECK_REFUSE);
	snicheck_free(s);
	return run;
}

static struct talk talk_of(const uint8_t *data, size_t size, bool *named)
{
	const uint8_t *sep = memmem(data, size, SEPARATOR, SEPARATOR_SIZE);
	struct talk k = { .client = data, .nclient = sep ? (size_t)(sep - data) : size };
	struct tls_hello_scan scan = { 0 };
	struct tls_hello h;

	if (sep) {
		k.server = sep + SEPARATOR_SIZE;
		k.nserver = size - k.nclient - SEPARATOR_SIZE;
	}
	k.first = k.nclient;
	*named = k.nclient && k.client[0] == 0x16;
	if (*named && tls_hello_parse(&scan, k.client, k.nclient, &h) == PARSE_OK) {
		k.first = tls_hello_size(&scan);
		*named = h.kind != TLS_HELLO_NONE;
	}
	return k;
}

static void check(const struct talk *k, bool named, bool late)
{
	static const enum sni_check checks[] = { SNI_NAME, SNI_STRICT };
	static const char *const hosts[] = { "good.example", "evil.test" };
	struct run r[2][2];

	for (size_t c = 0; c < 2; c++) {
		for (size_t h = 0; h < 2; h++) {
			struct run split = judge(checks[c], hosts[h], k, 1, late);

			r[c][h] = judge(checks[c], hosts[h], k, SIZE_MAX, late);
			assert(split.v == r[c][h].v && split.gone == r[c][h].gone);
		}
	}
	for (size_t h = 0; h < 2; h++)
		assert(r[1][h].v != SNICHECK_PASS || r[0][h].v == SNICHECK_PASS);
	if (named)
		assert(r[0][0].v != SNICHECK_PASS || r[0][1].v != SNICHECK_PASS);
	if (k->nclient)
		assert(r[1][0].v != SNICHECK_PASS || r[1][1].v != SNICHECK_PASS);
	assert(!r[1][0].gone || !r[1][1].gone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool named;
	struct talk k = talk_of(data, size, &named);

	check(&k, named, true);
	if (k.nserver)
		check(&k, named, false);
	return 0;
}
