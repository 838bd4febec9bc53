/*
 * Theory of operation
 *
 * For each writable root and each name of the table: the directory that holds the name is opened,
 * and if the name is absent there, a placeholder is made: an empty directory that nobody may write
 * to. git does not see it, whatever copies a tree copies it, and rmdir(2) removes no data. The few
 * files inside .git are what git takes for nothing: an empty configuration, a "commondir" that
 * says ".".
 *
 * Left out on purpose: without a .git there is nothing to protect in it, so that `git init` works,
 * and a root that is empty to begin with gets no placeholders at all, so that `git clone URL .`
 * does: what comes there is the command's own work (docs/threat-model.md). Shell start-up files
 * are obeyed in the home directory only, and protected there only, should it be writable.
 *
 * Files of ours, from which the policy is read, are another matter: each component of the path is
 * looked at, symbolic links on the way are locked, and what is missing is held in any case; or the
 * run is refused.
 *
 * Replaced from outside: when a program outside renames a new file over a locked one, the kernel
 * takes the mount on the old one away, and the new one is writable inside. git does that to its
 * configuration, but only under its own lock file. So the lock files are held too: `git config`
 * outside says that the file is locked as long as the run lasts. Against an editor that replaces
 * files there is no such means (docs/threat-model.md).
 *
 * Two runs may share a directory. Each holds a shared lock on it from before it looks until its
 * end; placeholders are removed under an exclusive lock only, by whoever is the last. What a run
 * that was killed left behind, the next one in that directory knows by its mode and its time, and
 * removes at its own end.
 */
#include "launcher/files/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/credentials.h"
#include "launcher/files/gitobeys.h"
#include "launcher/files/homes.h"
#include "launcher/files/mountplan.h"

#define LOCK_ATTEMPTS	 100 /* of 10 ms: another run may just be tidying up */
#define PLACEHOLDER_MODE 0444
#define PLACEHOLDER_DIR	 0555
#define PLACEHOLDER_TIME 1000000000 /* 2001-09-09: nobody's own; archives can tell it */
#define OWN_DIR		 0700
#define LINKS_MAX	 40 /* as the kernel: symbolic links in one path */

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
	{ ".hg", "hgrc", "" },
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

/*
 * What shells, sessions and tools run or obey in the home directory only. @content: as above, for
 * those that the command's own programs read as files: a directory in their place is an error there.
 */
static const struct home_name {
	const char *name;
	const char *content;
} home_names[] = {
	/* shells */
	{ ".bash_aliases", "" },
	{ ".bash_login", "" },
	{ ".bash_logout", "" },
	{ ".bash_profile", "" },
	{ ".bashrc", "" },
	{ ".config/fish", NULL },
	{ ".cshrc", "" },
	{ ".inputrc", "" },
	{ ".kshrc", "" },
	{ ".login", "" },
	{ ".logout", "" },
	{ ".profile", "" },
	{ ".tcshrc", "" },
	{ ".zlogin", "" },
	{ ".zlogout", "" },
	{ ".zprofile", "" },
	{ ".zshenv", "" },
	{ ".zshrc", "" },
	/* programs that are found by their name */
	{ ".local/bin", NULL },
	{ "bin", NULL },
	/* sessions and services */
	{ ".config/autostart", NULL },
	{ ".config/environment.d", NULL },
	{ ".config/plasma-workspace", NULL },
	{ ".config/systemd", NULL },
	{ ".local/share/applications", NULL },
	{ ".local/share/dbus-1", NULL },
	{ ".local/share/systemd", NULL },
	{ ".pam_environment", "" },
	{ ".xinitrc", "" },
	{ ".xprofile", "" },
	{ ".xsession", "" },
	{ ".xsessionrc", "" },
	/* tools that run what their settings say */
	{ ".config/direnv", NULL },
	{ ".config/git", NULL },
	{ ".config/nvim", NULL },
	{ ".direnvrc", "" },
	{ ".emacs", "" },
	{ ".emacs.d", NULL },
	{ ".gdbinit", "" },
	{ ".gitconfig", "" },
	{ ".hgrc", "" },
	{ ".lldbinit", "" },
	{ ".screenrc", "" },
	{ ".ssh", NULL },
	{ ".tmux.conf", "" },
	{ ".vim", NULL },
	{ ".vimrc", "" },
};

