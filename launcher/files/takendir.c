#include "launcher/files/takendir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

bool takendir_give_back(int dir, struct stat *was)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", dir);

	return faccessat(dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 && fstat(dir, was) == 0 &&
	       chmod(link, (was->st_mode & 07777) | S_IRWXU) == 0;
}

int takendir_enter(int dir, const char *name, bool take, int *locked, struct stat *was)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (!take || (fd < 0 && errno != EACCES) ||
	    (fd >= 0 && fstat(fd, was) == 0 && (was->st_mode & S_IRWXU) == S_IRWXU))
		return take_fd(&fd);
	cleanup_close(&fd);
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (takendir_give_back(fd, was))
		*locked = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void takendir_put_back(int locked, const struct stat *was)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", locked);

	if (locked >= 0 && (was->st_mode & 0500) == 0500)
		(void)chmod(link, was->st_mode & 07777);
}
