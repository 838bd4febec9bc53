/*
 * Theory of operation
 *
 * Three things are kept from the command whatever is granted. Hidden: our state (answers, trust)
 * and our sockets. Read-only: what we write where the user says (the audit log, reports, what is learnt),
 * and the files that the policy is read from again while
 * the run lasts, for a command that could write them would write its own permissions, and the program
 * that is asked about them, should it lie where the command may write (hired.h). All are
 * private paths of the launcher's, which tells directories from files, follows symbolic links, and
 * holds the names of those that are missing (protect.h). A project's settings file that is missing
 * is none of them: whoever makes it can only tighten, unless --trust-project is on.
 */
#include "cli/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fdname.h"
#include "base/log.h"
#include "base/path.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "cli/layers/layers.h"
#include "cli/pathglob.h"
#include "cli/privsock.h"
#include "cli/report/report.h"
#include "cli/selfpath.h"
#include "cli/statedir.h"
#include "launcher/files/grantpath.h"
#include "launcher/files/homenames.h"
#include "launcher/files/homes.h"
#include "launcher/files/protect.h"
#include "launcher/files/workdir.h"
#include "policy/deniedpath.h"
#include "proxy/audit.h"

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

char *confine_absolute(const char *path, struct error *err)
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

/**
 * struct paths - a list that grows
 * @cwd: where the command will start
 * @pattern: whose matches are being added
 */
struct paths {
	struct confine *c;
	const char *cwd;
	const char *pattern;
	const char **v;
	size_t n;
};

static void paths_add(struct paths *p, const char *path)
{
	if (p->n % 64 == 0)
		p->v = xreallocarray(p->v, p->n + 65, sizeof(*p->v));
	p->v[p->n++] = path;
	p->v[p->n] = NULL;
}

static void on_match(void *arg, const char *path)
{
	struct paths *p = arg;

	paths_add(p, keep(p->c, xstrdup(path)));
}

/* What a command of an earlier run has taken the permission of, it may give back. */
static int on_barred(void *arg, const char *path, struct error *err)
{
	struct paths *p = arg;

	if (path_beneath(p->cwd, path))
		return error_set(
			err, 0,
			"cannot tell what '%s' denies: you have no permission to look into "
			"%s, which the working directory is in; take it (chmod u+rx)",
			p->pattern, path);
	log_warn("'%s' is denied as a whole: you have no permission to look into it (chmod u+rx "
		 "gives it), and '%s' may mean something there",
		 path, p->pattern);
	paths_add(p, keep(p->c, xstrdup(path)));
	return 0;
}

/* What is denied is denied whether it is a directory or not: without "/" and "/." at its end. */
static const char *without_end(struct confine *c, const char *path)
{
	size_t n = strlen(path), was = n;

	while (n > 1 && (path[n - 1] == '/' || (n > 2 && path[n - 1] == '.' && path[n - 2] == '/')))
		n--;
	return n == was ? path : keep(c, xstrndup(path, n));
}

/*
 * Something that is denied; a pattern is all that matches, and itself if it exists. So is what was typed:
 * the shell leaves a pattern alone that it finds nothing for.
 */
static int add_denied(struct paths *p, const char *given, struct error *err)
{
	const struct pathglob to = { on_match, on_barred, p };
	const char *path = without_end(p->c, given);

	if (!pathglob_is(path)) {
		paths_add(p, path);
		return 0;
	}
	p->pattern = path;
	if (access(path, F_OK) == 0)
		paths_add(p, path);
	return pathglob_expand(path, &to, err);
}

static int add_path(struct paths *p, enum settings_list_id id, const char *path, struct error *err)
{
	if (id == SETTINGS_DENY_READ || id == SETTINGS_DENY_WRITE)
		return add_denied(p, path, err);
	paths_add(p, path);
	return 0;
}

