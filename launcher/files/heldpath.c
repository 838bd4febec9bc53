#include "launcher/files/heldpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"

#define LINKS_MAX 40 /* as the kernel: symbolic links in one path */

/** struct walk - how far the path has been followed */
struct walk {
	struct protect *p;
	const struct heldpath *what;
	char done[PATH_MAX]; /* canonical; "" for the root directory */
	char rest[PATH_MAX]; /* what is left of it */
	unsigned links;
	bool back;  /* a ".." comes after what is missing */
	bool ended; /* at a name, which is locked or needs no lock */
	struct error *err;
};

static int walk_refuse(const struct walk *w, int code, const char *why)
{
	return error_set(w->err, code,
			 "%s: the command could change it, since it lies in a directory that is "
			 "writable inside, and %s; keep it elsewhere",
			 w->what->path, why);
}

static void walk_enter(struct walk *w, const char *name)
{
	size_t n = strlen(w->done);

	if (n + strlen(name) + 2 > sizeof(w->done))
		name = ""; /* too long for the kernel, too: nothing is there */
	w->done[n] = '/';
	strcpy(w->done + n + 1, name);
}

static void walk_up(struct walk *w)
{
	char *slash = strrchr(w->done, '/');

	if (slash)
		*slash = '\0';
}

/* A symbolic link is locked itself; the walk goes on where it leads. */
static int walk_follow(struct walk *w, const char *name)
{
	CLEANUP_FREE char *link = xasprintf("%s/%s", w->done, name);
	int absolute = path_lead(w->rest, AT_FDCWD, link);

	if (absolute < 0 && errno != ENAMETOOLONG)
		return walk_refuse(w, errno, "a symbolic link on the way cannot be read");
	if (absolute < 0 || ++w->links > LINKS_MAX)
		return walk_refuse(w, ELOOP, "it leads through too many symbolic links");
	if (protect_root_of(w->p, link))
		protect_add(w->p, w->done, name);
	if (absolute)
		w->done[0] = '\0';
	return 0;
}

/* Whether the last component is next. */
static bool walk_ends(const struct walk *w)
{
	return w->rest[0] == '\0';
}

/*
 * @name is missing. The directories on the way to it are made, and the lowest of them is what is
 * locked; where only the last component is missing, it gets a placeholder.
 */
static int walk_hold(struct walk *w, char name[static NAME_MAX + 1])
{
	char canonical[PATH_MAX], next[NAME_MAX + 1];

	for (;;) {
		int dir = placeholders_open_dir(&w->p->held, w->done[0] ? w->done : "/", canonical);
		bool last = walk_ends(w), more = !last && strchr(w->rest, '/');

		if (dir < 0)
			return -1;
		if (strcmp(name, "..") == 0) {
			w->back = true;
			return -1;
		}
		if (last && !w->what->directory)
			return placeholders_settle(&w->p->held, dir, name, w->what->content) < 0
				       ? -1
				       : (protect_add(w->p, w->done, name), 0);
		if (placeholders_make_way(&w->p->held, dir, name) < 0)
			return -1;
		if (last || (!more && !w->what->directory)) {
			protect_add(w->p, w->done, name);
			return 0;
		}
		walk_enter(w, name);
		if (!path_next(w->rest, next))
			return 0;
		memcpy(name, next, sizeof(next));
	}
}

static int walk_missing(struct walk *w, char name[static NAME_MAX + 1])
{
	CLEANUP_FREE char *at = xasprintf("%s/%s", w->done, name);
	struct stat st;
	int code;

	if (!protect_root_of(w->p, at)) {
		protect_elsewhere(w->p, w->done, name);
		return 0;
	}
	if (protect_covers(w->p, at) || walk_hold(w, name) == 0)
		return 0;
	code = errno;
	if (w->back)
		return error_set(w->err, 0,
				 "%s: what its \"..\" goes back from is missing, and the command "
				 "could have it lead anywhere; make that directory, or spell the "
				 "path without it",
				 w->what->path);
	/* What this user cannot make, the command cannot; unless it may change the mode first. */
	if (code == EROFS || ((code == EACCES || code == EPERM) &&
			      stat(w->done[0] ? w->done : "/", &st) == 0 && st.st_uid != geteuid()))
		return 0;
	return walk_refuse(w, code, "its place cannot be held");
}

/* A denial of what holds a writable root makes that root read-only (mountplan.c). */
static bool holds_root(const struct walk *w, const char *at)
{
	for (size_t i = 0; w->what->denied && i < w->p->nroots; i++)
		if (path_beneath(w->p->roots[i].path, at))
			return true;
	return false;
}

