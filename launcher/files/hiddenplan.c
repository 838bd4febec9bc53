#include "launcher/files/hiddenplan.h"

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
#include "launcher/files/credentials.h"
#include "launcher/files/hiddenpath.h"
#include "launcher/files/homes.h"
#include "launcher/files/secondname.h"

#define TRIES_MAX 64

/*
 * Takes @path: no rule may cover it (landlock_tree.h). In /proc a mount does: it is the run's own, in
 * which nobody outside replaces anything, and a rule for each entry would leave new processes out.
 */
static void keep_hidden(struct mountplan *p, char *path)
{
	if (mountplan_in_proc(path)) {
		free(path);
		return;
	}
	p->hidden = xreallocarray(p->hidden, p->nhidden + 1, sizeof(*p->hidden));
	p->hidden[p->nhidden++] = path;
}

/**
 * struct mountplan_parent - where names are missing, or links
 * @again, @nagain: where its file system is mounted once more
 */
struct mountplan_parent {
	char *path;
	char *canonical; /* NULL if it is no directory */
	bool writable;	 /* by this user */
	char **again;
	size_t nagain;
};

static int add_parent_again(void *arg, const char *path)
{
	struct mountplan_parent *p = arg;

	p->again = xreallocarray(p->again, p->nagain + 1, sizeof(*p->again));
	p->again[p->nagain++] = xstrdup(path);
	return 0;
}

/* The table names a few directories many times: each is looked at once. */
static const struct mountplan_parent *look_at(struct mountplan *p, const char *path)
{
	CLEANUP_CLOSE int fd = -1;
	struct mountplan_parent *found;

	for (size_t i = 0; i < p->nparents; i++)
		if (strcmp(p->parents[i].path, path) == 0)
			return &p->parents[i];
	p->parents = xreallocarray(p->parents, p->nparents + 1, sizeof(*p->parents));
	found = &p->parents[p->nparents++];
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*found = (struct mountplan_parent){ .path = xstrdup(path) };
	if (fd >= 0) {
		found->canonical = fd_path(fd);
		found->writable = faccessat(fd, ".", W_OK, AT_EACCESS) == 0;
	}
	if (found->canonical)
		(void)homes_again_whole(found->canonical, p->seen, add_parent_again, found);
	return found;
}

/* A name that no rule may cover, in a directory and in where that is mounted once more. */
static void keep_name(struct mountplan *p, const struct mountplan_parent *parent, const char *name)
{
	const char *dir = parent->canonical;

	keep_hidden(p, xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name));
	for (size_t i = 0; i < parent->nagain; i++)
		keep_hidden(p, xasprintf("%s/%s", parent->again[i], name));
}

/*
 * Something to hide that is missing: somebody may make it while the run lasts. What this user could
 * not make would not be readable either; unless the user has named it.
 */
static void add_missing(struct mountplan *p, const char *path, bool firm)
{
	CLEANUP_FREE char *dir = xstrdup(path);

	for (char *slash; (slash = strrchr(dir, '/'));) {
		const char *rest = path + (slash - dir) + 1;
		CLEANUP_FREE char *name = xstrndup(rest, strcspn(rest, "/"));
		const struct mountplan_parent *parent;

		*slash = '\0';
		parent = look_at(p, *dir ? dir : "/");
		if (parent->canonical && (firm || parent->writable))
			keep_name(p, parent, name);
		if (parent->canonical || !*dir)
			return;
	}
}

/** struct on_way - what hide_on_way() needs */
struct on_way {
	struct mountplan *p;
	bool firm;
};

/* A link by which something hidden is reached, or the place of what is missing where links lead. */
static void hide_on_way(void *arg, const char *dir, const char *name)
{
	const struct on_way *w = arg;
	const struct mountplan_parent *parent = look_at(w->p, dir);

	if (parent->canonical && (w->firm || parent->writable))
		keep_name(w->p, parent, name);
}

/* Return: a descriptor; -1 with errno, ENOENT when the place of what is missing has been kept. */
static int open_hidden(struct mountplan *p, const char *path, bool firm, bool *back)
{
	struct on_way way = { p, firm };
	struct hiddenpath found;
	int fd = fd_open_plain(AT_FDCWD, path, O_PATH);

	*back = false;
	if (fd >= 0 || errno != ELOOP) { /* as a rule there is no link on the way */
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
			add_missing(p, path, firm);
			errno = ENOENT;
		}
		return fd;
	}
	found = hiddenpath_find(path, hide_on_way, &way);
	*back = found.back;
	errno = found.code == ENOTDIR || found.code == ELOOP ? ENOENT : found.code;
	return found.fd;
}

