#include "dns/fakeip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"

#define BLOCK	   0xc6120000u /* 198.18.0.0 */
#define BLOCK_MASK 0xfffe0000u
#define NONE	   UINT32_MAX

/**
 * struct fake - one name; its index plus one is the host part of its address
 * @name: offset of its text
 * @next: the next of the same hash bucket, or NONE
 */
struct fake {
	uint32_t name;
	uint32_t next;
	uint8_t len;
};

/**
 * struct fakeip - names in the order they came
 * @texts: of all names, one after the other; 33 MB when all of them are as long as can be
 * @heads: hash buckets, @mask + 1 of them
 */
struct fakeip {
	struct hash_key key;
	char *texts;
	size_t texts_len, texts_cap;
	struct fake *v;
	size_t n, cap;
	uint32_t *heads;
	size_t mask;
};

static uint32_t *bucket_of(const struct fakeip *f, const char *name, size_t len)
{
	return &f->heads[hash_bytes(&f->key, name, len) & f->mask];
}

static void link_fake(struct fakeip *f, uint32_t i)
{
	uint32_t *head = bucket_of(f, f->texts + f->v[i].name, f->v[i].len);

	f->v[i].next = *head;
	*head = i;
}

static void index_all(struct fakeip *f, size_t buckets)
{
	free(f->heads);
	f->heads = xmalloc(buckets * sizeof(*f->heads));
	memset(f->heads, 0xff, buckets * sizeof(*f->heads));
	f->mask = buckets - 1;
	for (uint32_t i = 0; i < f->n; i++)
		link_fake(f, i);
}

struct fakeip *fakeip_new(void)
{
	struct fakeip *f = xcalloc(1, sizeof(*f));

	f->key = hash_key_random();
	index_all(f, 64);
	return f;
}

void fakeip_free(struct fakeip *f)
{
	if (!f)
		return;
	free(f->texts);
	free(f->v);
	free(f->heads);
	free(f);
}

static uint32_t find(const struct fakeip *f, const struct hostname *name)
{
	uint32_t i = *bucket_of(f, name->s, name->len);

	while (i != NONE && (f->v[i].len != name->len ||
			     memcmp(f->texts + f->v[i].name, name->s, name->len) != 0))
		i = f->v[i].next;
	return i;
}

static uint32_t add(struct fakeip *f, const struct hostname *name)
{
	if (f->n >= FAKEIP_MAX)
		return NONE;
	f->v = xgrow(f->v, &f->cap, f->n + 1, 16, sizeof(*f->v));
	f->texts = xgrow(f->texts, &f->texts_cap, f->texts_len + name->len, 1024, 1);
	memcpy(f->texts + f->texts_len, name->s, name->len);
	f->v[f->n] = (struct fake){ .name = (uint32_t)f->texts_len, .len = name->len };
	f->texts_len += name->len;
	f->n++;
	if (f->n > f->mask)
		index_all(f, (f->mask + 1) * 2);
	else
		link_fake(f, (uint32_t)f->n - 1);
	return (uint32_t)f->n - 1;
}

bool fakeip_assign(struct fakeip *f, const struct hostname *name, struct addr *out)
{
	uint32_t i = find(f, name);
	uint32_t v;

	if (i == NONE)
		i = add(f, name);
	if (i == NONE)
		return false;
	v = BLOCK + i + 1;
	*out = (struct addr){ .family = AF_INET,
			      .bytes = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),
					 (uint8_t)v } };
	return true;
}

/* The IPv4 address as a number; 0 if there is none. */
static uint32_t number_of(const struct addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *p = a->bytes;

	if (a->family == AF_INET6 && !memcmp(p, mapped, sizeof(mapped)))
		p += sizeof(mapped);
	else if (a->family != AF_INET)
		return 0;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool fakeip_covers(const struct addr *a)
{
	return (number_of(a) & BLOCK_MASK) == BLOCK;
}

bool fakeip_name(const struct fakeip *f, const struct addr *a, struct hostname *out)
{
	uint32_t host = number_of(a) & ~BLOCK_MASK;
	const struct fake *fake;

	if (!fakeip_covers(a) || host == 0 || host > f->n)
		return false;
	fake = &f->v[host - 1];
	*out = (struct hostname){ .len = fake->len };
	memcpy(out->s, f->texts + fake->name, fake->len);
	return true;
}

size_t fakeip_count(const struct fakeip *f)
{
	return f->n;
}
