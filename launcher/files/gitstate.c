/*
 * Theory of operation
 *
 *  - rebase-merge/git-rebase-todo: "exec" lines are run by `git rebase --continue`. Those that were there
 *    at the start, waiting or done, are the user's; so "done" must not get any from the command either,
 *    or the next run would take them for the user's.
 *  - strategy in rebase-merge and rebase-apply, and "strategy" in sequencer/opts: git runs
 *    "git-merge-STRATEGY". strategy_opts, "strategy-option" and rebase-apply/apply-opt are options for
 *    that and for git apply. BISECT_NAMES: words for a shell. What is no harm is in gitopts.c.
 *  - worktrees/NAME/commondir, config.worktree: which configuration git obeys there, also where somebody
 *    in the main working tree removes that one; gitdir: where it is. Those of the start are locked (protect.c).
 *  - MERGE_RR: the files whose conflicts are being resolved. With the next commit git copies each, and
 *    each link's target, to rr-cache, where the next run may read it, be it a key at an absolute path.
 *    So each must be a plain file of the working tree, or missing. Of a linked worktree or a submodule it
 *    must also have been in the list at the start, and the working tree be the one that was named then.
 *
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
#include <stdint.h>
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
#include "launcher/files/gitgrammar.h"
#include "launcher/files/gitnested.h"
#include "launcher/files/gitopts.h"
#include "launcher/files/gittree.h"
#include "launcher/files/indexstate.h"

#define TODO	"git-rebase-todo"
#define DOT_GIT GITNESTED_DOT_GIT

#define RUNS	"'git rebase --continue' would run:"
#define MERGES	"git would run a program of this name to merge:"
#define KEEPS	"the next run would take it for a line of yours:"
#define PASSES	"git would pass options to a program of its own:"
#define ODD	"options of git's that cannot be read in one way only"
#define QUOTES	"git would have a shell run:"
#define OBEYS	"'git worktree remove' would obey this configuration:"
#define LEADS	"'git worktree remove' would obey the configuration that commondir leads to:"
#define REPAIRS "'git worktree repair' would write a file in this directory:"
#define SIGNALS "'git instaweb' would signal these processes:"
#define COPIES	"git would copy a file from elsewhere into rr-cache:"
#define APPLIES                                                                                    \
	"'git rebase --abort' or '--continue' would write what is in this stash into the working " \
	"tree:"
#define STASH "the next 'git commit' would write what is in this stash into the working tree:"

bool gitstate_is_exec(const char *line, size_t n)
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

static size_t line_length(const char *p, const char *end)
{
	const char *eol = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((eol ? eol : end) - p);
}

/* Lines that the user's own rebase runs. */
static void note_lines(struct gitvisit_known *g, const struct gitvisit *v, int dir,
		       const char *name, const char *at)
{
	size_t n;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, name, at, &n);

	for (const char *p = text, *end = text ? text + n : NULL; p && p < end;) {
		size_t len = line_length(p, end);

		if (gitstate_is_exec(p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			gitseen_add(&g->seen, GITSEEN_LINE, "", p, len);
			if (v->task == GITVISIT_WARN && strcmp(name, TODO) == 0)
				v->say(v->arg, at, RUNS, line, GITVISIT_ORPHAN);
		}
		p += len + (p + len < end);
	}
}

size_t gitstate_filter(const struct gitvisit_known *g, const struct gitvisit *v, const char *at,
		       const char *what, char *text, size_t n, unsigned *taken)
{
	char *out = text;

	*taken = 0;
	for (char *p = text, *end = text + n; p < end;) {
		size_t len = line_length(p, end), whole = len + (p + len < end);

		if (gitstate_is_exec(p, len) && !gitseen_has(&g->seen, GITSEEN_LINE, "", p, len)) {
			CLEANUP_FREE char *line = xstrndup(p, len);

			v->say(v->arg, at, what, line, GITVISIT_GONE "the line has been taken out");
			++*taken;
		} else {
			memmove(out, p, whole);
			out += whole;
		}
		p += whole;
	}
	return (size_t)(out - text);
}

static void sweep_lines(const struct gitvisit_known *g, const struct gitvisit *v, int dir,
			const char *name, const char *at, const char *what)
{
	size_t n, left;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, name, at, &n);
	unsigned taken;

	if (!text)
		return;
	left = gitstate_filter(g, v, at, what, text, n, &taken);
	if (taken && gitvisit_replace(dir, name, text, left) < 0)
		gitvisit_put_away(v, dir, name, at, "a list of a rebase, which cannot be written",
				  "");
}

