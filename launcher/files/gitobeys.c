/*
 * Theory of operation
 *
 * A repository tells git where more of it is, and what to run. There are many ways to a git directory, and
 * whichever has led to one, all that belongs to it is looked at, once for each working tree, since relative
 * names are those of the working tree in which git runs:
 *
 *  - The common directory that it names; its modules, however deep (the name of a submodule may have
 *    slashes, and a submodule may have submodules); its linked worktrees. The working trees of both hold a
 *    ".git" that leads back.
 *  - Its configuration and its hooks, and what they lead to (gitleads.c).
 *  - The repositories in the working tree that its index knows of, in both parts of a split one.
 *
 * The ways are: .git, or what a file or link of that name leads to; the root itself, if it is a bare
 * repository; the same of the repositories around; and the remotes that are paths. What such a way leads to
 * may be missing, and the command could make it: it is held, unless the end of the run looks after it, as
 * after what an index in the git directories here knows of (indexstate.c).
 *
 * What is too much to be looked at ends the start: what it leads to would not be locked.
 */
#include "launcher/files/gitobeys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/gitindex.h"
#include "launcher/files/gitleads.h"
#include "launcher/files/gitsearch.h"

#define INDEX_MAX (256 * 1024 * 1024)
#define READ_MAX  (512 * 1024 * 1024) /* of all */
#define LINKS_MAX (16 * 1024)	      /* that indices know of */
#define DEPTH_MAX 64	      /* of repositories in one another, and of a submodule's name */
#define DIRS_MAX  4096	      /* git directories */
#define ENTRY_MAX (16 * 1024) /* that are looked at for those */
#define SHARED	  "sharedindex."
#define DOT_GIT	  "/.git"

void gitsearch_add(struct gitsearch *s, char *path, bool file)
{
	s->out->paths = xreallocarray(s->out->paths, s->out->npaths + 1, sizeof(*s->out->paths));
	s->out->paths[s->out->npaths++] = (struct gitobeys_path){ path, file };
}

/* A directory, or nothing, is no program. */
void gitsearch_add_file(struct gitsearch *s, char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 ? errno == EACCES : S_ISREG(st.st_mode))
		gitsearch_add(s, path, true);
	else
		free(path);
}

bool gitsearch_in_roots(const struct gitsearch *s, const char *path)
{
	for (size_t i = 0; i < s->scope->nroots; i++)
		if (path_beneath(path, s->scope->roots[i]))
			return true;
	return false;
}

void gitsearch_unread(struct gitsearch *s, const char *path, int code)
{
	static const int harmless[] = { ENOENT, ENOTDIR, EISDIR, EINVAL, ELOOP, ENAMETOOLONG };

	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		if (code == harmless[i])
			return;
	if (s->out->unread || (code == EACCES && (s->around || !gitsearch_in_roots(s, path))))
		return;
	s->out->unread = xstrdup(path);
	s->out->unread_code = code;
}

bool gitsearch_has(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

char *gitobeys_link(const char *dir, const char *name, const char *prefix)
{
	CLEANUP_FREE char *file = xasprintf("%s/%s", dir, name);
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, file, 0, &(struct error){ 0 });
	size_t n, skip = strlen(prefix);
	CLEANUP_FREE char *text = fd < 0 ? NULL : fd_read_file(fd, PATH_MAX, &n);

	if (!text || strncmp(text, prefix, skip) != 0)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	return text[skip] == '/' ? xstrdup(text + skip) : xasprintf("%s/%s", dir, text + skip);
}

static void take_git_dir(struct gitsearch *s, const char *git, const char *tree, bool led);

