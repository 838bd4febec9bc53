#include "cli/layers/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/layers/stack.h"
#include "cli/managedfile.h"
#include "cli/ownpath.h"
#include "cli/reread.h"
#include "cli/rules.h"
#include "cli/statedir.h"
#include "cli/trust.h"

static int check_trust(struct layer *layer, const struct run_options *o, const char *path,
		       const char *text, struct reread *reread, struct error *err)
{
	CLEANUP_FREE char *all = NULL;
	int trusted = 1;

	layer_keep_lists(layer, reread);
	if (reread && layer_check_kept(layer, err) < 0)
		return -1;
	all = layer_trusted_text(layer, text);
	if (o->trust_project && trust_remember(path, all, strlen(all), err) < 0)
		return -1;
	if (!o->trust_project)
		trusted = trust_check(path, all, strlen(all), err);
	if (trusted < 0)
		return -1;
	layer->loosens = trusted == 1;
	if (!layer->loosens)
		log_warn("%s: not trusted, so it only tightens; read it%s, then run once with "
			 "--trust-project",
			 path, layer->nkept ? " and the lists that it names" : "");
	return 0;
}

/* To be watched, and read again. */
static void add_file(struct layers *l, const char *path)
{
	l->files = xreallocarray(l->files, l->nfiles + 1, sizeof(*l->files));
	l->files[l->nfiles++] = xstrdup(path);
}

static void add_list_files(struct layers *l, const struct layer *layer)
{
	static const enum settings_list_id id[] = { SETTINGS_ALLOW_LISTS, SETTINGS_DENY_LISTS };

	for (size_t i = 0; i < ARRAY_SIZE(id); i++) {
		const struct settings_list *list = &layer->settings->list[id[i]];

		for (size_t k = 0; k < list->n; k++) {
			CLEANUP_FREE char *path = layer_path(layer, list->v[k].text);

			/* What nobody trusts opens no directory to us, and wakes nobody. */
			if (layer->loosens)
				add_file(l, path);
		}
	}
}

/* Takes @layer over. */
static int add_layer(struct layers *l, struct layer *layer, struct error *err)
{
	if (l->n == LAYERS_MAX) {
		layer_free(layer);
		return error_set(err, 0, "more than %d settings files", LAYERS_MAX);
	}
	l->v[l->n++] = layer;
	return 0;
}

static struct layer *find_layer(const struct layers *l, enum layer_rank rank, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i]->rank == rank && (!path || strcmp(l->v[i]->settings->file, path) == 0))
			return l->v[i];
	return NULL;
}

/* A layer of an earlier load as it is, or its absence. */
static int borrow(struct layers *l, enum layer_rank rank, const char *path,
		  const struct layers *before, struct error *err)
{
	struct layer *layer = find_layer(before, rank, path);

	add_file(l, path);
	if (!layer)
		return 0;
	layer->owners++;
	return add_layer(l, layer, err);
}

/* A project can have the name lead to any file of the user's; the line tells enough. */
static void hide_content(struct error *err)
{
	char *near = strstr(err->msg, " near '");

	if (near)
		*near = '\0';
}

/* Reads one file into the next layer; a missing one is fine unless it was named. */
static int read_layer(struct layers *l, enum layer_rank rank, const char *path, const char *dir,
		      bool named, const struct run_options *o, struct reread *reread,
		      struct error *err)
{
	CLEANUP_CLOSE int fd = reread_open(reread, path, err);
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
	CLEANUP_FREE char *text = NULL;
	struct layer *layer;
	size_t len = 0;

	add_file(l, path);
	if (missing && path_dangles(path))
		return error_set(err, 0,
				 "settings file: '%s' is, or lies behind, a link to nothing", path);
	if (missing && !named)
		return 0;
	if (fd < 0)
		return error_wrap(err, "settings file");
	text = fd_read_file(fd, SETTINGS_FILE_MAX, &len);
	if (!text)
		return error_set(err, errno, "cannot read the settings file '%s'", path);
	if (rank == LAYER_MANAGED && managedfile_check(fd, path, err) < 0)
		return -1;
	if (rank == LAYER_USER && ownpath_check(path, err) < 0)
		return error_wrap(err, "settings file (--no-config does without)");
	layer = layer_new(rank, path, dir, text, len, err);
	if (!layer && rank == LAYER_PROJECT)
		hide_content(err);
	if (!layer || add_layer(l, layer, err) < 0)
		return -1;
	if (rank == LAYER_PROJECT && check_trust(layer, o, path, text, reread, err) < 0)
		return -1;
	add_list_files(l, layer);
	return 0;
}

