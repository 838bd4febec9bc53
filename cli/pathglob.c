#include "cli/pathglob.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"

/* One pattern. @path is where the walk is; a component is appended and taken away again. */
struct walk {
	const char *pattern;
	const struct pathglob *to;
	struct error *err;
	size_t looks, matches;
	char path[PATH_MAX];
	char barred[PATH_MAX]; /* told last */
};

/* The names of a directory, read at once: no descriptor is held while the walk goes down. */
struct names {
	char **v;
	size_t n;
};

bool pathglob_is(const char *path)
{
	return strpbrk(path, "*?[\\");
}

static void names_clear(struct names *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i]);
	free(d->v);
}

static int too_much(struct walk *w)
{
	return error_set(w->err, 0,
			 "'%s' has too many files to look at or to hide; name a narrower path",
			 w->pattern);
}

/* Another user's directory is barred to the command as well. */
static int barred(struct walk *w, const char *path)
{
	struct stat st;

	if (strcmp(path, w->barred) == 0 ||
	    (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid != geteuid()))
		return 0;
	strcpy(w->barred, path);
	return w->to->barred(w->to->arg, path, w->err);
}

/* Nobody can say whether the path is there: the directory that it is in is barred. */
static int barred_above(struct walk *w)
{
	CLEANUP_FREE char *dir = path_dir(w->path);

	return barred(w, dir);
}

static int no_names(struct walk *w, int code)
{
	if (code == EMFILE || code == ENFILE || code == ENOMEM)
		return error_set(w->err, code, "cannot search '%s'", w->path);
	if (code == ENOENT || code == ENOTDIR || code == ELOOP)
		return 0;
	return barred(w, w->path[0] ? w->path : "/");
}

static int read_names(struct walk *w, struct names *out)
{
	DIR *d = opendir(w->path[0] ? w->path : "/");
	const struct dirent *e;

	*out = (struct names){ .v = NULL };
	if (d && !path_may(dirfd(d), ".", X_OK)) { /* names, and nothing behind them */
		(void)closedir(d);
		return barred(w, w->path[0] ? w->path : "/");
	}
	if (!d)
		return no_names(w, errno);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++w->looks > PATHGLOB_LOOKS_MAX)
			break;
		if (out->n % 64 == 0)
			out->v = xreallocarray(out->v, out->n + 64, sizeof(*out->v));
		out->v[out->n++] = xstrdup(e->d_name);
	}
	(void)closedir(d);
	return w->looks > PATHGLOB_LOOKS_MAX ? too_much(w) : 0;
}

static bool append(struct walk *w, const char *name, size_t n)
{
	size_t len = strlen(w->path);

	if (len + n + 2 > sizeof(w->path))
		return false; /* longer than any path that can be opened */
	w->path[len] = '/';
	memcpy(w->path + len + 1, name, n);
	w->path[len + 1 + n] = '\0';
	return true;
}

static bool is_directory(const struct walk *w, bool follow)
{
	struct stat st;

	return (follow ? stat(w->path, &st) : lstat(w->path, &st)) == 0 && S_ISDIR(st.st_mode);
}

/* Kernel file systems have no files to hide, and no end. */
static bool is_skipped(const struct walk *w)
{
	return strcmp(w->path, "/proc") == 0 || strcmp(w->path, "/sys") == 0 ||
	       strcmp(w->path, "/dev") == 0;
}

static int found(struct walk *w)
{
	struct stat st;

	if (lstat(w->path, &st) < 0)
		return errno == EACCES ? barred_above(w) : 0;
	if (++w->matches > PATHGLOB_MATCHES_MAX)
		return too_much(w);
	w->to->match(w->to->arg, w->path);
	return 0;
}

static int match(struct walk *w, const char *rest);