/* Whether that has not been done yet with @git, for @tree, if it is not NULL. */
static bool is_new(struct gitsearch *s, enum gitsearch_task task, const char *git, const char *tree)
{
	struct stat a, b = { 0 };

	if (stat(git, &a) < 0 || (tree && stat(tree, &b) < 0))
		return false;
	for (size_t i = 0; i < s->nseen; i++) {
		const struct gitsearch_seen *seen = &s->seen[i];

		if (seen->task == task && seen->ino == a.st_ino && seen->tree_ino == b.st_ino &&
		    seen->dev == a.st_dev && seen->tree_dev == b.st_dev)
			return false;
	}
	s->seen = xreallocarray(s->seen, s->nseen + 1, sizeof(*s->seen));
	s->seen[s->nseen++] =
		(struct gitsearch_seen){ task, a.st_dev, b.st_dev, a.st_ino, b.st_ino };
	return true;
}

/* @tree: whose .git leads there, or NULL. */
static void add_dir(struct gitsearch *s, const char *path, const char *tree, bool linked)
{
	if ((s->own && strcmp(path, s->own) == 0) || !is_new(s, GITSEARCH_LOCK, path, tree))
		return;
	s->out->dirs = xreallocarray(s->out->dirs, s->out->ndirs + 1, sizeof(*s->out->dirs));
	s->out->dirs[s->out->ndirs++] = (struct gitobeys_dir){ .path = xstrdup(path),
							       .tree = tree ? xstrdup(tree) : NULL,
							       .linked = linked };
}

/*
 * Whoever can replace ".git" in @tree has a repository of his own there, so what is no directory is locked
 * itself. Return: where it leads, which the caller frees; NULL if nowhere.
 */
static char *lock_dot_git(struct gitsearch *s, const char *tree)
{
	char *git = xasprintf("%s" DOT_GIT, tree);
	struct stat st, to;
	char *link;

	if (lstat(git, &st) == 0 && S_ISDIR(st.st_mode))
		return git;
	if (stat(git, &to) == 0 && S_ISDIR(to.st_mode)) {
		/* a lock of the link, and of what is locked there anyway, not of all that is there */
		gitsearch_add(s, xasprintf("%s/hooks", git), false);
		return git;
	}
	link = gitobeys_link(tree, ".git", "gitdir: ");
	gitsearch_add_file(s, git);
	return link;
}

static void take_tree(struct gitsearch *s, const char *tree)
{
	CLEANUP_FREE char *real = realpath(tree, NULL);
	CLEANUP_FREE char *git = real ? lock_dot_git(s, real) : NULL;

	if (git)
		take_git_dir(s, git, real, true);
}

/** struct links - repositories of an index; @git: its git directory; @all: any name may be one */
struct links {
	struct gitsearch *s;
	const char *git;
	bool all;
	bool replaced; /* one's name is in the shared index alone */
};

/* Where the lowest directory on the way to what is missing is. */
static bool would_lie_in(const char *path, const char *dir)
{
	CLEANUP_FREE char *at = xstrdup(path);
	char *slash;

	while ((slash = strrchr(at, '/')) && slash > at) {
		CLEANUP_FREE char *real = NULL;

		*slash = '\0';
		real = realpath(at, NULL);
		if (real)
			return path_beneath(real, dir);
	}
	return false;
}

/*
 * What the index of a git directory that the command can write knows of is looked after at the end of the run,
 * and may come with a submodule of the user's; of another it is held now.
 */
static void hold_missing(const struct links *l, char *path, bool anywhere)
{
	bool swept = gitsearch_in_roots(l->s, l->git) && (anywhere || would_lie_in(path, l->git));

	if (swept || (anywhere && !path_beneath(path, l->s->top)))
		free(path);
	else
		gitsearch_add(l->s, path, false);
}

/* A repository that the index knows of: git status looks into it, and obeys its configuration. */
static void take_repository(const struct links *l, const char *name)
{
	CLEANUP_FREE char *tree = xasprintf("%s/%s", l->s->root, name);
	CLEANUP_FREE char *dot = xasprintf("%s" DOT_GIT, tree), *git = NULL;
	struct stat st;

	if (lstat(dot, &st) < 0) {
		hold_missing(l, xstrdup(dot), true);
		return;
	}
	if (S_ISDIR(st.st_mode) &&
	    !gitsearch_has(dot, "HEAD")) { /* none yet, perhaps a placeholder */
		gitsearch_add(l->s, xstrdup(dot), false);
		return;
	}
	git = lock_dot_git(l->s, tree);
	if (git && access(git, F_OK) < 0 && errno != EACCES)
		hold_missing(l, xstrdup(git), false);
	else if (git)
		take_git_dir(l->s, git, tree, true);
}

