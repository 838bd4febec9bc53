/*
 * Theory of operation
 *
 * For each writable root and each name of the table: the directory that holds the name is opened,
 * and if the name is absent there, a placeholder is made. It is a socket that nobody listens on:
 * git does not see sockets, opening one fails at once with ENXIO, and nobody's data can be in it.
 * They are hard links of one another, since a new inode costs ten times a new name. The few files
 * inside .git are what git takes for nothing: an empty configuration, a "commondir" that says ".".
 *
 * Without a .git there is nothing to protect in it, so that `git init` and `git clone` work; a
 * repository that the command makes is the command's (docs/threat-model.md).
 *
 * Replaced from outside: when a program outside renames a new file over a locked one, the kernel
 * takes the mount on the old one away, and the new one is writable inside. git does that to its
 * configuration, but only under its own lock file. So the lock files are held too: `git config`
 * outside says that the file is locked as long as the run lasts. Against an editor that replaces
 * files there is no such means (docs/threat-model.md).
 *
 * Two runs may share a directory. Each holds a shared lock on it from before it looks until its
 * end; placeholders are removed under an exclusive lock only, by whoever is the last.
 */
#include "launcher/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"

#define LOCK_ATTEMPTS	 100 /* of 10 ms: another run may just be tidying up */
#define PLACEHOLDER_MODE 0444

/* What git and a person's tools run or obey. @content: of the placeholder file; NULL: socket. */
static const struct name {
	const char *dir; /* below the root; "" for the root itself */
	const char *name;
	const char *content;
} names[] = {
	{ ".git", "hooks", NULL },
	{ ".git", "config", "" },
	/* see "Replaced from outside" */
	{ ".git", "config.lock", NULL },
	{ ".git", "config.worktree.lock", NULL },
	{ ".git", "config.worktree", "" },
	{ ".git", "commondir", ".\n" },
	{ "", ".sbx-net", NULL },
	{ "", ".claude", NULL },
	{ "", ".codex", NULL },
	{ "", ".cursor", NULL },
	{ "", ".gemini", NULL },
	{ "", ".vscode", NULL },
	{ "", ".idea", NULL },
	{ "", ".mcp.json", NULL },
	{ "", ".envrc", NULL },
	{ "", ".bashrc", NULL },
	{ "", ".bash_profile", NULL },
	{ "", ".bash_login", NULL },
	{ "", ".bash_logout", NULL },
	{ "", ".profile", NULL },
	{ "", ".zshrc", NULL },
	{ "", ".zshenv", NULL },
	{ "", ".zprofile", NULL },
	{ "", ".zlogin", NULL },
	{ "", ".zlogout", NULL },
};

/* In each existing submodule's and linked worktree's git directory, and in a bare repository. */
static const char *const git_names[] = { "hooks", "config", "config.worktree", "commondir",
					 "gitdir" };

static void add_path(struct protect *p, const char *dir, const char *name)
{
	p->paths = xreallocarray(p->paths, p->npaths + 1, sizeof(*p->paths));
	p->paths[p->npaths++] = xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
}

/* Whether @name is what we make: as it was made, and therefore nobody's data. */
static bool is_placeholder(int dir, const char *name, const char *content)
{
	CLEANUP_CLOSE int fd = -1;
	char text[8] = "";
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != geteuid() ||
	    (st.st_mode & 07777) != PLACEHOLDER_MODE)
		return false;
	if (!content)
		return S_ISSOCK(st.st_mode);
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)strlen(content))
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof(text) - 1) == st.st_size &&
	       strcmp(text, content) == 0;
}

/* A new name for the socket made last, or a new socket. Return: 0, or -1 with errno. */
static int make_socket(const struct protect *p, int dir, const char *name)
{
	for (size_t i = p->nmade; i-- > 0;) {
		const struct placeholder *m = &p->made[i];

		if (m->content)
			continue;
		if (linkat(m->dir, m->name, dir, name, 0) == 0)
			return 0;
		if (errno == EEXIST)
			return -1;
		break;
	}
	return mknodat(dir, name, S_IFSOCK | PLACEHOLDER_MODE, 0);
}

static int make_file(int dir, const char *name, const char *content)
{
	CLEANUP_CLOSE int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PLACEHOLDER_MODE);

	return fd < 0 ? -1 : fd_write_all(fd, content, strlen(content));
}

/* Sees to it that the name exists. Return: 0, or -1 with errno. */
static int settle(struct protect *p, int dir, const char *name, const char *content)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return -1;
		if ((content ? make_file(dir, name, content) : make_socket(p, dir, name)) < 0 &&
		    errno != EEXIST)
			return -1;
	}
	if (!is_placeholder(dir, name, content))
		return 0;
	p->made = xreallocarray(p->made, p->nmade + 1, sizeof(*p->made));
	p->made[p->nmade++] =
		(struct placeholder){ .dir = dir, .name = xstrdup(name), .content = content };
	return 0;
}

/* Where a symbolic link in a writable root leads must be protected too; it must lead somewhere. */
static int add_link_target(struct protect *p, int dir, const char *name, struct error *err)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d/%s", dir, name);
	char target[PATH_MAX];
	char *slash;

	if (!realpath(link, target))
		return error_set(
			err, errno,
			"%s is a symbolic link that leads nowhere and cannot be protected; "
			"remove it",
			name);
	slash = strrchr(target, '/');
	*slash = '\0';
	add_path(p, target, slash + 1);
	return 0;
}

