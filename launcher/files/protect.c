/*
 * Theory of operation
 *
 * For each writable root and each name of the table: the directory that holds the name is opened,
 * and if the name is absent there, a placeholder is made (placeholder.c). The few files inside .git
 * are what git takes for nothing: an empty configuration, a "commondir" that says ".".
 *
 * What the user grants by name (--write .envrc) is not locked: where it exists the mounts leave it as it
 * is (mountplan.c), and where it is missing nothing is made (the plan's @unlocked).
 *
 * Left out on purpose: without a .git there is nothing to protect in it, so that `git init` works,
 * and a root that is empty to begin with gets no placeholders at all, so that `git clone URL .`
 * does: what comes there is the command's own work (docs/threat-model.md). Shell start-up files
 * are obeyed below the home directory only, and protected there only (homenames.h), should they lie in
 * something writable, or lead there.
 *
 * Files of ours, from which the policy is read, are another matter: what leads to them is locked, and
 * what is missing is held in any case (heldpath.c); or the run is refused.
 *
 * git must be able to write in .git, and so the command leaves there what it likes; what git outside
 * would follow or run is taken away when the run is over (leftover.c).
 *
 * Replaced from outside: when a program outside renames a new file over a locked one, the kernel
 * takes the mount on the old one away, and the new one is writable inside. git does that to its
 * configuration, but only under its own lock file. So the lock files are held too: `git config`
 * outside says that the file is locked as long as the run lasts. Against an editor that replaces
 * files there is no such means (docs/threat-model.md).
 */
#include "launcher/files/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/credentials.h"
#include "launcher/files/gitobeys.h"
#include "launcher/files/grantpath.h"
#include "launcher/files/heldpath.h"
#include "launcher/files/homenames.h"
#include "launcher/files/homes.h"
#include "launcher/files/mountinfo.h"
#include "launcher/files/mountplan.h"
#include "launcher/files/secondname.h"

#define SECOND_NAMES_DEPTH 4 /* .claude/skills/NAME/scripts */

/* What git and a person's tools run or obey. @content: of the placeholder file; NULL: directory. */
static const struct name {
	const char *dir; /* below the root; "" for the root itself */
	const char *name;
	const char *content;
} names[] = {
	{ ".git", "hooks", NULL },
	{ ".git", "config", "" },
	/* see "Replaced from outside" */
	{ ".git", "config.lock", "" },
	{ ".git", "config.worktree.lock", "" },
	{ ".git", "config.worktree", "" },
	{ ".git", "commondir", ".\n" },
	{ ".git", "remotes", NULL },
	{ ".git", "branches", NULL },
	/* lazygit, glab: editors, pagers, aliases for a shell */
	{ ".git", "lazygit.yml", "" },
	{ ".git", "glab-cli", NULL },
	/* git instaweb: a server, its configuration */
	{ ".git", "gitweb", NULL },
	{ ".git/sl", "config", "" },
	{ ".hg", "hgrc", "" },
	{ ".hg", "hgrc-not-shared", "" },
	/* what says whether another repository's hgrc is obeyed; empty, as it may be missing */
	{ ".hg", "requires", "" },
	/* Jujutsu, Sapling, Darcs, Pijul: editors, pagers, hooks */
	{ ".jj", "workspace-config.toml", "" },
	{ ".jj/repo", "config.toml", "" },
	{ ".sl", "config", "" },
	{ "_darcs/prefs", "defaults", "" },
	{ "_darcs/prefs", "prefs", "" },
	{ ".pijul", "config", "" },
	{ "", ".sbx-net", NULL },
	{ "", ".claude", NULL },
	{ "", ".codex", NULL },
	{ "", ".cursor", NULL },
	{ "", ".gemini", NULL },
	{ "", ".vscode", NULL },
	{ "", ".idea", NULL },
	{ "", ".mcp.json", NULL },
	{ "", ".envrc", NULL },
};

/* Where names belong only if the directory is there. */
static const char *const dot_dirs[] = { ".git",	    ".git/sl", ".hg",	       ".jj",
					".jj/repo", ".sl",     "_darcs/prefs", ".pijul" };

