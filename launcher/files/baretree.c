#include "launcher/files/baretree.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/gitaway.h"

#define DOTEST ".dotest"

static bool has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_file(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode);
}

/* "ref: refs/..." or the number of a commit, or what cannot be read; a link counts as well. */
static bool is_head(int dir)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, "HEAD", O_NOFOLLOW, &(struct error){ 0 });
	char text[40];
	ssize_t n;

	if (fd < 0)
		return has_file(dir, "HEAD");
	n = fd_read_full(fd, text, sizeof(text));
	if (n < 0 || (n >= 4 && memcmp(text, "ref:", 4) == 0))
		return true;
	for (ssize_t i = 0; i < n; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return n == (ssize_t)sizeof(text);
}

/* What git wants of a bare repository, besides the configuration that it may do without. */
static bool is_bare(int dir)
{
	return is_head(dir) &&
	       (has_file(dir, "commondir") || (has(dir, "objects") && has(dir, "refs")));
}

void baretree_note(struct baretree *b, int dir)
{
	b->bare = is_bare(dir);
	b->head = is_head(dir);
	b->commondir = has_file(dir, "commondir");
	b->dotest = has(dir, DOTEST);
}

/* Under that name nobody looks for it. */
static void rename_dotest(int dir, const struct gitvisit *v)
{
	const char *other = DOTEST ".sbx-net";
	int rc = gitaway_rename(dir, DOTEST, dir, other);
	CLEANUP_FREE char *back = gitaway_back(DOTEST ".sbx-net", DOTEST);
	CLEANUP_FREE char *done = xasprintf(GITVISIT_GONE "it is %s now%s", other, back);

	v->say(v->arg, DOTEST, "a prompt of zsh's would show what is in it, as of a rebase", "",
	       rc == 0 ? done : "the command has left it; remove it");
}

void baretree_sweep(const struct baretree *b, int dir, const struct gitvisit *v)
{
	const char *what = "it makes a repository of the directory, whose configuration git obeys";

	if (!b->commondir && has_file(dir, "commondir"))
		v->say(v->arg, "commondir", what, "", gitvisit_remove(dir, "commondir"));
	if ((!b->head && is_head(dir)) || (!b->bare && is_bare(dir)))
		v->say(v->arg, "HEAD", what, "", gitvisit_remove(dir, "HEAD"));
	if (!b->dotest && has(dir, DOTEST))
		rename_dotest(dir, v);
}
