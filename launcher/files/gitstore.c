/*
 * Theory of operation
 *
 * git opens what has the name of an object: of a link it changes the time of what that leads to, and for a
 * pipe it waits. There may be very many objects, so that
 * nothing but the directory itself is remembered at the start: no command sets the time of a change, which
 * directories have as well.
 */
#include "launcher/files/gitstore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/takendir.h"

const char *gitstore_kind(mode_t mode)
{
	if (S_ISLNK(mode))
		return "a symbolic link, which git would follow, to";
	return S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static bool is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static void visit_entry(const struct gitvisit *v, int dir, const char *name, const char *above,
			struct timespec started)
{
	char target[PATH_MAX] = "";
	CLEANUP_FREE char *at = NULL;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode) ||
	    S_ISDIR(st.st_mode) || is_before(st.st_ctim, started))
		return;
	if (S_ISLNK(st.st_mode) && readlinkat(dir, name, target, sizeof(target) - 1) < 0)
		return;
	at = xasprintf("%s/%s", above, name);
	v->say(v->arg, at, gitstore_kind(st.st_mode), target, gitvisit_remove(dir, name));
}

static bool visit_dir(const struct gitvisit *v, int fd, const char *at, struct timespec started,
		      uint64_t *left)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool whole = true;
	struct dirent *e;

	if (!d && fd >= 0)
		(void)close(fd);
	while (d && *left > 0 && (e = fd_readdir(d, &whole))) {
		--*left;
		if (e->d_type != DT_REG && e->d_type != DT_DIR)
			visit_entry(v, fd, e->d_name, at, started);
	}
	if (d)
		(void)closedir(d);
	return d && whole && *left > 0;
}

bool gitstore_visit(const struct gitvisit *v, int dir, const char *name, const char *at,
		    struct timespec started, uint64_t *left)
{
	CLEANUP_CLOSE int locked = -1;
	struct stat st, was;
	bool whole;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (is_before(st.st_ctim, started))
		return true;
	fd = takendir_enter(dir, name, true, &locked, &was);
	whole = visit_dir(v, fd, at, started, left);
	takendir_put_back(locked, &was);
	return whole;
}
