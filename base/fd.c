#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* since Linux 5.14 */
#endif
#ifndef SO_PASSRIGHTS /* since Linux 6.16 */
#define SO_PASSRIGHTS 83
#endif

int fd_set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -1 : 0;
}

void fd_linger(int fd, bool reset)
{
	const struct linger how = { .l_onoff = reset, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof(how));
}

void fd_close_foreign(int fd)
{
	fd_linger(fd, false);
	(void)close(fd);
}

int fd_pass_rights(int sock, bool allowed)
{
	const int on = allowed;

	return setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on));
}

uint64_t fd_netns(int sock)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(sock, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) < 0 ? 0 : cookie;
}

bool fd_is_its_own_peer(int sock)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return getsockname(sock, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(sock, (struct sockaddr *)&peer, &peer_len) == 0 && own_len == peer_len &&
	       memcmp(&own, &peer, own_len) == 0;
}

bool fd_is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int fd_write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	while (n > 0) {
		ssize_t w = write(fd, s, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		s += w;
		n -= (size_t)w;
	}
	return 0;
}

DIR *fd_opendir(int dir)
{
	CLEANUP_CLOSE int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		(void)take_fd(&fd);
	return d;
}

struct dirent *fd_readdir(DIR *d, bool *whole)
{
	struct dirent *e;

	errno = 0;
	e = readdir(d);
	if (!e && errno)
		*whole = false;
	return e;
}

int fd_open_plain(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | (dir == AT_FDCWD ? 0 : RESOLVE_BENEATH),
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/*
 * What has been removed, or renamed over, is shown by the name that it had and a word behind it
 * (proc_pid_fd(5)), which may also be a name of its own.
 */
static bool is_deleted(int fd, const char *path, size_t n)
{
	static const char word[] = " (deleted)";
	CLEANUP_FREE char *name = NULL;
	struct stat is, named;

	if (n < strlen(word) || memcmp(path + n - strlen(word), word, strlen(word)) != 0)
		return false;
	name = xstrndup(path, n);
	return fstat(fd, &is) < 0 || lstat(name, &named) < 0 || is.st_dev != named.st_dev ||
	       is.st_ino != named.st_ino;
}

char *fd_path(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n < 0)
		return NULL;
	if (n == 0 || (size_t)n == sizeof(path) || path[0] != '/') {
		errno = ENAMETOOLONG;
		return NULL;
	}
	if (is_deleted(fd, path, (size_t)n)) {
		errno = ENOENT;
		return NULL;
	}
	return xstrndup(path, (size_t)n);
}

ssize_t fd_read_full(int fd, void *p, size_t n)
{
	char *s = p;
	size_t have = 0;

	while (have < n) {
		ssize_t r = read(fd, s + have, n - have);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		have += (size_t)r;
	}
	return (ssize_t)have;
}

/*
 * What an open(2) does to a pipe, whose writer it lets go, or to a device, is done by then: so the file is
 * looked at first, by a descriptor that opens nothing. Return: 0, or what errno is to be, with @err.
 */
static int check_regular(int at, const char *path, struct error *err)
{
	struct stat st;
	int code = at < 0 || fstat(at, &st) < 0 ? errno : 0;

	if (code) {
		(void)error_set(err, code, "cannot open '%s'", path);
	} else if (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode)) {
		code = S_ISDIR(st.st_mode) ? EISDIR : ELOOP;
		(void)error_set(err, code, "cannot read '%s'", path);
	} else if (!S_ISREG(st.st_mode)) {
		code = EINVAL;
		(void)error_set(err, 0, "'%s' is %s, not a regular file", path,
				S_ISFIFO(st.st_mode)   ? "a pipe"
				: S_ISSOCK(st.st_mode) ? "a socket"
						       : "a device");
	}
	return code;
}

/* ENOENT is that of the name, and of nothing else: a file that is missing is no error to many. */
static int open_again(int at)
{
	char link[sizeof("/proc/self/fd/") + 11];
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		errno = EIO;
	return fd;
}

int fd_open_regular(int dir, const char *path, int flags, struct error *err)
{
	CLEANUP_CLOSE int at = openat(dir, path, O_PATH | O_CLOEXEC | flags);
	CLEANUP_CLOSE int fd = -1;
	int had, code = check_regular(at, path, err);

	if (code) {
		errno = code;
		return -1;
	}
	fd = open_again(at);
	if (fd < 0) {
		int saved = errno;

		(void)error_set(err, saved, "cannot open '%s'", path);
		errno = saved;
		return -1;
	}
	had = fcntl(fd, F_GETFL);
	if (had >= 0)
		(void)fcntl(fd, F_SETFL, had & ~O_NONBLOCK);
	return take_fd(&fd);
}

void fd_raise_limit(struct rlimit *was)
{
	struct rlimit l = { 0 };

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		const struct rlimit all = { l.rlim_max, l.rlim_max };

		(void)setrlimit(RLIMIT_NOFILE, &all);
	}
	if (was)
		*was = l;
}

char *fd_read_file(int fd, size_t max, size_t *len)
{
	CLEANUP_FREE char *buf = NULL;
	size_t have = 0, room = 0;

	for (;;) {
		ssize_t r;

		if (room - have < 2) {
			room = room ? room * 2 : 16384;
			buf = xreallocarray(buf, room, 1);
		}
		r = fd_read_full(fd, buf + have, room - have - 1);
		if (r < 0)
			return NULL;
		have += (size_t)r;
		if (have > max) {
			errno = EFBIG;
			return NULL;
		}
		if (r == 0)
			break;
	}
	buf[have] = '\0';
	*len = have;
	return take_ptr(buf);
}

union control {
	char buf[CMSG_SPACE(sizeof(int) * FD_BATCH_MAX)];
	struct cmsghdr align;
};

int fd_send(int sock, const void *p, size_t n, const int *fds, size_t nfds)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)p, .iov_len = n };
	union control control = { .buf = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (nfds > FD_BATCH_MAX || n == 0) {
		errno = EINVAL;
		return -1;
	}
	if (nfds > 0) {
		struct cmsghdr *c;

		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
	}
	do
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -1;
	if ((size_t)sent < n)
		return fd_write_all(sock, (const char *)p + sent, n - (size_t)sent);
	return 0;
}

/* Moves the descriptors of one message to @fds; those beyond @max are closed and counted. */
static size_t collect(struct msghdr *msg, int *fds, size_t max)
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++, count++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (count < max)
				fds[count] = fd;
			else
				fd_close_foreign(fd);
		}
	}
	return count;
}

ssize_t fd_recv(int sock, void *p, size_t n, int *fds, size_t max, size_t *nfds)
{
	struct iovec iov = { .iov_base = p, .iov_len = n };
	union control control;
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	ssize_t got;
	size_t count;

	for (size_t i = 0; i < max; i++)
		fds[i] = -1;
	*nfds = 0;
	do
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -1;
	count = collect(&msg, fds, max);
	if (count > max || (msg.msg_flags & MSG_CTRUNC)) {
		for (size_t i = 0; i < max; i++) {
			if (fds[i] >= 0)
				fd_close_foreign(fds[i]);
			fds[i] = -1;
		}
		errno = EMSGSIZE;
		return -1;
	}
	*nfds = count;
	return got;
}
