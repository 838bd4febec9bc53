#include "launcher/files/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/files/credentials.h"

/* Refused with all beneath them. */
static const char *const system_trees[] = {
	"/bin",	   "/boot", "/dev",  "/etc",  "/lib", "/lib32", "/lib64",
	"/libx32", "/proc", "/sbin", "/snap", "/sys", "/usr",
};

/* Refused themselves; a project may well lie beneath. */
static const char *const shared_dirs[] = {
	"/",	"/home", "/media", "/mnt",     "/opt",	   "/root",	 "/run",
	"/srv", "/tmp",	 "/var",   "/var/lib", "/var/log", "/var/spool", "/var/tmp",
};

/**
 * struct lineage - a directory and those above it, looked at once for all comparisons
 * @v: from the directory itself up to "/"
 */
struct lineage {
	struct stat *v;
	size_t n;
};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_dir(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && same_file(a, &b);
}

/*
 * By descriptors: a command that still runs could exchange what a path leads by. Return: false if a
 * directory above cannot be looked at; what lies below it is found.
 */
static bool find_lineage(int dir, struct lineage *out)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	struct stat st;

	*out = (struct lineage){ 0 };
	while (at >= 0) {
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		(void)fstat(at, &st); /* never fails of an open directory */
		if (out->n > 0 && same_file(&st, &out->v[out->n - 1])) {
			cleanup_close(&up); /* the root directory is its own parent */
			(void)close(at);
			return true;
		}
		out->v = xreallocarray(out->v, out->n + 1, sizeof(*out->v));
		out->v[out->n++] = st;
		(void)close(at);
		at = up;
	}
	return false;
}

/* Whether @dir is one of the directories above @path, or @path itself. */
static bool is_at_or_above(const struct stat *dir, const struct lineage *path)
{
	for (size_t i = 0; i < path->n; i++)
		if (same_file(dir, &path->v[i]))
			return true;
	return false;
}

/* Whether one of the directories above @path, or @path itself, is @tree. No file server is asked: it may be gone. */
static bool is_at_or_beneath(const struct lineage *path, const char *tree)
{
	struct statx seen;
	struct stat st;

	if (statx(AT_FDCWD, tree, AT_STATX_DONT_SYNC, STATX_INO, &seen) < 0)
		return false;
	st = (struct stat){ .st_dev = makedev(seen.stx_dev_major, seen.stx_dev_minor),
			    .st_ino = seen.stx_ino };
	return is_at_or_above(&st, path);
}

static int refuse(struct error *err, const char *path, const char *why)
{
	return error_set(
		err, 0,
		"cannot use %s as the workspace: %s; start in a project directory, or name "
		"one with -C DIR",
		path, why);
}

static int check_system(const char *path, const struct lineage *at, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(shared_dirs); i++)
		if (same_dir(&at->v[0], shared_dirs[i]))
			return refuse(err, path, "it holds more than one project");
	for (size_t i = 0; i < ARRAY_SIZE(system_trees); i++)
		if (is_at_or_beneath(at, system_trees[i]))
			return refuse(err, path, "it belongs to the system");
	return 0;
}

static int check_home(const char *path, const struct lineage *at, const char *home,
		      struct error *err)
{
	CLEANUP_CLOSE int dir = home ? open(home, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct lineage to_home;
	uid_t uid = geteuid();
	bool is_in_it;

	for (size_t i = 0; i < credentials_count(); i++) {
		CLEANUP_FREE char *secret = credentials_path(i, home, uid);

		if (secret && is_at_or_beneath(at, secret))
			return refuse(err, path, "it holds credentials");
	}
	(void)find_lineage(dir, &to_home); /* nothing of a missing one */
	is_in_it = is_at_or_above(&at->v[0], &to_home);
	free(to_home.v);
	return is_in_it ? refuse(err, path, "your home directory is in it") : 0;
}

static int check(const char *path, const struct lineage *at, const struct workdir_context *context,
		 struct error *err)
{
	CLEANUP_FREE char *dir = context->program ? xstrdup(context->program) : NULL;
	char *slash = dir ? strrchr(dir, '/') : NULL;

	if (check_system(path, at, err) || check_home(path, at, context->home, err))
		return -1;
	if (slash) {
		*slash = '\0';
		if (same_dir(&at->v[0], *dir ? dir : "/"))
			return refuse(err, path, "the sandbox's own program is in it");
	}
	return 0;
}

int workdir_check_at(int dir, const char *path, const struct workdir_context *context,
		     struct error *err)
{
	struct lineage at;
	struct stat st;
	int rc;

	if (fstat(dir, &st) < 0)
		return error_set(err, errno, "cannot use %s as the workspace", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ENOTDIR, "cannot use %s as the workspace", path);
	if (!find_lineage(dir, &at))
		rc = error_set(err, EACCES, "cannot use %s as the workspace", path);
	else
		rc = check(path, &at, context, err);
	free(at.v);
	return rc;
}

int workdir_check(const char *path, const struct workdir_context *context, struct error *err)
{
	CLEANUP_CLOSE int dir = open(path, O_PATH | O_CLOEXEC);

	if (dir < 0)
		return error_set(err, errno, "cannot use %s as the workspace", path);
	return workdir_check_at(dir, path, context, err);
}
