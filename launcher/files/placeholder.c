/*
 * Theory of operation
 *
 * A placeholder is an empty directory that nobody may write to. git does not see it, whatever copies a
 * tree copies it, and rmdir(2) removes no data. A few are files, with what their reader takes for
 * nothing.
 *
 * Two runs may share a directory. Each holds a shared lock on it from before it looks until its
 * end; placeholders are removed under an exclusive lock only, by whoever is the last. A command may
 * lock the directory as well, from wherever it runs: that is no reason to leave them (lockowner.h). What
 * a run that was killed left behind, of whichever user, the next one in that directory knows by its mode
 * and its time, and removes at its own end.
 *
 * The modes are as they are asked for, whatever the umask: others tell by them. But an access list of the
 * directory, or a file system with modes of its own, may make them other.
 */
#include "launcher/files/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/lockowner.h"

#define GARBAGE_MS	 20  /* for all of them */
#define LOCK_ATTEMPTS	 100 /* of 10 ms: another run may just be tidying up */
#define PLACEHOLDER_MODE 0444
#define PLACEHOLDER_DIR	 0555
#define PLACEHOLDER_TIME 1000000000 /* 2001-09-09: nobody's own; archives can tell it */
#define OWN_DIR		 0711	    /* in /etc other users' runs must see that nothing is in it */

/* An access list may have taken some of the bits that we asked for; a directory gets S_ISGID from its own. */
static bool is_within(mode_t mode, mode_t asked)
{
	return ((mode & 05777) | asked) == asked;
}

/* Whether @st is of a directory that a run has made: to hold a name, or on the way to one. */
static bool is_marked(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_mtime == PLACEHOLDER_TIME &&
	       (is_within(st->st_mode, PLACEHOLDER_DIR) || is_within(st->st_mode, OWN_DIR));
}

/* Whether @name is what we make: as it was made, and therefore nobody's data. */
bool placeholders_is(int dir, const char *name, const char *content)
{
	CLEANUP_CLOSE int fd = -1;
	char text[8] = "";
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!content) /* rmdir(2) sees to it that it is empty */
		return is_marked(&st);
	if (!S_ISREG(st.st_mode) || !is_within(st.st_mode, PLACEHOLDER_MODE) ||
	    st.st_size != (off_t)strlen(content))
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof(text) - 1) == st.st_size &&
	       strcmp(text, content) == 0;
}

/* The time is how a later run knows it; on a file system without times this one removes it. */
static const struct timespec mark[] = { { .tv_sec = PLACEHOLDER_TIME },
					{ .tv_sec = PLACEHOLDER_TIME } };

/* Others tell by the mode what it is, so the umask of whoever starts us has no say. */
static int make_dir(int dir, const char *name, mode_t mode)
{
	mode_t was = umask(0);
	int rc = mkdirat(dir, name, mode);

	(void)umask(was);
	if (rc == 0)
		(void)utimensat(dir, name, mark, AT_SYMLINK_NOFOLLOW);
	return rc;
}

/* Takes away again what could not be finished. Return: -1, with the errno of that. */
static int unmake(int dir, const char *name, int flags)
{
	int saved = errno;

	(void)unlinkat(dir, name, flags);
	errno = saved;
	return -1;
}

static int make_file(int dir, const char *name, const char *content)
{
	CLEANUP_CLOSE int fd = -1;
	mode_t was = umask(0);

	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PLACEHOLDER_MODE);
	(void)umask(was);
	if (fd < 0)
		return -1;
	return fd_write_all(fd, content, strlen(content)) < 0 ? unmake(dir, name, 0) : 0;
}

/* Whoever tidies up if we are killed must know of it first. Return: 0, or -1 with errno. */
static int tell(const struct placeholders *h, int dir, const char *name, const char *content,
		const struct stat *st, bool absent)
{
	struct placeholder m = {
		.dir = dir,
		.name = (char *)(uintptr_t)name,
		.content = content,
		.dev = st ? st->st_dev : 0,
		.ino = st ? st->st_ino : 0,
		.absent = absent,
	};

	return h->watch ? h->watch->tell(h->watch->arg, &m) : 0;
}