/* Protects @name in the open directory @dir, whose canonical path is @path. */
static int protect_name(struct protect *p, int dir, const char *path, const char *name,
			const char *content, struct error *err)
{
	struct stat st;
	int done = settle(p, dir, name, content);

	if (done < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		return 0;
	if (done < 0)
		return error_set(err, errno, "cannot protect %s/%s", path, name);
	add_path(p, path, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return add_link_target(p, dir, name, err);
	return 0;
}

/* Opens a directory and tells its canonical path; -1 with errno. */
static int open_dir(const char *path, char canonical[static PATH_MAX])
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FREE char *link = NULL;
	ssize_t n;

	if (fd < 0)
		return -1;
	link = xasprintf("/proc/self/fd/%d", fd);
	n = readlink(link, canonical, PATH_MAX);
	if (n <= 0 || n == PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	canonical[n] = '\0';
	return take_fd(&fd);
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

	if (place < 0)
		return -1;
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

/* What exists in a git directory that is none of the table's: no placeholders, no failure. */
static void protect_git_dir(struct protect *p, const char *path)
{
	char canonical[PATH_MAX];
	CLEANUP_CLOSE int dir = open_dir(path, canonical);

	for (size_t i = 0; dir >= 0 && i < ARRAY_SIZE(git_names); i++)
		if (faccessat(dir, git_names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			add_path(p, canonical, git_names[i]);
}

/* Each entry of .git/modules or .git/worktrees. */
static void protect_git_dirs(struct protect *p, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		CLEANUP_FREE char *sub = xasprintf("%s/%s", path, e->d_name);

		if (e->d_name[0] != '.')
			protect_git_dir(p, sub);
	}
	if (d)
		(void)closedir(d);
}

static bool is_bare_repository(int root)
{
	return faccessat(root, "HEAD", F_OK, 0) == 0 && faccessat(root, "objects", F_OK, 0) == 0 &&
	       faccessat(root, "refs", F_OK, 0) == 0;
}

static void protect_repositories(struct protect *p, int root, const char *path)
{
	CLEANUP_FREE char *modules = xasprintf("%s/.git/modules", path);
	CLEANUP_FREE char *worktrees = xasprintf("%s/.git/worktrees", path);
	struct stat st;

	protect_git_dirs(p, modules);
	protect_git_dirs(p, worktrees);
	if (is_bare_repository(root))
		protect_git_dir(p, path);
	/* A linked worktree's file, or a link: whoever replaces it has a repository of his own. */
	if (fstatat(root, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
		add_path(p, path, ".git");
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

static int protect_root(struct protect *p, const char *root, struct error *err)
{
	char path[PATH_MAX], git_path[PATH_MAX];
	CLEANUP_FREE char *git = NULL;
	int top = keep_dir(p, root, path), dir;

	if (top < 0 && errno == ENOTDIR)
		return 0; /* a single file is granted */
	if (top < 0)
		return error_set(err, errno, "cannot lock %s to protect what is in it", root);
	git = xasprintf("%s/.git", path);
	dir = keep_dir(p, git, git_path);
	if (dir < 0 && errno != ENOENT && errno != ENOTDIR)
		return error_set(err, errno, "cannot lock %s to protect what is in it", git);
	if (dir >= 0 && protect_names(p, dir, git_path, ".git", err))
		return -1;
	if (protect_names(p, top, path, "", err))
		return -1;
	protect_repositories(p, top, path);
	return 0;
}

/* --deny-write: the path itself, or the first component of it that is missing. */
static int protect_denied(struct protect *p, const char *path, struct error *err)
{
	CLEANUP_FREE char *copy = xstrdup(path);
	char canonical[PATH_MAX], *name;
	size_t n = strlen(copy);

	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = '\0';
	for (;;) {
		int dir;

		name = strrchr(copy, '/');
		if (!name || !name[1])
			return error_set(err, 0, "--deny-write needs an absolute path: %s", path);
		*name++ = '\0';
		dir = keep_dir(p, *copy ? copy : "/", canonical);
		if (dir >= 0)
			return protect_name(p, dir, canonical, name, NULL, err);
		if (errno != ENOENT)
			return error_set(err, errno, "cannot protect %s", path);
	}
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

static int prepare(struct protect *p, const struct launcher_plan *plan, struct error *err)
{
	if (plan->fs == FS_WORKSPACE && protect_root(p, plan->cwd, err))
		return -1;
	for (size_t i = 0; plan->fs != FS_OFF && i < plan->write.n; i++)
		if (protect_root(p, plan->write.v[i], err))
			return -1;
	protect_program(p);
	p->first_denied = p->npaths;
	for (size_t i = 0; i < plan->deny_write.n; i++)
		if (protect_denied(p, plan->deny_write.v[i], err))
			return -1;
	return 0;
}

int protect_prepare(const struct launcher_plan *plan, struct protect *out, struct error *err)
{
	struct protect p = { 0 };

	if (prepare(&p, plan, err)) {
		protect_remove(&p);
		protect_clear(&p);
		return -1;
	}
	*out = p;
	return 0;
}

void protect_remove(const struct protect *p)
{
	for (size_t i = 0; i < p->nmade; i++) {
		const struct placeholder *m = &p->made[i];

		/* Locked already by an earlier one of the same directory, or another run's still. */
		if (flock(m->dir, LOCK_EX | LOCK_NB) < 0)
			continue;
		if (is_placeholder(m->dir, m->name, m->content))
			(void)unlinkat(m->dir, m->name, 0);
	}
}

void protect_clear(struct protect *p)
{
	for (size_t i = 0; i < p->npaths; i++)
		free(p->paths[i]);
	free(p->paths);
	for (size_t i = 0; i < p->nmade; i++)
		free(p->made[i].name);
	free(p->made);
	for (size_t i = 0; i < p->ndirs; i++)
		cleanup_close(&p->dirs[i]);
	free(p->dirs);
	*p = (struct protect){ 0 };
}
