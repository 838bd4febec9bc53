#include "launcher/files/lockedin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static bool is_for_reading(int fd, struct stat *st)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && fstat(fd, st) == 0 &&
	       S_ISREG(st->st_mode);
}

static int reopen(int fd, const char *path, const struct stat *was, struct error *err)
{
	CLEANUP_CLOSE int own = fd_open_plain(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
	off_t at = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (own < 0 || at < 0 || fstat(own, &st) < 0)
		return error_set(err, errno, "descriptor %d is %s, and cannot be opened inside", fd,
				 path);
	if (st.st_dev != was->st_dev || st.st_ino != was->st_ino)
		return error_set(err, 0, "descriptor %d is %s, which has been replaced since", fd,
				 path);
	if (lseek(own, at, SEEK_SET) < 0 || dup2(own, fd) < 0)
		return error_set(err, errno, "cannot replace descriptor %d", fd);
	return 0;
}

int lockedin_reopen(const struct protect *p, struct error *err)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		CLEANUP_FREE char *path = NULL;
		struct stat st;

		if (!is_for_reading(fd, &st))
			continue;
		path = fd_path(fd);
		if (path && protect_covers(p, path) && reopen(fd, path, &st, err))
			return -1;
	}
	return 0;
}