/* Keeps in mind what is to be removed; @st of what we made, NULL of what we found. */
static void remember(struct placeholders *h, int dir, const char *name, const char *content,
		     const struct stat *st)
{
	(void)tell(h, dir, name, content, st, false);
	h->v = xreallocarray(h->v, h->n + 1, sizeof(*h->v));
	h->v[h->n++] = (struct placeholder){
		.dir = dir,
		.name = xstrdup(name),
		.content = content,
		.dev = st ? st->st_dev : 0,
		.ino = st ? st->st_ino : 0,
	};
}

void placeholders_adopt(struct placeholders *h, int dir, const char *name, const char *content)
{
	if (placeholders_is(dir, name, content))
		remember(h, dir, name, content, NULL);
}

/* Whether @dir is one that we have made on the way; what is made or removed in it takes its time from it. */
static bool is_way(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && is_marked(&st);
}

/* Makes what is absent. Return: 0, also where somebody else has made it meanwhile; or -1 with errno. */
static int make(struct placeholders *h, int dir, const char *name, const char *content, mode_t mode)
{
	bool way = is_way(dir);
	struct stat st;

	if (tell(h, dir, name, content, NULL, true) < 0)
		return -1;
	if ((content ? make_file(dir, name, content) : make_dir(dir, name, mode)) < 0)
		return errno == EEXIST ? 0 : -1;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return unmake(dir, name, content ? 0 : AT_REMOVEDIR);
	if (way)
		(void)futimens(dir, mark);
	remember(h, dir, name, content, &st);
	return 0;
}

int placeholders_settle(struct placeholders *h, int dir, const char *name, const char *content)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		placeholders_adopt(h, dir, name, content);
		return 0;
	}
	return errno == ENOENT ? make(h, dir, name, content, PLACEHOLDER_DIR) : -1;
}

int placeholders_make_way(struct placeholders *h, int dir, const char *name)
{
	return make(h, dir, name, NULL, OWN_DIR);
}

/*
 * Opens a directory by its canonical path, which is told again; -1 with errno. A symbolic link is
 * one that somebody has put there since, an earlier run perhaps: nothing is made where it leads.
 */
