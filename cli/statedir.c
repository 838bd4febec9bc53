#include "cli/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "cli/ownpath.h"

const char *statedir_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *pw;

	if (home && home[0] == '/')
		return home;
	pw = getpwuid(getuid());
	return pw && pw->pw_dir[0] == '/' ? pw->pw_dir : NULL;
}

char *statedir_path(struct error *err)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = statedir_home();

	if (state && state[0] == '/')
		return xasprintf("%s/sbx-net", state);
	if (!home) {
		(void)error_set(err, 0, "no home directory: set HOME to an absolute path");
		return NULL;
	}
	return xasprintf("%s/.local/state/sbx-net", home);
}

/* Makes every missing directory of an absolute path. */
static int make_path(char *path)
{
	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -1;
		*p = c;
		if (c == '\0')
			return 0;
	}
}

int statedir_open(bool make, struct error *err)
{
	CLEANUP_FREE char *path = statedir_path(err);
	CLEANUP_CLOSE int dir = -1;
	struct stat st;

	if (!path || (make && ownpath_check(path, err) < 0))
		return -1;
	if (make && make_path(path) < 0)
		return error_set(err, errno, "cannot make '%s'", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return error_set(err, errno, "cannot open '%s'", path);
	if (ownpath_check(path, err) < 0)
		return -1;
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, EPERM,
				 "what is allowed stands in '%s', which must belong to you, and "
				 "nobody else may write it (it is user %u's, mode %03o)",
				 path, (unsigned)st.st_uid, (unsigned)(st.st_mode & 0777));
	return take_fd(&dir);
}

int statedir_lock(int dir, struct error *err)
{
	CLEANUP_CLOSE int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc;

	if (fd < 0)
		return error_set(err, errno, "cannot open the lock of our state directory");
	do
		rc = flock(fd, LOCK_EX);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return error_set(err, errno, "cannot lock our state directory");
	return take_fd(&fd);
}

char *statedir_read(int dir, const char *name, size_t max, size_t *len, struct error *err)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, err);
	char *text = fd < 0 ? NULL : fd_read_file(fd, max, len);
	int saved = errno;

	if (fd >= 0 && !text)
		(void)error_set(err, saved, "cannot read '%s'", name);
	errno = saved;
	return text;
}

int statedir_replace(int dir, const char *name, const void *text, size_t len, mode_t mode,
		     struct error *err)
{
	CLEANUP_FREE char *temp = xasprintf(".%s.%d", name, (int)getpid());
	CLEANUP_CLOSE int fd = -1;

	(void)unlinkat(dir, temp, 0); /* of a process that had our number and died */
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return error_set(err, errno, "cannot write in our state directory");
	if (fd_write_all(fd, text, len) < 0 || fsync(fd) < 0 ||
	    renameat(dir, temp, dir, name) < 0) {
		int saved = errno;

		(void)unlinkat(dir, temp, 0);
		return error_set(err, saved, "cannot save '%s' in our state directory", name);
	}
	(void)fsync(dir);
	return 0;
}
