#include "cli/hired.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/confine.h"
#include "cli/hashbang.h"
#include "cli/hiredenv.h"
#include "launcher/program.h"

#define SCRIPTS_MAX 4 /* interpreters of interpreters; the kernel takes five */
#define WORDS_MAX   4

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && path_may(AT_FDCWD, path, X_OK);
}

/* Where the last component is kept as it is: see @path of struct hired. */
static char *with_canonical_dir(const char *path)
{
	CLEANUP_FREE char *dir = path_dir(path);
	char canonical[PATH_MAX];

	if (!realpath(dir, canonical))
		return NULL;
	return xasprintf("%s/%s", strcmp(canonical, "/") == 0 ? "" : canonical, path_name(path));
}

/* A link to nothing, where a command may make something of it. */
static bool may_become(const struct untouched *u, const char *path)
{
	struct error why;

	return access(path, F_OK) < 0 && untouched_look(u, path, &why) == TOUCHED;
}

/* What env(1) will find, now or later, or NULL. */
static char *find_plainly(const struct untouched *u, const char *dirs, const char *name)
{
	while (*name && *dirs) {
		size_t n = strcspn(dirs, ":");
		char *try = xasprintf("%.*s/%s", (int)n, dirs, name);

		if (is_program(try) || may_become(u, try))
			return try;
		free(try);
		dirs += n + (dirs[n] == ':');
	}
	return NULL;
}

static int judge_scripts(const struct untouched *u, const char *path, unsigned left,
			 struct error *why);

/* @path runs another one, @runs. */
static int judge_interpreter(const struct untouched *u, const char *path, const char *runs,
			     unsigned left, struct error *why)
{
	struct error reason;

	if (runs[0] != '/')
		return error_set(why, 0, "its first line has %s run it, which is no absolute path",
				 runs);
	if (untouched_look_closely(u, runs, &reason) != UNTOUCHED)
		return error_set(why, 0, "%s, which runs %s: %s", runs, path, reason.msg);
	return judge_scripts(u, runs, left, why);
}

/* The interpreter of a script, and that of the interpreter. */
static int judge_scripts(const struct untouched *u, const char *path, unsigned left,
			 struct error *why)
{
	CLEANUP_FREE char *dirs = NULL, *found = NULL;
	char name[HASHBANG_MAX];
	struct hashbang h;

	if (!hashbang_read(path, &h))
		return 0;
	if (left == 0)
		return error_set(why, ELOOP, "too many interpreters");
	if (judge_interpreter(u, path, h.interpreter, left - 1, why) < 0)
		return -1;
	if (!hashbang_env(&h, name))
		return 0;
	dirs = hiredenv_path(u);
	found = find_plainly(u, dirs, name);
	if (!found)
		return error_set(why, 0,
				 "its first line has env look for '%s', which is in no directory "
				 "of PATH in which no command may write",
				 name);
	return judge_interpreter(u, path, found, left - 1, why);
}

static int judge(const struct untouched *u, const char *path, struct error *why)
{
	if (untouched_look_closely(u, path, why) != UNTOUCHED)
		return -1;
	return judge_scripts(u, path, SCRIPTS_MAX, why);
}

/* An entry of PATH has a program @try. */
static int judge_entry(const struct untouched *u, const char *try, struct error *why)
{
	CLEANUP_FREE char *dir = path_dir(try);

	if (try[0] != '/')
		return error_set(why, 0, "the entry of PATH is no absolute path");
	if (untouched_look_closely(u, dir, why) != UNTOUCHED)
		return -1;
	return judge(u, try, why);
}

/* @named: by the user, and no tool of which the settings count. */
static int fill(const struct untouched *u, const char *path, bool named, struct hired *out,
		struct error *err)
{
	*out = (struct hired){ .path = with_canonical_dir(path) };
	if (!out->path || stat(out->path, &out->seen) < 0) {
		(void)error_set(err, errno, "%s", path);
		hired_clear(out);
		return -1;
	}
	out->words = xcalloc(WORDS_MAX + 1, sizeof(*out->words));
	out->words[0] = xstrdup(out->path);
	out->env = hiredenv_new(u, !named);
	return 0;
}

static int refuse(const char *path, bool named, const struct error *why, struct error *err)
{
	return error_set(err, 0, "%s is not run outside of the sandbox: %s; %s", path, why->msg,
			 named ? "name one that is elsewhere, by its absolute path"
			       : "install one elsewhere, or name the hosts: --allow HOST");
}

static int find_in_path(const struct untouched *u, const char *name, bool named, struct hired *out,
			struct error *err)
{
	const char *dirs = hiredenv_given_path();
	CLEANUP_FREE char *refused = NULL, *unused = NULL;
	struct error why = { 0 };

	for (bool more = true; more;) {
		size_t n = strcspn(dirs, ":");
		CLEANUP_FREE char *try =
			n == 0 ? xasprintf("./%s", name) : xasprintf("%.*s/%s", (int)n, dirs, name);
		struct error reason;

		more = dirs[n] == ':';
		dirs += n + more;
		if (!is_program(try))
			continue;
		if (judge_entry(u, try, &reason) == 0)
			return fill(u, try, named, out, err);
		if (refused)
			continue;
		refused = take_ptr(try);
		why = reason;
	}
	if (refused)
		return refuse(refused, named, &why, err);
	if (program_find(name, environ, &unused, err) == 0)
		return error_set(err, 0, "%s: command not found", name);
	return -1;
}

int hired_tool(const struct untouched *u, const char *name, struct hired *out, struct error *err)
{
	return find_in_path(u, name, false, out, err);
}

