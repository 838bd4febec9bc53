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
 *  - Files of git's state that have it run a program or copy a file (gitstate.c).
 *  - HEAD, objects and refs in a working tree that has a .git: where that .git is broken, git takes the
 *    tree for a bare repository, and obeys the configuration in it.
 *
 * The command is hostile, and so may another run's be that has the same directory: no name is followed,
 * directories are entered by descriptors, and permissions that were taken are given back. Objects
 * themselves are not looked at: git makes them under other names and renames them.
 */
#include "launcher/files/leftover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "launcher/files/gitstate.h"

#define ENTRIES_MAX (1024 * 1024) /* that are looked at, a fraction of a second */
#define DEPTH_MAX   128
#define LINES_MAX   20 /* that are told of one directory; a command can make any number */

#define LOOK "look for links in it that lead elsewhere before you use git there"

/** struct odd - something that is neither a file nor a directory; @target is "" if it is no link */
struct odd {
	char *at;
	char *target;
};

/** struct leftover - what is known; @unseen are directories that could not be looked at, "" for all */
struct leftover {
	int dir;
	enum leftover_kind kind;
	char *path;
	struct odd *odd;
	size_t nodd;
	char **unseen;
	size_t nunseen;
	struct gitstate state;
	bool bare;
};

/** struct visit - a walk, to remember or to sweep */
struct visit {
	struct leftover *l;
	bool sweep;
	struct gitstate_visit state;
	unsigned long entries, lines;
	leftover_tell *tell;
	void *arg;
};

static void visit_dir(struct visit *v, int fd, const char *at, unsigned depth);

/* A line: where, what is there, and what has become of it. */
static void say(void *arg, const char *at, const char *what, const char *which, const char *done)
{
	struct visit *v = arg;
	char where[PATH_MAX], shown[256];
	CLEANUP_FREE char *path = xasprintf("%s%s%s", v->l->path, *at ? "/" : "", at);
	CLEANUP_FREE char *line = NULL;

	if (v->lines++ >= LINES_MAX)
		return;
	line = xasprintf("%s: %s%s%s; %s", log_escape(where, sizeof(where), path, strlen(path)),
			 what, *which ? " " : "",
			 log_escape(shown, sizeof(shown), which, strlen(which)), done);
	v->tell(v->arg, line);
}

static void say_rest(struct visit *v)
{
	CLEANUP_FREE char *line = NULL;

	if (v->sweep && v->entries > ENTRIES_MAX)
		say(v, "", "there is too much in it to be looked at", "", LOOK);
	if (v->lines <= LINES_MAX)
		return;
	line = xasprintf("and %lu more like these", v->lines - LINES_MAX);
	v->tell(v->arg, line);
}

static const char *kind_of(mode_t mode)
{
	if (S_ISLNK(mode))
		return "a symbolic link, which git would follow, to";
	return S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* HEAD of core.preferSymlinkRefs, and the lock files of emacs, which git does not open. */
static bool is_harmless(const char *name, const char *target)
{
	return strncmp(name, ".#", 2) == 0 ||
	       (strcmp(name, "HEAD") == 0 && strncmp(target, "refs/", 5) == 0 &&
		!strstr(target, ".."));
}

static bool is_known(const struct leftover *l, const char *at, const char *target)
{
	for (size_t i = 0; i < l->nodd; i++)
		if (strcmp(l->odd[i].at, at) == 0 && strcmp(l->odd[i].target, target) == 0)
			return true;
	return false;
}

static void remember(struct leftover *l, const char *at, const char *target)
{
	l->odd = xreallocarray(l->odd, l->nodd + 1, sizeof(*l->odd));
	l->odd[l->nodd++] = (struct odd){ xstrdup(at), xstrdup(target) };
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

static void visit_odd(struct visit *v, int dir, const char *name, const char *at, mode_t mode)
{
	char target[PATH_MAX] = "";
	ssize_t n = S_ISLNK(mode) ? readlinkat(dir, name, target, sizeof(target) - 1) : 0;

	if (n < 0)
		return; /* gone */
	target[n] = '\0';
	if (is_harmless(name, target))
		return;
	if (!v->sweep) {
		remember(v->l, at, target);
		if (v->l->kind == LEFTOVER_ORPHAN)
			say(v, at, kind_of(mode), target, GITSTATE_ORPHAN);
		return;
	}
	if (is_known(v->l, at, target))
		return;
	say(v, at, kind_of(mode), target,
	    is_unseen(v->l, at) ? "it may have been there before; remove it if it is not yours"
				: gitstate_take_away(dir, name));
}

/* Whether @at is "@name" or ends with "/@name". */
static bool ends_with(const char *at, const char *name)
{
	size_t n = strlen(at), m = strlen(name);

	return n >= m && strcmp(at + n - m, name) == 0 && (n == m || at[n - m - 1] == '/');
}

/* Objects by their numbers, and what other tools keep by checksums; there may be very many. */
static bool is_store(const char *above, const char *name)
{
	if (ends_with(above, "objects"))
		return isxdigit((unsigned char)name[0]) && isxdigit((unsigned char)name[1]) &&
		       !name[2];
	return ends_with(above, "annex") && strcmp(name, "objects") == 0;
}

/* Gives the owner's permissions back, which the command may have taken. Return: whether it has. */
static bool give_back(int dir, struct stat *was)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", dir);

	return faccessat(dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 && fstat(dir, was) == 0 &&
	       chmod(link, (was->st_mode & 07777) | S_IRWXU) == 0;
}

static int enter(const struct visit *v, int dir, const char *name)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (!v->sweep || (fd < 0 && errno != EACCES) ||
	    (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) == S_IRWXU))
		return take_fd(&fd);
	cleanup_close(&fd);
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	(void)give_back(fd, &st);
	return openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void visit_subdir(struct visit *v, int dir, const char *name, const char *at, unsigned depth)
{
	CLEANUP_CLOSE int fd = depth < DEPTH_MAX ? enter(v, dir, name) : -1;

	if (fd < 0 && depth < DEPTH_MAX && errno == ENOENT)
		return; /* gone */
	if (fd < 0) {
		miss(v, at);
		return;
	}
	gitstate_dir(&v->l->state, &v->state, fd, name, at);
	visit_dir(v, take_fd(&fd), at, depth + 1);
}

static mode_t mode_of(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return DTTOIF(e->d_type);
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode : S_IFREG;
}

static void visit_entry(struct visit *v, int dir, const char *above, const struct dirent *e,
			unsigned depth)
{
	mode_t mode = mode_of(dir, e);
	CLEANUP_FREE char *at = NULL;

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
	    (S_ISREG(mode) && !gitstate_is_file(e->d_name)))
		return;
	if (S_ISDIR(mode) && is_store(above, e->d_name))
		return;
	at = xasprintf("%s%s%s", above, *above ? "/" : "", e->d_name);
	if (S_ISREG(mode))
		gitstate_file(&v->l->state, &v->state, dir, e->d_name, at);
	else if (S_ISDIR(mode))
		visit_subdir(v, dir, e->d_name, at, depth);
	else
		visit_odd(v, dir, e->d_name, at, mode);
}

