/*
 * A byte order mark and lines that end as on Windows change nothing; names and values are text. A zero byte is
 * never passed over.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/files/gitconfig.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was found, as a checksum that knows the order (FNV-1a). */
struct digest {
	uint64_t sum;
	size_t count;
	enum gitconfig how;
};

static void add_text(struct digest *d, const char *s)
{
	do
		d->sum = (d->sum ^ (unsigned char)*s) * 0x100000001b3;
	while (*s++);
}

static void collect(void *arg, const struct gitconfig_variable *var)
{
	struct digest *d = arg;

	CHECK(*var->key && !strpbrk(var->key, " \t\n\r=") && !strchr(var->section, '.'));
	add_text(d, var->section);
	add_text(d, var->sub ? var->sub : "");
	add_text(d, var->key);
	add_text(d, var->value);
	d->count++;
}

static struct digest parse(const uint8_t *data, size_t size, const char *prefix, bool crlf)
{
	struct digest d = { .sum = 0xcbf29ce484222325 };
	char *text = calloc(1, 2 * size + strlen(prefix) + 1);
	size_t n = strlen(prefix);

	CHECK(text);
	memcpy(text, prefix, n);
	for (size_t i = 0; i < size; i++) {
		if (crlf && data[i] == '\n')
			text[n++] = '\r';
		text[n++] = (char)data[i];
	}
	d.how = gitconfig_parse(text, n, collect, &d);
	free(text);
	return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct digest plain = parse(data, size, "", false), other;

	CHECK(plain.count <= size);
	CHECK(plain.how == GITCONFIG_BAD || !memchr(data, '\0', size) || size == 0);
	if ((size && data[0] == 0xef) || (size && memchr(data, '\r', size)))
		return 0;
	other = parse(data, size, "\xef\xbb\xbf", true);
	CHECK(other.sum == plain.sum && other.count == plain.count && other.how == plain.how);
	return 0;
}
