/*
 * Theory of operation
 *
 * Neither Landlock nor a mount can keep symbolic links out of .git and let them be made elsewhere in
 * the workspace (npm lives on them): a rule holds for all beneath a directory. So they are looked for
 * afterwards. git makes none, but for HEAD, where core.preferSymlinkRefs is set; what was there at the
 * start stays. What is looked for:
 *
 *  - Anything but a file or a directory, wherever git might open it: COMMIT_EDITMSG, FETCH_HEAD and
 *    logs/HEAD are written through a link, and so are files in a directory that is one, a pipe hangs.
 *  - Files that are not known to be data (gitname.c), and those among git's state that have it run a
 *    program or copy a file (gitstate.c).
 *  - What makes a bare repository of a working tree (baretree.c).
 *
 * The command is hostile, and so may another run's be that has the same directory: no name is followed,
 * directories are entered by descriptors, and permissions that were taken are given back. What was there
 * is known by its inode and its times, which no command can set: a name is free again when another run
 * has removed what had it. While another run is under way, what is younger than that is not taken for the
 * user's. Among objects only what is no file is looked for: git makes them under other names and renames them. Not looked at is
 * what is locked, where only the user can have changed something.
 */
#include "launcher/files/leftover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "launcher/files/baretree.h"
#include "launcher/files/gitform.h"
#include "launcher/files/gitmodule.h"
#include "launcher/files/gitname.h"
#include "launcher/files/gitgrammar.h"
#include "launcher/files/gitreplace.h"
#include "launcher/files/gitshown.h"
#include "launcher/files/gitstate.h"
#include "launcher/files/gitstore.h"
#include "launcher/files/gittree.h"
#include "launcher/files/gitvisit.h"
#include "launcher/files/takendir.h"

#define ENTRIES_MAX (1024 * 1024) /* that are looked at, a fraction of a second */
#define DEPTH_MAX   128
#define LINES_MAX   20 /* that are told of one directory, and of what is still there */

#define EACH_MIN  3  /* of these, of one kind, in any case */
#define KINDS_MAX 64 /* texts of ours */

#define ANYWHERE "" /* no name of an entry */

#define NO_NAME "nothing that is known to be data, so that a tool might obey it"
#define MODULE \
	"git would obey the configuration or the hooks in it, which are not as git makes them"
#define LOOK "look for links in it that lead elsewhere before you use git there"

/**
 * struct leftover - what is known
 * @unseen: directories that could not be looked at, "" for all
 * @started: when it was looked at
 * @open: a git directory in sight, a bare repository's, say, beside whose names a person may keep others
 */
struct leftover {
	int dir;
	enum leftover_kind kind;
	char *path;
	char **unseen;
	size_t nunseen;
	struct gitvisit_known state;
	struct timespec started;
	bool open;
	struct baretree tree;
};

/**
 * struct visit - a walk, to remember or to sweep
 * @within: how much of a path leads to the git directory that the walk is in
 * @fresh: in a directory of which nothing is known, and that will be put away, or told of, as a whole
 * @files: how many files are in that
 * @stored: how many more objects may be looked at
 * @lines: how many things have been taken away; @left are still there, and told of in any case
 * @kinds, @nkinds: how many of each kind
 */
struct visit {
	struct leftover *l;
	bool sweep;
	size_t within;
	bool fresh;
	unsigned long files;
	struct gitvisit state;
	unsigned long entries, lines, left;
	uint64_t read, stored;
	struct {
		const char *what;
		unsigned long count;
	} kinds[KINDS_MAX];
	size_t nkinds;
	leftover_tell *tell;
	void *arg;
};

static void visit_dir(struct visit *v, int fd, const char *at, enum gitname_place place,
		      unsigned depth);

/* Whether something of this kind is to be told: a crowd of one kind must not hide one of another. */
static bool is_rare(struct visit *v, const char *what)
{
	size_t i = 0;

	while (i < v->nkinds && strcmp(v->kinds[i].what, what) != 0)
		i++;
	if (i == KINDS_MAX)
		return false;
	v->kinds[i].what = what;
	v->nkinds += i == v->nkinds;
	return v->kinds[i].count++ < EACH_MIN;
}

