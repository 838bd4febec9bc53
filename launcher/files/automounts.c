#include "launcher/files/automounts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/xalloc.h"

/* A direct one stands for one file system, which the administrator has chosen. */
static bool is_indirect(const struct mountinfo_mount *m)
{
	const char *found = strstr(m->options, ",indirect");

	return strcmp(m->type, "autofs") == 0 && found && (!found[9] || found[9] == ',');
}

static bool is_in(const struct automounts *a, const char *path)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], path) != 0 && path_beneath(path, a->v[i]))
			return true;
	return false;
}

int automounts_find(struct automounts *a)
{
	*a = (struct automounts){ .n = 0 };
	if (mountinfo_read(&a->info) < 0)
		return -1;
	a->v = xcalloc(a->info.n + 1, sizeof(*a->v));
	a->kept = xcalloc(a->info.n + 1, sizeof(*a->kept));
	for (size_t i = 0; i < a->info.n; i++)
		if (is_indirect(&a->info.v[i]))
			a->v[a->n++] = a->info.v[i].point;
	for (size_t i = 0; a->n > 0 && i < a->info.n; i++)
		if (!is_indirect(&a->info.v[i]) && is_in(a, a->info.v[i].point))
			a->kept[a->nkept++] = a->info.v[i].point;
	return 0;
}

void automounts_clear(struct automounts *a)
{
	mountinfo_clear(&a->info);
	free(a->v);
	free(a->kept);
	*a = (struct automounts){ .n = 0 };
}
