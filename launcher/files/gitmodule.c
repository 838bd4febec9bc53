/*
 * Theory of operation
 *
 * A new .git/modules/NAME is obeyed in two ways: by git status in the superproject, if a file ".git" in a
 * directory that the index knows of leads there; and by the next git submodule update outside, which takes
 * what is there for its own earlier work. What submodule update itself makes is harmless, and keeps working;
 * that is known by a list of variables and their form.
 */
#include "launcher/files/gitmodule.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
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
#include "launcher/files/gitconfig.h"
#include "launcher/files/gitgrammar.h"
#include "launcher/files/gitindex.h"
#include "launcher/files/gitnested.h"
#include "launcher/files/gittree.h"
#include "launcher/files/indexstate.h"

#define DOT_GIT	    GITNESTED_DOT_GIT
#define SAMPLE	    ".sample"
#define UP	    "../"
#define ORIGIN	    "origin"
#define URL_CHARS   "-._~%+@:/"
#define INDEX_MAX   (64 * 1024 * 1024)
#define CONFIG_MAX  (1024 * 1024)
#define ENTRIES_MAX 4096 /* of a submodule's git directory */

/**
 * struct module - what a submodule's configuration says
 * @worktree, @url: as it spells them
 * @hash: the size of an object's name
 * @named: a branch names its remote, which git takes for a path if that has no URL
 * @other: it says anything more
 */
struct module {
	char *worktree, *url;
	size_t hash;
	bool named, other;
};

static bool is_made_of(const char *value, const char *others)
{
	for (const char *p = value; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(others, *p))
			return false;
	return true;
}

static bool is_word(const char *value)
{
	return is_made_of(value, "-_.");
}

/*
 * A repository on another host. One in the file system may be in the workspace, and the command's: git push
 * would run its hooks.
 */
static bool is_url(const char *value)
{
	static const char *const schemes[] = { "https://", "http://", "ssh://", "git://" };
	const char *colon = strchr(value, ':'), *slash = strchr(value, '/');

	if (!is_made_of(value, URL_CHARS) || strstr(value, "::"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncmp(value, schemes[i], strlen(schemes[i])) == 0)
			return value[strlen(schemes[i])] != '-';
	/* user@host:path */
	return isalnum((unsigned char)value[0]) && strchr(value, '@') && colon &&
	       strchr(value, '@') < colon && (!slash || colon < slash);
}

/* Any other may be a path. */
static bool is_origin(const char *value)
{
	return strcmp(value, ORIGIN) == 0;
}

static bool is_refspec(const char *value)
{
	return is_made_of(value, "-_.+/:*");
}

/** struct variable - @is: NULL for where the working tree is, which is looked at by itself */
struct variable {
	const char *section, *sub, *key;
	bool (*is)(const char *value);
};

#define ANY "*" /* subsection */

static const struct variable variables[] = {
	{ "core", NULL, "repositoryformatversion", is_word },
	{ "core", NULL, "filemode", is_word },
	{ "core", NULL, "bare", is_word },
	{ "core", NULL, "logallrefupdates", is_word },
	{ "core", NULL, "ignorecase", is_word },
	{ "core", NULL, "symlinks", is_word },
	{ "core", NULL, "precomposeunicode", is_word },
	{ "core", NULL, "worktree", NULL },
	{ "extensions", NULL, "objectformat", is_word },
	{ "extensions", NULL, "partialclone", is_origin },
	{ "remote", ORIGIN, "url", is_url },
	{ "remote", ANY, "fetch", is_refspec },
	{ "branch", ANY, "remote", is_origin },
	{ "remote", ORIGIN, "promisor", is_word },
	{ "remote", ORIGIN, "partialclonefilter", is_refspec },
	{ "branch", ANY, "merge", is_refspec },
	{ "branch", ANY, "rebase", is_word },
	{ "submodule", ANY, "active", is_word },
	{ "lfs", NULL, "repositoryformatversion", is_word }, /* git-lfs */
};

/* core.x.worktree is nothing to git, as remote.url is. */
static bool is_sub(const char *want, const char *sub)
{
	if (!want || !sub)
		return want == sub;
	return strcmp(want, ANY) == 0 || strcmp(want, sub) == 0;
}

static const struct variable *find_variable(const struct gitconfig_variable *var)
{
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (strcasecmp(variables[i].section, var->section) == 0 &&
		    strcasecmp(variables[i].key, var->key) == 0 &&
		    is_sub(variables[i].sub, var->sub))
			return &variables[i];
	return NULL;
}

static void take_variable(void *arg, const struct gitconfig_variable *var)
{
	const struct variable *known = find_variable(var);
	struct module *m = arg;

	if (!known || (known->is && !known->is(var->value))) {
		m->other = true;
	} else if (!known->is) {
		m->other |= m->worktree != NULL;
		free(m->worktree);
		m->worktree = xstrdup(var->value);
	} else if (known->is == is_url) {
		m->other |= m->url != NULL;
		free(m->url);
		m->url = xstrdup(var->value);
	} else if (strcasecmp(known->key, "remote") == 0) {
		m->named = true;
	} else if (gitconfig_is(var, "extensions", "objectformat")) {
		m->hash = strcmp(var->value, "sha256") == 0 ? GITINDEX_SHA256 : GITINDEX_SHA1;
	}
}

/* NULL with errno. */
static char *read_file(const struct gitvisit *v, int dir, const char *name, size_t max, size_t *n)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });

	return fd < 0 ? NULL : gitvisit_read_all(v, fd, max, n);
}

