#include "launcher/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static bool is_for_reading(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

/* Of memory devices (devices.txt), those that a command has inside, too; NULL for others. */
static const char *shared_device(const struct stat *st)
{
	static const struct {
		unsigned minor;
		const char *path;
	} known[] = {
		{ 3, "/dev/null" },   { 5, "/dev/zero" },    { 7, "/dev/full" },
		{ 8, "/dev/random" }, { 9, "/dev/urandom" },
	};

	for (size_t i = 0; S_ISCHR(st->st_mode) && i < ARRAY_SIZE(known); i++)
		if (st->st_rdev == makedev(1, known[i].minor))
			return known[i].path;
	return NULL;
}

static int reopen_device(int fd, const char *path, const struct stat *was, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	CLEANUP_CLOSE int own =
		open(path, (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (flags < 0 || own < 0 || fstat(own, &st) < 0)
		return error_set(err, errno, "descriptor %d cannot be opened inside, as %s", fd,
				 path);
	if (!S_ISCHR(st.st_mode) || st.st_rdev != was->st_rdev)
		return error_set(err, 0,
				 "descriptor %d cannot be opened inside: %s is another device", fd,
				 path);
	return dup2(own, fd) < 0 ? error_set(err, errno, "cannot replace descriptor %d", fd) : 0;
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

static int reopen_locked(const struct protect *p, int fd, const struct stat *st, struct error *err)
{
	CLEANUP_FREE char *path = S_ISREG(st->st_mode) && is_for_reading(fd) ? fd_path(fd) : NULL;

	return path && protect_covers(p, path) ? reopen(fd, path, st, err) : 0;
}

int reopen_inside(const struct protect *p, struct error *err)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		const char *device;
		struct stat st;

		if (fstat(fd, &st) < 0)
			continue; /* closed */
		device = shared_device(&st);
		if (device ? reopen_device(fd, device, &st, err) : reopen_locked(p, fd, &st, err))
			return -1;
	}
	return 0;
}
