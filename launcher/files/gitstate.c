/*
 * Theory of operation
 *
 *  - rebase-merge/git-rebase-todo: "exec" lines are run by `git rebase --continue`. Those that were there
 *    at the start, waiting or done, are the user's; so "done" must not get any from the command either,
 *    or the next run would take them for the user's.
 *  - strategy in rebase-merge and rebase-apply, and "strategy" in sequencer/opts: git runs
 *    "git-merge-STRATEGY". strategy_opts, "strategy-option" and rebase-apply/apply-opt are options for
 *    that and for git apply. BISECT_NAMES: words for a shell. What is no harm is in gitopts.c.
 *  - msgnum, end, next and last there: how far it is. git's own prompt (git-prompt.sh, by PROMPT_COMMAND)
 *    puts what they say into PS1, where bash runs what stands in "$(...)"; zsh's (vcs_info) reckons with
 *    them, and hands git log the words of rewritten, original-commit and orig-head, which may be options
 *    (--output=FILE). So these are numbers, and names of objects.
 *  - worktrees/NAME/commondir, config.worktree: which configuration git obeys there, also where somebody
 *    in the main working tree removes that one; gitdir: where it is. Those of the start are locked (protect.c).
 *  - MERGE_RR: the files whose conflicts are being resolved. With the next commit git copies each, and
 *    each link's target, to rr-cache, where the next run may read it, be it a key at an absolute path.
 *    So each must be a plain file of the working tree, or missing. Of a linked worktree or a submodule it
 *    must also have been in the list at the start, and the working tree be the one that was named then.
 *
 *  - index, and the files that a split one refers to: names in it that lead out of the working tree, or
 *    into .git. git checkout writes there, hooks or start-up files, and git commit copies from there.
 *    A repository that it knows of is one that git status looks into, and whose configuration it obeys. Those
 *    of the start are locked (gitobeys.c).
 *  - pid: git instaweb signals the processes that it names.
 *  - MERGE_AUTOSTASH: with the next commit git writes what is in that stash into the working tree, where
 *    the names of protect.c are free again by then.
 *
 * What was there at the start is the user's and stays. What cannot be read whole goes, whosever it is: a
 * program of git's might still read as much of it as does harm.
 */
#include "launcher/files/gitstate.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/gitconfig.h"
#include "launcher/files/gitindex.h"
#include "launcher/files/gitnested.h"
#include "launcher/files/gitopts.h"

#define STATE_MAX  (4 * 1024 * 1024)
#define INDEX_MAX  (256 * 1024 * 1024) /* of two million files */
#define READ_MAX   (512 * 1024 * 1024) /* of all files, a fraction of a second */
#define NAMES_MAX  (1024 * 1024)
#define LINKS_MAX  (16 * 1024) /* repositories that an index knows of */
#define TODO	   "git-rebase-todo"
#define DOT_GIT	   GITNESTED_DOT_GIT
#define ENTRY_COST 512 /* of READ_MAX, for an entry of a directory */

#define RUNS	"'git rebase --continue' would run:"
#define MERGES	"git would run a program of this name to merge:"
#define KEEPS	"the next run would take it for a line of yours:"
#define PASSES	"git would pass options to a program of its own:"
#define QUOTES	"git would have a shell run:"
#define OBEYS	"'git worktree remove' would obey this configuration:"
#define LEADS	"'git worktree remove' would obey the configuration that commondir leads to:"
#define REPAIRS "'git worktree repair' would write a file in this directory:"
#define SIGNALS "'git instaweb' would signal these processes:"
#define SHOWS	"a shell's prompt would obey:"
#define COPIES	"git would copy a file from elsewhere into rr-cache:"
#define STASH	"the next 'git commit' would write what is in this stash into the working tree:"
#define LOOKS	"git would look into this repository, and obey its configuration:"
#define WRITES	"git would write or read a file elsewhere by it ('git reset' makes a new one):"

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

bool gitstate_is_older(const struct gitstate *g, struct timespec ctime)
{
	return g->since.tv_sec == 0 || ctime.tv_sec < g->since.tv_sec ||
	       (ctime.tv_sec == g->since.tv_sec && ctime.tv_nsec < g->since.tv_nsec);
}

