#include "cli/filemark.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"

/* One file: what it was; no device and inode when it was not there. */
struct mark {
	char *path;
	dev_t dev;
	ino_t ino;
};

struct filemark {
	struct mark *v;
	size_t n;
};

static void look(const char *path, dev_t *dev, ino_t *ino)
{
	struct stat st;

	*dev = 0;
	*ino = 0;
	if (stat(path, &st) == 0) {
		*dev = st.st_dev;
		*ino = st.st_ino;
	}
}

static bool is_beneath(const char *path, const char *root)
{
	size_t n = strlen(root);

	return strcmp(root, "/") == 0 ||
	       (strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

/* The real directory of a file that need not exist; false if that does not exist either. */
static bool real_dir(const char *path, char out[PATH_MAX])
{
	CLEANUP_FREE char *dir = path_dir(path);

	return realpath(dir, out) != NULL;
}

/* By its own place and, for a link, by that of what it leads to. */
static bool is_writable(const char *path, const char *const *roots, size_t n)
{
	char dir[PATH_MAX], target[PATH_MAX], root[PATH_MAX];
	bool has_dir = real_dir(path, dir), has_target = realpath(path, target) != NULL;

	for (size_t i = 0; i < n; i++) {
		if (!realpath(roots[i], root))
			continue;
		if ((has_dir && is_beneath(dir, root)) || (has_target && is_beneath(target, root)))
			return true;
	}
	return false;
}

struct filemark *filemark_new(const char *const *files, size_t n, const char *const *roots,
			      size_t nroots)
{
	struct filemark *m = xcalloc(1, sizeof(*m));

	m->v = xcalloc(n + 1, sizeof(*m->v));
	for (size_t i = 0; i < n; i++) {
		struct mark *mark = &m->v[m->n];

		if (!is_writable(files[i], roots, nroots))
			continue;
		mark->path = xstrdup(files[i]);
		look(files[i], &mark->dev, &mark->ino);
		m->n++;
	}
	return m;
}

int filemark_check(const struct filemark *m, struct error *err)
{
	for (size_t i = 0; i < m->n; i++) {
		dev_t dev;
		ino_t ino;

		look(m->v[i].path, &dev, &ino);
		if (dev == m->v[i].dev && ino == m->v[i].ino)
			continue;
		return error_set(err, 0,
				 "'%s' is another file now, and lies where the command can write: "
				 "it is read again in the next run (or change it in place)",
				 m->v[i].path);
	}
	return 0;
}

void filemark_free(struct filemark *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
	free(m);
}
