#include "launcher/files/gitvisit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xalloc.h"

#define STATE_MAX (4 * 1024 * 1024)

const char *gitvisit_remove(int dir, const char *name)
{
	return unlinkat(dir, name, 0) == 0
		       ? GITVISIT_GONE "it has been removed"
		       : "the command has left it; remove it before you use git there";
}

void gitvisit_put_away(const struct gitvisit *v, int dir, const char *name, const char *at,
		       const char *what, const char *which)
{
	CLEANUP_FREE char *done = gitaway_put(v->away, dir, name, at);

	v->say(v->arg, at, what, which, done);
}

bool gitvisit_is_older(const struct gitvisit_known *g, struct timespec ctime)
{
	return g->since.tv_sec == 0 || ctime.tv_sec < g->since.tv_sec ||
	       (ctime.tv_sec == g->since.tv_sec && ctime.tv_nsec < g->since.tv_nsec);
}

/* All of an open file; NULL with errno. */
char *gitvisit_read_all(const struct gitvisit *v, int fd, size_t max, size_t *n)
{
	char *text;

	if (*v->read > GITVISIT_READ_MAX) {
		errno = EFBIG;
		return NULL;
	}
	text = fd_read_file(fd, max, n);
	*v->read += text ? *n : max;
	return text;
}

/*
 * The file's text; NULL if there is none, or at the start, if it may be another run's. One that cannot be
 * read whole is dealt with here; of links and pipes leftover.c takes care.
 */
char *gitvisit_read(const struct gitvisit_known *g, const struct gitvisit *v, int dir,
		    const char *name, const char *at, size_t *n)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	char *text = fd < 0 ? NULL : gitvisit_read_all(v, fd, STATE_MAX, n);
	int code = errno;
	struct stat st;

	if (text && v->task != GITVISIT_SWEEP &&
	    (fstat(fd, &st) < 0 || !gitvisit_is_older(g, st.st_ctim))) {
		free(text);
		return NULL;
	}
	if (text || code == ENOENT || code == ELOOP || code == EINVAL || code == EISDIR)
		return text;
	if (v->task == GITVISIT_SWEEP)
		gitvisit_put_away(v, dir, name, at,
				  "a file of git's state, which cannot be read whole", "");
	return NULL;
}

int gitvisit_replace(int dir, const char *name, const char *text, size_t n)
{
	CLEANUP_FREE char *fresh = xasprintf("%s.sbx-net-new", name);
	CLEANUP_CLOSE int fd = -1;

	(void)unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	if (fd_write_all(fd, text, n) < 0 || renameat(dir, fresh, dir, name) < 0) {
		(void)unlinkat(dir, fresh, 0);
		return -1;
	}
	return 0;
}

/* A file that git must not meet: taken away, or told. */
void gitvisit_deal(const struct gitvisit *v, int dir, const char *name, const char *at,
		   const char *what, const char *which)
{
	size_t n = strlen(which);
	CLEANUP_FREE char *shown = NULL;

	if (v->task == GITVISIT_NOTE)
		return;
	while (n > 0 && which[n - 1] == '\n')
		n--;
	shown = xstrndup(which, n);
	if (v->task == GITVISIT_WARN)
		v->say(v->arg, at, what, shown, GITVISIT_ORPHAN);
	else
		gitvisit_put_away(v, dir, name, at, what, shown);
}

/* Whether the user has it so; at the start it is remembered, and nobody knows of an orphan. */
bool gitvisit_is_users(struct gitvisit_known *g, const struct gitvisit *v, enum gitseen_kind kind,
		       const char *at, const char *text, size_t n)
{
	if (v->task != GITVISIT_SWEEP)
		gitseen_add(&g->seen, kind, at, text, n);
	return v->task == GITVISIT_NOTE ||
	       (v->task == GITVISIT_SWEEP && gitseen_has(&g->seen, kind, at, text, n));
}

/* A file whose whole text must be harmless by @is, or the user's. */
void gitvisit_text(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		   const char *at, const char *what, bool (*is)(const char *text, size_t n))
{
	size_t n;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, name, at, &n);

	if (text && !is(text, n) && !gitvisit_is_users(g, v, GITSEEN_FILE, at, text, n))
		gitvisit_deal(v, dir, name, at, what, text);
}

bool gitvisit_identify(const struct gitvisit_known *g, int dir, const char *name,
		       struct gitvisit_identity *id)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	id->v[0] = st.st_dev;
	id->v[1] = st.st_ino;
	id->v[2] = (uint64_t)st.st_ctim.tv_sec;
	id->v[3] = (uint64_t)st.st_ctim.tv_nsec;
	id->older = gitvisit_is_older(g, st.st_ctim);
	return true;
}

bool gitvisit_is_still(struct gitvisit_known *g, const struct gitvisit *v, enum gitseen_kind kind,
		       const char *at, const struct gitvisit_identity *id)
{
	if (v->task == GITVISIT_SWEEP)
		return gitseen_has(&g->seen, kind, at, id->v, sizeof(id->v));
	if (id->older)
		gitseen_add(&g->seen, kind, at, id->v, sizeof(id->v));
	return false;
}
