/*
 * Theory of operation
 *
 * Three things are kept from the command whatever is granted. Hidden: our state (answers, trust),
 * our sockets and the audit log. Read-only: the files that the policy is read from again while the
 * run lasts, for a command that could write them would write its own permissions; a settings file
 * that is missing counts where the command could make it. The launcher locks both (protect.h).
 */
#include "cli/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/layers.h"
#include "cli/privsock.h"
#include "cli/selfpath.h"
#include "cli/statedir.h"
#include "launcher/workdir.h"

static const char *keep(struct confine *c, char *s)
{
	c->strings = xreallocarray(c->strings, c->nstrings + 1, sizeof(*c->strings));
	c->strings[c->nstrings++] = s;
	return s;
}

/* An empty list with room for @n. */
static const char **new_list(struct confine *c, size_t n)
{
	const char **v = xcalloc(n + 1, sizeof(*v));

	c->lists[c->nlists++] = v;
	return v;
}

/* A path of the command line, absolute; NULL with @err if the current directory is gone. */
static char *absolute(const char *path, struct error *err)
{
	const char *home = statedir_home();
	CLEANUP_FREE char *here = NULL;

	if (path[0] == '/')
		return xstrdup(path);
	if (path[0] == '~' && (path[1] == '/' || !path[1]) && home)
		return xasprintf("%s%s", home, path + 1);
	here = getcwd(NULL, 0);
	if (!here) {
		(void)error_set(err, errno, "cannot tell where '%s' is", path);
		return NULL;
	}
	return strcmp(path, ".") == 0 ? xstrdup(here) : xasprintf("%s/%s", here, path);
}

/* Values of the command line and of the settings files, in one list. */
static int add_paths(struct confine *c, const struct option_strings *s, struct layers *layers,
		     enum settings_list_id id, struct path_list *out, struct error *err)
{
	size_t n;
	const char *const *from = layers_list(layers, id, &n);
	const char **v = new_list(c, s->n + n);

	for (size_t i = 0; i < s->n; i++) {
		char *path = absolute(s->v[i], err);

		if (!path)
			return -1;
		v[i] = keep(c, path);
	}
	for (size_t i = 0; i < n; i++)
		v[s->n + i] = from[i];
	*out = (struct path_list){ .v = v, .n = s->n + n };
	return 0;
}

/* The audit log if it is a file; there must be one to be hidden. */
static int add_audit(struct confine *c, const char *where, struct path_list *hidden, const char **v,
		     struct error *err)
{
	CLEANUP_CLOSE int fd = -1;
	struct stat st;
	char *path;

	if (!where || strncmp(where, "fd:", 3) == 0 || strcmp(where, "journald") == 0)
		return 0;
	path = absolute(where, err);
	if (!path)
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0 && errno != ENXIO) {
		(void)error_set(err, errno, "cannot open the audit log '%s'", path);
		free(path);
		return -1;
	}
	(void)keep(c, path);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		v[hidden->n++] = path;
	return 0;
}

static int add_hidden(struct confine *c, const struct run_options *o, struct path_list *out,
		      struct error *err)
{
	const char **v = new_list(c, out->n + 3);
	char *state = statedir_path(NULL), *sockets = privsock_dir(NULL);

	for (size_t i = 0; i < out->n; i++)
		v[i] = out->v[i];
	out->v = v;
	if (state)
		v[out->n++] = keep(c, state);
	if (sockets)
		v[out->n++] = keep(c, sockets);
	return add_audit(c, o->audit, out, v, err);
}

static bool is_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Whether the command could write it. The project's own directory is locked as a whole. */
static bool is_exposed(const char *path, const struct launcher_plan *plan)
{
	CLEANUP_FREE char *project = xasprintf("%s/.sbx-net", plan->cwd);

	if (plan->fs == FS_OFF)
		return access(path, F_OK) == 0;
	if (plan->fs == FS_WORKSPACE && is_beneath(path, plan->cwd))
		return !is_beneath(path, project);
	for (size_t i = 0; i < plan->write.n; i++) {
		CLEANUP_FREE char *root = realpath(plan->write.v[i], NULL);

		if (root && (is_beneath(path, root) || strcmp(path, root) == 0))
			return true;
	}
	return false;
}

static int add_locked(struct confine *c, const char *const *files, size_t nfiles,
		      struct launcher_plan *plan, struct error *err)
{
	const char **v = new_list(c, plan->deny_write.n + 2 * nfiles);
	size_t n = plan->deny_write.n;

	for (size_t i = 0; i < n; i++)
		v[i] = plan->deny_write.v[i];
	for (size_t i = 0; i < nfiles; i++) {
		/* as it is spelt, which may be a symbolic link, and what that leads to */
		char *path[] = { absolute(files[i], err), realpath(files[i], NULL) };

		if (!path[0]) {
			free(path[1]);
			return -1;
		}
		for (size_t k = 0; k < ARRAY_SIZE(path); k++)
			if (path[k] && is_exposed(keep(c, path[k]), plan))
				v[n++] = path[k];
	}
	plan->deny_write = (struct path_list){ .v = v, .n = n };
	return 0;
}

enum fs_mode confine_mode(const struct run_options *o, const struct layers *layers)
{
	return layers_flag(layers, SETTINGS_FS_DISABLED) == SETTINGS_YES ? FS_OFF : o->fs;
}

static bool unix_sockets(const struct run_options *o, struct layers *layers)
{
	size_t n;

	(void)layers_list(layers, SETTINGS_UNIX_SOCKETS, &n);
	return o->allow_unix_sockets || n > 0 ||
	       layers_flag(layers, SETTINGS_ALL_UNIX_SOCKETS) == SETTINGS_YES;
}

static int check_workdir(const struct launcher_plan *plan, struct error *err)
{
	CLEANUP_FREE char *program = selfpath();
	const struct workdir_context context = { .home = statedir_home(), .program = program };

	return plan->fs == FS_WORKSPACE ? workdir_check(plan->cwd, &context, err) : 0;
}

int confine_plan(struct confine *c, const struct run_options *o, struct layers *layers,
		 const char *const *files, size_t nfiles, struct launcher_plan *out,
		 struct error *err)
{
	out->fs = confine_mode(o, layers);
	out->allow_unix_sockets = unix_sockets(o, layers);
	if (check_workdir(out, err) < 0)
		return -1;
	if (add_paths(c, &o->read, layers, SETTINGS_ALLOW_READ, &out->read, err) < 0 ||
	    add_paths(c, &o->write, layers, SETTINGS_ALLOW_WRITE, &out->write, err) < 0 ||
	    add_paths(c, &o->exec, layers, SETTINGS_ALLOW_EXEC, &out->exec, err) < 0 ||
	    add_paths(c, &o->deny_read, layers, SETTINGS_DENY_READ, &out->deny_read, err) < 0 ||
	    add_paths(c, &o->deny_write, layers, SETTINGS_DENY_WRITE, &out->deny_write, err) < 0)
		return -1;
	if (add_hidden(c, o, &out->private_paths, err) < 0)
		return -1;
	return add_locked(c, files, nfiles, out, err);
}

void confine_clear(struct confine *c)
{
	for (size_t i = 0; i < c->nlists; i++)
		free(c->lists[i]);
	for (size_t i = 0; i < c->nstrings; i++)
		free(c->strings[i]);
	free(c->strings);
	*c = (struct confine){ 0 };
}