static bool has_no(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static bool has_end(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* Whether a directory is missing, or holds nothing but names with that end; none, if it is NULL. */
static bool has_only(int dir, const char *name, const char *end)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool only = d || errno == ENOENT;
	struct dirent *e;

	while (d && only && (e = fd_readdir(d, &only)))
		only = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		       (end && has_end(e->d_name, end));
	if (d)
		(void)closedir(d);
	return only;
}

/* What git obeys in a git directory beside its configuration (protect.c). */
static bool has_nothing_more(int dir)
{
	static const char *const names[] = { "commondir",   "config.worktree", "gitweb",
					     "lazygit.yml", "glab-cli",	       "pid" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!has_no(dir, names[i]))
			return false;
	return has_only(dir, "hooks", SAMPLE) && has_only(dir, "remotes", NULL) &&
	       has_only(dir, "branches", NULL);
}

/* No way out of the working tree, nor into .git. */
static bool is_inside(const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 0 || p[0] == '~' || (n == 2 && strncmp(p, "..", n) == 0) ||
		    (n == strlen(DOT_GIT) && strncasecmp(p, DOT_GIT, n) == 0))
			return false;
		p += n + (p[n] == '/');
	}
	return *path;
}

/*
 * "../../../sub" from .git/modules/sub: steps up, and then a path, which together lead into the superproject's
 * working tree. Return: the path there, which the caller frees; NULL if it is anything else.
 */
static char *path_in_tree(const struct gitvisit *v, int dir, const char *worktree, int tree)
{
	CLEANUP_FREE char *path = fd_path(dir), *top = fd_path(tree);
	CLEANUP_FREE char *git = fd_path(v->away->top), *whole = NULL;
	const char *below;

	if (!path || !top || !git)
		return NULL;
	for (; strncmp(worktree, UP, strlen(UP)) == 0; worktree += strlen(UP)) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = '\0';
	}
	whole = xasprintf("%s/%s", path, worktree);
	if (!is_inside(worktree) || !path_beneath(whole, top) || path_beneath(whole, git))
		return NULL;
	below = whole + strlen(top);
	below += *below == '/';
	return is_inside(below) ? xstrdup(below) : NULL;
}

/** struct nested - @tree: a working tree; @found: one of its repositories is there */
struct nested {
	int tree;
	bool found;
};