/* @rest below each directory here, for "**"; links are not followed, or there would be no end. */
static int match_below(struct walk *w, const char *rest)
{
	size_t len = strlen(w->path);
	struct names d;
	int rc = read_names(w, &d);

	for (size_t i = 0; rc == 0 && i < d.n; i++) {
		if (append(w, d.v[i], strlen(d.v[i])) && is_directory(w, false) && !is_skipped(w))
			rc = match(w, rest);
		w->path[len] = '\0';
	}
	names_clear(&d);
	return rc;
}

/* The names here that match one component, and what follows behind each. */
static int match_names(struct walk *w, const char *component, const char *rest)
{
	size_t len = strlen(w->path);
	struct names d;
	int rc = read_names(w, &d);

	for (size_t i = 0; rc == 0 && i < d.n; i++) {
		if (fnmatch(component, d.v[i], 0) != 0 || !append(w, d.v[i], strlen(d.v[i])))
			continue;
		if (!*rest)
			rc = found(w);
		else if (is_directory(w, false) && !is_skipped(w))
			rc = match(w, rest);
		w->path[len] = '\0';
	}
	names_clear(&d);
	return rc;
}

/* One component without a wildcard. */
static int match_literal(struct walk *w, const char *next)
{
	struct stat st;

	errno = 0;
	if (!*next || is_directory(w, true))
		return match(w, next);
	if (errno != EACCES)
		return 0;
	return lstat(w->path, &st) < 0 ? barred_above(w) : barred(w, w->path);
}

/*
 * "a**b" is "a*b", or "a*" with any number of directories and "*b" behind it: elsewhere (sandbox-runtime)
 * two stars are any text.
 */
static int match_stars(struct walk *w, const char *component, const char *next)
{
	const char *stars = strstr(component, "**"), *after = stars + strspn(stars, "*");
	const char *slash = *next ? "/" : "";
	int before = (int)(stars - component);
	CLEANUP_FREE char *one = xasprintf("%.*s*%s%s%s", before, component, after, slash, next);
	CLEANUP_FREE char *many =
		xasprintf("%.*s*/**/*%s%s%s", before, component, after, slash, next);
	int rc = match(w, one);

	return rc < 0 ? rc : match(w, many);
}

/* @rest: what of the pattern is still to be matched below the path, without a leading slash */
static int match(struct walk *w, const char *rest)
{
	size_t len = strlen(w->path), n = strcspn(rest, "/");
	const char *next = rest + n + strspn(rest + n, "/");
	CLEANUP_FREE char *component = xstrndup(rest, n);
	int rc = 0;

	if (!*rest)
		return found(w);
	if (strcmp(component, "**") == 0) {
		rc = match(w, next);
		return rc < 0 || !*next ? rc : match_below(w, rest);
	}
	if (strstr(component, "**"))
		return match_stars(w, component, next);
	if (pathglob_is(component))
		return match_names(w, component, next);
	if (append(w, component, n))
		rc = match_literal(w, next);
	w->path[len] = '\0';
	return rc;
}

/* The path of a pattern in which nothing but "**" is wild, without it; "" for other patterns. */
static void find_first(struct walk *w)
{
	CLEANUP_FREE char *rest = xstrdup(w->pattern);
	char name[NAME_MAX + 1];

	w->path[0] = '\0';
	while (path_next(rest, name)) {
		if (strcmp(name, "**") == 0)
			continue;
		if (pathglob_is(name) || !append(w, name, strlen(name))) {
			w->path[0] = '\0';
			return;
		}
	}
}

int pathglob_expand(const char *pattern, const struct pathglob *to, struct error *err)
{
	struct walk *w = xcalloc(1, sizeof(*w));
	struct stat st;
	int rc;

	*w = (struct walk){ .pattern = pattern, .to = to, .err = err };
	rc = match(w, pattern + strspn(pattern, "/"));
	if (rc == 0) {
		find_first(w);
		if (w->path[0] && lstat(w->path, &st) < 0 && errno == ENOENT)
			to->match(to->arg, w->path);
	}
	free(w);
	return rc;
}