/* In the git directory of a linked worktree; hooks and configuration are the main one's. */
static const char *const linked_names[] = { "commondir", "config", "gitdir", "hooks" };

void protect_add(struct protect *p, const char *dir, const char *name)
{
	p->paths = xreallocarray(p->paths, p->npaths + 1, sizeof(*p->paths));
	p->paths[p->npaths++] = xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
}

void protect_elsewhere(struct protect *p, const char *dir, const char *name)
{
	p->elsewhere = xreallocarray(p->elsewhere, p->nelsewhere + 1, sizeof(*p->elsewhere));
	p->elsewhere[p->nelsewhere++] = xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
}

bool protect_covers(const struct protect *p, const char *path)
{
	for (size_t i = 0; i < p->npaths; i++)
		if (path_beneath(path, p->paths[i]))
			return true;
	return false;
}

static int refuse_second_name(const char *path, struct error *err)
{
	return error_set(err, 0,
			 "%s has another name (a hard link), by which the command could change it; "
			 "replace it by a copy",
			 path);
}

/* What is in a directory that is locked by its path. */
static int check_second_names(int dir, const char *name, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char found[PATH_MAX];

	if (fd < 0 || !secondname_find(fd, path, SECOND_NAMES_DEPTH, found))
		return 0;
	return refuse_second_name(found, err);
}

static int protect_link(struct protect *p, const char *dir, const char *name, struct error *err);

/* Protects @name in the open directory @dir, whose canonical path is @path. */
static int protect_name(struct protect *p, int dir, const char *path, const char *name,
			const char *content, struct error *err)
{
	CLEANUP_FREE char *below = NULL;
	struct stat st;
	size_t before = p->held.n;
	int done = placeholders_settle(&p->held, dir, name, content);

	if (done < 0 && errno == EACCES && fstat(dir, &st) == 0 && st.st_uid == geteuid())
		return error_set(err, 0,
				 "%s is yours, but you have no permission to write in it: the "
				 "command could take the permission, and make %s there; take it "
				 "first (chmod u+w), or use --fs strict",
				 path, name);
	if (done < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		return 0;
	if (done < 0)
		return error_set(err, errno, "cannot protect %s/%s", path, name);
	protect_add(p, path, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	below = xasprintf("%s/%s", path, name);
	if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		return refuse_second_name(below, err);
	if (S_ISDIR(st.st_mode) && p->held.n == before) /* else it is empty */
		return check_second_names(dir, name, below, err);
	return S_ISLNK(st.st_mode) ? protect_link(p, path, name, err) : 0;
}

bool protect_is_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!names[i].dir[0] && strcmp(names[i].name, name) == 0)
			return true;
	return false;
}

/* Granted by its name, which was missing when it was: as one that is there, it is not locked. */
static bool is_unlocked(const struct protect *p, const char *dir, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);

	for (size_t i = 0; i < p->unlocked.n; i++)
		if (strcmp(p->unlocked.v[i], path) == 0)
			return true;
	return false;
}

/* The names of the table that belong into @below the root ("" for the root itself). */
static int protect_names(struct protect *p, int dir, const char *path, const char *below,
			 struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i].dir, below) == 0 &&
		    !(!*below && is_unlocked(p, path, names[i].name)) &&
		    protect_name(p, dir, path, names[i].name, names[i].content, err))
			return -1;
	return 0;
}

const char *protect_root_of(const struct protect *p, const char *path)
{
	for (size_t i = 0; i < p->nroots; i++)
		if (path_beneath(path, p->roots[i].path))
			return p->roots[i].path;
	return NULL;
}

/* @id is what it must be, NULL for anything. */
static int add_root(struct protect *p, const char *path, const struct file_id *id,
		    struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	char *canonical = fd < 0 ? NULL : fd_path(fd);
	struct stat st;

	if (!canonical || fstat(fd, &st) < 0) {
		free(canonical);
		return 0; /* mountplan.c will say so */
	}
	if (grantpath_same(fd, id, path, err) < 0) {
		free(canonical);
		return -1;
	}
	p->roots = xreallocarray(p->roots, p->nroots + 1, sizeof(*p->roots));
	p->roots[p->nroots++] = (struct protect_root){ canonical, st.st_dev, st.st_ino };
	return 0;
}