static bool is_strategy(struct gitvisit_known *g, const struct gitvisit *v, const char *text,
			size_t n)
{
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	return gitopts_is_strategy(text, n) ||
	       gitvisit_is_users(g, v, GITSEEN_STRATEGY, "", text, n);
}

static void visit_strategy(struct gitvisit_known *g, const struct gitvisit *v, int dir,
			   const char *above)
{
	CLEANUP_FREE char *at = xasprintf("%s/strategy", above);
	size_t n;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, "strategy", at, &n);

	if (text && !is_strategy(g, v, text, n))
		gitvisit_deal(v, dir, "strategy", at, MERGES, text);
}

/* git rebase --abort applies it, and so does --continue at the end: both are what a user does about a rebase. */
static void visit_autostash(struct gitvisit_known *g, const struct gitvisit *v, int dir,
			    const char *above)
{
	CLEANUP_FREE char *at = xasprintf("%s/autostash", above);
	size_t n;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, "autostash", at, &n);

	if (!text || gitvisit_is_users(g, v, GITSEEN_FILE, at, text, n) ||
	    v->task != GITVISIT_SWEEP || !gitopts_are_objects(text, n))
		return;
	text[strcspn(text, "\n")] = '\0';
	v->say(v->arg, at, APPLIES, text,
	       "it is there since the command has run; 'git stash show -pu' of that object shows "
	       "it");
}

/* rebase-merge, rebase-apply, which have many names in common. */
static void visit_rebase(struct gitvisit_known *g, const struct gitvisit *v, int dir,
			 const char *at)
{
	CLEANUP_FREE char *todo = xasprintf("%s/" TODO, at);
	CLEANUP_FREE char *done = xasprintf("%s/done", at);
	CLEANUP_FREE char *merge = xasprintf("%s/strategy_opts", at);
	CLEANUP_FREE char *apply = xasprintf("%s/apply-opt", at);

	visit_strategy(g, v, dir, at);
	visit_autostash(g, v, dir, at);
	gitvisit_text(g, v, dir, "strategy_opts", merge, PASSES, gitopts_merges);
	gitvisit_text(g, v, dir, "apply-opt", apply, PASSES, gitopts_applies);
	if (v->task == GITVISIT_SWEEP) {
		sweep_lines(g, v, dir, TODO, todo, RUNS);
		sweep_lines(g, v, dir, "done", done, KEEPS);
		return;
	}
	note_lines(g, v, dir, TODO, todo);
	note_lines(g, v, dir, "done", done);
}

/** struct options - those of a cherry-pick; @found is the first that git must not meet */
struct options {
	struct gitvisit_known *g;
	const struct gitvisit *v;
	const char *what;
	char *found;
};

/* The others that git writes; it stops at any more. */
static bool is_other_option(const char *key, const char *value)
{
	static const char *const keys[] = {
		"no-commit",
		"edit",
		"allow-empty",
		"allow-empty-message",
		"drop-redundant-commits",
		"keep-redundant-commits",
		"signoff",
		"record-origin",
		"allow-ff",
		"mainline",
		"gpg-sign",
		"allow-rerere-auto",
		"default-msg-cleanup",
		"committer-date-is-author-date",
		"ignore-date",
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(keys) && strcasecmp(keys[i], key) != 0)
		i++;
	return i < ARRAY_SIZE(keys) && gitopts_is_value(value, strlen(value));
}

/* What git must not meet; NULL if the option is harmless, or the user's. */
static const char *judge_option(const struct options *o, const struct gitconfig_variable *var)
{
	const char *key = var->key, *value = var->value;
	CLEANUP_FREE char *at = xasprintf("opts:%s.%s", var->section, key);
	bool known = strcasecmp(var->section, "options") == 0 && !var->sub;
	size_t n = strlen(value);

	if (known && strcasecmp(key, "strategy") == 0)
		return is_strategy(o->g, o->v, value, n) ? NULL : MERGES;
	if (known && (strcasecmp(key, "strategy-option") == 0 ? gitopts_merges(value, n)
							      : is_other_option(key, value)))
		return NULL;
	return gitvisit_is_users(o->g, o->v, GITSEEN_FILE, at, value, n) ? NULL : PASSES;
}