static int load(struct layers *l, enum layer_rank rank, const char *path, const char *dir,
		bool named, const struct run_options *o, struct reread *reread, struct error *err)
{
	if (reread_keeps(reread, path))
		return borrow(l, rank, path, reread->before->layers, err);
	if (read_layer(l, rank, path, dir, named, o, reread, err) < 0)
		return reread_failed(reread, path);
	return 0;
}

/*
 * The command can write what nobody has trusted, its lists and the absence of a file included: a
 * reload that read it again could be made to fail, and what the user revokes would stay allowed.
 */
static int load_project(struct layers *l, const char *path, const struct run_options *o,
			const char *cwd, struct reread *reread, struct error *err)
{
	const struct layers *before = reread ? reread->before->layers : NULL;
	bool settled = before && before->settled;
	const struct layer *project;
	size_t file = l->nfiles;

	if ((settled ? borrow(l, LAYER_PROJECT, path, before, err)
		     : load(l, LAYER_PROJECT, path, cwd, false, o, reread, err)) < 0)
		return -1;
	project = find_layer(l, LAYER_PROJECT, NULL);
	if (settled || (project ? !project->loosens : !o->trust_project))
		l->settled = l->files[file];
	return 0;
}

/* Files in the order of their rank. */
static int load_all(struct layers *l, const struct run_options *o, const char *cwd,
		    struct reread *reread, struct error *err)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = statedir_home();
	CLEANUP_FREE char *project = xasprintf("%s/" LAYERS_PROJECT_FILE, cwd);
	CLEANUP_FREE char *user = NULL;
	CLEANUP_FREE char *user_dir = NULL;

	if (load(l, LAYER_MANAGED, LAYERS_MANAGED_FILE, "/etc/sbx-net", false, o, reread, err) < 0)
		return -1;
	for (size_t i = 0; i < o->rules.n; i++) {
		if (o->rules.v[i].id == OPT_POLICY &&
		    load(l, LAYER_COMMAND_LINE, o->rules.v[i].value, cwd, true, o, reread, err) < 0)
			return -1;
	}
	if (o->no_config)
		return 0;
	if (load_project(l, project, o, cwd, reread, err) < 0)
		return -1;
	if (config && config[0] == '/')
		user = xasprintf("%s/sbx-net/settings.json", config);
	else if (home)
		user = xasprintf("%s/.config/sbx-net/settings.json", home);
	else
		return 0;
	user_dir = path_dir(user);
	return load(l, LAYER_USER, user, home ? home : user_dir, false, o, reread, err);
}

struct layers *layers_load(const struct run_options *o, const char *cwd, struct reread *reread,
			   struct error *err)
{
	struct layers *l = xcalloc(1, sizeof(*l));

	l->no_config = o->no_config;
	if (load_all(l, o, cwd, reread, err) < 0) {
		layers_free(l);
		return NULL;
	}
	return l;
}

struct layers *layers_ref(struct layers *l)
{
	l->owners++;
	return l;
}

void layers_free(struct layers *l)
{
	if (!l || l->owners-- > 0)
		return;
	for (size_t i = 0; i < l->n; i++)
		layer_free(l->v[i]);
	for (size_t i = 0; i < SETTINGS_NUM_LISTS; i++)
		free(l->lists[i]);
	for (size_t i = 0; i < l->nmade; i++)
		free(l->made[i]);
	free(l->made);
	free(l->missing);
	for (size_t i = 0; i < l->nfiles; i++)
		free(l->files[i]);
	free(l->files);
	free(l);
}

const char *const *layers_files(const struct layers *l, size_t *n)
{
	*n = l->nfiles;
	return (const char *const *)l->files;
}

bool layers_reads_again(const struct layers *l, const char *file)
{
	return l->settled != file;
}