/* In the git directory of a linked worktree; hooks and configuration are the main one's. */
static const char *const linked_names[] = { "commondir", "config", "gitdir", "hooks" };

static void add_path(struct protect *p, const char *dir, const char *name)
{
	p->paths = xreallocarray(p->paths, p->npaths + 1, sizeof(*p->paths));
	p->paths[p->npaths++] = xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
}

/* Whether @path lies in something that is locked already: nothing can be made there. */
static bool is_beneath_listed(const struct protect *p, const char *path)
{
	for (size_t i = 0; i < p->npaths; i++)
		if (mountplan_beneath(path, p->paths[i]))
			return true;
	return false;
}

/* Whether @name is what we make: as it was made, and therefore nobody's data. */
static bool is_placeholder(int dir, const char *name, const char *content)
{
	CLEANUP_CLOSE int fd = -1;
	char text[8] = "";
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != geteuid())
		return false;
	if (!content) /* rmdir(2) sees to it that it is empty */
		return S_ISDIR(st.st_mode) && (st.st_mode & 07777) == PLACEHOLDER_DIR &&
		       st.st_mtime == PLACEHOLDER_TIME;
	if (!S_ISREG(st.st_mode) || (st.st_mode & 07777) != PLACEHOLDER_MODE ||
	    st.st_size != (off_t)strlen(content))
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof(text) - 1) == st.st_size &&
	       strcmp(text, content) == 0;
}

/* The time is how a later run knows it; on a file system without times this one removes it. */
static int make_dir(int dir, const char *name)
{
	const struct timespec times[] = { { .tv_sec = PLACEHOLDER_TIME },
					  { .tv_sec = PLACEHOLDER_TIME } };

	if (mkdirat(dir, name, PLACEHOLDER_DIR) < 0)
		return -1;
	(void)utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* Takes away again what could not be finished. Return: -1, with the errno of that. */
static int unmake(int dir, const char *name, int flags)
{
	int saved = errno;

	(void)unlinkat(dir, name, flags);
	errno = saved;
	return -1;
}

static int make_file(int dir, const char *name, const char *content)
{
	CLEANUP_CLOSE int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PLACEHOLDER_MODE);

	if (fd < 0)
		return -1;
	return fd_write_all(fd, content, strlen(content)) < 0 ? unmake(dir, name, 0) : 0;
}

/* Whoever tidies up if we are killed must know of it first. Return: 0, or -1 with errno. */
static int tell(const struct protect *p, int dir, const char *name, const char *content,
		const struct stat *st, bool absent)
{
	struct placeholder m = {
		.dir = dir,
		.name = (char *)(uintptr_t)name,
		.content = content,
		.dev = st ? st->st_dev : 0,
		.ino = st ? st->st_ino : 0,
		.absent = absent,
	};

	return p->watch ? p->watch->tell(p->watch->arg, &m) : 0;
}

/* Keeps in mind what is to be removed; @st of what we made, NULL of what we found. */
static void remember(struct protect *p, int dir, const char *name, const char *content,
		     const struct stat *st)
{
	(void)tell(p, dir, name, content, st, false);
	p->made = xreallocarray(p->made, p->nmade + 1, sizeof(*p->made));
	p->made[p->nmade++] = (struct placeholder){
		.dir = dir,
		.name = xstrdup(name),
		.content = content,
		.dev = st ? st->st_dev : 0,
		.ino = st ? st->st_ino : 0,
	};
}

/* Sees to it that the name exists. Return: 0, or -1 with errno. */
static int settle(struct protect *p, int dir, const char *name, const char *content)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (is_placeholder(dir, name, content))
			remember(p, dir, name, content, NULL);
		return 0;
	}
	if (errno != ENOENT || tell(p, dir, name, content, NULL, true) < 0)
		return -1;
	if ((content ? make_file(dir, name, content) : make_dir(dir, name)) < 0)
		return errno == EEXIST ? 0 : -1;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return unmake(dir, name, content ? 0 : AT_REMOVEDIR);
	remember(p, dir, name, content, &st);
	return 0;
}

static int protect_link(struct protect *p, const char *dir, const char *name, struct error *err);

