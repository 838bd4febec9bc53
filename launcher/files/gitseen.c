#include "launcher/files/gitseen.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define SEEN_MAX (1024 * 1024)

/* Never zero, which is a free slot. */
static uint64_t sum_of(const struct gitseen *s, enum gitseen_kind kind, const char *at,
		       const void *p, size_t n)
{
	const uint64_t parts[] = { (uint64_t)kind, hash_bytes(&s->key, at, strlen(at)),
				   hash_bytes(&s->key, p, n), n };
	uint64_t sum = hash_bytes(&s->key, parts, sizeof(parts));

	return sum ? sum : 1;
}

/* Where @sum is, or belongs. The room is a power of two and never full. */
static uint64_t *slot_of(const struct gitseen *s, uint64_t sum)
{
	size_t i = sum & (s->room - 1);

	while (s->slots[i] && s->slots[i] != sum)
		i = (i + 1) & (s->room - 1);
	return &s->slots[i];
}

static void grow(struct gitseen *s)
{
	struct gitseen more = { .key = s->room ? s->key : hash_key_random(), .n = s->n };

	more.room = s->room ? s->room * 2 : 64;
	more.slots = xcalloc(more.room, sizeof(*more.slots));
	for (size_t i = 0; i < s->room; i++)
		if (s->slots[i])
			*slot_of(&more, s->slots[i]) = s->slots[i];
	free(s->slots);
	*s = more;
}

void gitseen_add(struct gitseen *s, enum gitseen_kind kind, const char *at, const void *p, size_t n)
{
	uint64_t sum, *slot;

	if (s->n >= SEEN_MAX)
		return;
	if (s->n * 2 >= s->room)
		grow(s);
	sum = sum_of(s, kind, at, p, n);
	slot = slot_of(s, sum);
	s->n += *slot == 0;
	*slot = sum;
}

bool gitseen_has(const struct gitseen *s, enum gitseen_kind kind, const char *at, const void *p,
		 size_t n)
{
	return s->room > 0 && *slot_of(s, sum_of(s, kind, at, p, n)) != 0;
}

void gitseen_clear(struct gitseen *s)
{
	free(s->slots);
	*s = (struct gitseen){ .n = 0 };
}
