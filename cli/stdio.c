#include "cli/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

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

/* The terminal may belong to another user (su): then it stays as it is, which -v tells. */
static void write_only(int fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (replace(fd, path, O_WRONLY) < 0)
		log_info("the command can read from the terminal that is its descriptor %d", fd);
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
		if (isatty(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR)
			write_only(fd);
	}
	return 0;
}