/* ---- what lies where the command may write */

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/* Interpreters that look for nothing beside the script. */
static bool loads_nothing(const char *interpreter)
{
	static const char *const shells[] = { "sh",  "ash",   "bash", "busybox", "dash",
					      "ksh", "ksh93", "mksh", "zsh",	 "perl" };
	const char *name = path_name(interpreter);

	return is_one_of(name, shells, ARRAY_SIZE(shells));
}

/* The directory of its script comes before all others where Python looks for modules: -I takes it away. */
static void isolate_python(struct hired *h, const char *interpreter, const char *argument)
{
	size_t n = 0;

	free(h->words[0]);
	h->words[n++] = xstrdup(interpreter);
	if (*argument)
		h->words[n++] = xstrdup(argument);
	h->words[n++] = xstrdup("-I");
	h->words[n] = xstrdup(h->path);
}

static int judge_exposed(const struct untouched *u, struct hired *h, struct error *err)
{
	CLEANUP_FREE char *dirs = hiredenv_path(u), *found = NULL;
	char name[HASHBANG_MAX];
	const char *runs, *argument;
	struct hashbang line;
	struct error why;

	h->exposed = true;
	if (judge_scripts(u, h->path, SCRIPTS_MAX, &why) < 0)
		return refuse(h->path, true, &why, err);
	if (!hashbang_read(h->path, &line))
		return 0;
	runs = line.interpreter;
	argument = line.argument;
	if (hashbang_env(&line, name)) {
		runs = found = find_plainly(u, dirs, name);
		argument = strcmp(name, line.argument) == 0 ? "" : NULL;
	}
	if (runs && loads_nothing(runs))
		return 0;
	if (!runs || !argument || strncmp(path_name(runs), "python", 6) != 0)
		return error_set(err, 0,
				 "%s is not run outside of the sandbox: the command may write what "
				 "%s loads from beside it; name one that is elsewhere, by its "
				 "absolute path",
				 h->path, found ? name : path_name(line.interpreter));
	isolate_python(h, runs, argument);
	return 0;
}

/* --fs off lets the command write what this user may. */
static bool may_change(const char *path)
{
	CLEANUP_FREE char *dir = path_dir(path);
	struct stat st;

	return stat(path, &st) < 0 || st.st_uid == geteuid() || path_may(AT_FDCWD, path, W_OK) ||
	       stat(dir, &st) < 0 || st.st_uid == geteuid() || path_may(AT_FDCWD, dir, W_OK);
}

/* Where a link in the workspace leads: a file in it, which will be locked, or one that needs no lock. */
static int judge_end(const struct untouched *u, const char *path, struct error *why)
{
	char canonical[PATH_MAX];
	enum untouched_found found;

	if (!realpath(path, canonical))
		return error_set(why, errno, "it cannot be followed");
	found = untouched_look(u, canonical, why);
	if (found == UNTOUCHED)
		found = untouched_look_closely(u, canonical, why);
	else if (found == TOUCHED)
		return 0;
	return found == UNTOUCHED ? 0 : -1;
}

static int find_path(const struct untouched *u, const char *name, struct hired *out,
		     struct error *err)
{
	CLEANUP_FREE char *path = NULL, *unused = NULL;
	enum untouched_found found;
	struct error why;

	path = confine_absolute(name, err);
	if (!path || program_find(path, environ, &unused, err) != 0 ||
	    fill(u, path, true, out, err) < 0)
		return -1;
	found = untouched_look(u, path, &why);
	if (found == TOUCHED && judge_end(u, path, &why) == 0)
		return judge_exposed(u, out, err);
	if (found != UNTOUCHED || judge(u, path, &why) < 0)
		return refuse(path, true, &why, err);
	return 0;
}

int hired_named(const struct untouched *u, const char *name, struct hired *out, struct error *err)
{
	int rc = strchr(name, '/') ? find_path(u, name, out, err)
				   : find_in_path(u, name, true, out, err);

	if (rc < 0) {
		hired_clear(out);
		return -1;
	}
	if (untouched_is_open(u) && may_change(out->path))
		out->exposed = true;
	return 0;
}

/* ---- running it */

static bool is_same(const struct hired *h)
{
	const struct stat *was = &h->seen;
	struct stat st;

	return stat(h->path, &st) == 0 && st.st_dev == was->st_dev && st.st_ino == was->st_ino &&
	       st.st_size == was->st_size && st.st_ctim.tv_sec == was->st_ctim.tv_sec &&
	       st.st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}

static size_t put(char **out, size_t n, const char *const *words)
{
	for (; *words; words++)
		out[n++] = (char *)(uintptr_t)*words;
	return n;
}

void hired_exec(const struct hired *h, const char *const *words)
{
	char *argv[WORDS_MAX + 16] = { (char[]){ "sh" } };
	const char *const *own = (const char *const *)h->words;
	size_t n = put(argv, put(argv, 1, own), words);

	argv[n] = NULL;
	if (h->exposed && !is_same(h)) {
		(void)dprintf(STDERR_FILENO,
			      "sbx-net: %s has been changed since the run began, where its command "
			      "may write, and is not run any more; start anew\n",
			      h->path);
		_exit(126);
	}
	if (chdir("/") == 0)
		(void)execve(argv[1], argv + 1, h->env);
	/* A text file without "#!" is a shell script, as for execvp(3). */
	if (errno == ENOEXEC)
		(void)execve("/bin/sh", argv, h->env);
	_exit(127);
}

static void free_all(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

void hired_clear(struct hired *h)
{
	free(h->path);
	free_all(h->words);
	free_all(h->env);
	*h = (struct hired){ .path = NULL };
}