static bool is_dir(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void take_link(void *arg, const char *name, const uint8_t *tree)
{
	struct links *l = arg;
	struct gitsearch *s = l->s;
	CLEANUP_FREE char *index = NULL;

	if (tree) /* git itself leaves no directory out in which a repository is */
		return;
	if (!*name) {
		l->replaced = true;
		return;
	}
	if (l->all && !is_dir(s->root, name))
		return;
	if (s->looked++ < LINKS_MAX) {
		take_repository(l, name);
		return;
	}
	index = xasprintf("%s/index", l->git);
	gitsearch_unread(s, index, EFBIG);
}

static void read_index_file(struct links *l, const char *name)
{
	struct gitsearch *s = l->s;
	CLEANUP_FREE char *file = xasprintf("%s/%s", l->git, name);
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, file, 0, &(struct error){ 0 });
	size_t n;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *elsewhere = NULL;

	if (fd >= 0 && s->read > READ_MAX)
		errno = EFBIG;
	else if (fd >= 0)
		text = fd_read_file(fd, INDEX_MAX, &n);
	s->read += text ? n : fd >= 0 ? INDEX_MAX : 0;
	if (text)
		(void)gitindex_check(text, n, s->hash, l->all, take_link, l, &elsewhere);
	else
		gitsearch_unread(s, file, errno);
}

/*
 * A split index names another file, in which most of it is. Where one of its own entries replaces one of
 * those, and is a repository, the name is there alone, and may be any of those.
 */
static void read_index(struct gitsearch *s, const char *git)
{
	struct links l = { .s = s, .git = git };
	DIR *d = opendir(git);
	struct dirent *e;

	read_index_file(&l, "index");
	l.all = l.replaced;
	if (!d)
		gitsearch_unread(s, git, errno);
	while (d && (e = readdir(d)))
		if (strncasecmp(e->d_name, SHARED, strlen(SHARED)) == 0)
			read_index_file(&l, e->d_name);
	if (d)
		(void)closedir(d);
}

/*
 * What is in @dir cannot be told, since its permissions were taken, by an earlier run perhaps: it is
 * locked as a whole.
 */
static void lock_unseen(struct gitsearch *s, const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) == 0 || errno == EACCES)
		gitsearch_add(s, xstrdup(dir), false);
}

/* Whether there is to be no more looking. */
static bool is_too_much(struct gitsearch *s, const char *dir, unsigned depth)
{
	if (depth < DEPTH_MAX && s->dirs <= DIRS_MAX && s->entries <= ENTRY_MAX)
		return false;
	gitsearch_unread(s, dir, E2BIG);
	return true;
}

/* Calls @take for each directory in @dir, or link to one. */
static void each_dir(struct gitsearch *s, const char *dir, unsigned depth,
		     void (*take)(struct gitsearch *s, const char *sub, unsigned depth))
{
	DIR *d = opendir(dir);
	bool unseen = !d && errno != ENOENT && errno != ENOTDIR;
	struct dirent *e;

	while (d && !unseen && (e = readdir(d)) && !is_too_much(s, dir, depth)) {
		CLEANUP_FREE char *sub = xasprintf("%s/%s", dir, e->d_name);
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		unseen = stat(sub, &st) < 0 && errno == EACCES;
		s->entries++;
		if (!unseen && S_ISDIR(st.st_mode))
			take(s, sub, depth);
	}
	if (d)
		(void)closedir(d);
	if (unseen)
		lock_unseen(s, dir);
}

