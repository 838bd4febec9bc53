/*
 * fuzz_suffix.c - a public suffix list that is none
 *
 * Properties: whatever the bytes, every look-up ends; what is found is the domain or lies below it;
 * the same question has the same answer; a single label is always shared.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/suffix.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct suffixes *s, const char *domain)
{
	char found[HOSTNAME_MAX + 1];
	bool shared = suffix_is_shared(s, domain, found);
	size_t n = strlen(found), m = strlen(domain);

	CHECK(shared == suffix_is_shared(s, domain, NULL));
	CHECK(shared || (!*found && strchr(domain, '.')));
	CHECK(!*found || (n >= m && strcmp(found + n - m, domain) == 0));
	CHECK(!*found || n == m || found[n - m - 1] == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const domains[] = { "com",	      "example.com", "github.io",
					       "kawasaki.jp", "www.ck",	     "amazonaws.com" };
	struct suffixes *s = suffixes_new(data, size);

	for (size_t i = 0; s && i < sizeof(domains) / sizeof(domains[0]); i++)
		look_up(s, domains[i]);
	suffixes_free(s);
	return 0;
}
