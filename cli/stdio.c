#include "cli/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446 /* Linux 6.9 */
#endif

/* Puts @path, opened with @flags, in the place of @fd. */
static int replace(int fd, const char *path, int flags)
{
	CLEANUP_CLOSE int other = open(path, flags | O_NOCTTY | O_CLOEXEC);

	return other < 0 ? -1 : dup2(other, fd);
}

/*
 * A socket keeps the network in which it was made, and one that is not tied to its peer for good can
 * be led elsewhere: TCP dissolves a connection, datagrams have an address each.
 */
static bool is_tied_socket(int fd)
{
	struct sockaddr_storage peer;
	socklen_t n = sizeof(int), len = sizeof(peer);
	int domain = 0, type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 &&
	       (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
	       getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

/* Null, zero, full, random and urandom (Documentation/admin-guide/devices.txt of Linux). */
static bool is_bottomless(dev_t rdev)
{
	static const unsigned kind[] = { 3, 5, 7, 8, 9 };

	for (size_t i = 0; i < ARRAY_SIZE(kind); i++)
		if (rdev == makedev(MEM_MAJOR, kind[i]))
			return true;
	return false;
}

/* A namespace or a process, whose files look like any other. */
static bool is_handle(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == NSFS_MAGIC || fs.f_type == PID_FS_MAGIC;
}

/*
 * Files and pipes; of sockets those that are as good as a pipe; of devices terminals, and those that lead
 * nowhere: a tun device is a network, and what others lead to nobody has looked at.
 */
static bool is_stream(int fd, const struct stat *st)
{
	if (S_ISSOCK(st->st_mode))
		return is_tied_socket(fd);
	if (S_ISCHR(st->st_mode))
		return is_bottomless(st->st_rdev) || isatty(fd);
	if (S_ISREG(st->st_mode))
		return !is_handle(fd);
	return S_ISFIFO(st->st_mode) || S_ISBLK(st->st_mode);
}

static const char *what_it_is(mode_t mode)
{
	if (S_ISSOCK(mode))
		return "a socket of the network, or one without a peer";
	if (S_ISCHR(mode))
		return "a device that is no terminal and none like /dev/null";
	return "no file, pipe, terminal or connected socket";
}

static const char *const name[] = { "input", "output", "error" };

int stdio_check(struct error *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;

		if (fstat(fd, &st) < 0)
			return error_set(err, errno, "cannot look at standard %s", name[fd]);
		if (S_ISDIR(st.st_mode) || is_stream(fd, &st))
			continue;
		return error_set(err, 0,
				 "standard %s is %s, by which the command may get past the proxy; "
				 "put a pipe between, as in: cat | sbx-net ... | cat",
				 name[fd], what_it_is(st.st_mode));
	}
	return 0;
}

static int check_directory(int fd, struct error *err)
{
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

/*
 * As /dev/tty, which everybody may open, if it is our session's. To the command, in another session, that
 * name then leads nowhere.
 */
static int own_terminal(int fd)
{
	CLEANUP_CLOSE int other = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	unsigned a = 0, b = 1;

	if (other < 0 || ioctl(fd, TIOCGDEV, &a) < 0 || ioctl(other, TIOCGDEV, &b) < 0 || a != b)
		return -1;
	return dup2(other, fd);
}

/* A terminal that belongs to another user (after su) cannot be opened anew by its own name. */
static int write_only(int fd, struct error *err)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (replace(fd, path, O_WRONLY) < 0 && own_terminal(fd) < 0)
		return error_set(err, errno,
				 "standard %s is another user's terminal, where the command could "
				 "read what is typed; put a pipe between: ... | cat",
				 name[fd]);
	return 0;
}

static int flags_were[3] = { -1, -1, -1 };

static void keep_flags(void)
{
	for (int fd = 0; fd <= 2; fd++)
		flags_were[fd] = fcntl(fd, F_GETFL);
}

void stdio_put_back(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (flags_were[fd] >= 0 && fcntl(fd, F_GETFL) != flags_were[fd])
			(void)fcntl(fd, F_SETFL, flags_were[fd]);
}

static bool is_in_front(int fd)
{
	return isatty(fd) && tcgetpgrp(fd) == getpgrp();
}

bool stdio_terminal_of_others(void)
{
	bool input = is_in_front(STDIN_FILENO);

	/* In front are we at one terminal only, that of our session. */
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd) && !(input && is_in_front(fd)))
			return true;
	return false;
}

static int narrow_terminals(struct error *err)
{
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

int stdio_restrict(bool relayed, struct error *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (check_directory(fd, err) < 0)
			return -1;
	}
	if (stdio_check(err) < 0)
		return -1;
	if (!relayed && narrow_terminals(err) < 0)
		return -1;
	keep_flags();
	return 0;
}
