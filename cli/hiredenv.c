/*
 * Theory of operation
 *
 * A variable may have an interpreter load what it names (PYTHONPATH, NODE_OPTIONS, LD_PRELOAD), a tool read
 * its settings there (PIP_CONFIG_FILE, CARGO_HOME), and each tool has its own. So it is not asked what a
 * variable is for: one with an absolute path in it, anywhere, that leads to where a command may write is left
 * out. Relative ones lead nowhere, since the root directory is the current one.
 *
 * What a variable says without a path (PIP_INDEX_URL, GOPROXY) is the user's, or that of a program that the
 * user runs outside. Only npm and its like put a project's settings there by themselves, from a data file.
 */
#include "cli/hiredenv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/envnames.h"
#include "launcher/files/homes.h"

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin" /* when the environment has none */

const char *hiredenv_given_path(void)
{
	const char *path = getenv("PATH");

	return path ? path : PATH_DEFAULT;
}

/* Adds a directory, canonical, to those that @path has. */
static void append(char **path, const char *dir)
{
	char canonical[PATH_MAX], *more;

	if (!realpath(dir, canonical))
		return;
	more = *path ? xasprintf("%s:%s", *path, canonical) : xstrdup(canonical);
	free(*path);
	*path = more;
}

char *hiredenv_path(const struct untouched *u)
{
	const char *dirs = hiredenv_given_path();
	char *path = NULL;

	for (;;) {
		size_t n = strcspn(dirs, ":");
		CLEANUP_FREE char *dir = xstrndup(dirs, n);
		struct error why;

		if (untouched_look_closely(u, dir, &why) == UNTOUCHED)
			append(&path, dir);
		if (!dirs[n])
			return path ? path : xstrdup(PATH_DEFAULT);
		dirs += n + 1;
	}
}

/* ---- which variables */

struct list {
	char **v;
	size_t n;
};

static void add(struct list *l, char *entry)
{
	l->v = xreallocarray(l->v, l->n + 2, sizeof(*l->v));
	l->v[l->n++] = entry;
	l->v[l->n] = NULL;
}

/* Set by npm, yarn, pnpm and bun for the scripts of a project. */
static bool is_below_npm(void)
{
	static const char *const mark[] = { "npm_lifecycle_event", "npm_config_local_prefix",
					    "npm_package_json",	   "npm_execpath",
					    "npm_command",	   "INIT_CWD" };

	for (size_t i = 0; i < ARRAY_SIZE(mark); i++)
		if (getenv(mark[i]))
			return true;
	return false;
}

static bool is_npms(const char *name, size_t len)
{
	return (len > 4 && strncasecmp(name, "npm_", 4) == 0) ||
	       envnames_match("INIT_CWD", name, len);
}

static bool is_set_anew(const char *name, size_t len)
{
	static const char *const own[] = { "PATH", "PWD", "OLDPWD", "HOME", "PYTHONNOUSERSITE" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (envnames_match(own[i], name, len))
			return true;
	return false;
}

/* No program and no settings: a grant of the home directory is no reason to do without. */
static bool is_data(const char *name, size_t len)
{
	static const char *const data[] = { "XAUTHORITY", "ICEAUTHORITY", "XDG_RUNTIME_DIR",
					    "DBUS_SESSION_BUS_ADDRESS" };

	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		if (envnames_match(data[i], name, len))
			return true;
	return false;
}

/* "-I/x", "--require=/x", "file:///x", and what is relative, which is "/x" in the root directory. */
static bool word_leads_there(const struct untouched *u, const char *word)
{
	const char *path = strchr(word, '/');
	struct error why;

	return path && untouched_look(u, path, &why) == TOUCHED;
}

static bool words_lead_there(const struct untouched *u, const char *value, const char *breaks)
{
	for (value += strspn(value, breaks); *value; value += strspn(value, breaks)) {
		size_t n = strcspn(value, breaks);
		CLEANUP_FREE char *word = xstrndup(value, n);

		if (word_leads_there(u, word))
			return true;
		value += n;
	}
	return false;
}

/* Whether a path in it leads to where a command may write; what ends one, a path may have in it, too. */
static bool leads_there(const struct untouched *u, const char *value)
{
	static const char *const breaks[] = { "", ":", "'\"=", " \t\r\n:;,='\"|&<>()[]{}" };

	if (!strchr(value, '/'))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++)
		if (words_lead_there(u, value, breaks[i]))
			return true;
	return untouched_is_named(u, value);
}

static bool is_passed(const struct untouched *u, const char *entry, bool below_npm)
{
	size_t len = strcspn(entry, "=");

	/* "() {": a function that a shell has exported, in the place of a program */
	if (entry[len] != '=' || strncmp(entry + len + 1, "() {", 4) == 0 ||
	    is_set_anew(entry, len) || (below_npm && is_npms(entry, len)))
		return false;
	return is_data(entry, len) || !leads_there(u, entry + len + 1);
}

/* A home directory of the user's in which no command may write; else, for settings, none. */
static char *find_home(const struct untouched *u, bool settings)
{
	struct homes homes;
	char *found = NULL;

	homes_find(&homes);
	for (size_t i = 0; !found && i < homes.n; i++)
		if (!leads_there(u, homes.v[i]))
			found = xstrdup(homes.v[i]);
	if (!found)
		found = xstrdup(settings || homes.n == 0 ? "/" : homes.v[0]);
	homes_clear(&homes);
	return found;
}

/*
 * Python, and with it pip, runs what it finds in the user's own site-packages at each start. Where something
 * there is granted, that may be a command's.
 */
static void add_home(const struct untouched *u, bool settings, struct list *l)
{
	CLEANUP_FREE char *home = find_home(u, settings), *site = xasprintf("%s/.local/lib", home);
	const char *given = getenv("PYTHONNOUSERSITE");

	add(l, xasprintf("HOME=%s", home));
	if (untouched_grants_in(u, site) || leads_there(u, site))
		add(l, xstrdup("PYTHONNOUSERSITE=1"));
	else if (given)
		add(l, xasprintf("PYTHONNOUSERSITE=%s", given));
}

char **hiredenv_new(const struct untouched *u, bool settings)
{
	CLEANUP_FREE char *path = hiredenv_path(u);
	struct list l = { .v = NULL };
	bool below_npm = is_below_npm();

	add(&l, xasprintf("PATH=%s", path));
	add(&l, xstrdup("PWD=/"));
	add_home(u, settings, &l);
	for (char *const *e = environ; *e; e++)
		if (is_passed(u, *e, below_npm))
			add(&l, xstrdup(*e));
	return l.v;
}