/* Names are made in what has been judged, not in what has come into its place. */
static int check_root(const struct protect *p, int dir, const char *path, struct error *err)
{
	struct file_id id = { 0 };

	for (size_t i = 0; i < p->nroots; i++) {
		id = (struct file_id){ p->roots[i].dev, p->roots[i].ino };
		if (grantpath_same(dir, &id, path, err) == 0)
			return 0;
	}
	return grantpath_same(dir, &id, path, err);
}

/* Our own binary, should it lie in a writable root: what runs next time is not the command's. */
static void protect_program(struct protect *p)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n <= 0)
		return;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || access(path, F_OK) < 0)
		return; /* replaced or removed since it was started */
	*slash = '\0';
	protect_add(p, path, slash + 1);
}

/* Protects a path of ours, wherever it leads: see "Files of ours" above. */
static int protect_own(struct protect *p, const char *path, bool directory, struct error *err)
{
	const struct heldpath what = { .path = path, .directory = directory };

	return heldpath_hold(p, &what, err);
}

/* The same for what git obeys; @content as for the names of the table. */
static int protect_path(struct protect *p, const char *path, const char *content, struct error *err)
{
	const struct heldpath what = { .path = path, .content = content };

	return heldpath_hold(p, &what, err);
}

/* --deny-write: the path itself, by way of whatever links, present or not. */
static int protect_denied(struct protect *p, const char *path, struct error *err)
{
	const struct heldpath what = { .path = path, .denied = true };

	if (path[0] != '/')
		return error_set(err, 0, "--deny-write needs an absolute path: %s", path);
	return heldpath_hold(p, &what, err);
}

static int protect_link(struct protect *p, const char *dir, const char *name, struct error *err)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);

	if (access(path, F_OK) < 0)
		return error_set(
			err, errno,
			"%s is a symbolic link that leads nowhere and cannot be protected; "
			"remove it",
			path);
	return protect_own(p, path, false, err);
}

/* Return: 0, or -1 with errno. */
static int note_roots(const struct protect *p)
{
	const struct placeholder_watch *watch = p->held.watch;

	for (size_t i = 0; watch && watch->note && i < p->nroots; i++) {
		CLEANUP_CLOSE int fd = open(p->roots[i].path, O_PATH | O_CLOEXEC);

		if (fd < 0 || watch->note(watch->arg, fd, LEFTOVER_ROOT) < 0)
			return -1;
	}
	return 0;
}

/* What git outside would follow or run must not be left in it by the command. */
static int note(struct protect *p, int dir, const char *path, enum leftover_kind kind,
		struct error *err)
{
	const struct placeholder_watch *watch = p->held.watch;

	for (size_t i = 0; kind != LEFTOVER_TREE && i < p->nnoted; i++)
		if (path_beneath(path, p->noted[i]))
			return 0;
	if (p->nnoted == 0 && note_roots(p) < 0)
		return error_set(err, errno, "cannot start what looks after %s", path);
	if (watch && watch->note && watch->note(watch->arg, dir, kind) < 0)
		return error_set(err, errno, "cannot start what looks after %s", path);
	if (kind == LEFTOVER_TREE)
		return 0;
	p->noted = xreallocarray(p->noted, p->nnoted + 1, sizeof(*p->noted));
	p->noted[p->nnoted++] = xstrdup(path);
	return 0;
}

/*
 * A hooks directory in a git directory, which is locked: only the user makes links there while the
 * run lasts, and they are not for leftover.c to take away.
 */
static int note_locked(struct protect *p, const char *dir, struct error *err)
{
	const struct placeholder_watch *watch = p->held.watch;
	CLEANUP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FREE char *path = fd < 0 ? NULL : fd_path(fd);

	if (!path || !watch || !watch->note || !protect_covers(p, path))
		return 0;
	for (size_t i = 0; i < p->nnoted; i++)
		if (path_beneath(path, p->noted[i]))
			return watch->note(watch->arg, fd, LEFTOVER_LOCKED) < 0
				       ? error_set(err, errno, "cannot reach the janitor")
				       : 0;
	return 0;
}