/* A line: where, what is there, and what has become of it. */
static void say(void *arg, const char *at, const char *what, const char *which, const char *done)
{
	struct visit *v = arg;
	char where[PATH_MAX], shown[256];
	CLEANUP_FREE char *path = xasprintf("%s%s%s", v->l->path, *at ? "/" : "", at);
	CLEANUP_FREE char *line = NULL;
	bool gone = strncmp(done, GITVISIT_GONE, strlen(GITVISIT_GONE)) == 0;
	unsigned long *count = gone ? &v->lines : &v->left;
	bool rare = is_rare(v, what);

	++*count;
	if (*count > LINES_MAX && (gone || !rare))
		return;
	if (*count > LINES_MAX)
		--*count; /* told beyond the others */
	line = xasprintf("%s: %s%s%s; %s", log_escape(where, sizeof(where), path, strlen(path)),
			 what, *which ? " " : "",
			 log_escape(shown, sizeof(shown), which, strlen(which)), done);
	v->tell(v->arg, line);
}

static void say_more(const struct visit *v, unsigned long count, const char *what)
{
	CLEANUP_FREE char *line = NULL;

	if (count <= LINES_MAX)
		return;
	line = xasprintf("and %lu more like these%s", count - LINES_MAX, what);
	v->tell(v->arg, line);
}

static void say_rest(struct visit *v)
{
	if (v->sweep && v->entries > ENTRIES_MAX) {
		v->left = 0; /* to be told in any case */
		say(v, "", "there is too much in it to be looked at", "", LOOK);
	}
	say_more(v, v->lines, "");
	say_more(v, v->left, v->sweep ? ", which are still there" : "");
}

/*
 * The lock file of an emacs that edits one beside it, which leads nowhere: USER@HOST.PID. Where each name is
 * a git directory a link is one, too: git worktree prune empties it, wherever it is.
 */
static bool is_editors(const char *name, const char *target, enum gitname_place place)
{
	return strncmp(name, ".#", 2) == 0 && strchr(target, '@') && !strchr(target, '/') &&
	       place != GITNAME_WORKTREES && place != GITNAME_MODULES;
}

/* HEAD of core.preferSymlinkRefs, or of a remote; @within: its path within its git directory. */
static bool is_head_link(const char *name, const char *target, enum gitname_place place,
			 const char *within)
{
	CLEANUP_FREE char *text = xasprintf("ref: %s", target);

	if (strcmp(name, "HEAD") != 0)
		return false;
	if (place == GITNAME_GIT || place == GITNAME_LINKED)
		return gitgrammar_head(text, strlen(text), within);
	return place == GITNAME_REFS && strncmp(target, "refs/", 5) == 0 &&
	       gitgrammar_ref(text, strlen(text), within);
}

/** struct identity - of something that is neither a file nor a directory; hashed, gaps and all */
struct identity {
	uint64_t dev, ino;
	struct timespec made, changed;
};

/* Return: whether it is there. */
static bool identify(int dir, const char *name, struct identity *id)
{
	struct statx st;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return false;
	memset(id, 0, sizeof(*id));
	id->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	id->ino = st.stx_ino;
	id->changed.tv_sec = st.stx_ctime.tv_sec;
	id->changed.tv_nsec = st.stx_ctime.tv_nsec;
	if (!(st.stx_mask & STATX_BTIME))
		return true;
	id->made.tv_sec = st.stx_btime.tv_sec;
	id->made.tv_nsec = st.stx_btime.tv_nsec;
	return true;
}

static bool is_known(const struct leftover *l, const char *at, const struct identity *id)
{
	return gitseen_has(&l->state.seen, GITSEEN_ODD, at, id, sizeof(*id));
}

static void remember(struct leftover *l, const char *at, const struct identity *id)
{
	if (gitvisit_is_older(&l->state, id->changed))
		gitseen_add(&l->state.seen, GITSEEN_ODD, at, id, sizeof(*id));
}

/* Of what lies there nobody knows whose it is. */
static bool is_unseen(const struct leftover *l, const char *at)
{
	for (size_t i = 0; i < l->nunseen; i++) {
		size_t n = strlen(l->unseen[i]);

		if (n == 0 || (strncmp(at, l->unseen[i], n) == 0 && at[n] == '/'))
			return true;
	}
	return false;
}

static void miss(struct visit *v, const char *at)
{
	struct leftover *l = v->l;

	if (v->sweep) {
		say(v, at, "a directory that cannot be looked at", "", LOOK);
		return;
	}
	l->unseen = xreallocarray(l->unseen, l->nunseen + 1, sizeof(*l->unseen));
	l->unseen[l->nunseen++] = xstrdup(at);
}