/* One of the command line. */
static int add_typed(struct paths *p, enum settings_list_id id, const char *typed,
		     struct error *err)
{
	bool denies = id == SETTINGS_DENY_READ || id == SETTINGS_DENY_WRITE;
	const char *slip = denies ? deniedpath_slip(typed) : NULL;
	char *path;

	if (slip)
		return error_set(err, 0, "%s: '%s' %s",
				 id == SETTINGS_DENY_READ ? "--deny-read" : "--deny-write", typed,
				 slip);
	path = confine_absolute(typed, err);
	return path ? add_path(p, id, keep(p->c, path), err) : -1;
}

/* Values of the command line and of the settings files, in one list. */
static int add_paths(struct confine *c, const struct option_strings *s, struct layers *layers,
		     enum settings_list_id id, const char *cwd, struct path_list *out,
		     struct error *err)
{
	size_t n;
	const char *const *from = layers_list(layers, id, &n);
	struct paths p = { .c = c, .cwd = cwd };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->n; i++)
		rc = add_typed(&p, id, s->v[i], err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_path(&p, id, from[i], err);
	if (rc < 0) {
		free(p.v);
		return -1;
	}
	c->lists[c->nlists++] = p.v;
	*out = (struct path_list){ .v = p.v, .n = p.n };
	return 0;
}

/** struct privates - paths of ours that no grant may reach, with room for all of them */
struct privates {
	struct confine *c;
	const char **v;
	size_t n;
};

static void add_own(struct privates *p, char *path)
{
	if (path)
		p->v[p->n++] = keep(p->c, path);
}

/*
 * A file that we write, a descriptor's, too: it is there by now, so that it can be kept from the command.
 * A device is everybody's.
 */
static int add_written(struct privates *p, const char *where, struct error *err)
{
	CLEANUP_FREE char *here = NULL;
	char *path = fdname_is(where) ? fdname_file(where) : NULL;
	struct stat st;

	add_own(p, path);
	if (fdname_is(where) || stat(where, &st) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)))
		return 0;
	if (where[0] != '/' && !(here = getcwd(NULL, 0)))
		return error_set(err, errno, "cannot tell where '%s' is", where);
	add_own(p, where[0] == '/' ? xstrdup(where) : xasprintf("%s/%s", here, where));
	return 0;
}

