#include "base/fdname.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/reader.h"
#include "base/xalloc.h"

/* The number behind one of the beginnings; NULL: none of them. */
static const char *number_of(const char *where)
{
	static const char *const begins[] = { "fd:", "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(where, "/dev/stdout") == 0)
		return "1";
	if (strcmp(where, "/dev/stderr") == 0)
		return "2";
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		if (strncmp(where, begins[i], strlen(begins[i])) == 0)
			return where + strlen(begins[i]);
	}
	return NULL;
}

static int parse(const char *where, int *out, struct error *err)
{
	const char *text = number_of(where);
	uint64_t n;

	if (!text || !reader_decimal(text, strlen(text), INT_MAX, &n))
		return error_set(err, 0, "'%s' is no descriptor: say fd:N", where);
	*out = (int)n;
	return 0;
}

bool fdname_is(const char *where)
{
	return number_of(where);
}

int fdname_check(const char *where, struct error *err)
{
	int fd;

	if (!fdname_is(where))
		return 0;
	if (parse(where, &fd, err) < 0)
		return -1;
	if (fcntl(fd, F_GETFD) < 0)
		return error_set(err, 0,
				 "descriptor %d is not open; add %d>FILE behind the command", fd,
				 fd);
	return 0;
}

int fdname_open(const char *where, const char *what, struct error *err)
{
	CLEANUP_CLOSE int copy = -1;
	int fd;

	if (parse(where, &fd, err) < 0)
		return -1;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return error_set(err, errno, "cannot write %s to %s", what, where);
	if ((fcntl(copy, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return error_set(err, EBADF, "cannot write %s to %s", what, where);
	return take_fd(&copy);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

char *fdname_file(const char *where)
{
	CLEANUP_FREE char *path = NULL;
	struct stat is, named;
	struct error unused;
	int fd;

	if (parse(where, &fd, &unused) < 0 || fstat(fd, &is) < 0 || !S_ISREG(is.st_mode))
		return NULL;
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (fstat(i, &named) == 0 && is_same(&is, &named))
			return NULL;
	path = fd_path(fd);
	if (!path || stat(path, &named) < 0 || !is_same(&is, &named))
		return NULL;
	return take_ptr(path);
}