/* Without these nothing runs, and a mount on the root directory is seen by nobody. */
static int check_hidden(const char *path, struct error *err)
{
	if (strcmp(path, "/") == 0)
		return error_set(
			err, 0,
			"cannot hide /: nothing would be left that could run; deny what is to "
			"be hidden, or start with --fs strict, which shows little else than "
			"the system");
	if (strcmp(path, "/proc") == 0)
		return error_set(err, 0,
				 "cannot hide /proc: the run has one of its own, in which its own "
				 "processes are, and few programs do without; deny a file in it");
	return 0;
}

/* Something to hide; what cannot be reached by this user need not be. */
/* Return: as add_hidden(); 1 where it was replaced between two looks. */
static int try_hidden(struct mountplan *p, const char *path, bool firm, struct error *err)
{
	bool back;
	CLEANUP_CLOSE int fd = open_hidden(p, path, firm, &back);

	if (fd < 0 && firm && back)
		return error_set(err, 0,
				 "cannot hide %s: what its \"..\" goes back from is missing, and "
				 "could lead anywhere; spell the path without it",
				 path);
	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		return 0;
	if (fd < 0)
		return error_set(err, errno, "cannot hide %s", path);
	if (mountplan_add(p, (struct mountplan_step){ .kind = STEP_HIDE, .firm = firm }, &fd, err))
		return err->code == ENOENT ? 1 : -1;
	return check_hidden(p->v[p->n - 1].path, err);
}

/* Programs outside replace what is to be hidden whenever they like; what is removed has no name to hide. */
static int add_hidden(struct mountplan *p, const char *path, bool firm, struct error *err)
{
	int rc = 1;

	for (int i = 0; rc > 0 && i < TRIES_MAX; i++)
		rc = try_hidden(p, path, firm, err);
	return rc ? -1 : 0;
}

/* Of ours: directories and sockets are hidden, files only locked (protect.c): they may be read. */
static int add_private_path(struct mountplan *p, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd >= 0 && fd_is_regular(fd))
		return 0;
	return add_hidden(p, path, true, err);
}

/* Credentials and what is ours, by one home directory; NULL for what lies in none. */
static int add_home_hidden(struct mountplan *p, const struct launcher_plan *plan, const char *home,
			   struct error *err)
{
	uid_t uid = geteuid();

	for (size_t i = 0; plan->fs != FS_OFF && i < credentials_count(); i++) {
		CLEANUP_FREE char *path = credentials_path(i, home, uid);

		size_t before = p->n;

		if (path && add_hidden(p, path, false, err))
			return -1;
		if (p->n > before)
			p->v[before].barred = credentials_barred(i);
	}
	for (size_t i = 0; plan->fs != FS_OFF && i < credentials_own_count(); i++) {
		CLEANUP_FREE char *path = credentials_own(i, home);

		if (path && add_hidden(p, path, false, err))
			return -1;
	}
	return 0;
}

/** struct moved - what add_moved() needs */
struct moved {
	struct mountplan *p;
	const struct launcher_plan *plan;
	struct error *err;
};

/*
 * Where a variable has moved a secret. /dev/null, with which people switch a file off, is none; and
 * what would take the workspace away is more likely a mistake than a wish.
 */
static int add_moved(void *arg, const char *variable, const char *path)
{
	const struct moved *m = arg;
	CLEANUP_FREE char *canonical = NULL;
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	canonical = fd >= 0 ? fd_path(fd) : NULL;
	if (canonical && path_beneath(m->plan->cwd, canonical))
		return error_set(m->err, 0,
				 "cannot hide %s, where %s says that secrets are: the working "
				 "directory is in it; unset the variable, or start elsewhere",
				 path, variable);
	return add_hidden(m->p, path, false, m->err);
}

/** struct again - what hide_again() needs */
struct again {
	struct mountplan *p;
	const char *cwd;
	bool firm;
	struct error *err;
};