/* Takes @fd, which may be -1. */
static void visit_dir(struct visit *v, int fd, const char *at, unsigned depth)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		cleanup_close(&fd);
		miss(v, at);
		return;
	}
	while (v->entries <= ENTRIES_MAX && (e = readdir(d))) {
		v->entries++;
		visit_entry(v, dirfd(d), at, e, depth);
	}
	(void)closedir(d);
}

static void visit_top(struct visit *v)
{
	visit_dir(v, openat(v->l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
}

/* What git wants of a bare repository, besides the configuration that it may do without. */
static bool is_bare(int dir)
{
	struct stat st;

	return fstatat(dir, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
	       faccessat(dir, "objects", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(dir, "refs", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

struct leftover *leftover_note(int dir, enum leftover_kind kind, leftover_tell *tell, void *arg)
{
	struct leftover *l = xcalloc(1, sizeof(*l));
	struct visit v = { .l = l, .tell = tell, .arg = arg };

	v.state.say = say;
	v.state.arg = &v;
	v.state.task = kind == LEFTOVER_ORPHAN ? GITSTATE_WARN : GITSTATE_NOTE;
	l->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	l->kind = kind;
	l->path = fd_path(dir);
	l->state.tree = l->path && ends_with(l->path, ".git")
				? openat(l->dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC)
				: -1;
	if (!l->path)
		l->path = xstrdup(kind == LEFTOVER_TREE ? "the workspace" : ".git");
	if (kind == LEFTOVER_TREE)
		l->bare = is_bare(l->dir);
	else
		visit_top(&v);
	if (v.entries > ENTRIES_MAX)
		miss(&v, "");
	say_rest(&v);
	return l;
}

void leftover_sweep(struct leftover *l, leftover_tell *tell, void *arg)
{
	struct visit v = { .l = l, .sweep = true, .tell = tell, .arg = arg };
	struct stat was;
	bool given;

	v.state = (struct gitstate_visit){ GITSTATE_SWEEP, say, &v };
	given = give_back(l->dir, &was);
	if (l->kind != LEFTOVER_TREE)
		visit_top(&v);
	else if (!l->bare && is_bare(l->dir))
		say(&v, "HEAD",
		    "it makes a repository of the directory, whose configuration git obeys", "",
		    gitstate_take_away(l->dir, "HEAD"));
	if (given)
		(void)fchmod(l->dir, was.st_mode & 07777);
	say_rest(&v);
}

void leftover_free(struct leftover *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nodd; i++) {
		free(l->odd[i].at);
		free(l->odd[i].target);
	}
	free(l->odd);
	for (size_t i = 0; i < l->nunseen; i++)
		free(l->unseen[i]);
	free(l->unseen);
	gitstate_clear(&l->state);
	cleanup_close(&l->state.tree);
	free(l->path);
	cleanup_close(&l->dir);
	free(l);
}
