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

#define BACK	    "gitdir" /* of a linked worktree */
#define OWN	    "config.worktree"
#define LEADS	    "gitdir: "
#define FILE_MAX    (4 * 1024 * 1024)
#define FOLLOW_COST (64 * 1024)	   /* of GITVISIT_READ_MAX, for looking through the mounts */
#define LINK_MAX    (2 * PATH_MAX) /* of a file that says where something is */

/** struct worktree - what configuration says; @own: a file of this git directory counts as well */
struct worktree {
	char *where;
	bool own;
};

static bool is_false(const char *value)
{
	return strcasecmp(value, "false") == 0 || strcasecmp(value, "no") == 0 ||
	       strcasecmp(value, "off") == 0 || strcmp(value, "0") == 0 || !*value;
}

static void take_worktree(void *arg, const struct gitconfig_variable *var)
{
	struct worktree *w = arg;

	if (gitconfig_is(var, "extensions", "worktreeConfig"))
		w->own = !is_false(var->value);
	if (!gitconfig_is(var, "core", "worktree"))
		return;
	free(w->where);
	w->where = xstrdup(var->value);
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

/* The first link on an absolute path, by its number and when it was changed. */
static void find_link(const char *path, uint64_t id[static 4])
{
	CLEANUP_FREE char *rest = xstrdup(path);
	CLEANUP_CLOSE int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];
	struct stat st;

	while (dir >= 0 && path_next(rest, name)) {
		int next = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		(void)close(dir);
		dir = next;
		if (dir < 0 || fstat(dir, &st) < 0 || !S_ISLNK(st.st_mode))
			continue;
		id[1] = st.st_dev;
		id[2] = st.st_ino;
		id[3] = (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
		return;
	}
}

int gittree_identify(const struct gitvisit *v, int dir, const char *where, uint64_t id[static 4])
{
	CLEANUP_CLOSE int fd = gittree_follow(v, dir, where);
	int code = errno;
	struct stat st;
	bool up;

	memset(id, 0, 4 * sizeof(*id));
	if (fd >= 0 && fstat(fd, &st) == 0) {
		id[1] = st.st_dev;
		id[2] = st.st_ino;
		return take_fd(&fd);
	}
	id[0] = code == ENOTDIR ? ENOENT : (uint64_t)code;
	if (code == ELOOP) {
		CLEANUP_FREE char *path = spell(dir, where, &up);

		find_link(path ? path : "/", id);
	}
	errno = code;
	return -1;
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

int gittree_common(const struct gitvisit *v, int dir)
{
	CLEANUP_FREE char *common = gittree_read(v, dir, "commondir");

	if (common)
		common[strcspn(common, "\r\n")] = '\0';
	if (!common || !*common) /* empty: a placeholder that is being made (protect.c) */
		return fcntl(dir, F_DUPFD_CLOEXEC, 3);
	return gittree_follow(v, dir, common);
}

int gittree_led(const struct gitvisit *v, int tree)
{
	CLEANUP_FREE char *text = gittree_read(v, tree, ".git");

	if (!text)
		return openat(tree, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	text[strcspn(text, "\r\n")] = '\0';
	errno = EINVAL;
	return strncmp(text, LEADS, strlen(LEADS)) == 0
		       ? gittree_follow(v, tree, text + strlen(LEADS))
		       : -1;
}

/* Where a linked worktree's git directory says that that is. */
static char *read_back(const struct gitvisit *v, int dir)
{
	CLEANUP_FREE char *back = gittree_read(v, dir, BACK);
	size_t n;

	if (!back)
		return NULL;
	back[strcspn(back, "\r\n")] = '\0';
	n = strlen(back);
	return n > 5 && strcmp(back + n - 5, "/.git") == 0 ? xstrndup(back, n - 5) : NULL;
}

/*
 * What core.worktree says in the file of this git directory alone, if that counts; else, but for a linked
 * worktree, in the configuration. Return: whether that can be told.
 */
static bool read_worktree(const struct gitvisit *v, int dir, bool linked, struct worktree *w)
{
	CLEANUP_CLOSE int common = linked ? gittree_common(v, dir) : fcntl(dir, F_DUPFD_CLOEXEC, 3);

	if (common < 0 || gittree_config(v, common, "config", take_worktree, w) == GITCONFIG_BAD)
		return false;
	if (linked) {
		free(w->where);
		w->where = NULL;
	}
	return !w->own || gittree_config(v, dir, OWN, take_worktree, w) != GITCONFIG_BAD;
}

/* To look for a name of the command's own could have an automounter dial a host. */
static bool is_same_place(struct gitvisit_known *g, const struct gitvisit *v, const char *above,
			  const char *where)
{
	if (v->task != GITVISIT_SWEEP)
		gitseen_add(&g->seen, GITSEEN_PLACE, above, where, strlen(where));
	return gitseen_has(&g->seen, GITSEEN_PLACE, above, where, strlen(where));
}

/* Open; -1 unless it is what was there at the start. @at is that of a file in @dir. */
static int open_place(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at,
		      const char *where)
{
	const char *slash = strrchr(at, '/');
	CLEANUP_FREE char *above = xstrndup(at, slash ? (size_t)(slash - at) : 0);
	CLEANUP_FREE char *known = NULL;
	CLEANUP_CLOSE int fd = -1;
	struct stat st;

	if (!is_same_place(g, v, above, where))
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

/* The one working tree that led to @dir at the start; -1 if there are more, or none. */
static int open_led(const struct gitvisit_known *g, int dir)
{
	int found = -1;
	struct stat st;

	if (fstat(dir, &st) < 0)
		return -1;
	for (size_t i = 0; i < g->nled; i++) {
		if (g->led[i].git[0] != st.st_dev || g->led[i].git[1] != st.st_ino)
			continue;
		if (found >= 0)
			return -1;
		found = g->led[i].tree;
	}
	return found < 0 ? -1 : fcntl(found, F_DUPFD_CLOEXEC, 3);
}

/* In git's order: core.worktree, the directory of the .git that leads here, the one that this lies in. */
int gittree_open(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at)
{
	CLEANUP_FREE char *back = read_back(v, dir);
	struct worktree w = { .own = false };
	bool known = read_worktree(v, dir, back, &w);
	CLEANUP_FREE char *where = w.where;
	int fd = known && !where ? open_led(g, dir) : -1;

	if (!known || fd >= 0)
		return fd;
	if (where || back)
		return open_place(g, v, dir, at, where ? where : back);
	return strchr(at, '/') || g->tree < 0 ? -1 : fcntl(g->tree, F_DUPFD_CLOEXEC, 3);
}

void gittree_learn(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at)
{
	struct gitvisit note = *v;
	int fd;

	note.task = GITVISIT_NOTE;
	fd = gittree_open(g, &note, dir, at);
	if (fd >= 0)
		(void)close(fd);
}
