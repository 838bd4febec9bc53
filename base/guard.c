#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

#define LINKS_MAX 40 /* as the kernel */

static struct {
	dev_t dev;
	ino_t ino;
} distrusted[GUARD_MAX];
static size_t count;
static bool everything;
static guard_trust *judge;

void guard_judge_by(guard_trust *trust)
{
	judge = trust;
}

void guard_distrust(const char *dir)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return;
	if (count == GUARD_MAX) {
		everything = true;
		return;
	}
	distrusted[count].dev = st.st_dev;
	distrusted[count++].ino = st.st_ino;
}

static bool is_distrusted(const struct stat *st)
{
	for (size_t i = 0; i < count; i++)
		if (distrusted[i].dev == st->st_dev && distrusted[i].ino == st->st_ino)
			return true;
	return false;
}

/* Whether a directory is a distrusted one, or below one. What cannot be told is. */
static bool is_below_distrusted(int dir)
{
	CLEANUP_CLOSE int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	struct stat st, up;

	if (everything || fd < 0 || fstat(fd, &st) < 0)
		return true;
	for (;;) {
		int parent;

		if (is_distrusted(&st))
			return true;
		parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0 || fstat(parent, &up) < 0) {
			cleanup_close(&parent);
			return true;
		}
		cleanup_close(&fd);
		fd = parent;
		if (up.st_dev == st.st_dev && up.st_ino == st.st_ino)
			return false;
		st = up;
	}
}

/** struct way - how far a path has been followed */
struct way {
	int dir;
	char rest[PATH_MAX];
	unsigned links;
};

static int enter(struct way *w, const char *name)
{
	int fd = openat(w->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	cleanup_close(&w->dir);
	w->dir = fd;
	return 0;
}

/*
 * A link that a command of another run may have made: only to what that could have been given as well.
 * It is opened once, and judged by where that is.
 */
static int follow_beneath(struct way *w, const char *name)
{
	CLEANUP_CLOSE int fd = openat(w->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FREE char *here = fd_path(w->dir);
	CLEANUP_FREE char *there = fd < 0 ? NULL : fd_path(fd);

	if (fd < 0)
		return -1;
	if (!here || !there || !path_beneath(there, here)) {
		errno = ELOOP;
		return -1;
	}
	cleanup_close(&w->dir);
	w->dir = take_fd(&fd);
	return 0;
}

/* Puts where the link @name leads in front of the rest. */
static int follow(struct way *w, const char *name)
{
	int absolute;

	if (++w->links > LINKS_MAX || is_below_distrusted(w->dir)) {
		errno = ELOOP;
		return -1;
	}
	if (judge && !judge(w->dir))
		return follow_beneath(w, name);
	absolute = path_lead(w->rest, w->dir, name);
	return absolute > 0 ? enter(w, "/") : absolute;
}

/* Takes the next component out of the rest. Return: its length; 0 at the end. */
static size_t next(struct way *w, char name[static NAME_MAX + 1])
{
	const char *at = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(at, "/");

	if (n == 0 || n > NAME_MAX)
		return n > 0 ? n : 0;
	memcpy(name, at, n);
	name[n] = '\0';
	at += n;
	memmove(w->rest, at, strlen(at) + 1);
	return n;
}

static int walk(struct way *w)
{
	char name[NAME_MAX + 1];
	size_t n;

	while ((n = next(w, name)) > 0) {
		struct stat st;

		if (n > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -1;
		if ((S_ISLNK(st.st_mode) ? follow(w, name) : enter(w, name)) < 0)
			return -1;
	}
	return 0;
}

int guard_open(const char *path, int flags, mode_t mode)
{
	struct way w = { .dir = -1 };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = slash ? (size_t)(slash - path) : 0;
	int fd = -1, saved;

	if (n >= sizeof(w.rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(w.rest, path, n);
	w.rest[n] = '\0';
	w.dir = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w.dir >= 0 && walk(&w) == 0)
		fd = openat(w.dir, *name ? name : ".", flags | O_NOFOLLOW | O_CLOEXEC, mode);
	saved = errno;
	cleanup_close(&w.dir);
	errno = saved;
	return fd;
}
