#include "launcher/files/homes.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/mountinfo.h"

static void add(struct homes *h, const char *path)
{
	if (!path || path[0] != '/' || strcmp(path, "/") == 0)
		return;
	for (size_t i = 0; i < h->n; i++)
		if (strcmp(h->v[i], path) == 0)
			return;
	if (h->n == HOMES_MAX)
		return;
	h->v[h->n++] = xstrdup(path);
}

/* What of @path comes after @dir: "" or "/...". NULL if it is not beneath. */
static const char *beneath(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/') ? path + n : NULL;
}

/* The last mount at the longest of the points above @path is what one sees there. */
static const struct mountinfo_mount *mount_of(const struct mountinfo_mount *v, size_t n,
					      const char *path)
{
	const struct mountinfo_mount *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (beneath(path, v[i].point) &&
		    (!found || strlen(v[i].point) >= strlen(found->point)))
			found = &v[i];
	return found;
}

/* What nobody may look at counts as the same: a command may have taken the permission, and give it back. */
static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) < 0 || stat(b, &y) < 0)
		return errno == EACCES;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/**
 * struct look - at the other names of one path
 * @m: the mount on which it lies
 * @within: what it is called in that file system
 */
struct look {
	const char *real;
	const struct mountinfo *seen;
	const struct mountinfo_mount *m;
	const char *within;
};

static char *path_in(const char *point, const char *rest)
{
	return xasprintf("%s%s", strcmp(point, "/") == 0 ? "" : point, rest);
}

/* Mount @o shows it whole, beneath its point. */
static int use_whole(const struct look *l, const struct mountinfo_mount *o, homes_use *use,
		     void *arg)
{
	const char *rest = beneath(l->within, o->root);
	CLEANUP_FREE char *other = rest ? path_in(o->point, rest) : NULL;

	if (!other || strcmp(other, l->real) == 0 || !is_same(other, l->real))
		return 0;
	return use(arg, other);
}

/*
 * The root of mount @o is what lies beneath it. What a third mount covers there cannot be compared; the
 * names say enough.
 */
static int use_part(const struct look *l, const struct mountinfo_mount *o, homes_use *use,
		    void *arg)
{
	const char *rest = beneath(o->root, l->within);
	CLEANUP_FREE char *inside = NULL;

	if (!rest || !*rest || strcmp(rest, "/") == 0 || beneath(o->point, l->real))
		return 0;
	inside = path_in(l->real, rest);
	if (mount_of(l->seen->v, l->seen->n, inside) == l->m && !is_same(inside, o->point))
		return 0;
	return use(arg, o->point);
}

/* The other names that @real has by other mounts of its file system. */
static int each_again(const char *real, const struct mountinfo *seen, bool parts, homes_use *use,
		      void *arg)
{
	const struct mountinfo_mount *m = mount_of(seen->v, seen->n, real);
	CLEANUP_FREE char *within = NULL;
	struct look l = { .real = real, .seen = seen, .m = m };
	int rc = 0;

	if (!m)
		return 0;
	within = path_in(m->root, beneath(real, m->point));
	l.within = within;
	for (size_t i = 0; rc == 0 && i < seen->n; i++) {
		const struct mountinfo_mount *o = &seen->v[i];

		if (o == m || strcmp(o->device, m->device) != 0)
			continue;
		rc = use_whole(&l, o, use, arg);
		if (rc == 0 && parts)
			rc = use_part(&l, o, use, arg);
	}
	return rc;
}

int homes_again(const char *const *paths, size_t n, const struct mountinfo *seen, homes_use *use,
		void *arg)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = each_again(paths[i], seen, true, use, arg);
	return rc;
}

int homes_again_whole(const char *path, const struct mountinfo *seen, homes_use *use, void *arg)
{
	return each_again(path, seen, false, use, arg);
}

/* Whether one sees something of mount @m beneath a root. */
static bool is_seen(const struct mountinfo *seen, const struct mountinfo_mount *m,
		    const char *const *roots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (beneath(m->point, roots[i]) || mount_of(seen->v, seen->n, roots[i]) == m)
			return true;
	return false;
}

/* Whether a file system is mounted more than once where one sees it beneath the roots. */
static bool is_twice(const struct mountinfo *seen, const char *const *roots, size_t n)
{
	CLEANUP_FREE const char **devices = xcalloc(seen->n + 1, sizeof(*devices));
	size_t found = 0;

	for (size_t i = 0; i < seen->n; i++) {
		if (!is_seen(seen, &seen->v[i], roots, n))
			continue;
		for (size_t k = 0; k < found; k++)
			if (strcmp(devices[k], seen->v[i].device) == 0)
				return true;
		devices[found++] = seen->v[i].device;
	}
	return false;
}

int homes_again_beneath(const char *const *roots, size_t nroots, const char *const *paths, size_t n,
			const struct mountinfo *seen, homes_use *use, void *arg)
{
	return is_twice(seen, roots, nroots) ? homes_again(paths, n, seen, use, arg) : 0;
}

static int add_again(void *arg, const char *path)
{
	add(arg, path);
	return 0;
}

/* From the @first on. */
static void find_again(struct homes *h, size_t first, const struct mountinfo *seen)
{
	size_t n = h->n;

	for (size_t i = first; i < n; i++) {
		CLEANUP_FREE char *real = realpath(h->v[i], NULL);

		if (real)
			(void)each_again(real, seen, false, add_again, h);
	}
}

static void add_user(struct homes *h, const struct passwd *pw)
{
	add(h, pw ? pw->pw_dir : NULL);
}

static bool parse_uid(const char *text, uid_t *uid)
{
	uint64_t v = 0;

	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		v = v * 10 + (uint64_t)(*p - '0');
		if (v >= UINT32_MAX) /* (uid_t)-1 is nobody's */
			return false;
	}
	*uid = (uid_t)v;
	return *text;
}

/* sudo(8), doas(1) and pkexec(1) say who has called them. */
static void add_callers(struct homes *h)
{
	static const char *const uids[] = { "SUDO_UID", "DOAS_UID", "PKEXEC_UID" };
	const char *name = getenv("DOAS_USER");

	add(h, getenv("SUDO_HOME"));
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
		const char *value = getenv(uids[i]);
		uid_t uid;

		if (value && parse_uid(value, &uid))
			add_user(h, getpwuid(uid));
	}
	if (name)
		add_user(h, getpwnam(name));
}

void homes_find_among(struct homes *h, const struct mountinfo *seen)
{
	*h = (struct homes){ .n = 0 };
	add(h, getenv("HOME"));
	add_user(h, getpwuid(geteuid()));
	find_again(h, 0, seen);
	h->nown = h->n;
	add_callers(h);
	find_again(h, h->nown, seen);
}

void homes_find(struct homes *h)
{
	struct mountinfo seen;

	(void)mountinfo_read(&seen); /* mountplan.c fails then */
	homes_find_among(h, &seen);
	mountinfo_clear(&seen);
}

int homes_check(struct error *err)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *home = getenv("HOME");
	struct stat st;

	if (!home || stat(home, &st) < 0 || st.st_uid == geteuid() || access(home, X_OK) == 0)
		return 0;
	return error_set(err, 0,
			 "HOME is %s, the home directory of another user, which you may not enter "
			 "(after su, or sudo with the environment kept); start again with HOME=%s",
			 home, pw && pw->pw_dir[0] == '/' ? pw->pw_dir : "a directory of your own");
}

void homes_clear(struct homes *h)
{
	while (h->n > 0)
		free(h->v[--h->n]);
}
