#include "proxy/connpool.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "proxy/conn.h"

#define BLOCK_CONNS 32

/* A spare connection's memory holds the link to the next one. */
union place {
	struct conn conn;
	struct conn *next;
};

struct connblock {
	struct connblock *next;
	union place v[BLOCK_CONNS];
};

#ifdef __SANITIZE_ADDRESS__ /* it shall see every use after the end */

struct conn *connpool_get(struct connpool *p)
{
	(void)p;
	return xcalloc(1, sizeof(struct conn));
}

void connpool_put(struct connpool *p, struct conn *c)
{
	(void)p;
	free(c);
}

#else

static void grow(struct connpool *p)
{
	struct connblock *b = xmalloc(sizeof(*b));

	b->next = p->blocks;
	p->blocks = b;
	for (size_t i = 0; i < BLOCK_CONNS; i++)
		connpool_put(p, &b->v[i].conn);
}

struct conn *connpool_get(struct connpool *p)
{
	union place *place;

	if (!p->spare)
		grow(p);
	place = (union place *)p->spare;
	p->spare = place->next;
	return memset(place, 0, sizeof(struct conn));
}

void connpool_put(struct connpool *p, struct conn *c)
{
	union place *place = (union place *)c;

	place->next = p->spare;
	p->spare = c;
}

#endif

void connpool_clear(struct connpool *p)
{
	struct connblock *next;

	for (struct connblock *b = p->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	*p = (struct connpool){ 0 };
}
