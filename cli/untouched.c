#include "cli/untouched.h"

#include <ctype.h>
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
#include "cli/confine.h"
#include "cli/hardlink.h"
#include "cli/layers/layers.h"
#include "launcher/files/homes.h"
#include "launcher/files/mountinfo.h"

#define LINKS_MAX 40 /* as the kernel */

/* Where a command may write, canonical. */
struct root {
	char *path;
	dev_t dev;
	ino_t ino;
	bool grant;
};

struct untouched {
	struct root *v;
	size_t n;
	bool open;
	struct mountinfo mounts;
};

/* What does not exist cannot be written in, either. */
static void add_root(struct untouched *u, const char *path, bool grant)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	char *canonical = fd < 0 ? NULL : fd_path(fd);
	struct stat st;

	if (!canonical || fstat(fd, &st) < 0) {
		free(canonical);
		return;
	}
	u->v = xreallocarray(u->v, u->n + 1, sizeof(*u->v));
	u->v[u->n++] = (struct root){ canonical, st.st_dev, st.st_ino, grant };
}

struct untouched *untouched_new(const struct run_options *o, struct layers *layers, const char *cwd,
				struct error *err)
{
	struct untouched *u = xcalloc(1, sizeof(*u));
	size_t n = 0;
	const char *const *from = layers ? layers_list(layers, SETTINGS_ALLOW_WRITE, &n) : NULL;

	if (mountinfo_read(&u->mounts) < 0) {
		(void)error_set(err, errno, "cannot tell what is mounted");
		free(u);
		return NULL;
	}
	u->open = layers ? confine_mode(o, layers) == FS_OFF : o->fs == FS_OFF;
	add_root(u, cwd, false);
	for (size_t i = 0; i < o->write.n; i++) {
		CLEANUP_FREE char *path = confine_absolute(o->write.v[i], err);

		if (!path) {
			untouched_free(u);
			return NULL;
		}
		add_root(u, path, true);
	}
	for (size_t i = 0; i < n; i++)
		add_root(u, from[i], true);
	return u;
}

void untouched_free(struct untouched *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->n; i++)
		free(u->v[i].path);
	free(u->v);
	mountinfo_clear(&u->mounts);
	free(u);
}

bool untouched_is_open(const struct untouched *u)
{
	return u->open;
}

/* "/a/b" is not in "/a/bc". */
static bool has_name(const char *text, const char *name)
{
	size_t n = strlen(name);

	while ((text = strstr(text, name))) {
		text += n;
		if (!isalnum((unsigned char)*text) && (!*text || !strchr("._-", *text)))
			return true;
	}
	return false;
}

bool untouched_is_named(const struct untouched *u, const char *text)
{
	for (size_t i = 0; i < u->n; i++)
		if (has_name(text, u->v[i].path))
			return true;
	return false;
}

bool untouched_grants_in(const struct untouched *u, const char *dir)
{
	char canonical[PATH_MAX];

	if (!realpath(dir, canonical))
		return true;
	for (size_t i = 0; i < u->n; i++)
		if (u->v[i].grant && (path_beneath(u->v[i].path, canonical) ||
				      path_beneath(canonical, u->v[i].path)))
			return true;
	return false;
}

/* ---- the way */

/**
 * struct walk - how far a path has been followed
 * @at: the directory or, at the end, the file; O_PATH
 * @st: of @at
 */
struct walk {
	const struct untouched *u;
	int at;
	struct stat st;
	char rest[PATH_MAX];
	unsigned links;
	struct error *why;
};

static enum untouched_found unknown(const struct walk *w, int code)
{
	(void)error_set(w->why, code, "it cannot be looked at");
	return TOUCHED_UNKNOWN;
}

static enum untouched_found written(struct error *why, const char *root)
{
	(void)error_set(why, 0, "it lies in %s, where a command may write, or leads through that",
			root);
	return TOUCHED;
}

static enum untouched_found others(const struct walk *w)
{
	CLEANUP_FREE char *path = fd_path(w->at);

	(void)error_set(w->why, 0, "every user may write in %s", path ? path : "what leads to it");
	return TOUCHED_OTHERS;
}

