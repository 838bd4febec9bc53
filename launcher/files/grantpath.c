#include "launcher/files/grantpath.h"

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
#include "launcher/files/workdir.h"

#define LINKS_MAX 40 /* as the kernel */

/* In the system set of strict mode (landlock.c), and readable in the other. */
static const char *const system_trees[] = { "/usr",   "/bin",	"/sbin",      "/lib",
					    "/lib32", "/lib64", "/nix/store", "/gnu/store" };

/**
 * struct link - a link that has been followed, but not to its end
 * @dir, @name: where it lies, canonical
 * @rest: how much of struct walk's @rest lies behind it
 * @trusted: no command can have made it
 */
struct link {
	char *dir;
	char name[NAME_MAX + 1];
	size_t rest;
	bool trusted;
};

/**
 * struct walk - how far the path has been followed
 * @at: where it is, O_PATH
 * @rest: what is still to come
 * @open, @nopen: the links that have not been judged, the outermost first
 * @links: that were met
 */
struct walk {
	const struct grantpath *g;
	int at;
	char rest[PATH_MAX];
	struct link open[LINKS_MAX];
	size_t nopen;
	unsigned links;
	struct error *err;
};

static bool is_system(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_trees); i++)
		if (path_beneath(path, system_trees[i]))
			return true;
	return false;
}

bool grantpath_trusts(int dir, const char *home)
{
	const struct workdir_context context = { .home = home };
	CLEANUP_FREE char *path = fd_path(dir);
	struct error err = { 0 };
	struct stat st;

	if (!path || fstat(dir, &st) < 0 || st.st_mode & S_IWOTH)
		return false;
	if (st.st_uid != geteuid() && !path_may(dir, ".", W_OK))
		return true;
	return workdir_check_at(dir, path, &context, &err) < 0 && err.code == 0;
}

static int cannot(const struct walk *w, int code)
{
	return error_set(w->err, code, "%s: cannot open %s", w->g->what, w->g->path);
}

/* A link that has been followed to its end leads to @w->at. */
static int judge(const struct walk *w, const struct link *link)
{
	CLEANUP_FREE char *real = fd_path(w->at);

	if (!real)
		return cannot(w, errno);
	if (path_beneath(real, link->dir) || link->trusted || (!w->g->writable && is_system(real)))
		return 0;
	return error_set(
		w->err, 0,
		"%s %s: %s/%s is a link, which a command of an earlier run may have made; if "
		"it is yours, name what it leads to: %s%s%s",
		w->g->what, w->g->path, strcmp(link->dir, "/") == 0 ? "" : link->dir, link->name,
		real, w->rest[0] ? "/" : "", w->rest);
}

/* Those whose end is here. */
static int judge_ended(struct walk *w)
{
	size_t rest = strlen(w->rest), first = w->nopen;

	while (first > 0 && w->open[first - 1].rest >= rest)
		first--;
	for (size_t i = first; i < w->nopen; i++)
		if (judge(w, &w->open[i]) < 0)
			return -1;
	while (w->nopen > first)
		free(w->open[--w->nopen].dir);
	return 0;
}

/* Puts the target of a link before what is left of the path. */
static int prepend(struct walk *w, int link)
{
	int absolute = path_lead(w->rest, link, "");

	if (absolute < 0)
		return cannot(w, errno);
	if (absolute) {
		size_t slashes = strspn(w->rest, "/");

		memmove(w->rest, w->rest + slashes, strlen(w->rest + slashes) + 1);
		(void)close(w->at);
		w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return w->at < 0 ? cannot(w, errno) : 0;
}

/* @link is @name in the directory @w->at. */
static int follow(struct walk *w, const char *name, int link)
{
	struct link *l = &w->open[w->nopen];

	if (++w->links > LINKS_MAX)
		return cannot(w, ELOOP);
	l->dir = fd_path(w->at);
	if (!l->dir)
		return cannot(w, errno);
	w->nopen++;
	strcpy(l->name, name);
	l->rest = strlen(w->rest);
	l->trusted = grantpath_trusts(w->at, w->g->home);
	return prepend(w, link);
}

/* As a directory, if it is one: that mounts what is mounted when it is used. */
static int open_component(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
		return fd;
	return openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static int step(struct walk *w, const char *name)
{
	CLEANUP_CLOSE int fd = open_component(w->at, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return cannot(w, errno);
	if (S_ISLNK(st.st_mode))
		return follow(w, name, fd);
	(void)close(w->at);
	w->at = take_fd(&fd);
	return 0;
}

static int walk(struct walk *w)
{
	char name[NAME_MAX + 1];

	if (w->at < 0)
		return cannot(w, errno);
	while (path_next(w->rest, name))
		if (step(w, name) < 0 || judge_ended(w) < 0)
			return -1;
	return w->rest[strspn(w->rest, "/")] ? cannot(w, ENAMETOOLONG) : 0;
}

int grantpath_open(const struct grantpath *g, struct error *err)
{
	struct walk w = { .g = g, .err = err };
	int rc;

	if (strlen(g->path) >= sizeof(w.rest))
		return error_set(err, ENAMETOOLONG, "%s %s", g->what, g->path);
	strcpy(w.rest, g->path);
	w.at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = walk(&w);
	while (w.nopen > 0)
		free(w.open[--w.nopen].dir);
	if (rc == 0)
		return w.at;
	cleanup_close(&w.at);
	return -1;
}

int grantpath_same(int fd, const struct file_id *id, const char *path, struct error *err)
{
	struct stat st;

	if (!id)
		return 0;
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "cannot look at %s", path);
	if (st.st_dev == id->dev && st.st_ino == id->ino)
		return 0;
	return error_set(
		err, 0,
		"%s was replaced while the sandbox was being made; start anew when nothing "
		"changes it",
		path);
}