static void visit_odd(struct visit *v, int dir, const char *name, const char *at,
		      enum gitname_place place, mode_t mode)
{
	struct identity id;
	char target[PATH_MAX] = "";
	ssize_t n = S_ISLNK(mode) ? readlinkat(dir, name, target, sizeof(target) - 1) : 0;

	if (n < 0 || !identify(dir, name, &id))
		return; /* gone */
	target[n] = '\0';
	if (is_editors(name, target, place) || is_head_link(name, target, place, at + v->within))
		return;
	if (!v->sweep) {
		remember(v->l, at, &id);
		if (v->l->kind == LEFTOVER_ORPHAN)
			say(v, at, gitstore_kind(mode), target, GITVISIT_ORPHAN);
		return;
	}
	if (is_known(v->l, at, &id))
		return;
	if (is_unseen(v->l, at))
		gitform_tell_unseen(&v->state, at, gitstore_kind(mode), target);
	else
		say(v, at, gitstore_kind(mode), target, gitvisit_remove(dir, name));
}

/* Whether @at is "@name" or ends with "/@name". */
static bool ends_with(const char *at, const char *name)
{
	size_t n = strlen(at), m = strlen(name);

	return n >= m && strcmp(at + n - m, name) == 0 && (n == m || at[n - m - 1] == '/');
}

/* Objects by their numbers, and what other tools keep by checksums; there may be very many. */
static bool is_store(enum gitname_place place, const char *name)
{
	if (place == GITNAME_OBJECTS)
		return isxdigit((unsigned char)name[0]) && isxdigit((unsigned char)name[1]) &&
		       !name[2];
	return place == GITNAME_ANNEX && strcmp(name, "objects") == 0;
}

/*
 * Of the start the directory itself is remembered: by another one in its place older links could come. Files of
 * git-annex's are reached by links in any case.
 */
static void visit_store(struct visit *v, int dir, const char *name, const char *at,
			enum gitname_place place)
{
	struct gitseen *seen = &v->l->state.seen;
	struct timespec started = { 0 };
	uint64_t id[2];
	struct stat st;

	if (place != GITNAME_OBJECTS || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	if (!v->sweep)
		gitseen_add(seen, GITSEEN_STORE, at, id, sizeof(id));
	else if (gitseen_has(seen, GITSEEN_STORE, at, id, sizeof(id)) || is_unseen(v->l, at))
		started = v->l->state.since.tv_sec ? v->l->state.since : v->l->started;
	if (v->sweep && !gitstore_visit(&v->state, dir, name, at, started, &v->stored))
		miss(v, at);
}

static bool has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Which directory it is. */
static bool number_of(int dir, uint64_t id[static 2])
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return false;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	return true;
}

/*
 * Whether the directory is as it was at the start, so that @kind is still true of it: the command may
 * have made it, or put another in its place.
 */
static bool is_same(const struct visit *v, enum gitseen_kind kind, int dir, const char *at)
{
	struct gitseen *seen = &v->l->state.seen;
	uint64_t id[2];

	if (!number_of(dir, id))
		return false;
	if (!v->sweep)
		gitseen_add(seen, kind, at, id, sizeof(id));
	return gitseen_has(seen, kind, at, id, sizeof(id));
}

/* The names of protect.c, which are locked, and what the configuration names: leftover_lock(). */
static bool is_locked(const struct visit *v, enum gitname_place above, int dir, const char *name,
		      const char *at)
{
	uint64_t id[2];

	if (number_of(dir, id) &&
	    gitseen_has(&v->l->state.seen, GITSEEN_LOCKED, ANYWHERE, id, sizeof(id)))
		return true;
	return above == GITNAME_GIT &&
	       (strcmp(name, "hooks") == 0 || strcmp(name, "remotes") == 0 ||
		strcmp(name, "branches") == 0) &&
	       is_same(v, GITSEEN_LOCKED, dir, at);
}

