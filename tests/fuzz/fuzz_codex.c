/*
 * fuzz_codex.c - TOML and the network section of a Codex file
 *
 * A comment and an empty line in front change no value; what was imported has no empty entry
 * with a NUL or without a text.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/codex.h"
#include "policy/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sum over everything that was handed over. */
struct sum {
	uint64_t hash;
	size_t n;
};

static void mix(struct sum *s, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->hash = (s->hash ^ (uint8_t)p[i]) * 1099511628211u;
}

static int add(void *arg, const struct toml_item *it, struct error *err)
{
	struct sum *s = arg;

	(void)err;
	assert(it->nkey > 0 && it->nkey <= TOML_DEPTH_MAX);
	assert((it->text != NULL) == (it->kind == TOML_STRING));
	for (size_t i = 0; i < it->nkey; i++)
		mix(s, it->key[i], strlen(it->key[i]) + 1);
	if (it->text)
		mix(s, it->text, strlen(it->text) + 1);
	mix(s, (const char *)&it->kind, sizeof(it->kind));
	s->n++;
	return 0;
}

static void ignore(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg, (void)file, (void)line, (void)text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char front[] = "# c\n\n";
	char *later = malloc(size + sizeof(front));
	struct sum plain = { .hash = 1 }, shifted = { .hash = 1 };
	struct error err;
	struct settings *s;
	int a, b;

	assert(later);
	memcpy(later, front, sizeof(front) - 1);
	memcpy(later + sizeof(front) - 1, data, size);
	a = toml_parse((const char *)data, size, "f", add, &plain, &err);
	b = toml_parse(later, size + sizeof(front) - 1, "f", add, &shifted, &err);
	/* a byte-order mark counts at the very start only */
	if (size < 3 || memcmp(data, "\xef\xbb\xbf", 3) != 0)
		assert(a == b && plain.n == shifted.n && plain.hash == shifted.hash);
	free(later);
	s = codex_parse((const char *)data, size, "f", ignore, NULL, &err);
	for (size_t l = 0; s && l < SETTINGS_NUM_LISTS; l++) {
		for (size_t i = 0; i < s->list[l].n; i++)
			assert(s->list[l].v[i].text);
	}
	settings_free(s);
	return 0;
}