/* A directory of .git/modules is a submodule's, or the first part of the names of several. */
static void take_module(struct gitsearch *s, const char *sub, unsigned depth)
{
	if (gitsearch_has(sub, "HEAD") || gitsearch_has(sub, "config"))
		take_git_dir(s, sub, s->root, false);
	else
		each_dir(s, sub, depth + 1, take_module);
}

/* "gitdir" in it names the ".git" file of the linked working tree. */
static void take_worktree(struct gitsearch *s, const char *git, unsigned depth)
{
	CLEANUP_FREE char *back = gitobeys_link(git, "gitdir", "");
	CLEANUP_FREE char *tree = back ? path_dir(back) : NULL;
	CLEANUP_FREE char *real = tree ? realpath(tree, NULL) : NULL;

	(void)depth;
	if (back)
		gitsearch_add_file(s, xstrdup(back));
	if (real && gitsearch_has(real, ".git")) {
		take_tree(s, real);
		take_git_dir(s, git, real, false);
	} else {
		take_git_dir(s, git, s->root, false);
	}
}

static void read_belongings(struct gitsearch *s, const char *git)
{
	CLEANUP_FREE char *modules = xasprintf("%s/modules", git);
	CLEANUP_FREE char *worktrees = xasprintf("%s/worktrees", git);

	if (!is_new(s, GITSEARCH_BELONGINGS, git, NULL))
		return;
	each_dir(s, modules, 0, take_module);
	each_dir(s, worktrees, 0, take_worktree);
}

static void read_settings(struct gitsearch *s, const char *git, char **worktree)
{
	CLEANUP_FREE char *config = xasprintf("%s/config", git);
	CLEANUP_FREE char *own = xasprintf("%s/config.worktree", git);
	CLEANUP_FREE char *hooks = xasprintf("%s/hooks", git);

	gitleads_config(s, config, worktree);
	gitleads_config(s, own, worktree);
	gitleads_hooks(s, hooks);
}

/* Where configuration, hooks and modules of a linked worktree are. A placeholder says ".". */
static char *common_of(const char *git)
{
	CLEANUP_FREE char *common = gitobeys_link(git, "commondir", "");
	CLEANUP_FREE char *real = common ? realpath(common, NULL) : NULL;

	if (!common || (real && strcmp(real, git) == 0))
		return NULL;
	return xstrdup(real ? real : common);
}

/* For the working tree of the linked one; and for its own, if it has one. */
static void read_common(struct gitsearch *s, const char *common)
{
	size_t n = strlen(common), hash;

	if (access(common, F_OK) < 0) {
		gitsearch_add(s, xstrdup(common), false);
		return;
	}
	read_settings(s, common, NULL);
	hash = s->hash;
	add_dir(s, common, NULL, false);
	read_belongings(s, common);
	if (n > strlen(DOT_GIT) && strcmp(common + n - strlen(DOT_GIT), DOT_GIT) == 0) {
		CLEANUP_FREE char *tree = xstrndup(common, n - strlen(DOT_GIT));

		take_tree(s, tree);
	}
	s->hash = hash;
}

/* Of a submodule that is not checked out nothing is obeyed, and git wants an empty place for it. */
static void take_core_worktree(struct gitsearch *s, const char *git, const char *worktree)
{
	CLEANUP_FREE char *tree =
		worktree[0] == '/' ? xstrdup(worktree) : xasprintf("%s/%s", git, worktree);
	CLEANUP_FREE char *real = realpath(tree, NULL);

	if (!real || (s->depth > 1 && !gitsearch_has(real, ".git")))
		return;
	take_tree(s, real);
	take_git_dir(s, git, real, false);
}

static void read_git_dir(struct gitsearch *s, const char *git, const char *common)
{
	CLEANUP_FREE char *worktree = NULL;

	s->hash = GITINDEX_SHA1;
	if (common)
		read_common(s, common);
	read_settings(s, git, &worktree);
	gitleads_users_config(s);
	read_index(s, git);
	read_belongings(s, git);
	if (worktree)
		take_core_worktree(s, git, worktree);
}

