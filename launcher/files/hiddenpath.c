#include "launcher/files/hiddenpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"

#define LINKS_MAX 40 /* as the kernel */

/**
 * struct walk - how far the path has been followed
 * @at: where it is, O_PATH
 * @rest: what is still to come
 */
struct walk {
	int at;
	char rest[PATH_MAX];
	unsigned links;
	hiddenpath_name *name;
	void *arg;
};

static int tell(const struct walk *w, const char *name)
{
	CLEANUP_FREE char *dir = fd_path(w->at);

	if (!dir)
		return -1;
	w->name(w->arg, dir, name);
	return 0;
}

/* Puts the target of the link before what is left of the path. */
static int follow(struct walk *w, int link)
{
	int absolute;

	if (++w->links > LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	absolute = path_lead(w->rest, link, "");
	if (absolute <= 0)
		return absolute;
	(void)close(w->at);
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at < 0 ? -1 : 0;
}

static int step(struct walk *w, const char *name)
{
	CLEANUP_CLOSE int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0) {
		int code = errno;

		if (code == ENOENT)
			(void)tell(w, name);
		errno = code;
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode))
		return tell(w, name) < 0 ? -1 : follow(w, fd);
	(void)close(w->at);
	w->at = take_fd(&fd);
	return 0;
}

/* Whether one of the components to come is "..". */
static bool goes_back(const char *rest)
{
	CLEANUP_FREE char *left = xstrdup(rest);
	char name[NAME_MAX + 1];

	while (path_next(left, name))
		if (strcmp(name, "..") == 0)
			return true;
	return false;
}

struct hiddenpath hiddenpath_find(const char *path, hiddenpath_name *name, void *arg)
{
	struct walk w = { .name = name, .arg = arg };
	char next[NAME_MAX + 1];
	struct hiddenpath out = { .fd = -1 };

	if (strlen(path) >= sizeof(w.rest)) {
		out.code = ENAMETOOLONG;
		return out;
	}
	strcpy(w.rest, path);
	w.at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (w.at >= 0 && path_next(w.rest, next)) {
		if (step(&w, next) == 0)
			continue;
		out.code = errno;
		out.back = out.code == ENOENT && goes_back(w.rest);
		cleanup_close(&w.at);
		return out;
	}
	if (w.at < 0)
		out.code = errno;
	else if (w.rest[strspn(w.rest, "/")])
		out.code = ENAMETOOLONG;
	else
		out.fd = take_fd(&w.at);
	cleanup_close(&w.at);
	return out;
}
