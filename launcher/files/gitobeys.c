/*
 * Theory of operation
 *
 * A repository tells git where more of it is, and what to run. Followed here are:
 *
 *  - The git directory that a file ".git" leads to, and the common one behind it.
 *  - .git/modules, however deep: the name of a submodule may have slashes, and a submodule may have
 *    submodules; .git/worktrees. The working trees of both hold a ".git" that leads back.
 *  - Configuration: included files, and each value of a variable that names a program, a hook
 *    directory or a file that git obeys (the table below), word by word, if there is something of
 *    that name. What a shell takes apart is, and what comes behind $(...) or a variable counts as of the
 *    working tree. The user's own configuration counts as well: "hooksPath = .githooks" there means
 *    that directory in every working tree.
 *  - The same of the repositories around the working tree: "hooksPath = app/.husky" where that is app.
 *  - Symbolic links among hooks.
 *  - The repositories in the working tree that the index knows of, and those that are remotes.
 *
 * What a program so named calls in turn is not looked at. Names that lead out of the writable roots
 * are left to the caller to pass over.
 */
#include "launcher/files/gitobeys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "launcher/files/gitindex.h"

#define CONFIG_MAX  (1024 * 1024)
#define INDEX_MAX   (256 * 1024 * 1024)
#define READ_MAX    (512 * 1024 * 1024) /* of all */
#define LINKS_MAX   (16 * 1024)		/* that indices know of */
#define DEPTH_MAX   10	 /* of includes, as git's own limit, and of submodule directories */
#define DIRS_MAX    4096 /* that are looked at for submodules */
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

/** struct search - where we are */
struct search {
	struct gitobeys *out;
	const char *root;
	char *const *homes;
	size_t nhomes;
	unsigned dirs, links, looked;
	size_t read; /* of indices */
	size_t hash; /* the size of an object's name in this repository */
	bool around; /* in a repository around, where the command cannot take permissions */
};

/** struct config - a file that is read, and what relative paths mean in it */
struct config {
	struct search *s;
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

/* Takes @path. */
static void add_path(struct search *s, char *path, bool file)
{
	s->out->paths = xreallocarray(s->out->paths, s->out->npaths + 1, sizeof(*s->out->paths));
	s->out->paths[s->out->npaths++] = (struct gitobeys_path){ path, file };
}

/* Takes @path, if it leads to a file, or nobody can tell: a directory, or nothing, is no program. */
static void add_file(struct search *s, char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 ? errno == EACCES : S_ISREG(st.st_mode))
		add_path(s, path, true);
	else
		free(path);
}

/* @word as an absolute path: of the home directory, else of @dir. */
static char *absolute(const struct search *s, const char *dir, const char *word)
{
	if (word[0] == '/')
		return xstrdup(word);
	if (word[0] == '~' && word[1] == '/' && s->nhomes > 0)
		return xasprintf("%s/%s", s->homes[0], word + 2);
	return xasprintf("%s/%s", dir, word);
}

static void read_config(struct search *s, const char *file, unsigned depth, char **worktree);

static bool is_beneath_root(const struct search *s, const char *file)
{
	size_t n = strlen(s->root);

	return strncmp(file, s->root, n) == 0 && file[n] == '/';
}

/*
 * What is missing or no file names nothing, and of the user's own files elsewhere some may be root's;
 * whatever else cannot be read may name anything.
 */
static void check_unread(struct search *s, const char *path, int code)
{
	static const int harmless[] = { ENOENT, ENOTDIR, EISDIR, EINVAL, ELOOP, ENAMETOOLONG };

	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		if (code == harmless[i])
			return;
	if (s->out->unread || (code == EACCES && (s->around || !is_beneath_root(s, path))))
		return;
	s->out->unread = xstrdup(path);
	s->out->unread_code = code;
}

/* Hooks that are links: the link is locked with its directory, where it leads is not. */
static void add_hooks(struct search *s, const char *hooks)
{
	DIR *d = opendir(hooks);
	struct dirent *e;

	if (!d && errno != EACCES) /* then the directory is locked as it is, and no hook runs */
		check_unread(s, hooks, errno);
	while (d && (e = readdir(d)))
		if (e->d_type == DT_LNK || e->d_type == DT_UNKNOWN)
			add_path(s, xasprintf("%s/%s", hooks, e->d_name), true);
	if (d)
		(void)closedir(d);
}

/* Where hooks are, also if nothing is there yet. husky's directory "_" runs what is beside it. */
static void add_hooks_path(struct search *s, const char *value)
{
	char *path = absolute(s, s->root, value);
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	if (n > 2 && strcmp(path + n - 2, "/_") == 0)
		add_path(s, xstrndup(path, n - 2), false);
	add_hooks(s, path);
	add_path(s, path, false);
}