/*
 * @led: by the .git of @tree. @git may be missing, or nobody can look at it: it is held or locked where it
 * would be.
 */
static void take_git_dir(struct gitsearch *s, const char *git, const char *tree, bool led)
{
	CLEANUP_FREE char *real = realpath(git, NULL);
	CLEANUP_FREE char *real_tree = realpath(tree, NULL), *common = NULL;
	const char *root = s->root;
	size_t hash = s->hash;

	if (!real) {
		gitsearch_add(s, xstrdup(git), false);
		return;
	}
	common = common_of(real);
	add_dir(s, real, led ? tree : NULL, common);
	if (!real_tree || !is_new(s, GITSEARCH_READ, real, real_tree))
		return;
	s->dirs++;
	if (is_too_much(s, real, s->depth))
		return;
	s->depth++;
	s->root = real_tree;
	read_git_dir(s, real, common);
	s->root = root;
	s->depth--;
	s->hash = hash;
}

/* git takes what has a colon before any slash for a host's, or for something to run. */
static const char *local_path(const char *url)
{
	if (strncmp(url, "file://", 7) == 0)
		return url + 7;
	return url[strcspn(url, ":/")] == ':' || !*url ? NULL : url;
}

/* A remote here: git push runs its hooks, as git fetch obeys its configuration. */
void gitsearch_remote(struct gitsearch *s, const char *url)
{
	const char *path = local_path(url);
	CLEANUP_FREE char *spelt = NULL, *git = NULL;

	if (!path)
		return;
	spelt = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", s->root, path);
	git = xasprintf("%s" DOT_GIT, spelt);
	if (gitsearch_has(spelt, "HEAD"))
		take_git_dir(s, spelt, spelt, false);
	else if (access(git, F_OK) == 0)
		take_tree(s, spelt);
	else if (access(spelt, F_OK) < 0)
		gitsearch_add(s, xstrdup(spelt), false);
}

/* Those that the working tree lies in: git runs there, too, and may be told of what is here. */
static void search_around(struct gitsearch *s)
{
	CLEANUP_FREE char *tree = xstrdup(s->top);
	char *slash;

	s->around = true;
	while ((slash = strrchr(tree, '/')) && slash > tree) {
		*slash = '\0';
		if (!gitsearch_has(tree, ".git"))
			continue;
		s->root = tree;
		take_tree(s, tree);
	}
	s->root = s->top;
	s->around = false;
}

void gitobeys_find(const char *root, const struct gitobeys_scope *scope, struct gitobeys *out)
{
	struct gitsearch s = { .out = out, .scope = scope, .top = root, .root = root };
	bool bare = gitsearch_has(root, "HEAD") && gitsearch_has(root, "objects") &&
		    gitsearch_has(root, "refs");
	CLEANUP_FREE char *git = xasprintf("%s" DOT_GIT, root);
	CLEANUP_FREE char *own = is_dir(root, ".git") ? realpath(git, NULL) : NULL;

	*out = (struct gitobeys){ .ndirs = 0 };
	s.own = own;
	search_around(&s);
	if (bare)
		take_git_dir(&s, root, root, false);
	/* git looks for .git first: one that came to be there would take the place of the bare one */
	if (bare && !gitsearch_has(git, "HEAD"))
		gitsearch_add(&s, xstrdup(git), false);
	else
		take_tree(&s, root);
	free(s.seen);
}

void gitobeys_clear(struct gitobeys *g)
{
	for (size_t i = 0; i < g->ndirs; i++) {
		free(g->dirs[i].path);
		free(g->dirs[i].tree);
	}
	free(g->dirs);
	for (size_t i = 0; i < g->npaths; i++)
		free(g->paths[i].path);
	free(g->paths);
	free(g->unread);
	*g = (struct gitobeys){ .ndirs = 0 };
}
