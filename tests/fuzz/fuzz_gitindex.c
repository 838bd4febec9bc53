/* A name that leads elsewhere is one by another count, too; checksums and what lies behind do not matter. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launcher/files/gitindex.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool leads_elsewhere(const char *name)
{
	char *copy = strdup(name), *rest = copy, *part;
	bool found = false;

	while ((part = strsep(&rest, "/")))
		found = found || (!*part && rest) || strcmp(part, ".") == 0 ||
			strcmp(part, "..") == 0 || strcasecmp(part, ".git") == 0;
	free(copy);
	return found;
}

/* @arg: where objects may lie */
static void use(void *arg, const char *name, const uint8_t *tree)
{
	const uint8_t *const *bounds = arg;
	size_t n = strlen(name);

	CHECK(!leads_elsewhere(name));
	CHECK(!tree || (n > 1 && name[n - 1] == '/' && tree >= bounds[0] && tree < bounds[1]));
}

static void check(const uint8_t *data, size_t size, size_t hash)
{
	uint8_t *other = malloc(size + 1);
	char *name, *again;
	const uint8_t *bounds[] = { data, data + size };
	enum gitindex found = gitindex_check(data, size, hash, false, use, bounds, &name);

	CHECK((found == GITINDEX_ELSEWHERE) == (name != NULL));
	CHECK(!name || leads_elsewhere(name));
	memcpy(other, data, size);
	for (size_t i = size > hash ? size - hash : 0; i < size; i++)
		other[i] ^= 255;
	CHECK(gitindex_check(other, size, hash, false, NULL, NULL, &again) == found);
	free(again);
	(void)gitindex_check(data, size, hash, true, use, bounds, &again);
	free(again);
	free(name);
	free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(data, size, GITINDEX_SHA1);
	check(data, size, GITINDEX_SHA256);
	return 0;
}