/*
 * A first word without a slash is looked for in PATH; one that is @later may well be a file here
 * ("sh clean.sh"). "$PWD/x" is of the working tree, and so is "/x" that is @glued to something before it.
 */
static void add_word(struct search *s, const char *word, bool glued, bool later)
{
	const char *slash = strchr(word, '/');

	if (slash || (later && *word))
		add_file(s, absolute(s, s->root, word));
	if (!slash || !(word[0] == '$' || (glued && slash == word)))
		return;
	add_file(s, xasprintf("%s%s", s->root, slash));
	if (s->nhomes > 0)
		add_file(s, xasprintf("%s%s", s->homes[0], slash));
}

static void add_split(struct search *s, const char *value, const char *breaks, bool shell)
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
static void add_words(struct search *s, const char *value, bool shell)
{
	add_split(s, value, WORD_BLANKS, shell);
	if (strpbrk(value, ";&|()<>=`"))
		add_split(s, value, WORD_BREAKS, shell);
	if (strpbrk(value, QUOTES))
		add_split(s, value, QUOTES, shell);
}

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
	add_path(c->s, path, true);
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

static void add_remote(struct search *s, const char *value);

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
		add_file(c->s, absolute(c->s, c->s->root, value));
	} else if (gitconfig_is(var, "extensions", "objectformat")) {
		c->s->hash = strcmp(value, "sha256") == 0 ? GITINDEX_SHA256 : GITINDEX_SHA1;
	} else if (strcasecmp(section, "remote") == 0 &&
		   (strcasecmp(key, "url") == 0 || strcasecmp(key, "pushurl") == 0)) {
		add_remote(c->s, value);
	} else if (is_run(section, key)) {
		add_words(c->s, value, strcasecmp(section, "alias") != 0 || value[0] == '!');
	}
}

/* @worktree: NULL, or receives core.worktree, which the caller frees. */
static void read_config(struct search *s, const char *file, unsigned depth, char **worktree)
{
	struct config c = { .s = s, .file = file, .depth = depth };
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, file, 0, &(struct error){ 0 });
	size_t n;
	CLEANUP_FREE char *text = fd < 0 ? NULL : fd_read_file(fd, CONFIG_MAX, &n);

	if (!text)
		check_unread(s, file, errno);
	else if (gitconfig_parse(text, n, take_variable, &c) == GITCONFIG_BAD)
		check_unread(s, file, EBADMSG);
	if (worktree)
		*worktree = c.worktree;
	else
		free(c.worktree);
}

static void read_index(struct search *s, const char *git);

static void read_git_dir(struct search *s, const char *git, char **worktree)
{
	CLEANUP_FREE char *config = xasprintf("%s/config", git);
	CLEANUP_FREE char *own = xasprintf("%s/config.worktree", git);
	CLEANUP_FREE char *hooks = xasprintf("%s/hooks", git);

	s->hash = GITINDEX_SHA1;
	read_config(s, config, 0, worktree);
	read_config(s, own, 0, NULL);
	add_hooks(s, hooks);
	read_index(s, git);
}

/* @tree: whose .git leads there, or NULL. */
static void add_dir(struct search *s, const char *path, const char *tree, bool linked)
{
	s->out->dirs = xreallocarray(s->out->dirs, s->out->ndirs + 1, sizeof(*s->out->dirs));
	s->out->dirs[s->out->ndirs++] = (struct gitobeys_dir){ .path = xstrdup(path),
							       .tree = tree ? xstrdup(tree) : NULL,
							       .linked = linked };
}

static bool has(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

static void find_modules(struct search *s, const char *dir, unsigned depth);
static void read_users_config(struct search *s);

/* Relative names in configuration are those of the working tree in which git runs. */
static void read_for_tree(struct search *s, const char *tree, const char *git)
{
	CLEANUP_FREE char *real = realpath(tree, NULL);
	const char *root = s->root;

	if (!real || !has(real, ".git"))
		return;
	s->root = real;
	read_git_dir(s, git, NULL);
	read_users_config(s);
	s->root = root;
}

/* A submodule's git directory; its working tree holds the file that leads here. */
static void take_module(struct search *s, const char *git, unsigned depth)
{
	CLEANUP_FREE char *modules = xasprintf("%s/modules", git);
	CLEANUP_FREE char *tree = NULL;
	char *worktree = NULL;

	add_dir(s, git, NULL, false);
	read_git_dir(s, git, &worktree);
	if (worktree) {
		tree = worktree[0] == '/' ? xstrdup(worktree) : xasprintf("%s/%s", git, worktree);
		add_file(s, xasprintf("%s/.git", tree));
		read_for_tree(s, tree, git);
	}
	free(worktree);
	find_modules(s, modules, depth + 1);
}

/*
 * What is in @dir cannot be told, since its permissions were taken or there is too much of it, by an
 * earlier run perhaps: it is locked as a whole.
 */
static void lock_unseen(struct search *s, const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) == 0 || errno == EACCES)
		add_path(s, xstrdup(dir), false);
}

