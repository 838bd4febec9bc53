/*
 * Theory of operation
 *
 *  - rebase-merge/git-rebase-todo: "exec" lines are run by `git rebase --continue`. Those that were there
 *    at the start, waiting or done, are the user's.
 *  - rebase-merge/strategy, and "strategy" in sequencer/opts: git runs "git-merge-STRATEGY", and where
 *    there is a slash in that, it is a path in the working tree. No strategy has one.
 *  - MERGE_RR: the files whose conflicts are being resolved. With the next commit git copies each, and
 *    each link's target, to rr-cache, where the next run may read it, be it a key at an absolute path.
 *    So each must be a plain file of the working tree, or missing.
 */
#include "launcher/files/gitstate.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
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

#define STATE_MAX (4 * 1024 * 1024)
#define TODO	  "git-rebase-todo"

#define RUNS   "'git rebase --continue' would run:"
#define MERGES "git would run a program of this name to merge:"
#define COPIES "git would copy a file from elsewhere into rr-cache:"

const char *gitstate_take_away(int dir, const char *name)
{
	return unlinkat(dir, name, 0) == 0
		       ? "the command has left it, and it has been removed"
		       : "the command has left it; remove it before you use git there";
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

static bool has_line(const struct gitstate *g, const char *line, size_t n)
{
	for (size_t i = 0; i < g->nlines; i++)
		if (strlen(g->lines[i]) == n && memcmp(g->lines[i], line, n) == 0)
			return true;
	return false;
}

static void add_line(struct gitstate *g, const char *line, size_t n)
{
	if (has_line(g, line, n))
		return;
	g->lines = xreallocarray(g->lines, g->nlines + 1, sizeof(*g->lines));
	g->lines[g->nlines++] = xstrndup(line, n);
}

/* The file's text; NULL if there is none that git could read: errno is ENOENT, or says why. */
static char *read_state(int dir, const char *name, size_t *n)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });

	return fd < 0 ? NULL : fd_read_file(fd, STATE_MAX, n);
}

static size_t line_length(const char *p, const char *end)
{
	const char *eol = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((eol ? eol : end) - p);
}

