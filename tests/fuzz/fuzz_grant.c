/*
 * fuzz_grant.c - a line of the file of saved answers
 *
 * Properties: what is read has a pattern that the table takes, a printable answerer and an absolute
 * project or none; and when it is written and read again, it is the same answer.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "policy/grant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t midnight(void)
{
	return 0;
}

static void assert_same(const struct grant *a, const struct grant *b)
{
	assert(a->allow == b->allow && a->scope == b->scope);
	assert(a->when == b->when && a->until == b->until);
	assert(strcmp(a->pattern, b->pattern) == 0 && strcmp(a->project, b->project) == 0);
	assert(strcmp(a->by, b->by) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[GRANT_LINE_MAX];
	struct grant a = { .allow = false }, b = { .allow = false };
	struct grants *table;
	struct error err;
	size_t n;

	if (grant_parse((const char *)data, size, &a, &err) < 0)
		return 0;
	assert(a.scope == GRANT_FOREVER || (a.scope == GRANT_PROJECT && a.project[0] == '/'));
	for (const char *p = a.by; *p; p++)
		assert(*p >= 0x20 && *p <= 0x7e);
	table = grants_new(midnight);
	assert(grants_add(table, &a) && grants_count(table) == 1);
	grants_free(table);
	n = grant_format(&a, line);
	if (!n)
		return 0; /* too long for a line: what was read could not have been written by us */
	assert(line[n - 1] == '\n');
	assert(grant_parse(line, n - 1, &b, &err) == 0);
	assert_same(&a, &b);
	return 0;
}
