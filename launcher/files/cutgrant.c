#include "launcher/files/cutgrant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"

#define CUT_MAX 1024 /* each is a mount */

/* Whether something that is hidden, present or not, lies at @path, or else beneath it. */
static bool hides(const struct mountplan *p, const char *path, bool beneath)
{
	for (size_t i = 0; i < p->n + p->nhidden; i++) {
		const char *h = i < p->n ? p->v[i].path : p->hidden[i - p->n];

		if (i < p->n && p->v[i].kind != STEP_HIDE)
			continue;
		if (beneath ? path_beneath(h, path) && strcmp(h, path) != 0 : strcmp(h, path) == 0)
			return true;
	}
	return false;
}

static int cut_up(struct mountplan *p, struct mountplan_step step, int dir, const char *path,
		  struct error *err);

static int cut_entry(struct mountplan *p, struct mountplan_step step, int dir, const char *path,
		     const char *name, struct error *err)
{
	CLEANUP_FREE char *child = xasprintf("%s/%s", path, name);
	CLEANUP_CLOSE int fd = -1, down = -1;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || hides(p, child, false))
		return 0;
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))
		return 0; /* gone, or out of reach; where a link leads is granted by its own name */
	if (!S_ISDIR(st.st_mode) || !hides(p, child, true))
		return mountplan_add(p, step, &fd, err);
	down = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return down < 0 ? 0 : cut_up(p, step, down, child, err);
}

static int cut_up(struct mountplan *p, struct mountplan_step step, int dir, const char *path,
		  struct error *err)
{
	DIR *d = fd_opendir(dir);
	const struct dirent *e;
	size_t before = p->n;
	int rc = d ? 0 : error_set(err, errno, "cannot list %s", path);

	while (rc == 0 && (e = readdir(d))) {
		rc = cut_entry(p, step, dir, path, e->d_name, err);
		if (rc == 0 && p->n - before > CUT_MAX)
			rc = error_set(
				err, 0,
				"cannot grant %s, in which something is to be hidden: it has "
				"too many entries for a directory below a temporary one; "
				"grant less of it",
				path);
	}
	if (d)
		(void)closedir(d);
	return rc;
}

static bool is_below_private(const struct mountplan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == STEP_PRIVATE && path_beneath(path, p->v[i].path))
			return true;
	return false;
}

/*
 * The rule for a temporary directory of the run's own reaches down into all that is mounted in it, and
 * no rule can be left out there (landlock_tree.c). So of a grant with something hidden in it the entries
 * are mounted, and not the whole.
 */
int cutgrant_apply(struct mountplan *p, struct error *err)
{
	size_t n = p->n;

	for (size_t i = 0; i < n; i++) {
		const struct mountplan_step s = p->v[i];
		struct mountplan_step step = { .kind = STEP_GRANT, .use = s.use, .own = s.own };
		CLEANUP_CLOSE int dir = -1;

		if (s.kind != STEP_GRANT || (s.use != MOUNTS_READ && s.use != MOUNTS_EXEC) ||
		    !S_ISDIR(s.mode) || !is_below_private(p, s.path) || !hides(p, s.path, true))
			continue;
		dir = openat(s.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return error_set(err, errno, "cannot list %s", s.path);
		if (cut_up(p, step, dir, s.path, err))
			return -1;
		p->v[i].dropped = true;
	}
	return 0;
}