/* Lines that the user's own rebase runs. */
static void note_todo(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		      const char *at)
{
	size_t n;
	CLEANUP_FREE char *text = read_state(dir, name, &n);

	for (const char *p = text, *end = text ? text + n : NULL; p && p < end;) {
		size_t len = line_length(p, end);

		if (is_exec(p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			add_line(g, p, len);
			if (v->task == GITSTATE_WARN && strcmp(name, TODO) == 0)
				v->say(v->arg, at, RUNS, line, GITSTATE_ORPHAN);
		}
		p += len + (p + len < end);
	}
}

size_t gitstate_filter(const struct gitstate *g, const struct gitstate_visit *v, const char *at,
		       char *text, size_t n, unsigned *taken)
{
	char *out = text;

	*taken = 0;
	for (char *p = text, *end = text + n; p < end;) {
		size_t len = line_length(p, end), whole = len + (p + len < end);

		if (is_exec(p, len) && !has_line(g, p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			v->say(v->arg, at, RUNS, line,
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

static void sweep_todo(const struct gitstate *g, const struct gitstate_visit *v, int dir,
		       const char *at)
{
	size_t n, left;
	CLEANUP_FREE char *text = read_state(dir, TODO, &n);
	unsigned taken;

	if (!text && (errno == EFBIG || errno == EACCES)) {
		v->say(v->arg, at, "a list of a rebase, which cannot be read", "",
		       gitstate_take_away(dir, TODO));
		return;
	}
	if (!text)
		return;
	left = gitstate_filter(g, v, at, text, n, &taken);
	if (taken && replace(dir, TODO, text, left) < 0)
		v->say(v->arg, at, "a list of a rebase, which cannot be written", "",
		       gitstate_take_away(dir, TODO));
}

/* A file that git must not meet: taken away, or told. */
static void deal(const struct gitstate_visit *v, int dir, const char *name, const char *at,
		 const char *what, const char *which)
{
	if (v->task == GITSTATE_NOTE)
		return;
	v->say(v->arg, at, what, which,
	       v->task == GITSTATE_WARN ? GITSTATE_ORPHAN : gitstate_take_away(dir, name));
}

static void visit_strategy(const struct gitstate_visit *v, int dir, const char *at)
{
	CLEANUP_FREE char *where = xasprintf("%s/strategy", at);
	size_t n;
	CLEANUP_FREE char *text = read_state(dir, "strategy", &n);

	if (text && memchr(text, '/', n))
		deal(v, dir, "strategy", where, MERGES, text);
}

static void visit_rebase(struct gitstate *g, const struct gitstate_visit *v, int dir,
			 const char *at)
{
	CLEANUP_FREE char *todo = xasprintf("%s/" TODO, at);

	visit_strategy(v, dir, at);
	if (v->task == GITSTATE_SWEEP) {
		sweep_todo(g, v, dir, todo);
		return;
	}
	note_todo(g, v, dir, TODO, todo);
	note_todo(g, v, dir, "done", todo);
}

/* A name of a strategy with a slash in it. */
static void take_option(void *arg, const char *section, const char *key, const char *value)
{
	char **found = arg;

	if (!*found && strcasecmp(section, "options") == 0 && strcasecmp(key, "strategy") == 0 &&
	    strchr(value, '/'))
		*found = xstrdup(value);
}

/* Options of a cherry-pick or a revert that goes on, in the form of git's configuration. */
static void visit_sequencer(const struct gitstate_visit *v, int dir, const char *at)
{
	CLEANUP_FREE char *where = xasprintf("%s/opts", at);
	CLEANUP_FREE char *found = NULL;
	size_t n;
	CLEANUP_FREE char *text = read_state(dir, "opts", &n);

	if (text)
		gitconfig_parse(text, n, take_option, &found);
	if (found)
		deal(v, dir, "opts", where, MERGES, found);
}

/* A file of the working tree with no link on the way to it, or nothing. */
static bool is_plain(int tree, const char *path)
{
	CLEANUP_CLOSE int fd = -1;
	struct stat st;

	if (tree < 0 || path[0] == '/')
		return false;
	fd = fd_open_plain(tree, path, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

const char *gitstate_elsewhere(const char *text, size_t n, int tree)
{
	for (const char *p = text; p < text + n; p += strlen(p) + 1) {
		const char *tab = strchr(p, '\t');

		if (tab && !is_plain(tree, tab + 1))
			return tab + 1;
	}
	return NULL;
}

static void visit_resolutions(const struct gitstate *g, const struct gitstate_visit *v, int dir,
			      const char *name, const char *at)
{
	bool own = !strchr(at, '/'); /* else the working tree is another one */
	size_t n;
	CLEANUP_FREE char *text = read_state(dir, name, &n);
	const char *found;

	if (!text && (errno == EFBIG || errno == EACCES))
		deal(v, dir, name, at, "a list of conflicts, which cannot be read", "");
	found = text ? gitstate_elsewhere(text, n, own ? g->tree : -1) : NULL;
	if (found)
		deal(v, dir, name, at, COPIES, found);
}

void gitstate_dir(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		  const char *at)
{
	if (strcasecmp(name, "rebase-merge") == 0)
		visit_rebase(g, v, dir, at);
	else if (strcasecmp(name, "sequencer") == 0)
		visit_sequencer(v, dir, at);
}

bool gitstate_is_file(const char *name)
{
	return strcasecmp(name, "MERGE_RR") == 0;
}

void gitstate_file(const struct gitstate *g, const struct gitstate_visit *v, int dir,
		   const char *name, const char *at)
{
	visit_resolutions(g, v, dir, name, at);
}

void gitstate_clear(struct gitstate *g)
{
	for (size_t i = 0; i < g->nlines; i++)
		free(g->lines[i]);
	free(g->lines);
	g->lines = NULL;
	g->nlines = 0;
}
