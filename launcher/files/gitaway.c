#include "launcher/files/gitaway.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/printable.h"
#include "base/xalloc.h"
#include "launcher/files/gitvisit.h"

#define PLAIN_CHARS "/._-+,@%="
#define NAME_ROOM   200 /* of a name, the rest for a number */
#define TRIES	    4

/* Whether a shell takes it as it is, and a person sees it as it is. */
static bool is_plain(const char *path)
{
	for (const char *p = path; *p; p++)
		if (!isascii(*p) || !(isalnum((unsigned char)*p) || strchr(PLAIN_CHARS, *p)))
			return false;
	return *path && *path != '-';
}

char *gitaway_back(const char *from, const char *to)
{
	char shown[PATH_MAX];

	if (is_plain(from) && is_plain(to))
		return xasprintf("; to get it back: mv %s %s", from, to);
	return xasprintf(" as %s", printable(shown, sizeof(shown), from));
}

static uint64_t random_number(void)
{
	uint64_t number = 0;

	return getrandom(&number, sizeof(number), 0) == sizeof(number) ? number : 0;
}

/* A directory of ours in which we may write; a command may have made one that is none. -1 with errno. */
static int open_away(int top, const char *name)
{
	CLEANUP_CLOSE int fd = -1;
	struct stat st;

	if (mkdirat(top, name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_uid != geteuid() || (st.st_mode & S_IRWXU) != S_IRWXU) {
		errno = EEXIST;
		return -1;
	}
	return take_fd(&fd);
}

/* @where: receives its name, which the caller frees; NULL if there is none. */
static int find_away(int top, char **where)
{
	int fd = -1;

	*where = NULL;
	for (int i = 0; fd < 0 && i < TRIES; i++) {
		free(*where);
		*where = i == 0 ? xstrdup(GITAWAY_NAME)
				: xasprintf(GITAWAY_NAME ".%" PRIx64, random_number());
		fd = open_away(top, *where);
	}
	return fd;
}

/* The name under which it is found there: its own, if that is plain, and a number if it is taken. */
static char *name_away(const char *name, int try)
{
	CLEANUP_FREE char *cut = xstrndup(is_plain(name) ? name : "odd", NAME_ROOM);

	return try == 0 ? xstrdup(cut) : xasprintf("%s.%" PRIx64, cut, random_number());
}

int gitaway_rename(int dir, const char *name, int to, const char *other)
{
	struct stat st;

	if (renameat2(dir, name, to, other, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -1;
	if (fstatat(to, other, &st, AT_SYMLINK_NOFOLLOW) == 0)
		errno = EEXIST;
	return errno == ENOENT ? renameat(dir, name, to, other) : -1;
}

/* Return: the new name, which the caller frees; NULL, with the errno in @code. */
static char *move(int dir, const char *name, int away, int *code)
{
	for (int i = 0; i < TRIES; i++) {
		CLEANUP_FREE char *other = name_away(name, i);

		if (gitaway_rename(dir, name, away, other) == 0)
			return xstrdup(other);
		*code = errno;
		if (*code != EEXIST)
			return NULL;
	}
	return NULL;
}

/* Return: where it is now, in the git directory; NULL, with the errno in @code. The caller frees it. */
static char *move_into(const struct gitaway *a, int dir, const char *name, int *code)
{
	CLEANUP_FREE char *where = NULL, *other = NULL;
	CLEANUP_CLOSE int away = find_away(a->top, &where);

	*code = errno;
	if (away >= 0)
		other = move(dir, name, away, code);
	return other ? xasprintf("%s/%s", where, other) : NULL;
}

/* The same where no directory can be made. It needs a name then, and nothing else. */
static char *move_beside(const struct gitaway *a, int dir, const char *name)
{
	CLEANUP_FREE char *other = xasprintf(GITAWAY_NAME ".%" PRIx64, random_number());

	return gitaway_rename(dir, name, a->top, other) == 0 ? xstrdup(other) : NULL;
}

/* No room, or too many directories in one: a command can see to both. */
static bool is_full(int code)
{
	return code == ENOSPC || code == EDQUOT || code == EMLINK;
}

/* A directory is moved only if its owner may write in it, as its ".." changes. */
static void let_move(int dir, const char *name)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", fd);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		(void)chmod(link, (st.st_mode & 07777) | S_IRWXU);
}

bool gitaway_make_room(const struct gitaway *a, int code)
{
	if (!is_full(code) || !a->make_room)
		return false;
	a->make_room(a->arg);
	return true;
}

char *gitaway_put(const struct gitaway *a, int dir, const char *name, const char *at)
{
	CLEANUP_FREE char *now = NULL, *from = NULL, *to = NULL, *back = NULL;
	int code;

	let_move(dir, name);
	now = move_into(a, dir, name, &code);
	if (!now && gitaway_make_room(a, code))
		now = move_into(a, dir, name, &code);
	if (!now && is_full(code)) {
		now = move_beside(a, dir, name);
		if (!now && unlinkat(dir, name, 0) == 0)
			return xstrdup(GITVISIT_GONE
				       "it has been removed, as there was no room to put it away");
	}
	if (!now)
		return xstrdup("the command has left it; remove it before you use git there");
	from = xasprintf("%s/%s", a->path, now);
	to = xasprintf("%s/%s", a->path, at);
	back = gitaway_back(from, to);
	return xasprintf(GITVISIT_GONE "it has been put away%s", back);
}