/* Protects @name in the open directory @dir, whose canonical path is @path. */
static int protect_name(struct protect *p, int dir, const char *path, const char *name,
			const char *content, struct error *err)
{
	struct stat st;
	int done = settle(p, dir, name, content);

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
	add_path(p, path, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		return error_set(err, 0,
				 "%s/%s has another name (a hard link), by which the command could "
				 "change it; replace it by a copy",
				 path, name);
	return S_ISLNK(st.st_mode) ? protect_link(p, path, name, err) : 0;
}

/*
 * Opens a directory by its canonical path, which is told again; -1 with errno. A symbolic link is
 * one that somebody has put there since, an earlier run perhaps: nothing is made where it leads.
 */
static int open_dir(const char *path, char canonical[static PATH_MAX])
{
	CLEANUP_CLOSE int fd = fd_open_plain(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	CLEANUP_FREE char *real = fd < 0 ? NULL : fd_path(fd);

	if (!real)
		return -1;
	if (strlen(real) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(canonical, real);
	return take_fd(&fd);
}

/* The descriptor that is kept of a directory: two would bar each other's exclusive lock. */
static int kept_dir(const struct protect *p, int place)
{
	struct stat a, b;

	if (p->ndirs == 0 || fstat(place, &a) < 0)
		return -1;
	for (size_t i = 0; i < p->ndirs; i++)
		if (fstat(p->dirs[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return p->dirs[i];
	return -1;
}

/*
 * Opens a directory in which placeholders may be made, under a shared lock; @p keeps it.
 * Return: a descriptor; -1 with errno (EWOULDBLOCK: somebody else keeps it locked).
 */
static int keep_dir(struct protect *p, const char *path, char canonical[static PATH_MAX])
{
	CLEANUP_CLOSE int place = open_dir(path, canonical);
	CLEANUP_CLOSE int fd = -1;
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	int kept;

	if (place < 0)
		return -1;
	kept = kept_dir(p, place);
	if (kept >= 0)
		return kept;
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	for (int i = 0; flock(fd, LOCK_SH | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == LOCK_ATTEMPTS)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	p->dirs = xreallocarray(p->dirs, p->ndirs + 1, sizeof(*p->dirs));
	p->dirs[p->ndirs++] = fd;
	return take_fd(&fd);
}

/* The names of the table that belong into @below the root ("" for the root itself). */
static int protect_names(struct protect *p, int dir, const char *path, const char *below,
			 struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i].dir, below) == 0 &&
		    protect_name(p, dir, path, names[i].name, names[i].content, err))
			return -1;
	return 0;
}

/* Nothing in it but what a run that was killed left behind, which is removed. */
static bool is_empty_root(int top)
{
	CLEANUP_CLOSE int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool empty = d;

	if (d)
		(void)take_fd(&fd);
	while (empty && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		/* another run's: locked, and the directory is not empty for this one either */
		empty = is_placeholder(top, e->d_name, NULL) &&
			flock(top, LOCK_EX | LOCK_NB) == 0 &&
			unlinkat(top, e->d_name, AT_REMOVEDIR) == 0;
	}
	if (d)
		(void)closedir(d);
	/* a lock that could not be turned round is lost: take it again */
	return flock(top, LOCK_SH) == 0 && empty;
}

/* The canonical writable root at or above a canonical path; NULL if there is none. */
static const char *root_of(const struct protect *p, const char *path)
{
	for (size_t i = 0; i < p->nroots; i++)
		if (mountplan_beneath(path, p->roots[i].path))
			return p->roots[i].path;
	return NULL;
}

static void add_root(struct protect *p, const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	char *canonical = fd < 0 ? NULL : fd_path(fd);
	struct stat st;

	if (!canonical || fstat(fd, &st) < 0) {
		free(canonical);
		return; /* mountplan.c will say so */
	}
	p->roots = xreallocarray(p->roots, p->nroots + 1, sizeof(*p->roots));
	p->roots[p->nroots++] = (struct protect_root){ canonical, st.st_dev, st.st_ino };
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
	add_path(p, path, slash + 1);
}

/** struct walk - a path of ours, component by component */
struct walk {
	struct protect *p;
	const char *path;    /* as it was given, for messages */
	char done[PATH_MAX]; /* canonical; "" for the root directory */
	char rest[PATH_MAX]; /* what is left of it */
	const char *content; /* of the placeholder; NULL: a directory */
	bool directory;	     /* made for good where it is missing, if we may */
	bool must;	     /* that it cannot be held is an error */
	unsigned links;
	struct error *err;
};

static int walk_refuse(const struct walk *w, int code, const char *why)
{
	return error_set(w->err, code,
			 "%s: the command could change it, since it lies in a directory that is "
			 "writable inside, and %s; keep it elsewhere",
			 w->path, why);
}

/* Takes the next component out of @w->rest. Return: false at the end. */
static bool walk_next(struct walk *w, char name[static NAME_MAX + 1])
{
	const char *at = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(at, "/");

	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(name, at, n);
	name[n] = '\0';
	at += n + strspn(at + n, "/");
	memmove(w->rest, at, strlen(at) + 1);
	return true;
}

static void walk_enter(struct walk *w, const char *name)
{
	size_t n = strlen(w->done);

	if (n + strlen(name) + 2 > sizeof(w->done))
		name = ""; /* too long for the kernel, too: nothing is there */
	w->done[n] = '/';
	strcpy(w->done + n + 1, name);
}

static void walk_up(struct walk *w)
{
	char *slash = strrchr(w->done, '/');

	if (slash)
		*slash = '\0';
}

/* A symbolic link is locked itself; the walk goes on where it leads. */
static int walk_follow(struct walk *w, const char *name)
{
	CLEANUP_FREE char *link = xasprintf("%s/%s", w->done, name);
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n < 0)
		return walk_refuse(w, errno, "a symbolic link on the way cannot be read");
	target[n] = '\0';
	if (++w->links > LINKS_MAX || (size_t)n + strlen(w->rest) + 2 > sizeof(w->rest))
		return walk_refuse(w, ELOOP, "it leads through too many symbolic links");
	if (root_of(w->p, link))
		add_path(w->p, w->done, name);
	memmove(w->rest + n + 1, w->rest, strlen(w->rest) + 1);
	memcpy(w->rest, target, (size_t)n);
	w->rest[n] = '/';
	if (target[0] == '/')
		w->done[0] = '\0';
	return 0;
}

/* Makes a directory of the way, to be removed at the end if it is empty then. */
static int walk_make(struct walk *w, int dir, const char *name)
{
	struct stat st;

	if (tell(w->p, dir, name, NULL, NULL, true) < 0)
		return -1;
	if (mkdirat(dir, name, OWN_DIR) < 0)
		return errno == EEXIST ? 0 : -1;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return unmake(dir, name, AT_REMOVEDIR);
	remember(w->p, dir, name, NULL, &st);
	return 0;
}

/* Whether the last component is next. */
static bool walk_ends(const struct walk *w)
{
	return w->rest[0] == '\0';
}

/*
 * @name is missing. The directories on the way to it are made, and the lowest of them is what is
 * locked; where only the last component is missing, it gets a placeholder.
 */
static int walk_hold(struct walk *w, char name[static NAME_MAX + 1])
{
	char canonical[PATH_MAX], next[NAME_MAX + 1];

	for (;;) {
		int dir = keep_dir(w->p, w->done[0] ? w->done : "/", canonical);
		bool last = walk_ends(w), more = !last && strchr(w->rest, '/');

		if (dir < 0)
			return -1;
		if (strcmp(name, "..") == 0) {
			errno = ENOENT;
			return -1;
		}
		if (last && !w->directory)
			return settle(w->p, dir, name, w->content) < 0
				       ? -1
				       : (add_path(w->p, w->done, name), 0);
		if (walk_make(w, dir, name) < 0)
			return -1;
		if (last || (!more && !w->directory)) {
			add_path(w->p, w->done, name);
			return 0;
		}
		walk_enter(w, name);
		if (!walk_next(w, next))
			return 0;
		memcpy(name, next, sizeof(next));
	}
}

static int walk_missing(struct walk *w, char name[static NAME_MAX + 1])
{
	CLEANUP_FREE char *at = xasprintf("%s/%s", w->done, name);
	struct stat st;
	int code;

	if (!root_of(w->p, at) || is_beneath_listed(w->p, at) || walk_hold(w, name) == 0)
		return 0;
	code = errno;
	/* What this user cannot make, the command cannot; unless it may change the mode first. */
	if (code == EROFS || ((code == EACCES || code == EPERM) &&
			      stat(w->done[0] ? w->done : "/", &st) == 0 && st.st_uid != geteuid()))
		return 0;
	return walk_refuse(w, code, "its place cannot be held");
}

/* The end of the walk: something that exists. */
static int walk_lock(struct walk *w, const char *name, const struct stat *st)
{
	CLEANUP_FREE char *at = xasprintf("%s/%s", w->done, name);
	char canonical[PATH_MAX];
	int dir;

	if (!root_of(w->p, at))
		return 0;
	if (S_ISREG(st->st_mode) && st->st_nlink > 1 && w->must)
		return walk_refuse(w, 0, "it has another name (a hard link)");
	dir = keep_dir(w->p, w->done[0] ? w->done : "/", canonical);
	if (dir >= 0 && !w->directory && is_placeholder(dir, name, w->content))
		remember(w->p, dir, name, w->content, NULL);
	add_path(w->p, w->done, name);
	return 0;
}

/*
 * Nothing can be seen beneath @w->done: it is no directory, or one that this user may not enter. The
 * command could take the permission, or put another directory in its place, and so it is locked itself.
 */
static int walk_barred(struct walk *w, int code)
{
	const char *root = root_of(w->p, w->done);
	char *slash = strrchr(w->done, '/');

	if (!root || code == ENAMETOOLONG || is_beneath_listed(w->p, w->done))
		return 0;
	if ((code != EACCES && code != ENOTDIR) || !slash || strcmp(w->done, root) == 0)
		return walk_refuse(w, code, "its place cannot be looked at");
	*slash = '\0';
	add_path(w->p, w->done, slash + 1);
	*slash = '/';
	return 0;
}

static int walk_step(struct walk *w, char name[static NAME_MAX + 1])
{
	CLEANUP_FREE char *at = xasprintf("%s/%s", w->done, name);
	struct stat st;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		walk_up(w);
		return 0;
	}
	if (lstat(at, &st) < 0) {
		int rc = errno == ENOENT ? walk_missing(w, name) : walk_barred(w, errno);

		w->rest[0] = '\0';
		return rc;
	}
	if (S_ISLNK(st.st_mode))
		return walk_follow(w, name);
	if (walk_ends(w))
		return walk_lock(w, name, &st);
	walk_enter(w, name);
	return 0;
}

static int walk_all(struct walk *w)
{
	const char *path = w->path;
	char name[NAME_MAX + 1];

	if (path[0] != '/' && (!getcwd(w->done, sizeof(w->done)) || strcmp(w->done, "/") == 0))
		w->done[0] = '\0';
	if (strlen(path) >= sizeof(w->rest))
		return error_set(w->err, ENAMETOOLONG, "cannot protect %s", path);
	strcpy(w->rest, path);
	while (walk_next(w, name))
		if (walk_step(w, name) < 0)
			return -1;
	return 0;
}

/* Protects a path of ours, wherever it leads: see "Files of ours" above. */
static int protect_own(struct protect *p, const char *path, bool directory, bool must,
		       struct error *err)
{
	struct walk w = { .p = p, .path = path, .directory = directory, .must = must, .err = err };

	return walk_all(&w);
}

/* The same for what git obeys; @content as for the names of the table. */
static int protect_path(struct protect *p, const char *path, const char *content, struct error *err)
{
	struct walk w = { .p = p, .path = path, .content = content, .err = err };

	return walk_all(&w);
}

/* --deny-write: the path itself, by way of whatever links, present or not. */
static int protect_denied(struct protect *p, const char *path, struct error *err)
{
	if (path[0] != '/')
		return error_set(err, 0, "--deny-write needs an absolute path: %s", path);
	return protect_own(p, path, false, false, err);
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
	return protect_own(p, path, false, false, err);
}

/* A submodule's git directory, a bare repository; a linked worktree has no more than two of them. */
static int protect_git_dir(struct protect *p, const struct gitobeys_dir *g, struct error *err)
{
	char path[PATH_MAX];
	int dir = keep_dir(p, g->path, path);

	if (dir < 0 && (errno == ELOOP || errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (dir < 0)
		return error_set(err, errno, "cannot lock %s to protect what is in it", g->path);
	if (!g->linked)
		return protect_names(p, dir, path, ".git", err);
	if (protect_name(p, dir, path, "config.worktree", "", err))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(linked_names); i++)
		if (faccessat(dir, linked_names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			add_path(p, path, linked_names[i]);
	return 0;
}

/* A hooks directory that is the working tree itself, or holds it, would lock everything. */
static bool is_above_root(const char *path, const char *root)
{
	char canonical[PATH_MAX];

	return realpath(path, canonical) && mountplan_beneath(root, canonical);
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
	if (g->unread)
		return error_set(err, g->unread_code,
				 "cannot tell what git runs here: cannot read %s", g->unread);
	for (size_t i = 0; i < g->ndirs; i++)
		if (root_of(p, g->dirs[i].path) && protect_git_dir(p, &g->dirs[i], err))
			return -1;
	for (size_t i = 0; i < g->npaths; i++) {
		const struct gitobeys_path *o = &g->paths[i];

		if (!is_above_root(o->path, root) &&
		    protect_path(p, o->path, o->file ? "" : NULL, err))
			return -1;
	}
	return 0;
}

/*
 * .git, .hg: names are made in a directory, also in one that a link leads to, if that is writable
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
	if (!S_ISDIR(st.st_mode))
		add_path(p, path, name);
	if (S_ISREG(st.st_mode) || !realpath(dot, canonical) || !root_of(p, canonical))
		return 0;
	dir = keep_dir(p, canonical, kept);
	if (dir < 0 && errno == ENOTDIR)
		return 0;
	if (dir < 0)
		return error_set(err, errno, "cannot lock %s to protect what is in it", dot);
	return protect_names(p, dir, kept, name, err);
}

static int protect_root(struct protect *p, const char *root, const struct homes *homes,
			struct error *err)
{
	char path[PATH_MAX], canonical[PATH_MAX];
	struct gitobeys g;
	int top, rc;

	if (!realpath(root, canonical))
		return 0; /* mounts.c will say so */
	top = keep_dir(p, canonical, path);
	if (top < 0 && errno == ENOTDIR)
		return 0; /* a single file is granted */
	if (top < 0)
		return error_set(err, errno, "cannot lock %s to protect what is in it", root);
	if (is_empty_root(top))
		return 0;
	if (protect_dot_dir(p, top, path, ".git", err) ||
	    protect_dot_dir(p, top, path, ".hg", err) || protect_names(p, top, path, "", err))
		return -1;
	gitobeys_find(path, homes->v, homes->n, &g);
	rc = protect_obeyed(p, &g, path, err);
	gitobeys_clear(&g);
	return rc;
}

/* What is obeyed in the home directory, should it lie in a root. */
static int protect_home(struct protect *p, const char *home, struct error *err)
{
	char canonical[PATH_MAX], path[PATH_MAX];
	int dir;

	if (!realpath(home, canonical) || !root_of(p, canonical))
		return 0;
	dir = keep_dir(p, canonical, path);
	if (dir < 0)
		return error_set(err, errno, "cannot lock %s to protect what is in it", home);
	for (size_t i = 0; i < ARRAY_SIZE(home_names); i++) {
		const struct home_name *h = &home_names[i];
		CLEANUP_FREE char *below = xasprintf("%s/%s", path, h->name);
		int rc = strchr(h->name, '/')
				 ? protect_own(p, below, true, false, err)
				 : protect_name(p, dir, path, h->name, h->content, err);

		if (rc)
			return -1;
	}
	return 0;
}

/* Our settings, answers and trust, by one home directory. */
static int protect_our_dirs(struct protect *p, const char *home, struct error *err)
{
	for (size_t i = 0; i < credentials_own_count(); i++) {
		CLEANUP_FREE char *dir = credentials_own(i, home);

		if (dir && protect_own(p, dir, true, true, err))
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
		if (protect_own(p, plan->private_paths.v[i], false, true, err))
			return -1;
	return 0;
}

static void find_roots(struct protect *p, const struct launcher_plan *plan)
{
	if (plan->fs == FS_OFF)
		add_root(p, "/");
	if (plan->fs == FS_WORKSPACE)
		add_root(p, plan->cwd);
	for (size_t i = 0; plan->fs != FS_OFF && i < plan->write.n; i++)
		add_root(p, plan->write.v[i]);
}

static int prepare(struct protect *p, const struct launcher_plan *plan, const struct homes *homes,
		   struct error *err)
{
	find_roots(p, plan);
	if (plan->fs == FS_WORKSPACE && protect_root(p, plan->cwd, homes, err))
		return -1;
	for (size_t i = 0; plan->fs != FS_OFF && i < plan->write.n; i++)
		if (protect_root(p, plan->write.v[i], homes, err))
			return -1;
	for (size_t i = 0; plan->fs != FS_OFF && i < homes->n; i++)
		if (protect_home(p, homes->v[i], err))
			return -1;
	protect_program(p);
	p->first_denied = p->npaths;
	for (size_t i = 0; i < plan->deny_write.n; i++)
		if (protect_denied(p, plan->deny_write.v[i], err))
			return -1;
	return protect_ours(p, plan, homes, err);
}

int protect_prepare(const struct launcher_plan *plan, const struct protect_watch *watch,
		    struct protect *out, struct error *err)
{
	struct protect p = { .watch = watch };
	struct homes homes;
	int rc;

	homes_find(&homes);
	rc = prepare(&p, plan, &homes, err);
	homes_clear(&homes);
	if (rc < 0) {
		protect_remove(&p);
		protect_clear(&p);
		return -1;
	}
	p.watch = NULL;
	*out = p;
	return 0;
}

/* What we made ourselves, whatever the file system keeps of modes and times. */
static bool is_made(const struct placeholder *m)
{
	struct stat st;

	return m->ino && !m->content && fstatat(m->dir, m->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_dev == m->dev && st.st_ino == m->ino;
}

/* A umask may have taken some of the bits that we asked for. */
static bool is_within(mode_t mode, mode_t asked)
{
	return (mode | asked) == asked;
}

/*
 * We were killed while we made it: a directory without its time, a file without its content. What
 * was not there a moment before, and has our modes and nothing in it, is nobody else's.
 */
static bool is_half_made(const struct placeholder *m)
{
	struct stat st;
	mode_t mode;

	if (!m->absent || m->ino || fstatat(m->dir, m->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_uid != geteuid())
		return false;
	mode = st.st_mode & 07777;
	if (m->content)
		return S_ISREG(st.st_mode) && is_within(mode, PLACEHOLDER_MODE) && st.st_size == 0;
	return S_ISDIR(st.st_mode) &&
	       (is_within(mode, PLACEHOLDER_DIR) || is_within(mode, OWN_DIR));
}

/* The command may have taken the permissions of the directory away. Return: whether it had. */
static bool take_permission(int dir, struct stat *was)
{
	return faccessat(dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES &&
	       fstat(dir, was) == 0 && fchmod(dir, (was->st_mode & 07777) | S_IRWXU) == 0;
}

static void remove_one(const struct placeholder *m)
{
	struct stat was;
	bool taken = take_permission(m->dir, &was);

	if (is_made(m) || is_placeholder(m->dir, m->name, m->content) || is_half_made(m))
		(void)unlinkat(m->dir, m->name, m->content ? 0 : AT_REMOVEDIR);
	if (taken)
		(void)fchmod(m->dir, was.st_mode & 07777);
}

void protect_remove(const struct protect *p)
{
	/* from the last to the first: what is in a directory that we made comes after it */
	for (size_t i = p->nmade; i-- > 0;) {
		const struct placeholder *m = &p->made[i];

		/* Locked already by an earlier one of the same directory, or another run's still. */
		if (flock(m->dir, LOCK_EX | LOCK_NB) == 0)
			remove_one(m);
	}
}

void protect_clear(struct protect *p)
{
	for (size_t i = 0; i < p->npaths; i++)
		free(p->paths[i]);
	free(p->paths);
	for (size_t i = 0; i < p->nroots; i++)
		free(p->roots[i].path);
	free(p->roots);
	for (size_t i = 0; i < p->nmade; i++)
		free(p->made[i].name);
	free(p->made);
	for (size_t i = 0; i < p->ndirs; i++)
		cleanup_close(&p->dirs[i]);
	free(p->dirs);
	*p = (struct protect){ 0 };
}
