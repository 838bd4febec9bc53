#include "cli/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Puts @path, opened with @flags, in the place of @fd. */
static int replace(int fd, const char *path, int flags)
{
	CLEANUP_CLOSE int other = open(path, flags | O_NOCTTY | O_CLOEXEC);

	return other < 0 ? -1 : dup2(other, fd);
}

static int check(int fd, struct error *err)
{
	static const char *const name[] = { "input", "output", "error" };
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "cannot look at standard %s", name[fd]);
	if (S_ISDIR(st.st_mode) || (flags & O_PATH))
		return error_set(
			err, 0,
			"standard %s is a directory, through which the command would reach "
			"what lies around it; redirect it from a file or /dev/null",
			name[fd]);
	return 0;
}

/* A terminal that belongs to another user (after su) cannot be opened anew. */
static int write_only(int fd, struct error *err)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (replace(fd, path, O_WRONLY) < 0)
		return error_set(err, errno,
				 "the command could read what is typed on the terminal that is its "
				 "standard %s, and it cannot be opened for writing only (it is "
				 "another user's); redirect it, to \"| cat\", say, or let standard "
				 "input be a terminal, too",
				 fd == STDOUT_FILENO ? "output" : "error");
	return 0;
}

int stdio_restrict(bool relayed, struct error *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (check(fd, err) < 0)
			return -1;
	}
	if (relayed)
		return 0;
	if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp() &&
	    replace(STDIN_FILENO, "/dev/null", O_RDONLY) < 0)
		return error_set(err, errno, "cannot open /dev/null");
	for (int fd = 1; fd <= 2; fd++) {
		if (isatty(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR &&
		    write_only(fd, err) < 0)
			return -1;
	}
	return 0;
}