static void take_option(void *arg, const struct gitconfig_variable *var)
{
	struct options *o = arg;
	const char *what = judge_option(o, var);

	if (o->found || !what)
		return;
	o->what = what;
	o->found = xstrdup(var->value);
}

/* Options of a cherry-pick or a revert that goes on, in the form of git's configuration. */
static void visit_sequencer(struct gitvisit_known *g, const struct gitvisit *v, int dir,
			    const char *above)
{
	struct options o = { .g = g, .v = v };
	CLEANUP_FREE char *at = xasprintf("%s/opts", above);
	size_t n;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, "opts", at, &n);

	if (text && gitconfig_parse(text, n, take_option, &o) != GITCONFIG_OK && !o.found &&
	    !gitvisit_is_users(g, v, GITSEEN_FILE, at, text, n)) {
		o.what = ODD;
		o.found = xstrdup("");
	}
	if (o.found)
		gitvisit_deal(v, dir, "opts", at, o.what, o.found);
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

/* The first entry that was not there at the start, when each is remembered; NULL if there is none. */
static const char *find_new(struct gitvisit_known *g, const struct gitvisit *v, const char *at,
			    const char *text, size_t n)
{
	for (const char *p = text; p < text + n; p += strlen(p) + 1)
		if (v->task != GITVISIT_SWEEP)
			gitseen_add(&g->seen, GITSEEN_FILE, at, p, strlen(p));
		else if (!gitseen_has(&g->seen, GITSEEN_FILE, at, p, strlen(p)))
			return p;
	return NULL;
}

/*
 * Of another working tree than that of the git directory an entry must have been there, too: an earlier
 * run may have made that worktree, and said that it is where it is not.
 */
static void visit_resolutions(struct gitvisit_known *g, const struct gitvisit *v, int dir,
			      const char *name, const char *at)
{
	bool own = !strchr(at, '/') && g->tree >= 0;
	CLEANUP_CLOSE int tree = gittree_open(g, v, dir, at);
	size_t n;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, name, at, &n);
	const char *found = text ? gitstate_elsewhere(text, n, tree) : NULL;

	if (!own && text && !found)
		found = find_new(g, v, at, text, n);
	if (found)
		gitvisit_deal(v, dir, name, at, COPIES, found);
}