/* A working tree whose .git leads to a git directory: git takes what the index there has for what is here. */
static int note_led(const struct protect *p, int tree, struct error *err)
{
	const struct placeholder_watch *watch = p->held.watch;

	if (watch && watch->note && watch->note(watch->arg, tree, LEFTOVER_LED) < 0)
		return error_set(err, errno, "cannot reach the janitor");
	return 0;
}

/* A directory that cannot be opened and locked; with errno. */
static int refuse_locked(const struct protect *p, const char *path, struct error *err)
{
	int code = errno;

	if (code == EWOULDBLOCK && p->held.locked_by > 0)
		return error_set(err, 0,
				 "cannot lock %s to protect what is in it: process %d keeps it "
				 "locked (flock(2)); end that, or wait for it",
				 path, (int)p->held.locked_by);
	return error_set(err, code, "cannot lock %s to protect what is in it", path);
}

/* Another run's placeholder says that it is there, or that nobody has tidied up after it. */
static int note_git(struct protect *p, int dir, const char *path, bool linked, struct error *err)
{
	const char *name = linked ? "config.worktree" : "commondir";
	const char *content = linked ? "" : ".\n";
	enum leftover_kind kind = LEFTOVER_GIT;
	int orphan = placeholders_is_orphan(&p->held, dir, name, content);

	if (orphan < 0)
		return refuse_locked(p, path, err);
	if (orphan)
		kind = LEFTOVER_ORPHAN;
	else if (placeholders_is(dir, name, content))
		kind = LEFTOVER_SHARED;
	return note(p, dir, path, kind, err);
}