static int hide_again(void *arg, const char *path)
{
	const struct again *a = arg;

	for (size_t i = 0; i < a->p->n; i++)
		if (a->p->v[i].kind == STEP_HIDE && a->p->v[i].firm >= a->firm &&
		    strcmp(a->p->v[i].path, path) == 0)
			return 0;
	if (path_beneath(a->cwd, path))
		return error_set(
			a->err, 0,
			"cannot start in %s: %s is another mount of something that is to be "
			"hidden; start elsewhere",
			a->cwd, path);
	return add_hidden(a->p, path, a->firm, a->err);
}

/* Where the file system of something hidden is mounted once more, it has another name. */
static int add_other_names(struct mountplan *p, const struct launcher_plan *plan, bool firm,
			   struct error *err)
{
	CLEANUP_FREE const char **paths = xcalloc(p->n + 1, sizeof(*paths));
	struct again again = { p, plan->cwd, firm, err };
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == STEP_HIDE && p->v[i].firm == firm)
			paths[n++] = p->v[i].path;
	return homes_again(paths, n, p->seen, hide_again, &again);
}

/* Where a home directory is; the links that lead there are looked at once, and not for each name in it. */
static char *find_home(struct mountplan *p, const char *path)
{
	bool back;
	CLEANUP_CLOSE int fd = open_hidden(p, path, false, &back);
	char *canonical = fd < 0 ? NULL : fd_path(fd);

	return canonical ? canonical : xstrdup(path);
}

int hiddenplan_add(struct mountplan *p, const struct launcher_plan *plan, struct error *err)
{
	struct moved moved = { p, plan, err };
	struct homes homes;
	int rc = 0;

	homes_find_among(&homes, p->seen);
	for (size_t i = 0; rc == 0 && i < homes.n; i++) {
		CLEANUP_FREE char *home = find_home(p, homes.v[i]);

		rc = add_home_hidden(p, plan, home, err);
	}
	if (rc == 0 && homes.n == 0)
		rc = add_home_hidden(p, plan, NULL, err);
	if (rc == 0 && plan->fs != FS_OFF)
		rc = credentials_moved(homes.n ? homes.v[0] : NULL, add_moved, &moved);
	homes_clear(&homes);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < plan->deny_read.n; i++)
		if (add_hidden(p, plan->deny_read.v[i], true, err))
			return -1;
	for (size_t i = 0; i < plan->private_paths.n; i++)
		if (add_private_path(p, plan->private_paths.v[i], err))
			return -1;
	return add_other_names(p, plan, true, err) || add_other_names(p, plan, false, err) ? -1 : 0;
}

/* Whether this user could read it, or a file in its place with the same permissions. */
static bool is_exposed(const struct mountplan_step *s)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", s->fd);

	return s->firm || s->apart || access(link, R_OK) == 0 || access(link, X_OK) == 0;
}

/* A name by which nobody hides it; of a directory, of its own files. */
static void find_second(struct mountplan *p, const struct mountplan_step *s)
{
	CLEANUP_CLOSE int dir = -1;
	char found[PATH_MAX];
	struct stat st;

	if (S_ISDIR(s->mode)) {
		dir = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && secondname_find(dir, s->path, 0, found))
			p->second = xstrdup(found);
	} else if (S_ISREG(s->mode) && fstat(s->fd, &st) == 0 && st.st_nlink > 1) {
		p->second = xstrdup(s->path);
	}
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void hiddenplan_list(struct mountplan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct mountplan_step *s = &p->v[i];

		if (s->kind != STEP_HIDE || s->dropped || !is_exposed(s))
			continue;
		keep_hidden(p, xstrdup(s->path));
		if (!p->second && !s->apart)
			find_second(p, s);
	}
	if (p->nhidden > 0)
		qsort(p->hidden, p->nhidden, sizeof(*p->hidden), compare_paths);
}

void hiddenplan_clear(struct mountplan *p)
{
	for (size_t i = 0; i < p->nhidden; i++)
		free(p->hidden[i]);
	free(p->hidden);
	free(p->second);
	for (size_t i = 0; i < p->nparents; i++) {
		free(p->parents[i].path);
		free(p->parents[i].canonical);
		while (p->parents[i].nagain > 0)
			free(p->parents[i].again[--p->parents[i].nagain]);
		free(p->parents[i].again);
	}
	free(p->parents);
}
