#include "cli/managedfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/ownpath.h"

static int check(const struct stat *st, const char *path, struct error *err)
{
	if (!ownpath_is_roots(st->st_uid))
		return error_set(err, 0, "%s: it must be root's, and is user %u's; chown root it",
				 path, (unsigned)st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, 0, "%s: others than its owner may write it; chmod go-w it",
				 path);
	return 0;
}

/* Whoever has "/" has made this whole tree: where that is not root, there is nobody to be bound. */
static int check_dirs(const char *path, struct error *err)
{
	CLEANUP_FREE char *dir = path_dir(path);
	struct stat st;

	while (strcmp(dir, "/") != 0 && strcmp(dir, ".") != 0) {
		char *up;

		if (stat(dir, &st) < 0)
			return error_set(err, errno, "cannot look at '%s'", dir);
		if (check(&st, dir, err) < 0)
			return -1;
		up = path_dir(dir);
		free(dir);
		dir = up;
	}
	return 0;
}

int managedfile_check(int fd, const char *path, struct error *err)
{
	CLEANUP_FREE char *real = fd_path(fd);
	struct stat st;

	if (!real || fstat(fd, &st) < 0)
		return error_set(err, errno, "cannot look at '%s'", path);
	if (check(&st, path, err) < 0 || check_dirs(path, err) < 0)
		return -1;
	return check_dirs(real, err);
}