static int open_dir(const char *path, char canonical[static PATH_MAX])
{
	CLEANUP_CLOSE int fd = fd_open_plain(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	CLEANUP_FREE char *real = fd < 0 ? NULL : fd_path(fd);

	if (!real)
		return -1;
	if (strlen(real) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(canonical, real);
	return take_fd(&fd);
}

/*
 * The descriptor that is kept of a directory, or -1: two would bar each other's exclusive lock, so
 * not to know is a failure. Return: 0, or -1 with errno.
 */
static int find_kept(const struct placeholders *h, int place, int *kept)
{
	struct stat a, b;

	*kept = -1;
	for (size_t i = 0; i < h->ndirs && *kept < 0; i++) {
		if (fstat(place, &a) < 0 || fstat(h->dirs[i], &b) < 0)
			return -1;
		if (a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			*kept = h->dirs[i];
	}
	return 0;
}

/* Return: 0; -1 with errno: EWOULDBLOCK, and then @h says who keeps it. */
static int lock_shared(struct placeholders *h, int dir)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	for (int i = 0; flock(dir, LOCK_SH | LOCK_NB) < 0; i++) {
		if (errno == EWOULDBLOCK && i == LOCK_ATTEMPTS) {
			const struct lockowner owner = lockowner_find(dir);

			h->locked_by = owner.other ? owner.other : owner.run;
			errno = EWOULDBLOCK;
		}
		if (errno != EWOULDBLOCK || i == LOCK_ATTEMPTS)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/*
 * Whether no other run has @dir. Whether it is locked alone then or not: a command that keeps it locked, too,
 * from wherever, is none, and a run that begins at this moment looks whether its mounts are there. A lock
 * that could not be turned round is lost.
 */
static bool is_alone(int dir)
{
	return flock(dir, LOCK_EX | LOCK_NB) == 0 ||
	       (errno == EWOULDBLOCK && lockowner_find(dir).run == 0);
}

int placeholders_open_dir(struct placeholders *h, const char *path, char canonical[static PATH_MAX])
{
	CLEANUP_CLOSE int place = open_dir(path, canonical);
	CLEANUP_CLOSE int fd = -1;
	int kept;

	if (place < 0 || find_kept(h, place, &kept) < 0)
		return -1;
	if (kept >= 0)
		return kept;
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || lock_shared(h, fd) < 0)
		return -1;
	h->dirs = xreallocarray(h->dirs, h->ndirs + 1, sizeof(*h->dirs));
	h->dirs[h->ndirs++] = fd;
	return take_fd(&fd);
}

int placeholders_is_orphan(struct placeholders *h, int dir, const char *name, const char *content)
{
	bool orphan = placeholders_is(dir, name, content) && is_alone(dir);

	return lock_shared(h, dir) < 0 ? -1 : orphan;
}

int placeholders_are_all(struct placeholders *h, int top)
{
	DIR *d = fd_opendir(top);
	struct dirent *e;
	bool empty = d;

	while (empty && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		/* another run's: locked, and the directory is not empty for this one either */
		empty = placeholders_is(top, e->d_name, NULL) && is_alone(top) &&
			unlinkat(top, e->d_name, AT_REMOVEDIR) == 0;
	}
	if (d)
		(void)closedir(d);
	return lock_shared(h, top) < 0 ? -1 : empty;
}

/* What we made ourselves, whatever the file system keeps of modes and times; a file that nobody has filled. */
static bool is_made(const struct placeholder *m)
{
	struct stat st;

	return m->ino && fstatat(m->dir, m->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == m->dev && st.st_ino == m->ino &&
	       (m->content ? S_ISREG(st.st_mode) && st.st_size == (off_t)strlen(m->content)
			   : S_ISDIR(st.st_mode));
}

/*
 * We were killed while we made it: a directory without its time, a file without its content. What
 * was not there a moment before, and has our modes and nothing in it, is nobody else's.
 */
static bool is_half_made(const struct placeholder *m)
{
	struct stat st;

	if (!m->absent || m->ino || fstatat(m->dir, m->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_uid != geteuid())
		return false;
	if (m->content)
		return S_ISREG(st.st_mode) && is_within(st.st_mode, PLACEHOLDER_MODE) &&
		       st.st_size == 0;
	return S_ISDIR(st.st_mode) &&
	       (is_within(st.st_mode, PLACEHOLDER_DIR) || is_within(st.st_mode, OWN_DIR));
}

/* The command may have taken the permissions of the directory away. Return: whether it had. */
static bool take_permission(int dir, struct stat *was)
{
	return faccessat(dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES &&
	       fstat(dir, was) == 0 && fchmod(dir, (was->st_mode & 07777) | S_IRWXU) == 0;
}

static void remove_one(const struct placeholder *m)
{
	struct stat was;
	bool taken = take_permission(m->dir, &was), way = is_way(m->dir);

	if (is_made(m) || placeholders_is(m->dir, m->name, m->content) || is_half_made(m))
		(void)unlinkat(m->dir, m->name, m->content ? 0 : AT_REMOVEDIR);
	if (way)
		(void)futimens(m->dir, mark);
	if (taken)
		(void)fchmod(m->dir, was.st_mode & 07777);
}

/*
 * Another run may be tidying up itself. And a command may have locked it as well, and have sent the
 * descriptor to itself before it ended: that lasts until the kernel has collected such garbage.
 */
static bool lock_alone(int dir, unsigned *patience)
{
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };

	while (*patience > 0 && flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		--*patience;
		(void)nanosleep(&pause, NULL);
	}
	return is_alone(dir);
}

void placeholders_remove(const struct placeholders *h)
{
	unsigned patience = GARBAGE_MS;

	/* from the last to the first: what is in a directory that we made comes after it */
	for (size_t i = h->n; i-- > 0;) {
		const struct placeholder *m = &h->v[i];

		/* Locked already by an earlier one of the same directory, or another run's still. */
		if (lock_alone(m->dir, &patience))
			remove_one(m);
	}
}

void placeholders_clear(struct placeholders *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->v[i].name);
	free(h->v);
	for (size_t i = 0; i < h->ndirs; i++)
		cleanup_close(&h->dirs[i]);
	free(h->dirs);
	*h = (struct placeholders){ 0 };
}
