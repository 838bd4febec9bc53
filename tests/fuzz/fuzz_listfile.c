/*
 * A list file that loads: every entry has a line of the file and text that parses, the count is
 * bounded by the file's size, and comments, CRLF and a byte order mark change nothing. One that
 * does not load names the file and the line in printable text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/listfile.h"
#include "policy/pattern.h"
#include "policy/ruleset.h"

#define SIZE_MAX_TRIED 65536

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool check_entry(void *ctx, const struct pattern *p, const struct rule *rule)
{
	const unsigned *lines = ctx;
	char text[PATTERN_TEXT_MAX];

	CHECK(rule->line >= 1 && rule->line <= *lines);
	CHECK(!strcmp(rule->file, "a.list"));
	CHECK(*pattern_format(p, text));
	return true;
}

static void check_error(const struct error *err)
{
	CHECK(!strncmp(err->msg, "a.list:", 7));
	for (const char *c = err->msg; *c; c++)
		CHECK(*c >= ' ' && *c <= '~');
}

/* The same text with CRLF ends, a comment at each line and a byte order mark in front. */
static size_t decorate(const uint8_t *data, size_t size, char *out)
{
	size_t n = 0;

	memcpy(out, "\xef\xbb\xbf", 3);
	n = 3;
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '\n') {
			memcpy(out + n, " # c\r", 5);
			n += 5;
		}
		out[n++] = (char)data[i];
	}
	return n;
}

static void check_decorated(const uint8_t *data, size_t size, size_t count)
{
	char *text = malloc(size * 6 + 3);
	struct policy *p = policy_new();
	struct error err;
	size_t n;

	CHECK(text);
	n = decorate(data, size, text);
	CHECK(listfile_parse(p, LIST_DENY, text, n, "a.list", &err) == 0);
	CHECK(policy_count(p, LIST_DENY) == count);
	policy_free(p);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy *p = policy_new();
	unsigned lines = 1;
	struct error err;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if (listfile_parse(p, LIST_DENY, (const char *)data, size, "a.list", &err)) {
		check_error(&err);
	} else {
		CHECK(policy_count(p, LIST_DENY) <= size);
		ruleset_each(policy_ruleset(p, LIST_DENY), check_entry, &lines);
		/* with a mark of its own the decorated text would have two; a CR before LF too */
		if (size < SIZE_MAX_TRIED && !memchr(data, '\r', size) && !memchr(data, 0xef, size))
			check_decorated(data, size, policy_count(p, LIST_DENY));
	}
	policy_free(p);
	return 0;
}