/* All of an open file; NULL with errno. */
static char *read_all(const struct gitstate_visit *v, int fd, size_t max, size_t *n)
{
	char *text;

	if (*v->read > READ_MAX) {
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
static char *read_state(const struct gitstate *g, const struct gitstate_visit *v, int dir,
			const char *name, const char *at, size_t *n)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	char *text = fd < 0 ? NULL : read_all(v, fd, STATE_MAX, n);
	int code = errno;
	struct stat st;

	if (text && v->task != GITSTATE_SWEEP &&
	    (fstat(fd, &st) < 0 || !gitstate_is_older(g, st.st_ctim))) {
		free(text);
		return NULL;
	}
	if (text || code == ENOENT || code == ELOOP || code == EINVAL || code == EISDIR)
		return text;
	if (v->task == GITSTATE_SWEEP)
		v->say(v->arg, at, "a file of git's state, which cannot be read whole", "",
		       gitstate_take_away(dir, name));
	return NULL;
}

static size_t line_length(const char *p, const char *end)
{
	const char *eol = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((eol ? eol : end) - p);
}

/* Lines that the user's own rebase runs. */
static void note_lines(struct gitstate *g, const struct gitstate_visit *v, int dir,
		       const char *name, const char *at)
{
	size_t n;
	CLEANUP_FREE char *text = read_state(g, v, dir, name, at, &n);

	for (const char *p = text, *end = text ? text + n : NULL; p && p < end;) {
		size_t len = line_length(p, end);

		if (is_exec(p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			gitseen_add(&g->seen, GITSEEN_LINE, "", p, len);
			if (v->task == GITSTATE_WARN && strcmp(name, TODO) == 0)
				v->say(v->arg, at, RUNS, line, GITSTATE_ORPHAN);
		}
		p += len + (p + len < end);
	}
}

size_t gitstate_filter(const struct gitstate *g, const struct gitstate_visit *v, const char *at,
		       const char *what, char *text, size_t n, unsigned *taken)
{
	char *out = text;

	*taken = 0;
	for (char *p = text, *end = text + n; p < end;) {
		size_t len = line_length(p, end), whole = len + (p + len < end);

		if (is_exec(p, len) && !gitseen_has(&g->seen, GITSEEN_LINE, "", p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			v->say(v->arg, at, what, line,
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

static void sweep_lines(const struct gitstate *g, const struct gitstate_visit *v, int dir,
			const char *name, const char *at, const char *what)
{
	size_t n, left;
	CLEANUP_FREE char *text = read_state(g, v, dir, name, at, &n);
	unsigned taken;

	if (!text)
		return;
	left = gitstate_filter(g, v, at, what, text, n, &taken);
	if (taken && replace(dir, name, text, left) < 0)
		v->say(v->arg, at, "a list of a rebase, which cannot be written", "",
		       gitstate_take_away(dir, name));
}

/* A file that git must not meet: taken away, or told. */
static void deal(const struct gitstate_visit *v, int dir, const char *name, const char *at,
		 const char *what, const char *which)
{
	size_t n = strlen(which);
	CLEANUP_FREE char *shown = NULL;

	if (v->task == GITSTATE_NOTE)
		return;
	while (n > 0 && which[n - 1] == '\n')
		n--;
	shown = xstrndup(which, n);
	v->say(v->arg, at, what, shown,
	       v->task == GITSTATE_WARN ? GITSTATE_ORPHAN : gitstate_take_away(dir, name));
}

/* Whether the user has it so; at the start it is remembered, and nobody knows of an orphan. */
static bool is_users(struct gitstate *g, const struct gitstate_visit *v, enum gitseen_kind kind,
		     const char *at, const char *text, size_t n)
{
	if (v->task != GITSTATE_SWEEP)
		gitseen_add(&g->seen, kind, at, text, n);
	return v->task == GITSTATE_NOTE ||
	       (v->task == GITSTATE_SWEEP && gitseen_has(&g->seen, kind, at, text, n));
}

static bool is_strategy(struct gitstate *g, const struct gitstate_visit *v, const char *text,
			size_t n)
{
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	return gitopts_is_strategy(text, n) || is_users(g, v, GITSEEN_STRATEGY, "", text, n);
}

static void visit_strategy(struct gitstate *g, const struct gitstate_visit *v, int dir,
			   const char *above)
{
	CLEANUP_FREE char *at = xasprintf("%s/strategy", above);
	size_t n;
	CLEANUP_FREE char *text = read_state(g, v, dir, "strategy", at, &n);

	if (text && !is_strategy(g, v, text, n))
		deal(v, dir, "strategy", at, MERGES, text);
}

/* A file whose whole text must be harmless by @is, or the user's. */
static void visit_text(struct gitstate *g, const struct gitstate_visit *v, int dir,
		       const char *name, const char *at, const char *what,
		       bool (*is)(const char *text, size_t n))
{
	size_t n;
	CLEANUP_FREE char *text = read_state(g, v, dir, name, at, &n);

	if (text && !is(text, n) && !is_users(g, v, GITSEEN_FILE, at, text, n))
		deal(v, dir, name, at, what, text);
}

/* What prompts read of it. */
static void visit_progress(struct gitstate *g, const struct gitstate_visit *v, int dir,
			   const char *above)
{
	static const struct {
		const char *name;
		bool (*is)(const char *text, size_t n);
	} files[] = {
		{ "msgnum", gitopts_is_number },      { "end", gitopts_is_number },
		{ "next", gitopts_is_number },	      { "last", gitopts_is_number },
		{ "rewritten", gitopts_are_objects }, { "original-commit", gitopts_are_objects },
		{ "orig-head", gitopts_are_objects },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP_FREE char *at = xasprintf("%s/%s", above, files[i].name);

		visit_text(g, v, dir, files[i].name, at, SHOWS, files[i].is);
	}
}

/* rebase-merge, rebase-apply, which have many names in common. */
static void visit_rebase(struct gitstate *g, const struct gitstate_visit *v, int dir,
			 const char *at)
{
	CLEANUP_FREE char *todo = xasprintf("%s/" TODO, at);
	CLEANUP_FREE char *done = xasprintf("%s/done", at);
	CLEANUP_FREE char *merge = xasprintf("%s/strategy_opts", at);
	CLEANUP_FREE char *apply = xasprintf("%s/apply-opt", at);

	visit_strategy(g, v, dir, at);
	visit_text(g, v, dir, "strategy_opts", merge, PASSES, gitopts_merges);
	visit_text(g, v, dir, "apply-opt", apply, PASSES, gitopts_applies);
	visit_progress(g, v, dir, at);
	if (v->task == GITSTATE_SWEEP) {
		sweep_lines(g, v, dir, TODO, todo, RUNS);
		sweep_lines(g, v, dir, "done", done, KEEPS);
		return;
	}
	note_lines(g, v, dir, TODO, todo);
	note_lines(g, v, dir, "done", done);
}

/** struct options - those of a cherry-pick; @found is the first that git must not meet */
struct options {
	struct gitstate *g;
	const struct gitstate_visit *v;
	const char *what;
	char *found;
};

static void take_option(void *arg, const char *section, const char *key, const char *value)
{
	struct options *o = arg;
	size_t n = strlen(value);
	const char *what = NULL;

	if (o->found || strcasecmp(section, "options") != 0)
		return;
	if (strcasecmp(key, "strategy") == 0 && !is_strategy(o->g, o->v, value, n))
		what = MERGES;
	if (strcasecmp(key, "strategy-option") == 0 && !gitopts_merges(value, n) &&
	    !is_users(o->g, o->v, GITSEEN_FILE, "opts", value, n))
		what = PASSES;
	if (!what)
		return;
	o->what = what;
	o->found = xstrdup(value);
}

/* Options of a cherry-pick or a revert that goes on, in the form of git's configuration. */
static void visit_sequencer(struct gitstate *g, const struct gitstate_visit *v, int dir,
			    const char *above)
{
	struct options o = { .g = g, .v = v };
	CLEANUP_FREE char *at = xasprintf("%s/opts", above);
	size_t n;
	CLEANUP_FREE char *text = read_state(g, v, dir, "opts", at, &n);

	if (text)
		gitconfig_parse(text, n, take_option, &o);
	if (o.found)
		deal(v, dir, "opts", at, o.what, o.found);
	free(o.found);
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

static void take_worktree(void *arg, const char *section, const char *key, const char *value)
{
	char **where = arg;

	if (strcasecmp(section, "core") != 0 || strcasecmp(key, "worktree") != 0)
		return;
	free(*where);
	*where = xstrdup(value);
}

/* Of files that are locked, if they were there at the start. */
static char *read_small(int dir, const char *name)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	size_t n;

	return fd < 0 ? NULL : fd_read_file(fd, STATE_MAX, &n);
}

/* Where the working tree is, as a linked worktree's or a submodule's git directory says; or NULL. */
static char *read_tree(int dir)
{
	CLEANUP_FREE char *back = read_small(dir, "gitdir");
	CLEANUP_FREE char *config = back ? NULL : read_small(dir, "config");
	size_t n;
	char *where = NULL;

	if (config)
		gitconfig_parse(config, strlen(config), take_worktree, &where);
	if (!back)
		return where;
	back[strcspn(back, "\r\n")] = '\0';
	n = strlen(back);
	return n > 5 && strcmp(back + n - 5, "/.git") == 0 ? xstrndup(back, n - 5) : NULL;
}

/*
 * The same, open; -1 unless it is what was there at the start: the command may have moved the working
 * tree, and put another in its place. @at is that of a file in @dir.
 */
static int open_tree(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *at)
{
	const char *slash = strrchr(at, '/');
	CLEANUP_FREE char *above = xstrndup(at, slash ? (size_t)(slash - at) : 0);
	CLEANUP_FREE char *where = read_tree(dir);
	CLEANUP_FREE char *known = NULL;
	CLEANUP_CLOSE int fd = where ? openat(dir, where, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	known = xasprintf("%ju %ju %s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, where);
	if (v->task != GITSTATE_SWEEP)
		gitseen_add(&g->seen, GITSEEN_TREE, above, known, strlen(known));
	else if (!gitseen_has(&g->seen, GITSEEN_TREE, above, known, strlen(known)))
		return -1;
	return take_fd(&fd);
}

/* The first entry that was not there at the start, when each is remembered; NULL if there is none. */
static const char *find_new(struct gitstate *g, const struct gitstate_visit *v, const char *at,
			    const char *text, size_t n)
{
	for (const char *p = text; p < text + n; p += strlen(p) + 1)
		if (v->task != GITSTATE_SWEEP)
			gitseen_add(&g->seen, GITSEEN_FILE, at, p, strlen(p));
		else if (!gitseen_has(&g->seen, GITSEEN_FILE, at, p, strlen(p)))
			return p;
	return NULL;
}

/*
 * Of another working tree than that of the git directory an entry must have been there, too: an earlier
 * run may have made that worktree, and said that it is where it is not.
 */
static void visit_resolutions(struct gitstate *g, const struct gitstate_visit *v, int dir,
			      const char *name, const char *at)
{
	bool own = !strchr(at, '/') && g->tree >= 0;
	CLEANUP_CLOSE int other = own ? -1 : open_tree(g, v, dir, at);
	size_t n;
	CLEANUP_FREE char *text = read_state(g, v, dir, name, at, &n);
	const char *found = text ? gitstate_elsewhere(text, n, own ? g->tree : other) : NULL;

	if (!own && text && !found)
		found = find_new(g, v, at, text, n);
	if (found)
		deal(v, dir, name, at, COPIES, found);
}

void gitstate_dir(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		  const char *at)
{
	if (strcasecmp(name, "rebase-merge") == 0 || strcasecmp(name, "rebase-apply") == 0)
		visit_rebase(g, v, dir, at);
	else if (strcasecmp(name, "sequencer") == 0)
		visit_sequencer(g, v, dir, at);
}

/* "../..", which git writes. */
static bool is_up(const char *text, size_t n)
{
	while (n > 0 && text[n - 1] == '\n')
		n--;
	return n == 5 && memcmp(text, "../..", n) == 0;
}

static void take_other(void *arg, const char *section, const char *key, const char *value)
{
	bool *other = arg;

	(void)value;
	if (strcasecmp(section, "core") == 0)
		*other |= strcasecmp(key, "sparseCheckout") != 0 &&
			  strcasecmp(key, "sparseCheckoutCone") != 0;
	else
		*other |= strcasecmp(section, "index") != 0 || strcasecmp(key, "sparse") != 0;
}

/* What git worktree add writes itself, after git sparse-checkout. */
static bool is_sparse_config(const char *text, size_t n)
{
	CLEANUP_FREE char *copy = xstrndup(text, n);
	bool other = strlen(copy) != n;

	gitconfig_parse(copy, strlen(copy), take_other, &other);
	return !other;
}

/*
 * Whether the working tree that "gitdir" names has a .git that leads back to @dir, or there is none.
 * git worktree repair writes such a file into whatever directory it is.
 */
static bool leads_back(const char *gitdir, size_t n, int dir)
{
	CLEANUP_FREE char *where = xstrndup(gitdir, n), *back = NULL;
	CLEANUP_CLOSE int tree = -1, other = -1;
	struct stat a, b;
	size_t len = strlen(where);

	if (len != n)
		return false;
	while (len > 0 && isspace((unsigned char)where[len - 1]))
		where[--len] = '\0';
	if (len >= 5 && strcmp(where + len - 5, "/.git") == 0)
		where[len - 5] = '\0';
	tree = openat(dir, *where ? where : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree < 0)
		return errno == ENOENT || errno == ENOTDIR;
	back = read_small(tree, DOT_GIT);
	if (!back || strncmp(back, "gitdir: ", 8) != 0)
		return false;
	back[strcspn(back, "\r\n")] = '\0';
	other = openat(tree, back + 8, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return other >= 0 && fstat(other, &a) == 0 && fstat(dir, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Where git is told that the working tree is. */
static void visit_gitdir(struct gitstate *g, const struct gitstate_visit *v, int dir,
			 const char *above)
{
	CLEANUP_FREE char *at = xasprintf("%s/gitdir", above);
	size_t n = 0;
	CLEANUP_FREE char *text = read_state(g, v, dir, "gitdir", at, &n);

	if (text && !leads_back(text, n, dir) && !is_users(g, v, GITSEEN_FILE, at, text, n))
		deal(v, dir, "gitdir", at, REPAIRS, text);
}

/*
 * In the main working tree, git worktree remove runs git status for another, by the configuration that
 * this directory leads to, or its own. Without a HEAD it is no git directory.
 */
void gitstate_linked(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *at)
{
	CLEANUP_FREE char *common = xasprintf("%s/commondir", at);
	CLEANUP_FREE char *config = xasprintf("%s/config.worktree", at);
	CLEANUP_FREE char *head = xasprintf("%s/HEAD", at);
	size_t n = 0;
	CLEANUP_FREE char *text = read_state(g, v, dir, "commondir", common, &n);
	const char *shown = text ? text : "";

	visit_gitdir(g, v, dir, at);
	visit_text(g, v, dir, "config.worktree", config, OBEYS, is_sparse_config);
	if (!text && v->task != GITSTATE_SWEEP && faccessat(dir, "commondir", F_OK, 0) == 0)
		return; /* another run's */
	if (faccessat(dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0 && !(text && is_up(text, n)) &&
	    !is_users(g, v, GITSEEN_FILE, common, shown, n))
		deal(v, dir, "HEAD", head, LEADS, shown);
}

bool gitstate_is_file(const char *name)
{
	return strcasecmp(name, "MERGE_RR") == 0 || strcasecmp(name, "BISECT_NAMES") == 0;
}

void gitstate_file(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		   const char *at)
{
	if (strcasecmp(name, "MERGE_RR") == 0)
		visit_resolutions(g, v, dir, name, at);
	else
		visit_text(g, v, dir, name, at, QUOTES, gitopts_is_quoted);
}

static void take_format(void *arg, const char *section, const char *key, const char *value)
{
	size_t *hash = arg;

	if (strcasecmp(section, "extensions") == 0 && strcasecmp(key, "objectformat") == 0)
		*hash = strcmp(value, "sha256") == 0 ? GITINDEX_SHA256 : GITINDEX_SHA1;
}

/* The size of an object's name, as the configuration says, which is locked. */
static size_t hash_size(int dir)
{
	CLEANUP_FREE char *common = read_small(dir, "commondir");
	CLEANUP_CLOSE int other = -1;
	CLEANUP_FREE char *config = NULL;
	size_t hash = GITINDEX_SHA1;

	if (common) {
		common[strcspn(common, "\r\n")] = '\0';
		other = openat(dir, common, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	config = read_small(other < 0 ? dir : other, "config");
	if (config)
		gitconfig_parse(config, strlen(config), take_format, &hash);
	return hash;
}

/** struct identity - of a file, until somebody changes it; @older: it is none of another run */
struct identity {
	uint64_t v[4];
	bool older;
};

static bool identify(const struct gitstate *g, int dir, const char *name, struct identity *id)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	id->v[0] = st.st_dev;
	id->v[1] = st.st_ino;
	id->v[2] = (uint64_t)st.st_ctim.tv_sec;
	id->v[3] = (uint64_t)st.st_ctim.tv_nsec;
	id->older = gitstate_is_older(g, st.st_ctim);
	return true;
}

/* At the start: that the file is what @kind says; later: whether it was, and nobody has changed it. */
static bool is_still(struct gitstate *g, const struct gitstate_visit *v, enum gitseen_kind kind,
		     const char *at, const struct identity *id)
{
	if (v->task == GITSTATE_SWEEP)
		return gitseen_has(&g->seen, kind, at, id->v, sizeof(id->v));
	if (id->older)
		gitseen_add(&g->seen, kind, at, id->v, sizeof(id->v));
	return false;
}

/**
 * struct links - repositories of an index
 * @tree: the working tree
 * @at: where the index is
 * @n: how many there are, of which @max are looked at
 * @trees: how many directories are left out, of which @looked are new and have been looked for
 * @hash: the size of an object's name
 * @older: nothing in the index is another run's
 * @unseen: something could not be looked at
 */
struct links {
	struct gitstate *g;
	const struct gitstate_visit *v;
	int tree;
	const char *at;
	unsigned long n, max, trees, looked;
	size_t hash;
	bool older, unseen;
};

/* Whether it was there at the start, if this is not the start. */
static bool is_known_repo(struct links *l, const char *name, const uint64_t id[static 4],
			  struct timespec since)
{
	CLEANUP_FREE char *where = xasprintf("%s:%s", l->at, name);
	struct gitseen *seen = &l->g->seen;
	const size_t n = 4 * sizeof(*id);

	if (l->v->task != GITSTATE_SWEEP && gitstate_is_older(l->g, since))
		gitseen_add(seen, GITSEEN_REPO, where, id, n);
	return l->v->task != GITSTATE_SWEEP || gitseen_has(seen, GITSEEN_REPO, where, id, n);
}

/* Of a directory that nobody can look into: whether it is still that. The command could look, if it is its. */
static bool is_closed_repo(struct links *l, int dir, const char *name)
{
	CLEANUP_FREE char *closed = xasprintf("%s:", name);
	struct stat st;
	uint64_t id[4];

	if (fstat(dir, &st) < 0)
		return false;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	id[2] = (uint64_t)st.st_ctim.tv_sec;
	id[3] = (uint64_t)st.st_ctim.tv_nsec;
	return is_known_repo(l, closed, id, st.st_ctim) || st.st_uid != geteuid();
}

/* Whether the .git in @dir is what it was at the start. */
static bool is_same_repo(struct links *l, int dir, const char *name)
{
	struct timespec made = { 0 };
	struct statx st;
	uint64_t id[4];

	if (statx(dir, DOT_GIT, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return errno == ENOENT || is_closed_repo(l, dir, name);
	if (st.stx_mask & STATX_BTIME)
		made = (struct timespec){ st.stx_btime.tv_sec, st.stx_btime.tv_nsec };
	id[0] = makedev(st.stx_dev_major, st.stx_dev_minor);
	id[1] = st.stx_ino;
	id[2] = (uint64_t)made.tv_sec;
	id[3] = (uint64_t)made.tv_nsec;
	return is_known_repo(l, name, id, made);
}

static void unmake(void *arg, int dir, const char *name)
{
	struct links *l = arg;

	l->v->say(l->v->arg, l->at, LOOKS, name, gitnested_unmake(dir));
}

/*
 * A directory that the index leaves out: git takes the names in it from an object as soon as it is there.
 * Repositories are never among those that git leaves out, but a command may have written such an object. So
 * none may lie there, unless the object was in the index at the start.
 */
static void take_tree(struct links *l, const char *name, const uint8_t *tree)
{
	CLEANUP_FREE char *where = xasprintf("%s:%s", l->at, name);
	CLEANUP_FREE char *path = xstrndup(name, strlen(name) - 1);
	CLEANUP_CLOSE int dir = -1;
	uint64_t left = *l->v->read < READ_MAX ? (READ_MAX - *l->v->read) / ENTRY_COST : 0;
	uint64_t before = left;

	l->trees++;
	if (l->v->task != GITSTATE_SWEEP && l->older)
		gitseen_add(&l->g->seen, GITSEEN_SPARSE, where, tree, l->hash);
	if (l->v->task != GITSTATE_SWEEP || l->tree < 0 || l->unseen ||
	    gitseen_has(&l->g->seen, GITSEEN_SPARSE, where, tree, l->hash))
		return;
	dir = fd_open_plain(l->tree, path, O_PATH | O_DIRECTORY);
	if (dir < 0)
		l->unseen = errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	else
		l->unseen = !gitnested_find(dir, path, &left, unmake, l);
	l->unseen |= ++l->looked > NAMES_MAX;
	*l->v->read += (before - left) * ENTRY_COST;
}

/* By a link on the way git does not look for repositories either. */
static void take_repository(struct links *l, const char *name)
{
	bool look = l->n++ < l->max && l->tree >= 0;
	CLEANUP_CLOSE int dir = !look ? -1 : fd_open_plain(l->tree, name, O_PATH | O_DIRECTORY);

	if (dir < 0 && look && errno == EACCES && l->v->task == GITSTATE_SWEEP)
		l->v->say(
			l->v->arg, l->at, LOOKS, name,
			"it cannot be looked at; see whether it is yours before you use git there");
	if (dir < 0 || is_same_repo(l, dir, name))
		return;
	unmake(l, dir, name);
}

static void take_link(void *arg, const char *name, const uint8_t *tree)
{
	if (tree)
		take_tree(arg, name, tree);
	else
		take_repository(arg, name);
}

#define SHARED "sharedindex."

static bool is_shared(const char *name)
{
	return strncasecmp(name, SHARED, strlen(SHARED)) == 0;
}

static void visit_index(struct gitstate *g, const struct gitstate_visit *v, int dir,
			const char *name, const char *at)
{
	bool own = !strchr(at, '/') && g->tree >= 0;
	CLEANUP_CLOSE int fd = -1, other = -1;
	CLEANUP_FREE char *text = NULL, *found = NULL;
	struct links links = { .g = g, .v = v, .at = at };
	bool shared = is_shared(name);
	struct identity id = { .older = false };
	enum gitindex is = GITINDEX_BAD;
	size_t n;

	if (identify(g, dir, name, &id) && v->task == GITSTATE_SWEEP &&
	    is_still(g, v, GITSEEN_PLAIN, at, &id))
		return;
	links.older = id.older;
	fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == EINVAL || errno == EISDIR))
		return;
	text = fd < 0 ? NULL : read_all(v, fd, INDEX_MAX, &n);
	other = own ? -1 : open_tree(g, v, dir, at);
	links.tree = own ? g->tree : other;
	links.max = shared ? NAMES_MAX : LINKS_MAX;
	links.hash = hash_size(dir);
	if (text)
		is = gitindex_check(text, n, links.hash, shared, take_link, &links, &found);
	if (links.n > links.max || links.unseen)
		is = GITINDEX_BAD;
	if (is == GITINDEX_OK && links.n == 0 && links.trees == 0)
		(void)is_still(g, v, GITSEEN_PLAIN, at, &id);
	if (is_still(g, v, GITSEEN_INDEX, at, &id))
		return;
	switch (is) {
	case GITINDEX_OK:
		break;
	case GITINDEX_ELSEWHERE:
		deal(v, dir, name, at, WRITES, found);
		break;
	case GITINDEX_BAD:
		deal(v, dir, name, at,
		     links.unseen ? "an index of git's with a directory that cannot be looked at"
				  : "an index of git's that cannot be read whole",
		     "");
		break;
	}
}

static bool is_blank(const char *text, size_t n)
{
	(void)text;
	return n == 0;
}

bool gitstate_is_top(const char *name)
{
	return strcasecmp(name, "index") == 0 || strcasecmp(name, "MERGE_AUTOSTASH") == 0 ||
	       strcasecmp(name, "pid") == 0 || is_shared(name);
}

void gitstate_top(struct gitstate *g, const struct gitstate_visit *v, int dir, const char *name,
		  const char *at)
{
	if (strcasecmp(name, "MERGE_AUTOSTASH") == 0)
		visit_text(g, v, dir, name, at, STASH, is_blank);
	else if (strcasecmp(name, "pid") == 0)
		visit_text(g, v, dir, name, at, SIGNALS, is_blank);
	else
		visit_index(g, v, dir, name, at);
}

void gitstate_clear(struct gitstate *g)
{
	gitseen_clear(&g->seen);
}
