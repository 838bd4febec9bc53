#include "launcher/files/gittree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/gitconfig.h"

#define CONFIG	 "config"
#define FILE_MAX (4 * 1024 * 1024)
#define LINK_MAX (2 * PATH_MAX) /* of a file that says where something is */

static void take_worktree(void *arg, const char *section, const char *key, const char *value)
{
	char **where = arg;

	if (strcasecmp(section, "core") != 0 || strcasecmp(key, "worktree") != 0)
		return;
	free(*where);
	*where = xstrdup(value);
}

/* Of files that are locked, if they were there at the start. */
char *gittree_read(const struct gitvisit *v, int dir, const char *name)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	size_t n;

	if (fd < 0)
		return NULL;
	return gitvisit_read_all(v, fd, strcmp(name, CONFIG) == 0 ? FILE_MAX : LINK_MAX, &n);
}

/* Where the working tree is, as a linked worktree's or a submodule's git directory says; or NULL. */
static char *read_where(const struct gitvisit *v, int dir)
{
	CLEANUP_FREE char *back = gittree_read(v, dir, "gitdir");
	CLEANUP_FREE char *config = back ? NULL : gittree_read(v, dir, CONFIG);
	size_t n;
	char *where = NULL;

	if (config)
		gitconfig_parse(config, strlen(config), take_worktree, &where);
	if (!back)
		return where;
	back[strcspn(back, "\r\n")] = '\0';
	n = strlen(back);
	return n > 5 && strcmp(back + n - 5, "/.git") == 0 ? xstrndup(back, n - 5) : NULL;
}

/*
 * The same, open; -1 unless it is what was there at the start: the command may have moved the working
 * tree, and put another in its place. @at is that of a file in @dir.
 */
int gittree_open(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at)
{
	const char *slash = strrchr(at, '/');
	CLEANUP_FREE char *above = xstrndup(at, slash ? (size_t)(slash - at) : 0);
	CLEANUP_FREE char *where = read_where(v, dir);
	CLEANUP_FREE char *known = NULL;
	CLEANUP_CLOSE int fd = where ? openat(dir, where, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	known = xasprintf("%ju %ju %s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, where);
	if (v->task != GITVISIT_SWEEP)
		gitseen_add(&g->seen, GITSEEN_TREE, above, known, strlen(known));
	else if (!gitseen_has(&g->seen, GITSEEN_TREE, above, known, strlen(known)))
		return -1;
	return take_fd(&fd);
}
