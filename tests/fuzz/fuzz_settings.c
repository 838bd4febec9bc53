/*
 * fuzz_settings.c - any text is settings or an error that names the file
 *
 * Properties: settings_parse() and settings_parse_own() either fail with a message that starts with
 * the file's name, or give entries that are never empty and whose lines lie inside the text; and
 * their walk has met every value of the text (asserted inside). What one of our own places takes is
 * what -p takes, never more: settings_parse() gives the same of it. A line in front moves every line
 * by one and changes nothing else. Nothing is granted that does not stand in the text, on that line
 * or behind it. A key that nobody knows is refused in our own places (beside "sandbox", where another
 * program's keys are, it is not), and changes nothing in a sandbox-runtime file of -p.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct settings *parse_fn(const char *text, size_t len, const char *file,
				  settings_warn_cb *warn, void *arg, struct error *err);

static const enum settings_list_id grants[] = {
	SETTINGS_ALLOWED_DOMAINS, SETTINGS_ALLOW_PRIVATE, SETTINGS_ALLOW_LISTS, SETTINGS_RESOLVERS,
	SETTINGS_FORWARD_TYPES,	  SETTINGS_ALLOW_READ,	  SETTINGS_ALLOW_WRITE, SETTINGS_ALLOW_EXEC,
	SETTINGS_ENV_PASS,	  SETTINGS_UNIX_SOCKETS,
};

static void ignore(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg, (void)line;
	assert(strcmp(file, "f") == 0 && *text);
}

static struct settings *parse(parse_fn *fn, const char *text, size_t len)
{
	struct error err = { 0 };
	struct settings *s = fn(text, len, "f", ignore, NULL, &err);

	assert(s || strncmp(err.msg, "f:", 2) == 0);
	return s;
}

static void check_lines(const struct settings *s, const char *text, size_t len)
{
	unsigned lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	for (int l = 0; l < SETTINGS_NUM_LISTS; l++) {
		for (size_t i = 0; i < s->list[l].n; i++) {
			const struct settings_entry *e = &s->list[l].v[i];

			assert(e->text[0] && e->line > 0 && e->line <= lines);
		}
	}
}

static bool stands_behind(const char *text, size_t len, const struct settings_entry *e)
{
	const char *word = e->text, *at = text, *end = text + len;

	for (unsigned line = 1; line < e->line; line++)
		at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
	if (memmem(at, (size_t)(end - at), word, strlen(word)))
		return true;
	/* "Edit(/x)" is "./x" here */
	return word[0] == '.' && memmem(at, (size_t)(end - at), word + 1, strlen(word + 1));
}

static void check_grants(const struct settings *s, const char *text, size_t len)
{
	if (memchr(text, '\\', len))
		return; /* written in another way */
	for (size_t l = 0; l < sizeof(grants) / sizeof(grants[0]); l++) {
		const struct settings_list *list = &s->list[grants[l]];

		for (size_t i = 0; i < list->n; i++)
			assert(stands_behind(text, len, &list->v[i]));
	}
	assert(!s->upstream || memmem(text, len, s->upstream, strlen(s->upstream)));
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_list(const struct settings_list *a, const struct settings_list *b, unsigned lines)
{
	assert(a->n == b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert(same_text(a->v[i].text, b->v[i].text));
		assert(same_text(a->v[i].reason, b->v[i].reason));
		assert(a->v[i].line + lines == b->v[i].line);
	}
}

/* That @b says what @a says, @lines further down; it is freed. */
static void check_same(const struct settings *a, struct settings *b, unsigned lines)
{
	assert(b && a->shape == b->shape);
	for (int l = 0; l < SETTINGS_NUM_LISTS; l++)
		check_list(&a->list[l], &b->list[l], lines);
	assert(memcmp(a->flag, b->flag, sizeof(a->flag)) == 0);
	assert(a->has_unknown == b->has_unknown && a->unknown == b->unknown);
	assert(a->has_sni_check == b->has_sni_check && a->sni_check == b->sni_check);
	assert(same_text(a->upstream, b->upstream));
	settings_free(b);
}

/* @text with @word put in at @at; the caller frees. */
static char *put_in(const char *text, size_t len, size_t at, const char *word)
{
	size_t n = strlen(word);
	char *all = malloc(len + n);

	assert(all);
	memcpy(all, text, at);
	memcpy(all + at, word, n);
	memcpy(all + at + n, text + at, len - at);
	return all;
}

static void check_stranger(const struct settings *own, const char *text, size_t len)
{
	static const char key[] = "\"zzq\":0,";
	size_t at = (size_t)((const char *)memchr(text, '{', len) - text) + 1;
	size_t first = at + strspn(text + at, " \t\r\n");
	char *with;

	if (own->shape == SETTINGS_CLAUDE || text[first] == '}')
		return;
	with = put_in(text, len, at, key);
	assert(!parse(settings_parse_own, with, len + sizeof(key) - 1));
	if (own->shape == SETTINGS_SRT)
		check_same(own, parse(settings_parse, with, len + sizeof(key) - 1), 0);
	free(with);
}

static void check_own(const char *text, size_t len)
{
	struct settings *own = parse(settings_parse_own, text, len);
	char *later = put_in(text, len, 0, "\n");
	struct settings *shifted = parse(settings_parse_own, later, len + 1);

	if (own) {
		check_lines(own, text, len);
		check_grants(own, text, len);
		check_same(own, shifted, 1);
		check_same(own, parse(settings_parse, text, len), 0);
		check_stranger(own, text, len);
	} else {
		assert(!shifted);
	}
	settings_free(own);
	free(later);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct settings *s = parse(settings_parse, text, size);

	if (s) {
		check_lines(s, text, size);
		check_grants(s, text, size);
	}
	settings_free(s);
	check_own(text, size);
	return 0;
}