/* The end of the walk: something that exists. */
static int walk_lock(struct walk *w, const char *name, const struct stat *st)
{
	CLEANUP_FREE char *at = xasprintf("%s/%s", w->done, name);
	char canonical[PATH_MAX];
	int dir;

	if (!protect_root_of(w->p, at)) {
		if (holds_root(w, at))
			protect_add(w->p, w->done, name);
		else
			protect_elsewhere(w->p, w->done, name);
		return 0;
	}
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return walk_refuse(w, 0, "it has another name (a hard link)");
	dir = placeholders_open_dir(&w->p->held, w->done[0] ? w->done : "/", canonical);
	if (dir >= 0 && !w->what->directory)
		placeholders_adopt(&w->p->held, dir, name, w->what->content);
	protect_add(w->p, w->done, name);
	return 0;
}

/*
 * Nothing can be seen beneath @w->done: it is no directory, or one that this user may not enter. The
 * command could take the permission, or put another directory in its place, and so it is locked itself.
 */
static int walk_barred(struct walk *w, int code)
{
	const char *root = protect_root_of(w->p, w->done);
	char *slash = strrchr(w->done, '/');

	if (!root || code == ENAMETOOLONG || protect_covers(w->p, w->done))
		return 0;
	if ((code != EACCES && code != ENOTDIR) || !slash || strcmp(w->done, root) == 0)
		return walk_refuse(w, code, "its place cannot be looked at");
	*slash = '\0';
	protect_add(w->p, w->done, slash + 1);
	*slash = '/';
	return 0;
}

/* A directory on the way that a killed run has made goes at the end, if it is empty then. */
static int walk_adopt(struct walk *w, const char *at, const char *name)
{
	char canonical[PATH_MAX];
	int dir;

	if (!protect_root_of(w->p, at) || !placeholders_is(AT_FDCWD, at, NULL))
		return 0;
	dir = placeholders_open_dir(&w->p->held, w->done[0] ? w->done : "/", canonical);
	if (dir < 0)
		return walk_refuse(w, errno, "its place cannot be locked");
	placeholders_adopt(&w->p->held, dir, name, NULL);
	return 0;
}

static int walk_step(struct walk *w, char name[static NAME_MAX + 1])
{
	CLEANUP_FREE char *at = xasprintf("%s/%s", w->done, name);
	struct stat st;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		walk_up(w);
		return 0;
	}
	if (lstat(at, &st) < 0) {
		int rc = errno == ENOENT ? walk_missing(w, name) : walk_barred(w, errno);

		w->rest[0] = '\0';
		w->ended = true;
		return rc;
	}
	if (S_ISLNK(st.st_mode))
		return walk_follow(w, name);
	w->ended = walk_ends(w);
	if (w->ended)
		return walk_lock(w, name, &st);
	if (walk_adopt(w, at, name) < 0)
		return -1;
	walk_enter(w, name);
	return 0;
}

/* The walk has ended in a directory that its last component, ".", ".." or a link to them, does not name. */
static int walk_lock_here(struct walk *w)
{
	char name[NAME_MAX + 1];
	char *slash = strrchr(w->done, '/');
	struct stat st;

	if (!slash && !w->what->denied)
		return 0;
	if (!slash)
		return error_set(
			w->err, 0,
			"%s is the root directory: were it denied, nothing could be written, "
			"not even in the working directory; deny what is to be kept, or start "
			"with --fs strict",
			w->what->path);
	if (strlen(slash + 1) > NAME_MAX || lstat(w->done, &st) < 0)
		return walk_refuse(w, errno, "its place cannot be looked at");
	strcpy(name, slash + 1);
	*slash = '\0';
	return walk_lock(w, name, &st);
}

int heldpath_hold(struct protect *p, const struct heldpath *what, struct error *err)
{
	struct walk w = { .p = p, .what = what, .err = err };
	const char *path = what->path;
	char name[NAME_MAX + 1];

	if (path[0] != '/' && (!getcwd(w.done, sizeof(w.done)) || strcmp(w.done, "/") == 0))
		w.done[0] = '\0';
	if (strlen(path) >= sizeof(w.rest))
		return error_set(err, ENAMETOOLONG, "cannot protect %s", path);
	strcpy(w.rest, path);
	while (path_next(w.rest, name))
		if (walk_step(&w, name) < 0)
			return -1;
	/* A component that is longer than any name is there for nobody. */
	return w.ended || strspn(w.rest, "/") != strlen(w.rest) ? 0 : walk_lock_here(&w);
}