/* What has been entered. In a sticky directory names stay who made them. */
static enum untouched_found judge(const struct walk *w)
{
	for (size_t i = 0; i < w->u->n; i++)
		if (w->u->v[i].dev == w->st.st_dev && w->u->v[i].ino == w->st.st_ino)
			return written(w->why, w->u->v[i].path);
	if (w->st.st_mode & S_IWOTH && !(S_ISDIR(w->st.st_mode) && w->st.st_mode & S_ISVTX))
		return others(w);
	return UNTOUCHED;
}

/* As a directory, if it is one: that mounts what is mounted when it is used. */
static int open_component(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
		return fd;
	return openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static enum untouched_found enter(struct walk *w, int fd, const struct stat *st)
{
	(void)close(w->at);
	w->at = fd;
	w->st = *st;
	return judge(w);
}

static enum untouched_found enter_top(struct walk *w)
{
	struct stat st;
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		cleanup_close(&fd);
		return unknown(w, errno);
	}
	return enter(w, fd, &st);
}

/* Puts where a link leads in front of the rest. */
static enum untouched_found follow(struct walk *w, int link)
{
	int absolute;

	if (++w->links > LINKS_MAX)
		return unknown(w, ELOOP);
	absolute = path_lead(w->rest, link, "");
	if (absolute < 0)
		return unknown(w, errno);
	return absolute ? enter_top(w) : UNTOUCHED;
}

static enum untouched_found step(struct walk *w, const char *name)
{
	CLEANUP_CLOSE int fd = open_component(w->at, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return unknown(w, errno);
	if (w->st.st_mode & S_IWOTH && st.st_uid != 0 && st.st_uid != geteuid())
		return others(w);
	return S_ISLNK(st.st_mode) ? follow(w, fd) : enter(w, take_fd(&fd), &st);
}

/* To its end; @w->at is closed by the caller. */
static enum untouched_found walk(struct walk *w, const char *path)
{
	enum untouched_found found;
	char name[NAME_MAX + 1];

	if (path[0] != '/' || strlen(path) >= sizeof(w->rest))
		return unknown(w, path[0] == '/' ? ENAMETOOLONG : EINVAL);
	strcpy(w->rest, path);
	found = enter_top(w);
	while (found == UNTOUCHED && path_next(w->rest, name))
		found = step(w, name);
	if (found == UNTOUCHED && w->rest[strspn(w->rest, "/")])
		return unknown(w, ENAMETOOLONG);
	return found;
}

enum untouched_found untouched_look(const struct untouched *u, const char *path, struct error *why)
{
	struct walk w = { .u = u, .at = -1, .why = why };
	enum untouched_found found = walk(&w, path);

	cleanup_close(&w.at);
	return found;
}

/* ---- other names of what is at its end */

/* The same file by @path: its file system is mounted there, too. */
static int judge_again(void *arg, const char *path)
{
	const struct walk *w = arg;

	for (size_t i = 0; i < w->u->n; i++)
		if (path_beneath(path, w->u->v[i].path)) {
			(void)written(w->why, w->u->v[i].path);
			return 1;
		}
	return 0;
}

static enum untouched_found judge_mounts(struct walk *w)
{
	CLEANUP_FREE char *path = fd_path(w->at);

	if (!path)
		return unknown(w, errno);
	return homes_again_whole(path, &w->u->mounts, judge_again, w) ? TOUCHED : UNTOUCHED;
}

/* Of what this user may write. Where not all can be looked at, one may be there. */
static enum untouched_found judge_links(const struct walk *w)
{
	if (!S_ISREG(w->st.st_mode) || w->st.st_nlink < 2 || w->st.st_uid != geteuid())
		return UNTOUCHED;
	for (size_t i = 0; i < w->u->n; i++) {
		if (!hardlink_beneath(w->u->v[i].path, &w->st))
			continue;
		(void)error_set(w->why, 0,
				"it has another name (a hard link), which may lie in %s, where a "
				"command may write; a copy has none",
				w->u->v[i].path);
		return TOUCHED;
	}
	return UNTOUCHED;
}

enum untouched_found untouched_look_closely(const struct untouched *u, const char *path,
					    struct error *why)
{
	struct walk w = { .u = u, .at = -1, .why = why };
	enum untouched_found found = walk(&w, path);

	if (found == UNTOUCHED && S_ISDIR(w.st.st_mode) && w.st.st_mode & S_IWOTH)
		found = others(&w);
	if (found == UNTOUCHED)
		found = judge_mounts(&w);
	if (found == UNTOUCHED)
		found = judge_links(&w);
	cleanup_close(&w.at);
	return found;
}
