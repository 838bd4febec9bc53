#include "cli/ownpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"

#define OVERFLOW_UID 65534 /* include/linux/highuid.h; the sysctl cannot be read under lock-down */
#define ALL_UIDS     4294967295UL

/** struct uids - what /proc/self/uid_map says: whether user 0 of this namespace, and every user, is in it */
struct uids {
	bool root, all;
};

static struct uids read_map(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	struct uids map = { .root = !f, .all = !f };
	unsigned long inside, outside, n;

	while (f && fscanf(f, "%lu %lu %lu", &inside, &outside, &n) == 3) {
		map.root = map.root || inside == 0;
		map.all = map.all || n == ALL_UIDS;
	}
	if (f)
		(void)fclose(f);
	return map;
}

/* An owner without a place in this namespace, as root outside of a container is, looks like this. */
bool ownpath_is_roots(uid_t uid)
{
	return uid == 0 || (uid == OVERFLOW_UID && !read_map().root);
}

/* In a namespace of users nobody can tell one that has no place there from the host's root. */
static bool is_others(uid_t uid)
{
	return uid != 0 && (uid != OVERFLOW_UID || read_map().all);
}

static const char *remedy(const struct stat *st)
{
	return is_others(st->st_uid)
		       ? "start with HOME=/root and without XDG_ variables of another user's (sudo "
			 "-H), or as that user"
		       : "chmod o-w it";
}

/* A directory that all may write, and its entries with it, unless it is sticky. */
static int check_chain(const char *path, struct error *err)
{
	CLEANUP_FREE char *at = xstrdup(path);
	struct stat st;

	while (strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
		char *up = path_dir(at);
		bool there = stat(at, &st) == 0;

		if (there &&
		    (is_others(st.st_uid) || ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)))) {
			free(up);
			return error_set(err, 0,
					 "%s: what root obeys or writes must be root's, and %s is "
					 "user %u's%s; %s",
					 path, at, (unsigned)st.st_uid,
					 is_others(st.st_uid) ? "" : ", and all may write it",
					 remedy(&st));
		}
		free(at);
		at = up;
	}
	return 0;
}

/* Where the part of it that is there leads. */
static char *real_part(const char *path)
{
	CLEANUP_FREE char *at = xstrdup(path);

	for (;;) {
		char *real = realpath(at, NULL), *up;

		if (real || strcmp(at, "/") == 0 || strcmp(at, ".") == 0)
			return real;
		up = path_dir(at);
		free(at);
		at = up;
	}
}

int ownpath_check(const char *path, struct error *err)
{
	CLEANUP_FREE char *real = geteuid() == 0 ? real_part(path) : NULL;

	if (geteuid() != 0)
		return 0;
	if (check_chain(path, err) < 0)
		return -1;
	return real ? check_chain(real, err) : 0;
}