/* The audit log is made here; the others have been opened. */
static int add_all_written(struct privates *p, const struct run_options *o, struct error *err)
{
	CLEANUP_CLOSE int fd = -1;

	if (o->audit && audit_is_path(o->audit)) {
		fd = audit_open_file(o->audit, err);
		if (fd < 0)
			return -1;
	}
	if (o->audit && (fd >= 0 || fdname_is(o->audit)) && add_written(p, o->audit, err) < 0)
		return -1;
	if (o->learn && add_written(p, o->learn, err) < 0)
		return -1;
	for (size_t i = 0; i < o->reports.n; i++) {
		const char *file = report_file(o->reports.v[i]);

		if (file && add_written(p, file, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_wanted(const struct run_options *o, const struct launcher_plan *plan,
		      const char *file)
{
	CLEANUP_FREE char *project = xasprintf("%s/" LAYERS_PROJECT_FILE, plan->cwd);

	return o->trust_project || strcmp(file, project) != 0 || access(file, F_OK) == 0;
}

/*
 * What is to be kept so that @file stays what it is. The administrator's file that is missing has its
 * directory kept, if that is there: a thing in the place of the file would be one to the runs of others.
 */
static const char *kept_for(const char *file)
{
	struct stat st;

	if (strcmp(file, LAYERS_MANAGED_FILE) != 0 || lstat(file, &st) == 0 || errno != ENOENT)
		return file;
	return stat(LAYERS_MANAGED_DIR, &st) == 0 ? LAYERS_MANAGED_DIR : file;
}

static int add_private(struct confine *c, const struct run_options *o, const char *const *files,
		       size_t nfiles, struct launcher_plan *plan, struct error *err)
{
	struct path_list *out = &plan->private_paths;
	struct privates p = { .c = c, .v = new_list(c, out->n + nfiles + o->reports.n + 4) };
	int rc;

	for (; p.n < out->n; p.n++)
		p.v[p.n] = out->v[p.n];
	add_own(&p, statedir_path(NULL));
	add_own(&p, privsock_dir(NULL));
	for (size_t i = 0; i < nfiles; i++) {
		char *path;

		if (!is_wanted(o, plan, files[i]))
			continue;
		path = confine_absolute(kept_for(files[i]), err);
		if (!path)
			return -1;
		add_own(&p, path);
	}
	rc = add_all_written(&p, o, err);
	*out = (struct path_list){ .v = p.v, .n = p.n };
	return rc;
}

enum fs_mode confine_mode(const struct run_options *o, const struct layers *layers)
{
	if (layers_flag(layers, SETTINGS_FS_DISABLED) == SETTINGS_YES)
		return FS_OFF;
	return o->fs == FS_OFF && layers_managed_files(layers) ? FS_WORKSPACE : o->fs;
}

/* Once, however often the mode is asked for. */
static void warn_of_mode(const struct run_options *o, const struct layers *layers)
{
	if (o->fs == FS_OFF && confine_mode(o, layers) != FS_OFF)
		log_warn("--fs off has no effect: %s confines files", layers_managed_files(layers));
}

static bool unix_sockets(const struct run_options *o, struct layers *layers)
{
	size_t n;

	if (layers_managed_flag(layers, SETTINGS_ALL_UNIX_SOCKETS) == SETTINGS_NO) {
		if (o->allow_unix_sockets)
			log_warn("--allow-unix-sockets has no effect: the managed settings file "
				 "refuses them");
		return false;
	}

	layers_warn_sockets(layers);
	(void)layers_list(layers, SETTINGS_UNIX_SOCKETS, &n);
	return o->allow_unix_sockets || n > 0 ||
	       layers_flag(layers, SETTINGS_ALL_UNIX_SOCKETS) == SETTINGS_YES;
}

/* Takes @fd, which stays open so that nothing else can become the same. */
static int keep_open(struct confine *c, int fd, struct file_id *id, struct error *err)
{
	struct stat st;

	c->fds = xreallocarray(c->fds, c->nfds + 1, sizeof(*c->fds));
	c->fds[c->nfds++] = fd;
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "cannot look at a grant");
	*id = (struct file_id){ st.st_dev, st.st_ino };
	return 0;
}

/* Opens what is granted once; whoever opens it again must find the same. */
static int open_grants(struct confine *c, const char *what, bool writable, struct path_list *list,
		       struct error *err)
{
	struct file_id *ids = xcalloc(list->n + 1, sizeof(*ids));

	c->ids[c->nids++] = ids;
	list->ids = ids;
	for (size_t i = 0; i < list->n; i++) {
		const struct grantpath g = { .what = what,
					     .path = list->v[i],
					     .home = statedir_home(),
					     .writable = writable };
		int fd = grantpath_open(&g, err);

		if (fd < 0 || keep_open(c, fd, &ids[i], err) < 0)
			return -1;
	}
	return 0;
}

/* -C as it was typed; where one is already, one has seen. */
static int open_typed(const char *chdir, bool judged, struct error *err)
{
	CLEANUP_FREE char *path = NULL;
	struct grantpath g = { .what = "-C", .home = statedir_home(), .writable = true };
	int fd;

	if (chdir && judged) {
		path = confine_absolute(chdir, err);
		g.path = path;
		return path ? grantpath_open(&g, err) : -1;
	}
	fd = open(chdir ? chdir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "cannot start in '%s'", chdir ? chdir : ".");
	return fd;
}

/* Return: a descriptor of the working directory, which stays @c's; -1 with @err. */
static int open_workdir(struct confine *c, struct launcher_plan *plan, const char *chdir,
			struct error *err)
{
	CLEANUP_FREE char *path = NULL;
	int fd = open_typed(chdir, plan->fs == FS_WORKSPACE, err);

	if (fd < 0 || keep_open(c, fd, &c->cwd, err) < 0)
		return -1;
	plan->cwd_id = &c->cwd;
	path = fd_path(fd);
	if (!path || strcmp(path, plan->cwd) != 0)
		return error_set(
			err, path ? 0 : errno,
			"%s was replaced while the sandbox was being made; start anew when "
			"nothing changes it",
			plan->cwd);
	return fd;
}

static int check_workdir(struct confine *c, struct launcher_plan *plan, const char *chdir,
			 struct error *err)
{
	CLEANUP_FREE char *program = selfpath();
	struct homes homes;
	int dir = open_workdir(c, plan, chdir, err), rc = 0;

	if (dir < 0)
		return -1;
	if (plan->fs != FS_WORKSPACE)
		return 0;
	homes_find(&homes);
	for (size_t i = 0; rc == 0 && i < homes.n; i++) {
		const struct workdir_context context = { .home = homes.v[i], .program = program };

		rc = workdir_check_at(dir, plan->cwd, &context, err);
	}
	if (homes.n == 0)
		rc = error_set(
			err, 0,
			"your home directory is unknown, so its credentials cannot be hidden; "
			"set HOME");
	homes_clear(&homes);
	return rc;
}

static bool is_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (n == 1 || path[n] == '/');
}

/*
 * Elsewhere a grant inside of a denied directory opens it again. Here what is denied stays hidden,
 * and whoever brings such a file is told.
 */
static void warn_of_hidden(const struct path_list *grants, const struct path_list *denied)
{
	for (size_t i = 0; i < grants->n; i++) {
		for (size_t k = 0; k < denied->n; k++) {
			if (!is_beneath(grants->v[i], denied->v[k]))
				continue;
			log_warn("'%s' stays hidden: reading '%s' is denied", grants->v[i],
				 denied->v[k]);
			break;
		}
	}
}

/* Whether @dir, canonical, is a writable root, and not what lies in one. */
static bool is_root(const struct launcher_plan *plan, const char *dir)
{
	char canonical[PATH_MAX];

	if (plan->fs == FS_WORKSPACE && strcmp(dir, plan->cwd) == 0)
		return true;
	for (size_t i = 0; i < plan->write.n; i++)
		if (realpath(plan->write.v[i], canonical) && strcmp(dir, canonical) == 0)
			return true;
	return false;
}

static const char *without_slash(struct confine *c, const char *path)
{
	size_t n = strlen(path);

	if (n < 2 || path[n - 1] != '/')
		return path;
	while (n > 1 && path[n - 1] == '/')
		n--;
	return keep(c, xstrndup(path, n));
}

/* Whether something at @top or below it is granted by its name, and @path with it. */
static bool is_named(const struct path_list *write, const char *path, const char *top)
{
	for (size_t i = 0; i < write->n; i++) {
		CLEANUP_FREE char *real = realpath(write->v[i], NULL);

		if (real && path_beneath(path, real) && path_beneath(real, top))
			return true;
	}
	return false;
}

/* What is locked where it lies in something writable is no workspace, unless that is the user's wish. */
static int check_obeyed(const struct launcher_plan *plan, struct error *err)
{
	CLEANUP_FREE char *top = NULL;
	char word[SHELLWORD_MAX(PATH_MAX)];
	struct homes homes;

	if (plan->fs != FS_WORKSPACE)
		return 0;
	homes_find(&homes);
	top = homenames_above(plan->cwd, homes.v, homes.n);
	homes_clear(&homes);
	if (!top || is_named(&plan->write, plan->cwd, top))
		return 0;
	return error_set(err, 0,
			 "cannot use %s as the workspace: programs that you start outside run or "
			 "obey what is in %s; if the command is to write there all the same, name "
			 "it: --write %s",
			 plan->cwd, top, shellword(word, sizeof(word), plan->cwd));
}

/* Whether there is nothing, of a name that would be locked. */
static bool is_missing(const char *path)
{
	struct stat st;

	return protect_is_name(path_name(path)) && lstat(path, &st) < 0 && errno == ENOENT;
}

/* Such a name where it can be granted, canonical; or NULL. */
static char *missing_name(const struct launcher_plan *plan, const char *path)
{
	CLEANUP_FREE char *dir = path_dir(path);
	char canonical[PATH_MAX];

	if (!realpath(dir, canonical) || !is_root(plan, canonical))
		return NULL;
	return xasprintf("%s/%s", strcmp(canonical, "/") == 0 ? "" : canonical, path_name(path));
}

/*
 * A name that does not exist cannot be opened. Where it would only be locked, which is what a grant
 * lifts if it exists, it is not. The directory is a grant itself, or the workspace, and judged as that.
 * @typed: how many the command line has; what settings name need not be there.
 */
static void take_missing(struct confine *c, struct launcher_plan *plan, size_t typed)
{
	const char **there = new_list(c, plan->write.n), **missing = new_list(c, plan->write.n);
	struct path_list unlocked = { .v = missing }, write = { .v = there };

	for (size_t i = 0; i < plan->write.n; i++) {
		const char *wanted = without_slash(c, plan->write.v[i]);
		char *path = is_missing(wanted) ? missing_name(plan, wanted) : NULL;

		if (path)
			missing[unlocked.n++] = keep(c, path);
		else if (i >= typed && is_missing(wanted))
			log_warn("'%s' does not exist, so nothing is granted there", wanted);
		else
			there[write.n++] = plan->write.v[i];
	}
	plan->write = write;
	plan->unlocked = unlocked;
}

int confine_plan(struct confine *c, const struct run_options *o, struct layers *layers,
		 const char *const *files, size_t nfiles, struct launcher_plan *out,
		 struct error *err)
{
	out->fs = confine_mode(o, layers);
	warn_of_mode(o, layers);
	out->allow_unix_sockets = unix_sockets(o, layers);
	out->allow_ptrace = o->allow_ptrace;
	if (check_workdir(c, out, o->chdir, err) < 0)
		return -1;
	if (add_paths(c, &o->read, layers, SETTINGS_ALLOW_READ, out->cwd, &out->read, err) < 0 ||
	    add_paths(c, &o->write, layers, SETTINGS_ALLOW_WRITE, out->cwd, &out->write, err) < 0 ||
	    add_paths(c, &o->exec, layers, SETTINGS_ALLOW_EXEC, out->cwd, &out->exec, err) < 0 ||
	    add_paths(c, &o->deny_read, layers, SETTINGS_DENY_READ, out->cwd, &out->deny_read,
		      err) < 0 ||
	    add_paths(c, &o->deny_write, layers, SETTINGS_DENY_WRITE, out->cwd, &out->deny_write,
		      err) < 0)
		return -1;
	if (out->fs != FS_OFF)
		take_missing(c, out, o->write.n);
	if (out->fs != FS_OFF && (open_grants(c, "--read", false, &out->read, err) < 0 ||
				  open_grants(c, "--write", true, &out->write, err) < 0 ||
				  open_grants(c, "--exec", false, &out->exec, err) < 0))
		return -1;
	if (check_obeyed(out, err) < 0)
		return -1;
	warn_of_hidden(&out->read, &out->deny_read);
	return add_private(c, o, files, nfiles, out, err);
}

void confine_clear(struct confine *c)
{
	for (size_t i = 0; i < c->nlists; i++)
		free(c->lists[i]);
	for (size_t i = 0; i < c->nstrings; i++)
		free(c->strings[i]);
	free(c->strings);
	for (size_t i = 0; i < c->nids; i++)
		free(c->ids[i]);
	for (size_t i = 0; i < c->nfds; i++)
		(void)close(c->fds[i]);
	free(c->fds);
	*c = (struct confine){ 0 };
}
