#include "proxy/share.h"

#include <assert.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "dns/resolver.h"
#include "proxy/session.h"

struct share *share_ref(struct share *s)
{
	s->refs++;
	return s;
}

struct share *share_get(struct proxy *p, uint64_t key)
{
	struct share *s;

	LIST_FOREACH (s, &p->shares, link) {
		if (key != 0 && s->key == key)
			return share_ref(s);
	}
	s = xcalloc(1, sizeof(*s));
	s->proxy = p;
	s->key = key;
	if (p->resolver) /* tests do without */
		s->lookups = resolver_share_new(p->resolver);
	LIST_INSERT_HEAD(&p->shares, s, link);
	p->stock.takers++;
	return share_ref(s);
}

void share_put(struct share *s)
{
	if (!s || --s->refs > 0)
		return;
	assert(s->taken == 0);
	s->proxy->stock.takers--;
	LIST_REMOVE(s, link);
	resolver_share_free(s->lookups);
	free(s);
}

bool share_may(const struct share *s, size_t n)
{
	return fairshare_may(&s->proxy->stock, s->taken, n);
}

void share_take(struct share *s, size_t n)
{
	s->taken += n;
	s->proxy->stock.taken += n;
}

void share_give(struct share *s, size_t n)
{
	assert(n <= s->taken);
	s->taken -= n;
	s->proxy->stock.taken -= n;
}
