/*
 * fuzz_settings.c - any text is settings or an error that names the file
 *
 * Property: settings_parse() either fails with a message that starts with the file's name, or gives
 * entries that are never empty and whose lines lie inside the text; and its walk has met every value
 * of the text (asserted inside).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg, (void)line;
	if (strcmp(file, "f") != 0 || !*text)
		abort();
}

static void check(const struct settings *s, const uint8_t *data, size_t size)
{
	unsigned lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	for (int l = 0; l < SETTINGS_NUM_LISTS; l++) {
		for (size_t i = 0; i < s->list[l].n; i++) {
			const struct settings_entry *e = &s->list[l].v[i];

			if (!e->text[0] || e->line == 0 || e->line > lines)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	struct settings *s = settings_parse((const char *)data, size, "f", ignore, NULL, &err);

	if (s)
		check(s, data, size);
	else if (strncmp(err.msg, "f:", 2) != 0)
		abort();
	settings_free(s);
	return 0;
}
