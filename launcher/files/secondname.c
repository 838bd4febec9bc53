#include "launcher/files/secondname.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"

/** struct search - what is left of it, and where the answer goes */
struct search {
	unsigned left;
	char *found;
};

static bool search(struct search *s, int dir, const char *path, unsigned depth);

static bool is_sample(const char *name)
{
	size_t n = strlen(name);

	return n > 7 && strcmp(name + n - 7, ".sample") == 0;
}

static bool search_below(struct search *s, int dir, const char *path, const char *name,
			 unsigned depth)
{
	CLEANUP_FREE char *below = xasprintf("%s/%s", path, name);
	CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && search(s, fd, below, depth - 1);
}

static bool search_entry(struct search *s, int dir, const char *path, const struct dirent *e,
			 unsigned depth)
{
	struct stat st;

	if (e->d_type == DT_LNK || is_sample(e->d_name) || strcmp(e->d_name, ".") == 0 ||
	    strcmp(e->d_name, "..") == 0 || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return depth > 0 && search_below(s, dir, path, e->d_name, depth);
	if (!S_ISREG(st.st_mode) || st.st_nlink < 2)
		return false;
	(void)snprintf(s->found, PATH_MAX, "%s/%s", path, e->d_name);
	return true;
}

static bool search(struct search *s, int dir, const char *path, unsigned depth)
{
	DIR *d = fd_opendir(dir);
	struct dirent *e;
	bool found = false;

	if (!d)
		return false;
	while (!found && s->left > 0 && (e = readdir(d))) {
		s->left--;
		found = search_entry(s, dir, path, e, depth);
	}
	(void)closedir(d);
	return found;
}

bool secondname_find(int dir, const char *path, unsigned depth, char found[static PATH_MAX])
{
	struct search s = { .left = SECONDNAME_MAX, .found = found };

	return search(&s, dir, path, depth);
}