/* Calls @take for each directory in @dir. */
static void each_dir(struct search *s, const char *dir, unsigned depth,
		     void (*take)(struct search *s, const char *sub, unsigned depth))
{
	DIR *d = depth < DEPTH_MAX ? opendir(dir) : NULL;
	bool unseen = !d && (depth >= DEPTH_MAX || (errno != ENOENT && errno != ENOTDIR));
	struct dirent *e;

	while (d && !unseen && (e = readdir(d))) {
		CLEANUP_FREE char *sub = xasprintf("%s/%s", dir, e->d_name);
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		unseen = lstat(sub, &st) < 0 ? errno == EACCES : s->dirs >= DIRS_MAX;
		if (unseen || !S_ISDIR(st.st_mode))
			continue;
		s->dirs++;
		take(s, sub, depth);
	}
	if (d)
		(void)closedir(d);
	if (unseen)
		lock_unseen(s, dir);
}

/* A directory of .git/modules is a submodule's, or the first part of the names of several. */
static void take_module_or_part(struct search *s, const char *sub, unsigned depth)
{
	if (has(sub, "HEAD") || has(sub, "config"))
		take_module(s, sub, depth);
	else
		find_modules(s, sub, depth + 1);
}

static void find_modules(struct search *s, const char *dir, unsigned depth)
{
	each_dir(s, dir, depth, take_module_or_part);
}

char *gitobeys_link(const char *dir, const char *name, const char *prefix)
{
	CLEANUP_FREE char *file = xasprintf("%s/%s", dir, name);
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, file, 0, &(struct error){ 0 });
	size_t n, skip = strlen(prefix);
	CLEANUP_FREE char *text = fd < 0 ? NULL : fd_read_file(fd, PATH_MAX, &n);

	if (!text || strncmp(text, prefix, skip) != 0)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	return text[skip] == '/' ? xstrdup(text + skip) : xasprintf("%s/%s", dir, text + skip);
}

/* "gitdir" in it names the ".git" file of the linked working tree. */
static void take_worktree(struct search *s, const char *git, unsigned depth)
{
	CLEANUP_FREE char *own = xasprintf("%s/config.worktree", git);
	CLEANUP_FREE char *common = xasprintf("%s/../..", git);
	CLEANUP_FREE char *back = gitobeys_link(git, "gitdir", "");
	CLEANUP_FREE char *modules = xasprintf("%s/modules", git);
	size_t n = back ? strlen(back) : 0;

	add_dir(s, git, NULL, true);
	read_config(s, own, 0, NULL);
	find_modules(s, modules, depth);
	if (!back)
		return;
	add_file(s, xstrdup(back));
	if (n > 5 && strcmp(back + n - 5, "/.git") == 0) {
		CLEANUP_FREE char *tree = xstrndup(back, n - 5);

		read_for_tree(s, tree, common);
		read_for_tree(s, tree, git);
	}
}

/*
 * A repository that the index knows of, though it is no submodule in .git/modules: git status looks into
 * it. Its ".git" is a directory, or says where that is.
 */
static void take_repository(struct search *s, const char *name)
{
	CLEANUP_FREE char *tree = xasprintf("%s/%s", s->root, name);
	CLEANUP_FREE char *git = xasprintf("%s/.git", tree);
	CLEANUP_FREE char *to = gitobeys_link(tree, ".git", "gitdir: ");
	CLEANUP_FREE char *real = realpath(to ? to : git, NULL);
	size_t hash = s->hash;

	if (!real || s->dirs >= DIRS_MAX)
		return;
	s->dirs++;
	if (to)
		add_file(s, xstrdup(git));
	add_dir(s, real, tree, false);
	if (s->links++ < DEPTH_MAX)
		read_for_tree(s, tree, real);
	s->links--;
	s->hash = hash;
}

static void take_link(void *arg, const char *name, const uint8_t *tree)
{
	struct search *s = arg;
	CLEANUP_FREE char *index = NULL;

	if (tree) /* git itself leaves no directory out in which a repository is */
		return;
	if (s->looked++ < LINKS_MAX) {
		take_repository(s, name);
		return;
	}
	index = xasprintf("%s/.git/index", s->root);
	check_unread(s, index, EFBIG);
}

static void read_index(struct search *s, const char *git)
{
	CLEANUP_FREE char *file = xasprintf("%s/index", git);
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, file, 0, &(struct error){ 0 });
	size_t n;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *elsewhere = NULL;

	if (fd >= 0 && s->read > READ_MAX)
		errno = EFBIG;
	else if (fd >= 0)
		text = fd_read_file(fd, INDEX_MAX, &n);
	s->read += text ? n : fd >= 0 ? INDEX_MAX : 0;
	if (text)
		(void)gitindex_check(text, n, s->hash, false, take_link, s, &elsewhere);
	else
		check_unread(s, file, errno);
}