/* A submodule's git directory, a bare repository; a linked worktree has no more than two of them. */
static int protect_git_dir(struct protect *p, const struct gitobeys_dir *g, struct error *err)
{
	char path[PATH_MAX];
	int dir = placeholders_open_dir(&p->held, g->path, path);

	if (dir < 0 && (errno == ELOOP || errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (dir < 0)
		return refuse_locked(p, g->path, err);
	if (g->tree) {
		CLEANUP_CLOSE int tree = open(g->tree, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (tree >= 0 && note_led(p, tree, err))
			return -1;
	}
	if (note_git(p, dir, path, g->linked, err))
		return -1;
	if (!g->linked)
		return protect_names(p, dir, path, ".git", err);
	if (protect_name(p, dir, path, "config.worktree", "", err))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(linked_names); i++)
		if (faccessat(dir, linked_names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			protect_add(p, path, linked_names[i]);
	return 0;
}

/* A hooks directory that is the working tree itself, or holds it, would lock everything. */
static bool is_above_root(const char *path, const char *root)
{
	char canonical[PATH_MAX];

	return realpath(path, canonical) && path_beneath(root, canonical);
}

static int protect_obeyed(struct protect *p, const struct gitobeys *g, const char *root,
			  struct error *err)
{
	if (g->unread && g->unread_code == EACCES)
		return error_set(
			err, 0,
			"cannot tell what git runs here: you have no permission to read %s, "
			"and the command could take it; take it first (chmod)",
			g->unread);
	if (g->unread && g->unread_code == EBADMSG)
		return error_set(
			err, 0,
			"cannot tell what git runs here: %s has a line that is no "
			"configuration, or a zero byte; 'git config --list --file %s' says "
			"which line",
			g->unread, g->unread);
	if (g->unread && g->unread_code == E2BIG)
		return error_set(
			err, 0,
			"cannot tell what git runs here: there are too many repositories or "
			"directories, or too deep ones, at %s; remove those that are not yours",
			g->unread);
	if (g->unread)
		return error_set(err, g->unread_code,
				 "cannot tell what git runs here: cannot read %s", g->unread);
	for (size_t i = 0; i < g->ndirs; i++)
		if (protect_root_of(p, g->dirs[i].path) && protect_git_dir(p, &g->dirs[i], err))
			return -1;
	for (size_t i = 0; i < g->npaths; i++) {
		const struct gitobeys_path *o = &g->paths[i];

		if (is_above_root(o->path, root))
			continue;
		if (protect_path(p, o->path, o->file ? "" : NULL, err))
			return error_wrap(err, "what git here obeys");
		if (!o->file && note_locked(p, o->path, err))
			return -1;
		if (!o->file && protect_root_of(p, o->path) &&
		    check_second_names(AT_FDCWD, o->path, o->path, err))
			return -1;
	}
	return 0;
}

/*
 * .git, .hg and others: names are made in a directory, also in one that a link leads to, if that is writable
 * inside.
 * A link or a file is locked itself: whoever replaces it has a repository of his own.
 */
static int protect_dot_dir(struct protect *p, int root, const char *path, const char *name,
			   struct error *err)
{
	CLEANUP_FREE char *dot = xasprintf("%s/%s", path, name);
	char canonical[PATH_MAX], kept[PATH_MAX];
	struct stat st;
	int dir;

	if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (placeholders_is(root, name, NULL)) /* that holds the name in a bare repository */
		return 0;
	if (!S_ISDIR(st.st_mode))
		protect_add(p, path, name);
	if (S_ISREG(st.st_mode) || !realpath(dot, canonical) || !protect_root_of(p, canonical))
		return 0;
	dir = placeholders_open_dir(&p->held, canonical, kept);
	if (dir < 0 && errno == ENOTDIR)
		return 0;
	if (dir < 0)
		return refuse_locked(p, dot, err);
	if (strcmp(name, ".git") == 0 && S_ISLNK(st.st_mode) && note_led(p, root, err))
		return -1;
	if (strcmp(name, ".git") == 0 &&
	    (note_git(p, dir, kept, false, err) || note(p, root, path, LEFTOVER_TREE, err)))
		return -1;
	return protect_names(p, dir, kept, name, err);
}

static void find_obeyed(const struct protect *p, const char *root, const struct homes *homes,
			struct gitobeys *out)
{
	CLEANUP_FREE const char **roots = xcalloc(p->nroots + 1, sizeof(*roots));
	/* git here is this user's */
	const struct gitobeys_scope scope = { roots, p->nroots, homes->v, homes->nown };

	for (size_t i = 0; i < p->nroots; i++)
		roots[i] = p->roots[i].path;
	gitobeys_find(root, &scope, out);
}

static int protect_root(struct protect *p, const char *root, const struct homes *homes,
			struct error *err)
{
	char path[PATH_MAX], canonical[PATH_MAX];
	struct gitobeys g;
	int top, rc;

	if (!realpath(root, canonical))
		return 0; /* mounts.c will say so */
	top = placeholders_open_dir(&p->held, canonical, path);
	if (top < 0 && errno == ENOTDIR)
		return 0; /* a single file is granted */
	if (top < 0)
		return refuse_locked(p, root, err);
	if (check_root(p, top, root, err) < 0)
		return -1;
	rc = placeholders_are_all(&p->held, top);
	if (rc)
		return rc < 0 ? refuse_locked(p, root, err) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(dot_dirs); i++)
		if (protect_dot_dir(p, top, path, dot_dirs[i], err))
			return -1;
	if (protect_names(p, top, path, "", err))
		return -1;
	find_obeyed(p, path, homes, &g);
	rc = protect_obeyed(p, &g, path, err);
	gitobeys_clear(&g);
	return rc;
}

/**
 * struct obeyed - the directory of names that people's tools obey, as of homenames_use
 * @dir: as it was named, or NULL
 * @at: O_PATH, -1 where it cannot be opened
 * @canonical: NULL where it cannot
 * @home: the home directory, or NULL
 * @held: @dir is that, and lies in a writable root: for placeholders; else -1
 */
struct obeyed {
	struct protect *p;
	char *dir;
	int at;
	char *canonical;
	const char *home;
	int held;
	struct error *err;
};

static void obeyed_clear(struct obeyed *o)
{
	cleanup_close(&o->at);
	free(o->dir);
	free(o->canonical);
	o->dir = o->canonical = NULL;
	o->held = -1;
}

static int obeyed_enter(struct obeyed *o, const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (o->dir && strcmp(o->dir, dir) == 0)
		return 0;
	obeyed_clear(o);
	o->dir = xstrdup(dir);
	o->at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	o->canonical = o->at < 0 ? NULL : fd_path(o->at);
	if (!o->home || strcmp(dir, o->home) != 0 || !o->canonical ||
	    !protect_root_of(o->p, o->canonical))
		return 0;
	o->held = placeholders_open_dir(&o->p->held, o->canonical, path);
	if (o->held < 0)
		return error_set(o->err, errno, "cannot lock %s to protect %s in it", dir, name);
	return 0;
}

/* Most of them lie in no root, and lead into none; that is found out by one call for each. */
static bool may_be_writable(const struct obeyed *o, const char *name)
{
	char target[1];

	return !o->canonical || protect_root_of(o->p, o->canonical) ||
	       readlinkat(o->at, name, target, sizeof(target)) > 0;
}

/*
 * Each is tried by itself: the home directory need not be writable for one of them to be so (--write
 * ~/.config, or a link into the working directory, as those have who keep such files in a repository).
 */
static int protect_obeyed_name(void *arg, const char *dir, const char *name, const char *content)
{
	struct obeyed *o = arg;
	CLEANUP_FREE char *path = xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
	const struct heldpath what = { .path = path, .content = content, .directory = !content };

	if (obeyed_enter(o, dir, name) < 0)
		return -1;
	if (o->held >= 0)
		return protect_name(o->p, o->held, o->canonical, name, content, o->err);
	return may_be_writable(o, name) ? heldpath_hold(o->p, &what, o->err) : 0;
}

/* What is obeyed below a home directory, or, for NULL, where variables have moved it. */
static int protect_home(struct protect *p, const char *home, struct error *err)
{
	struct obeyed o = { .p = p, .home = home, .at = -1, .held = -1, .err = err };
	int rc = home ? homenames_each(home, protect_obeyed_name, &o)
		      : homenames_moved(protect_obeyed_name, &o);

	obeyed_clear(&o);
	return rc;
}

/* Our settings, answers and trust, by one home directory. */
static int protect_our_dirs(struct protect *p, const char *home, struct error *err)
{
	for (size_t i = 0; i < credentials_own_count(); i++) {
		CLEANUP_FREE char *dir = credentials_own(i, home);

		if (dir && protect_own(p, dir, true, err))
			return -1;
	}
	return 0;
}

/* Whatever the mode and the grants: a run must not write what it, or the next one, obeys. */
static int protect_ours(struct protect *p, const struct launcher_plan *plan,
			const struct homes *homes, struct error *err)
{
	if (p->nroots > 0 && homes->n == 0 && protect_our_dirs(p, NULL, err))
		return -1;
	for (size_t i = 0; p->nroots > 0 && i < homes->n; i++)
		if (protect_our_dirs(p, homes->v[i], err))
			return -1;
	for (size_t i = 0; p->nroots > 0 && i < plan->private_paths.n; i++)
		if (protect_own(p, plan->private_paths.v[i], false, err))
			return -1;
	return 0;
}

static int find_roots(struct protect *p, const struct launcher_plan *plan, struct error *err)
{
	const struct path_list *write = &plan->write;

	if (plan->fs == FS_OFF)
		return add_root(p, "/", NULL, err);
	if (plan->fs == FS_WORKSPACE && add_root(p, plan->cwd, plan->cwd_id, err) < 0)
		return -1;
	for (size_t i = 0; i < write->n; i++)
		if (add_root(p, write->v[i], write->ids ? &write->ids[i] : NULL, err) < 0)
			return -1;
	return 0;
}

static int add_again(void *arg, const char *path)
{
	struct protect *p = arg;
	char *copy;

	if (!protect_root_of(p, path) || protect_covers(p, path))
		return 0;
	copy = xstrdup(path);
	p->paths = xreallocarray(p->paths, p->npaths + 1, sizeof(*p->paths));
	p->paths[p->npaths++] = copy;
	return 0;
}

/** struct missing - what hold_again() needs: a name that is missing in a directory */
struct missing {
	struct protect *p;
	const char *name;
	struct error *err;
};

/* @path is where that directory has a second mount. */
static int hold_again(void *arg, const char *path)
{
	const struct missing *m = arg;
	CLEANUP_FREE char *at = xasprintf("%s/%s", path, m->name);
	const struct heldpath what = { .path = at };

	return protect_root_of(m->p, at) ? heldpath_hold(m->p, &what, m->err) : 0;
}

static int find_again(struct protect *p, const char *path, const struct mountinfo *seen,
		      struct error *err)
{
	CLEANUP_FREE char *dir = path_dir(path);
	struct missing missing = { p, path_name(path), err };
	struct stat st;

	if (lstat(path, &st) < 0 && errno == ENOENT)
		return homes_again_whole(dir, seen, hold_again, &missing);
	return homes_again(&path, 1, seen, add_again, p);
}

/* What lies in no root: by a second mount it may. */
static int protect_elsewheres(struct protect *p, const struct mountinfo *seen, struct error *err)
{
	size_t n = p->nelsewhere;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = find_again(p, p->elsewhere[i], seen, err);
	return rc;
}

/*
 * Where a file system is mounted once more in something writable (a tree for chroot(8) with the project
 * in it), what is locked has another name there. No grant lifts those locks: it would name the first.
 */
static int protect_again(struct protect *p, const struct mountinfo *seen, struct error *err)
{
	size_t n = p->npaths;
	CLEANUP_FREE const char **paths = xcalloc(n + 1, sizeof(*paths));
	CLEANUP_FREE const char **roots = xcalloc(p->nroots + 1, sizeof(*roots));

	for (size_t i = 0; i < n; i++)
		paths[i] = p->paths[i];
	for (size_t i = 0; i < p->nroots; i++)
		roots[i] = p->roots[i].path;
	if (p->nroots == 0)
		return 0;
	if (homes_again_beneath(roots, p->nroots, paths, n, seen, add_again, p))
		return -1;
	return protect_elsewheres(p, seen, err);
}

static int prepare(struct protect *p, const struct launcher_plan *plan, const struct homes *homes,
		   const struct mountinfo *seen, struct error *err)
{
	if (find_roots(p, plan, err) < 0)
		return -1;
	if (plan->fs == FS_WORKSPACE && protect_root(p, plan->cwd, homes, err))
		return -1;
	for (size_t i = 0; plan->fs != FS_OFF && i < plan->write.n; i++)
		if (protect_root(p, plan->write.v[i], homes, err))
			return -1;
	for (size_t i = 0; plan->fs != FS_OFF && p->nroots > 0 && i < homes->n; i++)
		if (protect_home(p, homes->v[i], err))
			return -1;
	if (plan->fs != FS_OFF && p->nroots > 0 && protect_home(p, NULL, err))
		return -1;
	protect_program(p);
	p->first_denied = p->npaths;
	for (size_t i = 0; i < plan->deny_write.n; i++)
		if (protect_denied(p, plan->deny_write.v[i], err))
			return -1;
	return protect_ours(p, plan, homes, err) || protect_again(p, seen, err) ? -1 : 0;
}

int protect_prepare(const struct launcher_plan *plan, const struct placeholder_watch *watch,
		    struct protect *out, struct error *err)
{
	struct protect p = { .held.watch = watch, .unlocked = plan->unlocked };
	struct mountinfo seen;
	struct homes homes;
	int rc;

	if (mountinfo_read(&seen) < 0)
		return error_set(err, errno, "cannot read /proc/self/mountinfo");
	homes_find_among(&homes, &seen);
	rc = prepare(&p, plan, &homes, &seen, err);
	homes_clear(&homes);
	mountinfo_clear(&seen);
	if (rc < 0) {
		placeholders_remove(&p.held);
		protect_clear(&p);
		return -1;
	}
	p.held.watch = NULL;
	*out = p;
	return 0;
}

void protect_clear(struct protect *p)
{
	for (size_t i = 0; i < p->npaths; i++)
		free(p->paths[i]);
	free(p->paths);
	for (size_t i = 0; i < p->nelsewhere; i++)
		free(p->elsewhere[i]);
	free(p->elsewhere);
	for (size_t i = 0; i < p->nroots; i++)
		free(p->roots[i].path);
	free(p->roots);
	placeholders_clear(&p->held);
	for (size_t i = 0; i < p->nnoted; i++)
		free(p->noted[i]);
	free(p->noted);
	*p = (struct protect){ 0 };
}
