#include "launcher/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/credentials.h"

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

static bool same_dir(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* Whether @dir is one of the directories above @path, or @path itself. */
static bool is_at_or_above(const struct stat *dir, const char *path)
{
	char up[PATH_MAX];

	if (!realpath(path, up))
		return false;
	for (char *slash = up + strlen(up); slash; slash = strrchr(up, '/')) {
		*slash = '\0';
		if (same_dir(dir, *up ? up : "/"))
			return true;
	}
	return false;
}

/* Whether one of the directories above @path, or @path itself, is @tree. */
static bool is_at_or_beneath(const char *path, const char *tree)
{
	struct stat st;

	return stat(tree, &st) == 0 && is_at_or_above(&st, path);
}

static int refuse(struct error *err, const char *path, const char *why)
{
	return error_set(
		err, 0,
		"cannot use %s as the workspace: %s; start in a project directory, or name "
		"one with -C DIR",
		path, why);
}

static int check_system(const char *path, const struct stat *st, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(shared_dirs); i++)
		if (same_dir(st, shared_dirs[i]))
			return refuse(err, path, "it holds more than one project");
	for (size_t i = 0; i < ARRAY_SIZE(system_trees); i++)
		if (is_at_or_beneath(path, system_trees[i]))
			return refuse(err, path, "it belongs to the system");
	return 0;
}

static int check_home(const char *path, const struct stat *st, const char *home, struct error *err)
{
	for (size_t i = 0; i < credentials_count(); i++) {
		CLEANUP_FREE char *secret = credentials_path(i, home, geteuid());

		if (secret && is_at_or_beneath(path, secret))
			return refuse(err, path, "it holds credentials");
	}
	if (home && is_at_or_above(st, home))
		return refuse(err, path, "your home directory is in it");
	return 0;
}

int workdir_check(const char *path, const struct workdir_context *context, struct error *err)
{
	CLEANUP_FREE char *dir = context->program ? xstrdup(context->program) : NULL;
	char *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(err, errno, "cannot use %s as the workspace", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ENOTDIR, "cannot use %s as the workspace", path);
	if (check_system(path, &st, err) || check_home(path, &st, context->home, err))
		return -1;
	if (slash) {
		*slash = '\0';
		if (same_dir(&st, *dir ? dir : "/"))
			return refuse(err, path, "the sandbox's own program is in it");
	}
	return 0;
}
