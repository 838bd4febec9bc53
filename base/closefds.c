#include "base/closefds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "base/xalloc.h"

static int close_span(unsigned first, unsigned last)
{
	return first > last ? 0 : (int)syscall(SYS_close_range, first, last, 0);
}

static bool is_kept(const int *keep, size_t n, int fd)
{
	for (size_t i = 0; i < n; i++)
		if (keep[i] == fd)
			return true;
	return false;
}

/* The number that a directory entry's name is; -1 for "." and "..". */
static int entry_fd(const char *name)
{
	uint64_t fd;

	return reader_decimal(name, strlen(name), INT_MAX, &fd) ? (int)fd : -1;
}

/*
 * Closing while reading the directory may skip entries, so it is read again until a pass finds
 * nothing to close.
 */
static int close_by_proc(const int *keep, size_t n, struct error *err)
{
	DIR *dir = opendir("/proc/self/fd");
	bool again = true;

	if (!dir)
		return error_set(err, errno,
				 "cannot close inherited descriptors: close_range(2) is refused "
				 "and /proc/self/fd cannot be read");
	while (again) {
		struct dirent *e;

		again = false;
		rewinddir(dir);
		while ((e = readdir(dir))) {
			int fd = entry_fd(e->d_name);

			if (fd <= STDERR_FILENO || fd == dirfd(dir) || is_kept(keep, n, fd))
				continue;
			(void)close(fd);
			again = true;
		}
	}
	(void)closedir(dir);
	return 0;
}

static int compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int closefds_except(const int *keep, size_t n, struct error *err)
{
	CLEANUP_FREE int *sorted = xcalloc(n + 1, sizeof(*sorted));
	unsigned first = STDERR_FILENO + 1;

	if (n > 0) {
		memcpy(sorted, keep, n * sizeof(*keep));
		qsort(sorted, n, sizeof(*sorted), compare_ints);
	}
	for (size_t i = 0; i < n; i++) {
		if (sorted[i] < (int)first)
			continue;
		if (close_span(first, (unsigned)sorted[i] - 1) < 0)
			return close_by_proc(keep, n, err);
		first = (unsigned)sorted[i] + 1;
	}
	if (close_span(first, UINT_MAX) < 0)
		return close_by_proc(keep, n, err);
	return 0;
}

int closefds_fill_stdio(struct error *err)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		int got;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is this one, since all below it are open. */
		got = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
		if (got < 0)
			return error_set(err, errno, "cannot open /dev/null");
	}
	return 0;
}