static void take_link(void *arg, const char *name, const uint8_t *tree)
{
	struct nested *n = arg;
	CLEANUP_FREE char *dot = xasprintf("%s/" DOT_GIT, name);

	n->found |= tree || faccessat(n->tree, dot, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
		    (errno != ENOENT && errno != ENOTDIR);
}

/* @shared: it is a file that a split index refers to, in which any name may become a repository's. */
static bool is_without(const struct gitvisit *v, int dir, const char *name, const struct module *m,
		       struct nested *nested, bool shared)
{
	size_t n = 0;
	CLEANUP_FREE char *text = read_file(v, dir, name, INDEX_MAX, &n);
	CLEANUP_FREE char *found = NULL;

	if (!text && errno == ENOENT)
		return true;
	return text &&
	       gitindex_check(text, n, m->hash, shared, take_link, nested, &found) == GITINDEX_OK &&
	       !nested->found;
}

/* git status goes on from one repository to those that its index knows of. */
static bool knows_no_repository(const struct gitvisit *v, int dir, int worktree,
				const struct module *m)
{
	struct nested nested = { .tree = worktree };
	bool none = is_without(v, dir, "index", m, &nested, false);
	DIR *d = fd_opendir(dir);
	struct dirent *e;
	unsigned left = ENTRIES_MAX;

	while (d && none && (e = fd_readdir(d, &none)))
		none = left-- > 0 && (!indexstate_is_shared(e->d_name) ||
				      is_without(v, dir, e->d_name, m, &nested, true));
	if (!d)
		return false;
	(void)closedir(d);
	return none;
}

static bool is_plain_in(const struct gitvisit *v, int dir, const struct module *m, int tree)
{
	CLEANUP_FREE char *path = m->worktree ? path_in_tree(v, dir, m->worktree, tree) : NULL;
	CLEANUP_CLOSE int worktree = -1;

	if (!path)
		return false;
	worktree = fd_open_plain(tree, path, O_PATH | O_DIRECTORY);
	if (worktree < 0)
		return errno == ENOENT;
	return knows_no_repository(v, dir, worktree, m);
}

/** struct registered - whether the superproject's configuration has @url as a submodule's */
struct registered {
	const char *url;
	bool found;
};

static void take_url(void *arg, const struct gitconfig_variable *var)
{
	struct registered *r = arg;

	r->found |= strcasecmp(var->section, "submodule") == 0 && var->sub &&
		    strcasecmp(var->key, "url") == 0 && strcmp(var->value, r->url) == 0;
}

/* git fetch outside would ask whichever host the command names, and tell it what its path says. */
static bool is_registered(const struct gitvisit *v, const char *url)
{
	struct registered r = { .url = url };
	CLEANUP_CLOSE int common = gittree_common(v, v->away->top);

	return common >= 0 && gittree_config(v, common, "config", take_url, &r) != GITCONFIG_BAD &&
	       r.found;
}

bool gitmodule_is_plain(const struct gitvisit *v, int dir, int tree)
{
	size_t n = 0;
	CLEANUP_FREE char *config = read_file(v, dir, "config", CONFIG_MAX, &n);
	struct module m = { .hash = GITINDEX_SHA1 };
	bool plain = false;

	if (!config || tree < 0 || !has_nothing_more(dir))
		return false;
	plain = gitconfig_parse(config, n, take_variable, &m) == GITCONFIG_OK && !m.other &&
		(m.url ? is_registered(v, m.url) : !m.named) && is_plain_in(v, dir, &m, tree);
	free(m.worktree);
	free(m.url);
	return plain;
}

/* One that is locked; what its own index knows of is looked for with that. */
static bool is_known(const struct gitvisit_known *g, const struct gitvisit *v, int dir,
		     const char *path)
{
	CLEANUP_FREE char *top = fd_path(v->away->top);
	uint64_t id[2];
	struct stat st;

	if (!top || !path_beneath(path, top) || strlen(path) <= strlen(top) || fstat(dir, &st) < 0)
		return false;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	return gitseen_has(&g->seen, GITSEEN_GIT, path + strlen(top) + 1, id, sizeof(id));
}

bool gitmodule_is_led_to(const struct gitvisit_known *g, const struct gitvisit *v, int worktree,
			 int git)
{
	CLEANUP_CLOSE int dir = gittree_led(v, worktree);
	CLEANUP_FREE char *top = fd_path(git), *path = dir < 0 ? NULL : fd_path(dir);
	CLEANUP_FREE char *modules = top ? xasprintf("%s/modules", top) : NULL;

	return path && modules && path_beneath(path, modules) && strlen(path) > strlen(modules) &&
	       (is_known(g, v, dir, path) || gitmodule_is_plain(v, dir, g->tree));
}
