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
 *  - Lines of a rebase that has been begun, which `git rebase --continue` would run. Those that were
 *    there at the start, waiting or done, are the user's.
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
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"

#define ENTRIES_MAX (1024 * 1024) /* that are looked at, a fraction of a second */
#define DEPTH_MAX   128
#define LINES_MAX   20 /* that are told of one directory; a command can make any number */
#define TODO_MAX    (4 * 1024 * 1024)
#define TODO	    "git-rebase-todo"

#define RUNS "'git rebase --continue' would run:"
#define LOOK "look for links in it that lead elsewhere before you use git there"
#define ORPHAN                                                                                  \
	"it may be left from a run that was killed with all its processes: remove it if it is " \
	"not yours"

/** struct odd - something that is neither a file nor a directory; @target is "" if it is no link */
struct odd {
	char *at;
	char *target;
};

/** struct strings - a list, owned */
struct strings {
	char **v;
	size_t n;
};

struct leftover {
	int dir;
	enum leftover_kind kind;
	char *path;
	struct odd *odd;
	size_t nodd;
	struct strings exec;
	bool bare;
};

/** struct visit - a walk, to remember or to sweep */
struct visit {
	struct leftover *l;
	bool sweep;
	unsigned long entries, lines;
	leftover_tell *tell;
	void *arg;
};

static void visit_dir(struct visit *v, int dir, const char *at, unsigned depth);

/* A line: where, what is there, and what has become of it. */
static void say(struct visit *v, const char *at, const char *what, const char *which,
		const char *done)
{
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

	if (v->entries > ENTRIES_MAX)
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

/* Takes something away that was not there when the command was let go. */
static const char *take_away(int dir, const char *name)
{
	return unlinkat(dir, name, 0) == 0
		       ? "the command has left it, and it has been removed"
		       : "the command has left it; remove it before you use git there";
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
			say(v, at, kind_of(mode), target, ORPHAN);
		return;
	}
	if (!is_known(v->l, at, target))
		say(v, at, kind_of(mode), target, take_away(dir, name));
}

/* "exec COMMAND" or "x COMMAND", as git reads it, or might. */
static bool is_exec(const char *line, size_t n)
{
	size_t i = 0;

	while (i < n && isspace((unsigned char)line[i]))
		i++;
	if (n - i >= 4 && strncmp(line + i, "exec", 4) == 0)
		i += 4;
	else if (n - i >= 1 && line[i] == 'x')
		i += 1;
	else
		return false;
	return i == n || isspace((unsigned char)line[i]);
}

static bool has_line(const struct strings *s, const char *line, size_t n)
{
	for (size_t i = 0; i < s->n; i++)
		if (strlen(s->v[i]) == n && memcmp(s->v[i], line, n) == 0)
			return true;
	return false;
}

static void add_line(struct strings *s, const char *line, size_t n)
{
	if (has_line(s, line, n))
		return;
	s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = xstrndup(line, n);
}

/* The file's text; NULL if there is none that git could read: errno is ENOENT, or says why. */
static char *read_todo(int dir, const char *name, size_t *n)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });

	return fd < 0 ? NULL : fd_read_file(fd, TODO_MAX, n);
}

static size_t line_length(const char *p, const char *end)
{
	const char *eol = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((eol ? eol : end) - p);
}

