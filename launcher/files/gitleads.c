/*
 * Theory of operation
 *
 * Of a configuration file counts each value of a variable that names a program, a hook directory or a file
 * that git obeys (the tables below), word by word, if there is something of that name. What a shell takes
 * apart is, and what comes behind $(...) or a variable counts as of the working tree. The user's own
 * configuration counts as well: "hooksPath = .githooks" there means that directory in every working tree.
 *
 * What a program so named calls in turn is not looked at.
 */
#include "launcher/files/gitleads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/gitconfig.h"
#include "launcher/files/gitindex.h"

#define CONFIG_MAX  (1024 * 1024)
#define DEPTH_MAX   10 /* of includes, as git's own limit */
#define QUOTES	    "\"'"
#define WORD_BLANKS " \t\n" QUOTES
#define WORD_BREAKS WORD_BLANKS ";&|()<>=`" /* of a shell */

/* The last parts of variables whose values are run, or read as settings. */
static const char *const keys[] = {
	"askpass",   "clean",	   "driver",   "editor",      "httpd",	    "smtpserver",
	"tunnel",    "update",	   "external", "fsmonitor",   "gitproxy",   "helper",
	"hookspath", "pager",	   "path",     "process",     "sshcommand", "smudge",
	"textconv",  "difffilter", "sendpack", "receivepack", "uploadpack",
};

/* And the ends of others: core.alternateRefsCommand, sendemail.toCmd, gc.recentObjectsHook. */
static const char *const key_ends[] = { "cmd", "command", "hook", "program" };

/* Every variable of these sections. */
static const char *const sections[] = { "alias", "pager", "trailer" };

/** struct config - a file that is read, and what relative paths mean in it */
struct config {
	struct gitsearch *s;
	const char *file;
	char *worktree; /* core.worktree as it is spelt */
	unsigned depth;
};

static bool is_listed(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(list[i], word) == 0)
			return true;
	return false;
}

/* @word as an absolute path: of the home directory, else of @dir. */
static char *absolute(const struct gitsearch *s, const char *dir, const char *word)
{
	if (word[0] == '/')
		return xstrdup(word);
	if (word[0] == '~' && word[1] == '/' && s->scope->nhomes > 0)
		return xasprintf("%s/%s", s->scope->homes[0], word + 2);
	return xasprintf("%s/%s", dir, word);
}

void gitleads_hooks(struct gitsearch *s, const char *hooks)
{
	DIR *d = opendir(hooks);
	struct dirent *e;

	if (!d && errno != EACCES) /* then the directory is locked as it is, and no hook runs */
		gitsearch_unread(s, hooks, errno);
	while (d && (e = readdir(d)))
		if (e->d_type == DT_LNK || e->d_type == DT_UNKNOWN)
			gitsearch_add(s, xasprintf("%s/%s", hooks, e->d_name), true);
	if (d)
		(void)closedir(d);
}

/* Where hooks are, also if nothing is there yet. husky's directory "_" runs what is beside it. */
static void add_hooks_path(struct gitsearch *s, const char *value)
{
	char *path = absolute(s, s->root, value);
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	if (n > 2 && strcmp(path + n - 2, "/_") == 0)
		gitsearch_add(s, xstrndup(path, n - 2), false);
	gitleads_hooks(s, path);
	gitsearch_add(s, path, false);
}

/*
 * A first word without a slash is looked for in PATH; one that is @later may well be a file here
 * ("sh clean.sh"). "$PWD/x" is of the working tree, and so is "/x" that is @glued to something before it.
 */
static void add_word(struct gitsearch *s, const char *word, bool glued, bool later)
{
	const char *slash = strchr(word, '/');

	if (slash || (later && *word))
		gitsearch_add_file(s, absolute(s, s->root, word));
	if (!slash || !(word[0] == '$' || (glued && slash == word)))
		return;
	gitsearch_add_file(s, xasprintf("%s%s", s->root, slash));
	if (s->scope->nhomes > 0)
		gitsearch_add_file(s, xasprintf("%s%s", s->scope->homes[0], slash));
}

static void add_split(struct gitsearch *s, const char *value, const char *breaks, bool shell)
{
	for (const char *p = value + strspn(value, breaks), *first = p; *p;) {
		size_t n = strcspn(p, breaks);
		CLEANUP_FREE char *word = xstrndup(p, n);

		add_word(s, word[0] == '!' ? word + 1 : word, p > value && !strchr(" \t\n", p[-1]),
			 shell && p != first);
		p += n;
		p += strspn(p, breaks);
	}
}