/* A remote in the working tree: git push runs its hooks, as git fetch obeys its configuration. */
static void add_remote(struct search *s, const char *value)
{
	const char *path = strncmp(value, "file://", 7) == 0 ? value + 7 : value;
	CLEANUP_FREE char *spelt = absolute(s, s->root, path);
	CLEANUP_FREE char *git = xasprintf("%s/.git", spelt);
	CLEANUP_FREE char *real = realpath(has(spelt, "HEAD") ? spelt : git, NULL);
	size_t hash = s->hash;

	if (!real || !is_beneath_root(s, real) || s->dirs >= DIRS_MAX)
		return;
	s->dirs++;
	add_dir(s, real, NULL, false);
	if (s->links++ < DEPTH_MAX)
		read_git_dir(s, real, NULL);
	s->links--;
	s->hash = hash;
}

static void read_users_config(struct search *s)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");

	read_config(s, "/etc/gitconfig", 0, NULL);
	for (size_t i = 0; i < s->nhomes; i++) {
		CLEANUP_FREE char *plain = xasprintf("%s/.gitconfig", s->homes[i]);
		CLEANUP_FREE char *config = xasprintf("%s/.config/git/config", s->homes[i]);

		read_config(s, plain, 0, NULL);
		read_config(s, config, 0, NULL);
	}
	if (xdg && xdg[0] == '/') {
		CLEANUP_FREE char *config = xasprintf("%s/git/config", xdg);

		read_config(s, config, 0, NULL);
	}
}

static void search_repository(struct search *s, const char *git)
{
	CLEANUP_FREE char *modules = xasprintf("%s/modules", git);
	CLEANUP_FREE char *worktrees = xasprintf("%s/worktrees", git);

	read_git_dir(s, git, NULL);
	find_modules(s, modules, 0);
	each_dir(s, worktrees, 0, take_worktree);
}

/*
 * A git directory elsewhere than in .git. It may lie in the working tree all the same, as with
 * "gitdir: ./.bare"; what is missing, or cannot be looked at, is held or locked where it would be.
 */
static void follow_to(struct search *s, const char *git, const char *tree, bool linked)
{
	CLEANUP_FREE char *real = realpath(git, NULL);

	if (!real) {
		add_path(s, xstrdup(git), false);
		return;
	}
	add_dir(s, real, tree, linked);
	search_repository(s, real);
}

/* A linked working tree's, or a submodule's own: its ".git" says where the repository is. */
static void follow_file(struct search *s)
{
	CLEANUP_FREE char *git = gitobeys_link(s->root, ".git", "gitdir: ");
	CLEANUP_FREE char *common = git ? gitobeys_link(git, "commondir", "") : NULL;

	if (git)
		follow_to(s, git, s->root, common);
	if (common)
		follow_to(s, common, NULL, false);
}

/* Those that the working tree lies in: git runs there, too, and may be told of what is here. */
static void search_around(const struct search *s)
{
	CLEANUP_FREE char *tree = xstrdup(s->root);
	struct search outer = *s;
	char *slash;

	outer.root = tree;
	outer.around = true;
	while ((slash = strrchr(tree, '/')) && slash > tree) {
		CLEANUP_FREE char *git = NULL;

		*slash = '\0';
		if (!has(tree, ".git"))
			continue;
		git = xasprintf("%s/.git", tree);
		search_repository(&outer, git);
		follow_file(&outer);
		read_users_config(&outer);
	}
}

void gitobeys_find(const char *root, char *const *homes, size_t nhomes, struct gitobeys *out)
{
	struct search s = { .out = out, .root = root, .homes = homes, .nhomes = nhomes };
	bool bare = has(root, "HEAD") && has(root, "objects") && has(root, "refs");
	CLEANUP_FREE char *git = xasprintf("%s/.git", root);
	CLEANUP_FREE char *real = realpath(git, NULL); /* it may be a link */

	*out = (struct gitobeys){ .ndirs = 0 };
	search_around(&s);
	if (!bare && !has(root, ".git"))
		return;
	if (bare) {
		add_dir(&s, root, NULL, false);
		search_repository(&s, root);
	}
	search_repository(&s, real ? real : git);
	follow_file(&s);
	read_users_config(&s);
}

void gitobeys_clear(struct gitobeys *g)
{
	for (size_t i = 0; i < g->ndirs; i++) {
		free(g->dirs[i].path);
		free(g->dirs[i].tree);
	}
	free(g->dirs);
	for (size_t i = 0; i < g->npaths; i++)
		free(g->paths[i].path);
	free(g->paths);
	free(g->unread);
	*g = (struct gitobeys){ .ndirs = 0 };
}
