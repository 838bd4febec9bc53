#include "policy/recordtype.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *word;
	enum recordtype type;
} table[] = {
	{ "MX", RECORDTYPE_MX },       { "TXT", RECORDTYPE_TXT },   { "SRV", RECORDTYPE_SRV },
	{ "SSHFP", RECORDTYPE_SSHFP }, { "TLSA", RECORDTYPE_TLSA }, { "CAA", RECORDTYPE_CAA },
};
static_assert(ARRAY_SIZE(table) == RECORDTYPE_COUNT, "room for each");

/* Addresses, or hints of them; ANY and the rest of what a resolver might send along. */
static const char *const with_addresses[] = { "A", "AAAA", "HTTPS", "SVCB", "ANY", "APL" };

int recordtypes_add(struct recordtypes *t, const char *word, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].word, word) != 0)
			continue;
		if (!recordtypes_have(t, (uint16_t)table[i].type))
			t->v[t->n++] = table[i].type;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(with_addresses); i++) {
		if (strcmp(with_addresses[i], word) == 0)
			return error_set(err, EINVAL,
					 "'%s' records hold addresses, which are never forwarded",
					 word);
	}
	return error_set(err, EINVAL, "'%s' is none of MX, TXT, SRV, SSHFP, TLSA and CAA", word);
}

bool recordtypes_have(const struct recordtypes *t, uint16_t type)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i] == type)
			return true;
	}
	return false;
}
