#include "cli/privsock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/ownpath.h"
#include "cli/statedir.h"

#define BACKLOG 4096 /* a build opens hundreds of connections at once */

char *privsock_dir(struct error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (runtime && runtime[0] == '/')
		return xasprintf("%s/sbx-net", runtime);
	return statedir_path(err);
}

static int fill_address(struct sockaddr_un *sa, const char *path, struct error *err)
{
	size_t n = strlen(path);

	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (n >= sizeof(sa->sun_path))
		return error_set(err, 0,
				 "the path of a socket has at most %zu bytes, and '%s' has %zu",
				 sizeof(sa->sun_path) - 1, path, n);
	memcpy(sa->sun_path, path, n);
	return 0;
}

/* Makes every missing directory of a path. */
static int make_path(const char *path)
{
	CLEANUP_FREE char *copy = xstrdup(path);

	for (char *p = copy + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -1;
		*p = c;
		if (c == '\0')
			return 0;
	}
}

/* Opened and then looked at, so that it is this very directory that was found to be ours. */
static int open_dir(const char *path, struct error *err)
{
	CLEANUP_FREE char *above = path_dir(path);
	CLEANUP_CLOSE int dir = -1;
	struct stat st;

	if (ownpath_check(above, err) < 0)
		return -1;
	if (!*path || make_path(path) < 0)
		return error_set(err, *path ? errno : ENOENT, "cannot make '%s'", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return error_set(err, errno, "cannot open '%s'", path);
	/* To search it is not enough: the socket is 0600. Another run may hold the place so. */
	if (st.st_uid != geteuid() || (st.st_mode & 066))
		return error_set(err, 0,
				 "'%s' must belong to you, and nobody else may read or write it: "
				 "chmod 700",
				 path);
	return take_fd(&dir);
}

/* The lock dies with its holder, so a socket without one is a dead process's. */
static int lock_name(struct privsock *s, const char *dir, struct error *err)
{
	CLEANUP_FREE char *name = xasprintf("%s.lock", s->name);

	s->lock = openat(s->dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return error_set(err, errno, "cannot open '%s'", name);
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return error_set(err, errno, "cannot lock '%s/%s'", dir, name);
	(void)error_set(err, 0, "another process listens on '%s/%s'", dir, s->name);
	if (err)
		err->code = EADDRINUSE;
	return -1;
}

static int bind_name(struct privsock *s, const struct sockaddr_un *sa, struct error *err)
{
	struct stat st;

	if (fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return error_set(err, 0, "'%s' exists and is no socket", sa->sun_path);
		(void)unlinkat(s->dir, s->name, 0);
	}
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* fchmod() before bind() is what bind() gives the name: no moment with another mode. */
	if (s->fd < 0 || fchmod(s->fd, 0600) < 0 ||
	    bind(s->fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 || listen(s->fd, BACKLOG) < 0)
		return error_set(err, errno, "cannot listen on '%s'", sa->sun_path);
	if (fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || (st.st_mode & 077))
		return error_set(err, 0, "'%s' is open to others", sa->sun_path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

int privsock_listen(struct privsock *out, const char *dir, const char *name, struct error *err)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	struct privsock s = PRIVSOCK_NONE;
	struct sockaddr_un sa;

	if (fill_address(&sa, path, err) < 0)
		return -1;
	s.dir = open_dir(dir, err);
	s.name = xstrdup(name);
	if (s.dir < 0 || lock_name(&s, dir, err) < 0 || bind_name(&s, &sa, err) < 0) {
		cleanup_close(&s.fd);
		cleanup_close(&s.lock);
		cleanup_close(&s.dir);
		free(s.name);
		return -1;
	}
	*out = s;
	return 0;
}

bool privsock_is_named(const struct privsock *s)
{
	struct stat st;

	return fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == s->dev &&
	       st.st_ino == s->ino;
}

void privsock_close(struct privsock *s)
{
	if (s->dir >= 0 && s->fd >= 0)
		(void)unlinkat(s->dir, s->name, 0);
	cleanup_close(&s->fd);
	cleanup_close(&s->dir);
	cleanup_close(&s->lock);
	free(s->name);
	*s = PRIVSOCK_NONE;
}

bool privsock_peer_is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

int privsock_accept(int fd)
{
	CLEANUP_CLOSE int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client >= 0 && !privsock_peer_is_ours(client)) {
		cleanup_close(&client);
		client = -1;
		errno = EPERM;
	}
	return take_fd(&client);
}

int privsock_connect_any(const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa;

	if (fill_address(&sa, path, err) < 0)
		return -1;
	if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return error_set(err, errno, "cannot connect to '%s'", path);
	return take_fd(&fd);
}

int privsock_connect(const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = privsock_connect_any(path, err);
	struct stat st;

	if (fd < 0)
		return -1;
	/* A service manager that listens for us shows its own credentials, but gives us the file. */
	if (!privsock_peer_is_ours(fd) && (stat(path, &st) < 0 || st.st_uid != geteuid()))
		return error_set(err, 0, "'%s' is served by another user", path);
	return take_fd(&fd);
}