void gitstate_dir(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
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

static void take_other(void *arg, const struct gitconfig_variable *var)
{
	bool *other = arg;

	*other |= !gitconfig_is(var, "core", "sparseCheckout") &&
		  !gitconfig_is(var, "core", "sparseCheckoutCone") &&
		  !gitconfig_is(var, "index", "sparse");
}

/* What git worktree add writes itself, after git sparse-checkout. */
static bool is_sparse_config(const char *text, size_t n)
{
	bool other = false;

	return gitconfig_parse(text, n, take_other, &other) == GITCONFIG_OK && !other;
}

static void take_relative(void *arg, const struct gitconfig_variable *var)
{
	bool *relative = arg;

	*relative |= gitconfig_is(var, "extensions", "relativeWorktrees");
}

/* Before 2.48 git took a relative path for one of wherever it runs; since then configuration has to say so. */
static bool is_read_in_one_way(const struct gitvisit *v, int dir, const char *where)
{
	CLEANUP_CLOSE int common = -1;
	bool relative = false;

	if (where[0] == '/')
		return true;
	common = gittree_common(v, dir);
	return common >= 0 &&
	       gittree_config(v, common, "config", take_relative, &relative) != GITCONFIG_BAD &&
	       relative;
}

/* git worktree list shows it. */
static bool is_shown_as_it_is(const char *where)
{
	for (const char *p = where; *p; p++)
		if (gitgrammar_is_control(p, strlen(p)))
			return false;
	return true;
}

/* Whether the .git in a working tree leads to @dir. */
static bool leads_to(const struct gitvisit *v, int tree, int dir)
{
	CLEANUP_CLOSE int other = gittree_led(v, tree);
	struct stat a, b;

	return other >= 0 && fstat(other, &a) == 0 && fstat(dir, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/*
 * Whether the working tree that "gitdir" names has a .git that leads back to @dir. git worktree repair writes
 * such a file into whatever directory it is, and git worktree remove empties that. What is there is told in @id.
 */
static bool leads_back(const struct gitvisit *v, const char *gitdir, size_t n, int dir,
		       uint64_t id[static 4])
{
	CLEANUP_FREE char *where = xstrndup(gitdir, n);
	CLEANUP_CLOSE int tree = -1;
	size_t len = strlen(where);

	memset(id, 0, 4 * sizeof(*id));
	if (len != n)
		return false;
	while (len > 0 && isspace((unsigned char)where[len - 1]))
		where[--len] = '\0';
	if (len >= 5 && strcmp(where + len - 5, "/.git") == 0)
		where[len - 5] = '\0';
	tree = gittree_identify(v, dir, *where ? where : "/", id);
	return tree >= 0 && is_shown_as_it_is(where) && is_read_in_one_way(v, dir, where) &&
	       leads_to(v, tree, dir);
}

/*
 * Whether the user has it so, and it leads to what it led to at the start: to nothing, perhaps, or by a link
 * of the user's.
 */
static bool is_as_it_was(struct gitvisit_known *g, const struct gitvisit *v, const char *at,
			 const char *text, size_t n, const uint64_t id[static 4])
{
	bool users = gitvisit_is_users(g, v, GITSEEN_FILE, at, text, n);

	if (v->task != GITVISIT_SWEEP)
		gitseen_add(&g->seen, GITSEEN_BACK, at, id, 4 * sizeof(*id));
	return users && gitseen_has(&g->seen, GITSEEN_BACK, at, id, 4 * sizeof(*id));
}

/* Where git is told that the working tree is. What is missing now may be anything later. */
static void visit_gitdir(struct gitvisit_known *g, const struct gitvisit *v, int dir,
			 const char *above)
{
	CLEANUP_FREE char *at = xasprintf("%s/gitdir", above);
	size_t n = 0;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, "gitdir", at, &n);
	uint64_t id[4];
	bool back;

	if (!text)
		return;
	back = leads_back(v, text, n, dir, id);
	if (is_as_it_was(g, v, at, text, n, id))
		return;
	if (!back)
		gitvisit_deal(v, dir, "gitdir", at, REPAIRS, text);
	else if (v->task == GITVISIT_SWEEP)
		gittree_learn(g, v, dir, at);
}

/*
 * In the main working tree, git worktree remove runs git status for another, by the configuration that
 * this directory leads to, or its own. Without a HEAD it is no git directory.
 */
void gitstate_linked(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at)
{
	CLEANUP_FREE char *common = xasprintf("%s/commondir", at);
	CLEANUP_FREE char *config = xasprintf("%s/config.worktree", at);
	CLEANUP_FREE char *head = xasprintf("%s/HEAD", at);
	size_t n = 0;
	CLEANUP_FREE char *text = gitvisit_read(g, v, dir, "commondir", common, &n);
	const char *shown = text ? text : "";

	visit_gitdir(g, v, dir, at);
	gitvisit_text(g, v, dir, "config.worktree", config, OBEYS, is_sparse_config);
	if (!text && v->task != GITVISIT_SWEEP && faccessat(dir, "commondir", F_OK, 0) == 0)
		return; /* another run's */
	if (faccessat(dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0 && !(text && is_up(text, n)) &&
	    !gitvisit_is_users(g, v, GITSEEN_FILE, common, shown, n))
		gitvisit_deal(v, dir, "HEAD", head, LEADS, shown);
}

bool gitstate_is_file(const char *name)
{
	return strcasecmp(name, "MERGE_RR") == 0 || strcasecmp(name, "BISECT_NAMES") == 0;
}

void gitstate_file(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		   const char *at)
{
	if (strcasecmp(name, "MERGE_RR") == 0)
		visit_resolutions(g, v, dir, name, at);
	else
		gitvisit_text(g, v, dir, name, at, QUOTES, gitopts_is_quoted);
}

static bool is_blank(const char *text, size_t n)
{
	(void)text;
	return n == 0;
}

bool gitstate_is_top(const char *name)
{
	return strcasecmp(name, "index") == 0 || strcasecmp(name, "MERGE_AUTOSTASH") == 0 ||
	       strcasecmp(name, "pid") == 0 || indexstate_is_shared(name);
}

void gitstate_top(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		  const char *at)
{
	if (strcasecmp(name, "MERGE_AUTOSTASH") == 0)
		gitvisit_text(g, v, dir, name, at, STASH, is_blank);
	else if (strcasecmp(name, "pid") == 0)
		gitvisit_text(g, v, dir, name, at, SIGNALS, is_blank);
	else
		indexstate_visit(g, v, dir, name, at);
}

void gitstate_clear(struct gitvisit_known *g)
{
	gitseen_clear(&g->seen);
}
