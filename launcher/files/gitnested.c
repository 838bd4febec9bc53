#include "launcher/files/gitnested.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/gitaway.h"
#include "launcher/files/gitvisit.h"

#define DOT_GIT	  GITNESTED_DOT_GIT
#define DEPTH_MAX 128

/** struct search - a walk; @whole: nothing has been left out yet */
struct search {
	uint64_t *left;
	gitnested_use *use;
	void *arg;
	bool whole;
};

static void search_dir(struct search *s, int dir, const char *path, unsigned depth);

static bool may_be_dir(const struct dirent *e)
{
	return (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) && strcmp(e->d_name, ".") != 0 &&
	       strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, DOT_GIT) != 0;
}

/* What has gone, or is a link or a file, is no directory to git either. */
static void search_sub(struct search *s, int dir, const char *path, const char *name,
		       unsigned depth)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FREE char *sub = xasprintf("%s/%s", path, name);

	if (fd >= 0 && depth < DEPTH_MAX)
		search_dir(s, fd, sub, depth + 1);
	else if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP))
		s->whole = false;
}

static void search_dir(struct search *s, int dir, const char *path, unsigned depth)
{
	DIR *d = fd_opendir(dir);
	struct dirent *e;
	struct stat st;

	if (fstatat(dir, DOT_GIT, &st, AT_SYMLINK_NOFOLLOW) == 0)
		s->use(s->arg, dir, path);
	if (!d) { /* git may find in it what it knows the name of */
		s->whole = false;
		return;
	}
	while (s->whole && (e = fd_readdir(d, &s->whole))) {
		s->whole = *s->left > 0;
		*s->left -= s->whole;
		if (s->whole && may_be_dir(e))
			search_sub(s, dirfd(d), path, e->d_name, depth);
	}
	(void)closedir(d);
}

bool gitnested_find(int dir, const char *path, uint64_t *left, gitnested_use *use, void *arg)
{
	struct search s = { .left = left, .use = use, .arg = arg, .whole = true };

	search_dir(&s, dir, path, 0);
	return s.whole;
}

/*
 * The last name is one that nobody can have taken before. Return: the new name, which the caller frees; NULL
 * with errno.
 */
static char *rename_away(int dir)
{
	CLEANUP_FREE char *other = NULL;
	uint64_t number = 0;

	if (gitaway_rename(dir, DOT_GIT, dir, DOT_GIT ".sbx-net") == 0)
		return xstrdup(DOT_GIT ".sbx-net");
	if (errno != EEXIST || getrandom(&number, sizeof(number), 0) != sizeof(number))
		return NULL;
	other = xasprintf(DOT_GIT ".sbx-net.%" PRIx64, number);
	return gitaway_rename(dir, DOT_GIT, dir, other) < 0 ? NULL : xstrdup(other);
}

char *gitnested_unmake(int dir, const struct gitaway *a)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", dir);
	CLEANUP_FREE char *path = fd_path(dir);
	CLEANUP_FREE char *name = rename_away(dir), *from = NULL, *to = NULL, *back = NULL;
	struct stat was;

	/* the command may have taken the permission */
	if (!name && errno == EACCES && fstat(dir, &was) == 0 &&
	    chmod(link, (was.st_mode & 07777) | S_IRWXU) == 0) {
		name = rename_away(dir);
		(void)chmod(link, was.st_mode & 07777);
	}
	if (!name && gitaway_make_room(a, errno))
		name = rename_away(dir);
	if (!name)
		return xstrdup("the command has left it; remove its .git before you use git there");
	from = xasprintf("%s/%s", path ? path : ".", name);
	to = xasprintf("%s/" DOT_GIT, path ? path : ".");
	back = gitaway_back(from, to);
	return xasprintf(GITVISIT_GONE "its .git is %s now%s", name, back);
}
