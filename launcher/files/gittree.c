#include "launcher/files/gittree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/automounts.h"
#include "launcher/files/mountinfo.h"

#define CONFIG	    "config"
#define FILE_MAX    (4 * 1024 * 1024)
#define FOLLOW_COST (64 * 1024)	   /* of GITVISIT_READ_MAX, for looking through the mounts */
#define LINK_MAX    (2 * PATH_MAX) /* of a file that says where something is */

static void take_worktree(void *arg, const struct gitconfig_variable *var)
{
	char **where = arg;

	if (!gitconfig_is(var, "core", "worktree"))
		return;
	free(*where);
	*where = xstrdup(var->value);
}

/*
 * The absolute path, in which ".." leads up and nothing is a link. Whether it is made of "." and ".." alone is
 * told in @up.
 */
static char *spell(int dir, const char *where, bool *up)
{
	CLEANUP_FREE char *rest = xstrdup(where);
	char *path = where[0] == '/' ? xstrdup("") : fd_path(dir);
	char name[NAME_MAX + 1];

	*up = where[0] != '/';
	while (path && path_next(rest, name)) {
		char *slash = strrchr(path, '/'), *longer;

		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			if (slash)
				*slash = '\0';
			continue;
		}
		*up = false;
		longer = xasprintf("%s/%s", path, name);
		free(path);
		path = longer;
	}
	return path;
}

static bool is_beneath_any(const char *path, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (path_beneath(path, dirs[i]))
			return true;
	return false;
}

/* Whether an automounter would be asked for a name in it; if nobody knows, it might. */
static bool is_asked_for(const char *path)
{
	struct mountinfo mounts = { .n = 0 };
	struct automounts a;
	bool asked;

	if (mountinfo_read(&mounts) < 0)
		return true;
	automounts_find(&a, &mounts);
	asked = is_beneath_any(path, a.v, a.n) && !is_beneath_any(path, a.kept, a.nkept);
	automounts_clear(&a);
	mountinfo_clear(&mounts);
	return asked;
}

int gittree_follow(const struct gitvisit *v, int dir, const char *where)
{
	bool up = false;
	CLEANUP_FREE char *path = spell(dir, where, &up);

	if (up)
		return openat(dir, where, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*v->read += FOLLOW_COST;
	if (!path || *v->read > GITVISIT_READ_MAX || is_asked_for(path)) {
		errno = EACCES;
		return -1;
	}
	return fd_open_plain(AT_FDCWD, *path ? path : "/", O_PATH | O_DIRECTORY);
}

/* Of files that are locked, if they were there at the start. */
char *gittree_read(const struct gitvisit *v, int dir, const char *name)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	size_t n;

	return fd < 0 ? NULL : gitvisit_read_all(v, fd, LINK_MAX, &n);
}

enum gitconfig gittree_config(const struct gitvisit *v, int dir, const char *name,
			      gitconfig_use *use, void *arg)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;

	if (fd < 0)
		return errno == ENOENT ? GITCONFIG_OK : GITCONFIG_BAD;
	text = gitvisit_read_all(v, fd, FILE_MAX, &n);
	return text ? gitconfig_parse(text, n, use, arg) : GITCONFIG_BAD;
}

/* Where the working tree is, as a linked worktree's or a submodule's git directory says; or NULL. */
static char *read_where(const struct gitvisit *v, int dir)
{
	CLEANUP_FREE char *back = gittree_read(v, dir, "gitdir");
	size_t n;
	char *where = NULL;

	if (!back && gittree_config(v, dir, CONFIG, take_worktree, &where) == GITCONFIG_BAD) {
		free(where);
		where = NULL;
	}
	if (!back)
		return where;
	back[strcspn(back, "\r\n")] = '\0';
	n = strlen(back);
	return n > 5 && strcmp(back + n - 5, "/.git") == 0 ? xstrndup(back, n - 5) : NULL;
}

/* To look for a name of the command's own could have an automounter dial a host. */
static bool is_same_place(struct gitvisit_known *g, const struct gitvisit *v, const char *above,
			  const char *where)
{
	if (v->task != GITVISIT_SWEEP)
		gitseen_add(&g->seen, GITSEEN_PLACE, above, where, strlen(where));
	return gitseen_has(&g->seen, GITSEEN_PLACE, above, where, strlen(where));
}

/*
 * The same, open; -1 unless it is what was there at the start: the command may have moved the working
 * tree, and put another in its place. @at is that of a file in @dir.
 */
int gittree_open(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at)
{
	const char *slash = strrchr(at, '/');
	CLEANUP_FREE char *above = xstrndup(at, slash ? (size_t)(slash - at) : 0);
	CLEANUP_FREE char *where = read_where(v, dir);
	CLEANUP_FREE char *known = NULL;
	CLEANUP_CLOSE int fd = -1;
	struct stat st;

	if (!where || !is_same_place(g, v, above, where))
		return -1;
	fd = openat(dir, where, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	known = xasprintf("%ju %ju %s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, where);
	if (v->task != GITVISIT_SWEEP)
		gitseen_add(&g->seen, GITSEEN_TREE, above, known, strlen(known));
	else if (!gitseen_has(&g->seen, GITSEEN_TREE, above, known, strlen(known)))
		return -1;
	return take_fd(&fd);
}
