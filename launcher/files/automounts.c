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

void automounts_find(struct automounts *a, const struct mountinfo *seen)
{
	*a = (struct automounts){
		.v = xcalloc(seen->n + 1, sizeof(*a->v)),
		.kept = xcalloc(seen->n + 1, sizeof(*a->kept)),
	};
	for (size_t i = 0; i < seen->n; i++)
		if (is_indirect(&seen->v[i]))
			a->v[a->n++] = seen->v[i].point;
	for (size_t i = 0; a->n > 0 && i < seen->n; i++)
		if (!is_indirect(&seen->v[i]) && is_in(a, seen->v[i].point))
			a->kept[a->nkept++] = seen->v[i].point;
}

void automounts_clear(struct automounts *a)
{
	free(a->v);
	free(a->kept);
	*a = (struct automounts){ .n = 0 };
}