/*
 * A command line: each word that is a path, as a shell splits it; or as git does, where there is none;
 * or all between two quotes. Later words do not count in an alias for one of git's own commands.
 */
static void add_words(struct gitsearch *s, const char *value, bool shell)
{
	add_split(s, value, WORD_BLANKS, shell);
	if (strpbrk(value, ";&|()<>=`"))
		add_split(s, value, WORD_BREAKS, shell);
	if (strpbrk(value, QUOTES))
		add_split(s, value, QUOTES, shell);
}

static void read_config(struct gitsearch *s, const char *file, unsigned depth, char **worktree);

static void take_include(const struct config *c, const char *value)
{
	char *dir = xstrdup(c->file), *slash = strrchr(dir, '/');
	char *path;

	if (slash)
		*slash = '\0';
	path = absolute(c->s, dir, value);
	free(dir);
	if (c->depth < DEPTH_MAX)
		read_config(c->s, path, c->depth + 1, NULL);
	gitsearch_add(c->s, path, true);
}

static bool has_end(const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i < ARRAY_SIZE(key_ends); i++) {
		size_t m = strlen(key_ends[i]);

		if (n >= m && strcasecmp(key + n - m, key_ends[i]) == 0)
			return true;
	}
	return false;
}

static bool is_run(const char *section, const char *key)
{
	if (strcasecmp(key, "path") == 0) /* of a tool, not of a submodule */
		return strcasecmp(section, "difftool") == 0 ||
		       strcasecmp(section, "mergetool") == 0;
	return is_listed(keys, ARRAY_SIZE(keys), key) || has_end(key) ||
	       is_listed(sections, ARRAY_SIZE(sections), section);
}

/* Subsections do not matter here: it does no harm to lock more. */
static void take_variable(void *arg, const struct gitconfig_variable *var)
{
	const char *section = var->section, *key = var->key, *value = var->value;
	struct config *c = arg;

	if (strcasecmp(section, "include") == 0 || strcasecmp(section, "includeif") == 0) {
		take_include(c, value);
	} else if (gitconfig_is(var, "core", "worktree")) {
		free(c->worktree);
		c->worktree = xstrdup(value);
	} else if (strcasecmp(key, "hookspath") == 0) {
		add_hooks_path(c->s, value);
	} else if (strcasecmp(key, "attributesfile") == 0) {
		gitsearch_add_file(c->s, absolute(c->s, c->s->root, value));
	} else if (gitconfig_is(var, "extensions", "objectformat")) {
		c->s->hash = strcmp(value, "sha256") == 0 ? GITINDEX_SHA256 : GITINDEX_SHA1;
	} else if (strcasecmp(section, "remote") == 0 &&
		   (strcasecmp(key, "url") == 0 || strcasecmp(key, "pushurl") == 0)) {
		gitsearch_remote(c->s, value);
	} else if (is_run(section, key)) {
		add_words(c->s, value, strcasecmp(section, "alias") != 0 || value[0] == '!');
	}
}

static void read_config(struct gitsearch *s, const char *file, unsigned depth, char **worktree)
{
	struct config c = { .s = s, .file = file, .depth = depth };
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, file, 0, &(struct error){ 0 });
	size_t n;
	CLEANUP_FREE char *text = fd < 0 ? NULL : fd_read_file(fd, CONFIG_MAX, &n);

	if (!text)
		gitsearch_unread(s, file, errno);
	else if (gitconfig_parse(text, n, take_variable, &c) == GITCONFIG_BAD)
		gitsearch_unread(s, file, EBADMSG);
	if (worktree && c.worktree) {
		free(*worktree);
		*worktree = c.worktree;
	} else {
		free(c.worktree);
	}
}

void gitleads_config(struct gitsearch *s, const char *file, char **worktree)
{
	read_config(s, file, 0, worktree);
}

void gitleads_users_config(struct gitsearch *s)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");

	read_config(s, "/etc/gitconfig", 0, NULL);
	for (size_t i = 0; i < s->scope->nhomes; i++) {
		CLEANUP_FREE char *plain = xasprintf("%s/.gitconfig", s->scope->homes[i]);
		CLEANUP_FREE char *config = xasprintf("%s/.config/git/config", s->scope->homes[i]);

		read_config(s, plain, 0, NULL);
		read_config(s, config, 0, NULL);
	}
	if (xdg && xdg[0] == '/') {
		CLEANUP_FREE char *config = xasprintf("%s/git/config", xdg);

		read_config(s, config, 0, NULL);
	}
}
