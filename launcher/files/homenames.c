#include "launcher/files/homenames.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"

/** struct homename - @content as of homenames_use */
struct homename {
	const char *name;
	const char *content;
};

/* Right in the home directory. */
static const struct homename at_home[] = {
	/* shells */
	{ ".bash_aliases", "" },
	{ ".bash_login", "" },
	{ ".bash_logout", "" },
	{ ".bash_profile", "" },
	{ ".bashrc", "" },
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
	{ "bin", NULL },
	/* sessions */
	{ ".pam_environment", "" },
	{ ".xinitrc", "" },
	{ ".xprofile", "" },
	{ ".xsession", "" },
	{ ".xsessionrc", "" },
	/* tools that run what their settings say */
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

static const struct homename in_config[] = {
	{ "autostart", NULL },
	{ "direnv", NULL },
	{ "environment.d", NULL },
	{ "fish", NULL },
	{ "git", NULL },
	{ "nvim", NULL },
	{ "plasma-workspace", NULL },
	{ "systemd", NULL },
};

static const struct homename in_local[] = { { "bin", NULL } };

static const struct homename in_data[] = {
	{ "applications", NULL },
	{ "dbus-1", NULL },
	{ "systemd", NULL },
};

/* zsh's, in the place of those at home; .zshenv is read in both. */
static const struct homename in_zdotdir[] = {
	{ ".zlogin", "" }, { ".zlogout", "" }, { ".zprofile", "" },
	{ ".zshenv", "" }, { ".zshrc", "" },
};

#define NAMES(v) .names = (v), .n = ARRAY_SIZE(v)

/**
 * struct place - a directory with such names
 * @below: the home directory; NULL for one that only a variable names
 * @variable: that names another one in its stead, or NULL
 */
static const struct place {
	const char *below;
	const char *variable;
	const struct homename *names;
	size_t n;
} places[] = {
	{ "", NULL, NAMES(at_home) },
	{ "/.config", "XDG_CONFIG_HOME", NAMES(in_config) },
	{ "/.local", NULL, NAMES(in_local) },
	{ "/.local/share", "XDG_DATA_HOME", NAMES(in_data) },
	{ NULL, "ZDOTDIR", NAMES(in_zdotdir) },
};

/* Variables that name one file or directory. */
static const struct homename variables[] = {
	{ "BASH_ENV", "" },	     { "DIRENV_CONFIG", NULL }, { "ENV", "" },
	{ "GIT_CONFIG_GLOBAL", "" }, { "INPUTRC", "" },		{ "PYTHONSTARTUP", "" },
	{ "SCREENRC", "" },	     { "XINITRC", "" },
};

static int use_place(const struct place *p, const char *dir, homenames_use *use, void *arg)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->n; i++)
		rc = use(arg, dir, p->names[i].name, p->names[i].content);
	return rc;
}

int homenames_each(const char *home, homenames_use *use, void *arg)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(places); i++) {
		CLEANUP_FREE char *dir =
			places[i].below ? xasprintf("%s%s", home, places[i].below) : NULL;

		if (dir)
			rc = use_place(&places[i], dir, use, arg);
	}
	return rc;
}

/* Absolute, without slashes at its end, so that it has a name; NULL for none. */
static char *value_of(const char *variable)
{
	const char *value = getenv(variable);
	size_t n = value ? strlen(value) : 0;
	CLEANUP_FREE char *here = NULL;

	while (n > 1 && value[n - 1] == '/')
		n--;
	if (n == 0 || (n == 1 && value[0] == '/'))
		return NULL;
	if (value[0] == '/')
		return xstrndup(value, n);
	if (strcmp(variable, "GIT_CONFIG_GLOBAL") != 0)
		return NULL;
	here = getcwd(NULL, 0);
	return here ? xasprintf("%s/%.*s", here, (int)n, value) : NULL;
}

/* /dev/null switches a file off, and a pipe is nothing that stays. */
static bool is_nothing(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int homenames_moved(homenames_use *use, void *arg)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(places); i++) {
		CLEANUP_FREE char *dir = places[i].variable ? value_of(places[i].variable) : NULL;

		if (dir)
			rc = use_place(&places[i], dir, use, arg);
	}
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(variables); i++) {
		CLEANUP_FREE char *path = value_of(variables[i].name);
		CLEANUP_FREE char *dir = path ? path_dir(path) : NULL;

		if (path && !is_nothing(path))
			rc = use(arg, dir, path_name(path), variables[i].content);
	}
	return rc;
}

/**
 * struct above - a search
 * @path: for what is at or above it
 * @dir: the directory in which the last name was, @at and @canonical the same; -1 and NULL: there is none
 */
struct above {
	const char *path;
	char *dir;
	int at;
	char *canonical;
	char *found;
};

static void above_enter(struct above *a, const char *dir)
{
	if (a->dir && strcmp(a->dir, dir) == 0)
		return;
	cleanup_close(&a->at);
	free(a->dir);
	free(a->canonical);
	a->dir = xstrdup(dir);
	a->at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	a->canonical = a->at < 0 ? NULL : fd_path(a->at);
}

/* The name itself, unless it is a link: then what it leads to, for which it must be looked up. */
static int is_above(void *arg, const char *dir, const char *name, const char *content)
{
	struct above *a = arg;
	CLEANUP_FREE char *at = NULL;
	char target[1];

	(void)content;
	above_enter(a, dir);
	if (!a->canonical)
		return 0;
	at = xasprintf("%s/%s", strcmp(a->canonical, "/") == 0 ? "" : a->canonical, name);
	if (readlinkat(a->at, name, target, sizeof(target)) > 0) {
		char *real = realpath(at, NULL);

		free(at);
		at = real;
	}
	if (!at || !path_beneath(a->path, at))
		return 0;
	a->found = take_ptr(at);
	return 1;
}

char *homenames_above(const char *path, char *const *homes, size_t n)
{
	struct above a = { .path = path, .at = -1 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = homenames_each(homes[i], is_above, &a);
	if (rc == 0)
		(void)homenames_moved(is_above, &a);
	cleanup_close(&a.at);
	free(a.dir);
	free(a.canonical);
	return a.found;
}