/* Whether another run's command may have made it. */
static bool is_young(const struct visit *v, int dir)
{
	struct statx st;

	return v->l->state.since.tv_sec &&
	       (statx(dir, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0 ||
		!(st.stx_mask & STATX_BTIME) ||
		!gitvisit_is_older(&v->l->state,
				   (struct timespec){ st.stx_btime.tv_sec, st.stx_btime.tv_nsec }));
}

/* Of one of which nothing is known: whether it was there at the start. */
static bool is_old_dir(const struct visit *v, int dir, const char *at)
{
	return (v->sweep || !is_young(v, dir)) && is_same(v, GITSEEN_DIR, dir, at);
}

/* One that git might have made: where its working tree is has been judged, too. */
static bool is_new_module(const struct visit *v, int dir, const char *at)
{
	CLEANUP_FREE char *index = xasprintf("%s/index", at);

	if (!v->sweep || !gitmodule_is_plain(&v->state, dir, v->l->state.tree))
		return false;
	gittree_learn(&v->l->state, &v->state, dir, index);
	return true;
}

/* What the directory @name, open as @dir, is in one that is @above; see also gitobeys.c. */
static struct gitname name_of(const struct visit *v, enum gitname_place above, int dir,
			      const char *name, const char *at)
{
	struct gitname is = { .how = GITNAME_IS_DATA, .place = GITNAME_MODULES };

	if (above != GITNAME_MODULES)
		return gitname_of_dir(above, name);
	if (!has(dir, "HEAD") && !has(dir, "config"))
		return is;
	if (((v->sweep || !is_young(v, dir)) && is_same(v, GITSEEN_GIT, dir, at)) ||
	    is_new_module(v, dir, at))
		is.place = GITNAME_GIT;
	else
		is = (struct gitname){ .how = GITNAME_UNKNOWN, .place = GITNAME_STRANGE };
	return is;
}

static void look_into(struct visit *v, int fd, const char *name, const char *at,
		      enum gitname_place place, unsigned depth)
{
	size_t within = v->within;

	if (place == GITNAME_GIT || place == GITNAME_LINKED)
		v->within = strlen(at) + 1;
	gitstate_dir(&v->l->state, &v->state, fd, name, at);
	if (place == GITNAME_LINKED)
		gitstate_linked(&v->l->state, &v->state, fd, at);
	visit_dir(v, fcntl(fd, F_DUPFD_CLOEXEC, 3), at, place, depth + 1);
	v->within = within;
}

/* Removes a directory with nothing but directories in it. Return: whether it is gone. */
static bool remove_empty(int dir, const char *name, unsigned depth)
{
	CLEANUP_CLOSE int fd = -1;
	struct dirent *e;
	bool empty;
	DIR *d;

	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return true;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 || depth == 0 ? NULL : fd_opendir(fd);
	empty = d;
	while (d && empty && (e = readdir(d)))
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			remove_empty(fd, e->d_name, depth - 1);
	if (d)
		(void)closedir(d);
	return empty && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

/*
 * A directory of which nothing is known, and that was not there, or may be an earlier run's: put away or
 * told of as a whole, or removed without a word if it is empty; git takes it for a lock file, say.
 */
static void look_into_fresh(struct visit *v, int dir, int fd, const char *name, const char *at,
			    enum gitname_place above, unsigned depth)
{
	const char *what = above == GITNAME_MODULES ? MODULE : NO_NAME;
	enum gitvisit_task task = v->state.task;

	if (task == GITVISIT_WARN)
		v->state.task = GITVISIT_NOTE;
	v->fresh = v->sweep;
	v->files = 0;
	look_into(v, fd, name, at, GITNAME_STRANGE, depth);
	v->fresh = false;
	v->state.task = task;
	if (v->files == 0 && (!v->sweep || remove_empty(dir, name, DEPTH_MAX)))
		return;
	if (v->sweep && is_unseen(v->l, at))
		gitform_tell_unseen(&v->state, at, what, "");
	else
		gitvisit_deal(&v->state, dir, name, at, what, "");
}

/*
 * A person's working tree, of which nothing is put away: one that was there, or whatever there is in a git
 * directory where people put them.
 */
static bool is_tree(const struct visit *v, enum gitname_place above, int dir, const char *at)
{
	if (v->l->open && above == GITNAME_GIT && v->within == 0)
		return true;
	if (v->sweep || (!is_young(v, dir) && has(dir, ".git")))
		return is_same(v, GITSEEN_TOOL_TREE, dir, at);
	return false;
}

static void look_by_name(struct visit *v, int dir, int fd, const char *name, const char *at,
			 enum gitname_place above, unsigned depth)
{
	struct gitname is = name_of(v, above, fd, name, at);

	if (is.how == GITNAME_IS_AWAY || (is_locked(v, above, fd, name, at) && v->sweep))
		return;
	if (is.how == GITNAME_UNKNOWN && above != GITNAME_MODULES && is_tree(v, above, fd, at))
		is = (struct gitname){ .how = GITNAME_IS_DATA, .place = GITNAME_DATA };
	if (v->fresh || is.how != GITNAME_UNKNOWN) {
		look_into(v, fd, name, at, v->fresh ? GITNAME_STRANGE : is.place, depth);
		return;
	}
	if ((is_old_dir(v, fd, at) || !v->sweep) && v->state.task != GITVISIT_WARN)
		look_into(v, fd, name, at, is.place, depth);
	else
		look_into_fresh(v, dir, fd, name, at, above, depth);
}

static void visit_subdir(struct visit *v, int dir, const char *name, const char *at,
			 enum gitname_place above, unsigned depth)
{
	CLEANUP_CLOSE int locked = -1;
	struct stat was;
	CLEANUP_CLOSE int fd =
		depth < DEPTH_MAX ? takendir_enter(dir, name, v->sweep, &locked, &was) : -1;

	if (fd < 0 && depth < DEPTH_MAX && errno == ENOENT)
		return; /* gone */
	if (fd < 0) {
		miss(v, at);
		return;
	}
	look_by_name(v, dir, fd, name, at, above, depth);
	takendir_put_back(locked, &was);
}

static mode_t mode_of(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return DTTOIF(e->d_type);
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode : S_IFREG;
}

static void visit_file(struct visit *v, int dir, const char *name, const char *at,
		       enum gitname_place place)
{
	struct gitname is = gitname_of_file(place, name);
	struct gitvisit_known *known = &v->l->state;
	bool open = v->l->open && place == GITNAME_GIT && v->within == 0;

	if ((place == GITNAME_GIT || place == GITNAME_LINKED) && gitstate_is_top(name))
		gitstate_top(known, &v->state, dir, name, at);
	else if (gitstate_is_file(name))
		gitstate_file(known, &v->state, dir, name, at);
	v->files++;
	gitshown_visit(known, &v->state, dir, name, at, place);
	if (place == GITNAME_GIT && strcmp(name, GITREPLACE_PACKED) == 0)
		gitreplace_packed(known, &v->state, dir, at);
	if (!v->fresh && place == GITNAME_REPLACED && is.how == GITNAME_IS_TEXT)
		gitreplace_loose(known, &v->state, dir, name, at, at + v->within);
	else if (!v->fresh && is.how != GITNAME_IS_DATA && !(open && is.how == GITNAME_UNKNOWN))
		gitform_visit(known, &v->state, dir, name, at, at + v->within, &is,
			      v->sweep && is_unseen(v->l, at));
}

static void visit_entry(struct visit *v, int dir, const char *above, const struct dirent *e,
			enum gitname_place place, unsigned depth)
{
	mode_t mode = mode_of(dir, e);
	CLEANUP_FREE char *at = NULL;

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return;
	at = xasprintf("%s%s%s", above, *above ? "/" : "", e->d_name);
	if (S_ISDIR(mode) && is_store(place, e->d_name))
		visit_store(v, dir, e->d_name, at, place);
	else if (S_ISREG(mode))
		visit_file(v, dir, e->d_name, at, place);
	else if (S_ISDIR(mode))
		visit_subdir(v, dir, e->d_name, at, place, depth);
	else
		visit_odd(v, dir, e->d_name, at, place, mode);
}

/* Takes @fd, which may be -1. */
static void visit_dir(struct visit *v, int fd, const char *at, enum gitname_place place,
		      unsigned depth)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool whole = true;
	struct dirent *e;

	if (!d) {
		cleanup_close(&fd);
		miss(v, at);
		return;
	}
	while (v->entries <= ENTRIES_MAX && (e = fd_readdir(d, &whole))) {
		v->entries++;
		visit_entry(v, dirfd(d), at, e, place, depth);
	}
	if (!whole)
		miss(v, at);
	(void)closedir(d);
}

static void visit_top(struct visit *v)
{
	visit_dir(v, openat(v->l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", GITNAME_GIT,
		  0);
}

/* When another run has begun: when it made the placeholder that says so (protect.c). */
static struct timespec find_since(int dir)
{
	struct identity id;
	struct stat st;

	if (fstatat(dir, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == 2 &&
	    identify(dir, "commondir", &id))
		return id.made.tv_sec ? id.made : id.changed;
	if (identify(dir, "config.worktree", &id))
		return id.made.tv_sec ? id.made : id.changed;
	return (struct timespec){ 0 }; /* it has just ended */
}

/* Which git directories working trees lead to; a .git that is a link is the user's, as any name at the start. */
static void take_led(struct leftover *l, const struct gitvisit *v, const int *trees, size_t n)
{
	struct gitvisit_known *g = &l->state;

	g->led = xcalloc(n, sizeof(*g->led));
	for (size_t i = 0; i < n; i++) {
		CLEANUP_CLOSE int git = gittree_led(v, trees[i]);
		struct gitvisit_tree *t = &g->led[g->nled];

		if (git < 0)
			git = openat(trees[i], ".git", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (git < 0 || !number_of(git, t->git))
			continue;
		t->tree = fcntl(trees[i], F_DUPFD_CLOEXEC, 3);
		g->nled += t->tree >= 0;
	}
}

/* The working tree of the git directory itself. */
static int find_tree(const struct leftover *l)
{
	const struct gitvisit_known *g = &l->state;
	uint64_t id[2];

	for (size_t i = 0; number_of(l->dir, id) && i < g->nled; i++)
		if (memcmp(g->led[i].git, id, sizeof(id)) == 0)
			return fcntl(g->led[i].tree, F_DUPFD_CLOEXEC, 3);
	return l->path && ends_with(l->path, ".git")
		       ? openat(l->dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC)
		       : -1;
}

struct leftover *leftover_note(int dir, enum leftover_kind kind, const int *trees, size_t ntrees,
			       leftover_tell *tell, void *arg)
{
	struct leftover *l = xcalloc(1, sizeof(*l));
	struct visit v = { .l = l, .tell = tell, .arg = arg };

	v.state.read = &v.read;
	v.state.say = say;
	v.state.arg = &v;
	v.state.task = kind == LEFTOVER_ORPHAN ? GITVISIT_WARN : GITVISIT_NOTE;
	l->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	l->kind = kind;
	(void)clock_gettime(CLOCK_REALTIME_COARSE,
			    &l->started); /* as the kernel's times of changes */
	l->path = fd_path(dir);
	take_led(l, &v.state, trees, ntrees);
	l->state.tree = find_tree(l);
	l->open = l->path && !strstr(l->path, "/.git/") && !ends_with(l->path, ".git");
	if (!l->path)
		l->path = xstrdup(kind == LEFTOVER_TREE ? "the workspace" : ".git");
	if (kind == LEFTOVER_SHARED)
		l->state.since = find_since(dir);
	if (kind == LEFTOVER_TREE)
		baretree_note(&l->tree, l->dir);
	else
		visit_top(&v);
	if (v.entries > ENTRIES_MAX)
		miss(&v, "");
	say_rest(&v);
	return l;
}

void leftover_reach(struct leftover *l, const int *roots, size_t n)
{
	l->state.roots = roots;
	l->state.nroots = n;
}

void leftover_lock(struct leftover *l, int dir)
{
	uint64_t id[2];

	if (number_of(dir, id))
		gitseen_add(&l->state.seen, GITSEEN_LOCKED, ANYWHERE, id, sizeof(id));
}

void leftover_sweep(struct leftover *l, leftover_tell *tell, void (*make_room)(void *arg),
		    void *arg)
{
	struct visit v = { .l = l, .sweep = true, .tell = tell, .arg = arg, .stored = ENTRIES_MAX };
	const struct gitaway away = { l->dir, l->path, make_room, arg };
	struct stat was;
	bool given;

	v.state = (struct gitvisit){ GITVISIT_SWEEP, &v.read, &away, say, &v };
	given = takendir_give_back(l->dir, &was);
	if (l->kind != LEFTOVER_TREE)
		visit_top(&v);
	else
		baretree_sweep(&l->tree, l->dir, &v.state);
	if (given)
		(void)fchmod(l->dir, was.st_mode & 07777);
	say_rest(&v);
}

void leftover_free(struct leftover *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nunseen; i++)
		free(l->unseen[i]);
	free(l->unseen);
	gitstate_clear(&l->state);
	cleanup_close(&l->state.tree);
	for (size_t i = 0; i < l->state.nled; i++)
		cleanup_close(&l->state.led[i].tree);
	free(l->state.led);
	free(l->path);
	cleanup_close(&l->dir);
	free(l);
}