/* Lines that the user's own rebase runs. */
static void note_todo(struct visit *v, int dir, const char *name, const char *at)
{
	size_t n;
	CLEANUP_FREE char *text = read_todo(dir, name, &n);

	for (const char *p = text, *end = text ? text + n : NULL; p && p < end;) {
		size_t len = line_length(p, end);

		if (is_exec(p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			add_line(&v->l->exec, p, len);
			if (v->l->kind == LEFTOVER_ORPHAN && strcmp(name, TODO) == 0)
				say(v, at, RUNS, line, ORPHAN);
		}
		p += len + (p + len < end);
	}
}

/* Takes what is not known out of @text, in place. Return: what is left; *@taken lines were told. */
static size_t take_out(struct visit *v, const char *at, char *text, size_t n, unsigned *taken)
{
	char *out = text;

	*taken = 0;
	for (char *p = text, *end = text + n; p < end;) {
		size_t len = line_length(p, end), whole = len + (p + len < end);

		if (is_exec(p, len) && !has_line(&v->l->exec, p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			say(v, at, RUNS, line,
			    "the command has left the line, and it has been taken out");
			++*taken;
		} else {
			memmove(out, p, whole);
			out += whole;
		}
		p += whole;
	}
	return (size_t)(out - text);
}

static int replace(int dir, const char *name, const char *text, size_t n)
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

static void sweep_todo(struct visit *v, int dir, const char *at)
{
	size_t n, left;
	CLEANUP_FREE char *text = read_todo(dir, TODO, &n);
	unsigned taken;

	if (!text && (errno == EFBIG || errno == EACCES)) {
		say(v, at, "a list of a rebase, which cannot be read", "", take_away(dir, TODO));
		return;
	}
	if (!text)
		return;
	left = take_out(v, at, text, n, &taken);
	if (taken && replace(dir, TODO, text, left) < 0)
		say(v, at, "a list of a rebase, which cannot be written", "", take_away(dir, TODO));
}

static void visit_rebase(struct visit *v, int dir, const char *at)
{
	CLEANUP_FREE char *todo = xasprintf("%s/" TODO, at);

	if (v->sweep) {
		sweep_todo(v, dir, todo);
		return;
	}
	note_todo(v, dir, TODO, todo);
	note_todo(v, dir, "done", todo);
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
	CLEANUP_CLOSE int fd = -1;
	struct stat was;

	if (v->sweep) {
		fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -1;
		(void)give_back(fd, &was);
		return openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void visit_subdir(struct visit *v, int dir, const char *name, const char *at, unsigned depth)
{
	CLEANUP_CLOSE int fd = depth < DEPTH_MAX ? enter(v, dir, name) : -1;

	if (fd < 0) {
		if (v->sweep && errno != ENOENT)
			say(v, at, "a directory that cannot be looked at", "", LOOK);
		return;
	}
	if (strcasecmp(name, "rebase-merge") == 0)
		visit_rebase(v, fd, at);
	visit_dir(v, fd, at, depth + 1);
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

	if (S_ISREG(mode) || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return;
	if (S_ISDIR(mode) && is_store(above, e->d_name))
		return;
	at = xasprintf("%s%s%s", above, *above ? "/" : "", e->d_name);
	if (S_ISDIR(mode))
		visit_subdir(v, dir, e->d_name, at, depth);
	else
		visit_odd(v, dir, e->d_name, at, mode);
}

static void visit_dir(struct visit *v, int dir, const char *at, unsigned depth)
{
	CLEANUP_CLOSE int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d)
		return;
	(void)take_fd(&fd);
	while (v->entries <= ENTRIES_MAX && (e = readdir(d))) {
		v->entries++;
		visit_entry(v, dir, at, e, depth);
	}
	(void)closedir(d);
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

	l->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	l->kind = kind;
	l->path = fd_path(dir);
	if (!l->path)
		l->path = xstrdup(kind == LEFTOVER_TREE ? "the workspace" : ".git");
	if (kind == LEFTOVER_TREE)
		l->bare = is_bare(l->dir);
	else
		visit_dir(&v, l->dir, "", 0);
	say_rest(&v);
	return l;
}

void leftover_sweep(struct leftover *l, leftover_tell *tell, void *arg)
{
	struct visit v = { .l = l, .sweep = true, .tell = tell, .arg = arg };
	struct stat was;
	bool given;

	given = give_back(l->dir, &was);
	if (l->kind != LEFTOVER_TREE)
		visit_dir(&v, l->dir, "", 0);
	else if (!l->bare && is_bare(l->dir))
		say(&v, "HEAD",
		    "it makes a repository of the directory, whose configuration git obeys", "",
		    take_away(l->dir, "HEAD"));
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
	for (size_t i = 0; i < l->exec.n; i++)
		free(l->exec.v[i]);
	free(l->exec.v);
	free(l->path);
	cleanup_close(&l->dir);
	free(l);
}
