#include "launcher/files/grantpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/mountplan.h"
#include "launcher/files/workdir.h"

#define LINKS_MAX 40 /* as the kernel */

/* In the system set of strict mode (landlock.c), and readable in the other. */
static const char *const system_trees[] = { "/usr",   "/bin",	"/sbin",      "/lib",
					    "/lib32", "/lib64", "/nix/store", "/gnu/store" };

/** struct walk - how far the path has been followed */
struct walk {
	const struct grantpath *g;
	char done[PATH_MAX]; /* canonical; "" for the root directory */
	char rest[PATH_MAX];
	unsigned links;
	struct error *err;
};

static bool is_system(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_trees); i++)
		if (mountplan_beneath(path, system_trees[i]))
			return true;
	return false;
}

/* Whether no command of an earlier run can have made a link in @dir. */
static bool is_trusted(const struct walk *w, const char *dir)
{
	const struct workdir_context context = { .home = w->g->home };
	struct stat st;

	if (stat(dir, &st) < 0 || st.st_mode & S_IWOTH)
		return false;
	if (st.st_uid != geteuid() && faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) < 0)
		return true;
	return workdir_check(dir, &context, &(struct error){ 0 }) < 0;
}

/* The link @name in @w->done, which leads to @real. */
static int judge(const struct walk *w, const char *name, const char *real)
{
	const char *dir = w->done[0] ? w->done : "/";

	if (mountplan_beneath(real, dir) || is_trusted(w, dir) ||
	    (!w->g->writable && is_system(real)))
		return 0;
	return error_set(
		w->err, 0,
		"%s %s: %s/%s is a link, which a command of an earlier run may have made; if "
		"it is yours, name what it leads to: %s%s%s",
		w->g->what, w->g->path, w->done, name, real, w->rest[0] ? "/" : "", w->rest);
}

static int follow(struct walk *w, const char *name)
{
	CLEANUP_FREE char *link = xasprintf("%s/%s", w->done, name);
	CLEANUP_FREE char *real = realpath(link, NULL);
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	size_t rest = strlen(w->rest);

	if (n < 0 || !real || ++w->links > LINKS_MAX || (size_t)n + rest + 2 > sizeof(w->rest)) {
		w->rest[0] = '\0'; /* it leads nowhere: whoever opens it says so */
		return 0;
	}
	if (judge(w, name, real))
		return -1;
	memmove(w->rest + n + 1, w->rest, rest + 1);
	memcpy(w->rest, target, (size_t)n);
	w->rest[n] = '/';
	if (target[0] == '/')
		w->done[0] = '\0';
	return 0;
}

static int step(struct walk *w, const char *name)
{
	CLEANUP_FREE char *at = xasprintf("%s/%s", w->done, name);
	struct stat st;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		char *slash = strrchr(w->done, '/');

		if (slash)
			*slash = '\0';
		return 0;
	}
	if (lstat(at, &st) < 0 || strlen(at) >= sizeof(w->done)) {
		w->rest[0] = '\0';
		return 0;
	}
	if (S_ISLNK(st.st_mode))
		return follow(w, name);
	strcpy(w->done, at);
	return 0;
}

int grantpath_check(const struct grantpath *g, struct error *err)
{
	struct walk w = { .g = g, .err = err };
	char name[NAME_MAX + 1];

	if (strlen(g->path) >= sizeof(w.rest))
		return error_set(err, ENAMETOOLONG, "%s %s", g->what, g->path);
	strcpy(w.rest, g->path);
	while (path_next(w.rest, name))
		if (step(&w, name) < 0)
			return -1;
	return 0;
}
