#include "launcher/weaker.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

static const char *const name[] = { "proc", "landlock-scopes", "spelling" };
static_assert(ARRAY_SIZE(name) == WEAKER_NUM, "each bit has a name");

const char *weaker_name(size_t i)
{
	return name[i];
}

static unsigned bit_of(const char *word, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		if (strlen(name[i]) == n && memcmp(name[i], word, n) == 0)
			return 1u << i;
	return 0;
}

int weaker_parse(const char *names, unsigned *out, struct error *err)
{
	unsigned set = 0;
	char shown[128];

	for (;;) {
		size_t n = strcspn(names, ",");
		unsigned bit = bit_of(names, n);

		if (!bit) {
			log_escape(shown, sizeof(shown), names, n);
			return error_set(err, 0,
					 "knows proc, landlock-scopes and spelling, not '%s'",
					 shown);
		}
		set |= bit;
		if (!names[n])
			break;
		names += n + 1;
	}
	*out |= set;
	return 0;
}
