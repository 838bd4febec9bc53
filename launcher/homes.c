#include "launcher/homes.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

static void add(struct homes *h, const char *path)
{
	if (!path || path[0] != '/' || strcmp(path, "/") == 0)
		return;
	for (size_t i = 0; i < h->n; i++)
		if (strcmp(h->v[i], path) == 0)
			return;
	h->v[h->n++] = xstrdup(path);
}

void homes_find(struct homes *h)
{
	const struct passwd *pw = getpwuid(geteuid());

	*h = (struct homes){ .n = 0 };
	add(h, getenv("HOME"));
	add(h, pw ? pw->pw_dir : NULL);
}

void homes_clear(struct homes *h)
{
	while (h->n > 0)
		free(h->v[--h->n]);
}
