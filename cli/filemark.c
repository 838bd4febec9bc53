#include "cli/filemark.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"

/* One file; @fd is -1 when it was not there or could not be opened: @code says which. */
struct mark {
	char *path;
	int fd, code;
	dev_t dev;
	ino_t ino;
};

struct filemark {
	struct mark *v;
	size_t n;
	char **root; /* canonical */
	size_t nroots;
};

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
static bool is_writable(const struct filemark *m, const char *path)
{
	char dir[PATH_MAX], target[PATH_MAX];
	bool has_dir = real_dir(path, dir), has_target = realpath(path, target) != NULL;

	for (size_t i = 0; i < m->nroots; i++) {
		if ((has_dir && is_beneath(dir, m->root[i])) ||
		    (has_target && is_beneath(target, m->root[i])))
			return true;
	}
	return false;
}

static void mark(struct mark *out, const char *path)
{
	struct stat st;

	*out = (struct mark){ .path = xstrdup(path),
			      .fd = fd_open_regular(AT_FDCWD, path, 0, NULL) };
	out->code = errno;
	if (out->fd < 0 || fstat(out->fd, &st) < 0)
		return;
	out->dev = st.st_dev;
	out->ino = st.st_ino;
}

struct filemark *filemark_new(const char *const *files, size_t n, const char *const *roots,
			      size_t nroots)
{
	struct filemark *m = xcalloc(1, sizeof(*m));

	m->root = xcalloc(nroots + 1, sizeof(*m->root));
	for (size_t i = 0; i < nroots; i++) {
		m->root[m->nroots] = realpath(roots[i], NULL);
		if (m->root[m->nroots])
			m->nroots++;
	}
	m->v = xcalloc(n + 1, sizeof(*m->v));
	for (size_t i = 0; i < n; i++) {
		if (is_writable(m, files[i]))
			mark(&m->v[m->n++], files[i]);
	}
	return m;
}

static const struct mark *find(const struct filemark *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->v[i].path, path) == 0)
			return &m->v[i];
	return NULL;
}

/* Whether the name leads to what was marked. */
static bool is_there(const struct mark *mark, struct error *why)
{
	struct stat st;
	bool there = stat(mark->path, &st) == 0;
	bool gone = !there && (errno == ENOENT || errno == ENOTDIR);

	if (mark->fd < 0 ? gone : there && st.st_dev == mark->dev && st.st_ino == mark->ino)
		return true;
	if (!there && !gone)
		(void)error_set(why, errno,
				"'%s' lies where the command can write, and its name cannot be "
				"followed",
				mark->path);
	else
		(void)error_set(why, 0,
				"'%s' is another file now, and lies where the command can write: "
				"it is read again in the next run (or change it in place)",
				mark->path);
	return false;
}

enum filemark_found filemark_open(const struct filemark *m, const char *path, int *fd,
				  struct error *why)
{
	const struct mark *mark = find(m, path);
	bool there;

	if (!mark)
		return FILEMARK_UNKNOWN;
	there = is_there(mark, why);
	errno = mark->code;
	*fd = mark->fd < 0 || lseek(mark->fd, 0, SEEK_SET) < 0
		      ? -1
		      : fcntl(mark->fd, F_DUPFD_CLOEXEC, 0);
	return there ? FILEMARK_SAME : FILEMARK_MOVED;
}

int filemark_fd(const struct filemark *m, const char *path)
{
	const struct mark *mark = m ? find(m, path) : NULL;

	return mark ? mark->fd : -1;
}

bool filemark_is_open_to_writes(const struct filemark *m, int fd)
{
	CLEANUP_FREE char *path = fd_path(fd);

	for (size_t i = 0; path && i < m->nroots; i++)
		if (is_beneath(path, m->root[i]))
			return true;
	return !path;
}

void filemark_free(struct filemark *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].fd >= 0)
			(void)close(m->v[i].fd);
		free(m->v[i].path);
	}
	for (size_t i = 0; i < m->nroots; i++)
		free(m->root[i]);
	free(m->root);
	free(m->v);
	free(m);
}
