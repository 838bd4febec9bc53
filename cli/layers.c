#include "cli/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/managedfile.h"
#include "cli/reread.h"
#include "cli/rules.h"
#include "cli/statedir.h"
#include "cli/trust.h"
#include "launcher/digest.h"
#include "launcher/files/protect.h"
#include "policy/listfile.h"
#include "policy/recordtype.h"

/*
 * A domain list that a project's file names, and where it really was. @text is NULL if it could not
 * be read: @err says why.
 */
struct layer_file {
	char *path, *text, *real;
	size_t len;
	struct error err;
};

struct layers {
	unsigned owners; /* besides the first */
	struct layer *v[LAYERS_MAX];
	size_t n;
	bool no_config;
	char **files;
	size_t nfiles;
	const char *settled; /* one of @files that is not read again, or NULL */
	/* Arrays and strings that layers_list() has made. */
	const char **lists[SETTINGS_NUM_LISTS];
	char **made;
	size_t nmade;
	const struct settings_entry **missing; /* said already */
	size_t nmissing;
};

static void on_warning(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg;
	log_warn("%s:%u: %s", file, line, text);
}

/* A path of a settings file, absolute; the caller frees. */
static char *absolute(const struct layer *layer, const char *path)
{
	const char *home = statedir_home();

	if (path[0] == '/')
		return xstrdup(path);
	if (path[0] == '~' && (path[1] == '/' || !path[1]) && home)
		return xasprintf("%s%s", home, path + 1);
	if (strcmp(path, ".") == 0)
		return xstrdup(layer->dir);
	return xasprintf("%s/%s", layer->dir, strncmp(path, "./", 2) == 0 ? path + 2 : path);
}

/* Reads a list once: what is hashed here is what will be in force. Return: its bytes. */
static size_t keep_file(struct layer *layer, struct reread *reread, char *path, size_t room)
{
	struct layer_file *f;
	CLEANUP_CLOSE int fd = -1;

	layer->kept = xreallocarray(layer->kept, layer->nkept + 1, sizeof(*layer->kept));
	f = &layer->kept[layer->nkept++];
	*f = (struct layer_file){ .path = path };
	fd = reread_open(reread, path, &f->err);
	if (fd < 0)
		return 0;
	f->real = fd_path(fd); /* of what is open: the name may lead elsewhere a moment later */
	f->text = fd_read_file(fd, room, &f->len);
	if (!f->text)
		(void)error_set(&f->err, errno, "cannot read '%s'", path);
	return f->len;
}

static void keep_files(struct layer *layer, struct reread *reread)
{
	static const enum settings_list_id id[] = { SETTINGS_ALLOW_LISTS, SETTINGS_DENY_LISTS };
	size_t room = LISTFILE_SIZE_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(id); i++) {
		const struct settings_list *list = &layer->settings->list[id[i]];

		for (size_t k = 0; k < list->n; k++)
			room -= keep_file(layer, reread, absolute(layer, list->v[k].text), room);
	}
}

/* A list that cannot be read any more is none that somebody has changed: trust is no question then. */
static int check_kept(const struct layer *layer, struct error *err)
{
	for (size_t i = 0; i < layer->nkept; i++) {
		if (layer->kept[i].text)
			continue;
		*err = layer->kept[i].err;
		return -1;
	}
	return 0;
}

/*
 * What trust in a project's file covers: its text, and a line for each domain list that it names.
 * The command may write those; it must not thereby widen what a person has agreed to.
 */
static char *trusted_text(const struct layer *layer, const char *text)
{
	CLEANUP_FREE char *all = xstrdup(text);

	for (size_t i = 0; i < layer->nkept; i++) {
		const struct layer_file *f = &layer->kept[i];
		char hex[DIGEST_HEX_SIZE] = "-";
		char *longer;

		if (f->text)
			digest_hex(f->text, f->len, hex);
		longer = xasprintf("%s\n%s %s", all, hex, f->path);
		free(all);
		all = longer;
	}
	return take_ptr(all);
}

static int check_trust(struct layer *layer, const struct run_options *o, const char *path,
		       const char *text, struct reread *reread, struct error *err)
{
	CLEANUP_FREE char *all = NULL;
	int trusted = 1;

	keep_files(layer, reread);
	if (reread && check_kept(layer, err) < 0)
		return -1;
	all = trusted_text(layer, text);
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
			CLEANUP_FREE char *path = absolute(layer, list->v[k].text);

			/* What nobody trusts opens no directory to us, and wakes nobody. */
			if (layer->loosens)
				add_file(l, path);
		}
	}
}

static void layer_free(struct layer *layer)
{
	if (!layer || layer->owners-- > 0)
		return;
	settings_free(layer->settings);
	free(layer->dir);
	for (size_t k = 0; k < layer->nkept; k++) {
		free(layer->kept[k].path);
		free(layer->kept[k].text);
		free(layer->kept[k].real);
	}
	free(layer->kept);
	free(layer);
}

/* What @text says as a layer, which is the caller's to free; NULL with @err. */
static struct layer *layer_new(enum layer_rank rank, const char *path, const char *dir,
			       const char *text, size_t len, struct error *err)
{
	struct settings *s = (rank == LAYER_COMMAND_LINE ? settings_parse : settings_parse_own)(
		text, len, path, on_warning, NULL, err);
	struct layer *layer;

	if (!s)
		return NULL;
	layer = xcalloc(1, sizeof(*layer));
	*layer =
		(struct layer){ .rank = rank, .loosens = true, .settings = s, .dir = xstrdup(dir) };
	return layer;
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
	layer = layer_new(rank, path, dir, text, len, err);
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

static bool is_managed(const struct layer *layer)
{
	return layer->rank == LAYER_MANAGED;
}

const char *layers_managed_only(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;

		if (is_managed(l->v[i]) && s->flag[SETTINGS_MANAGED_DOMAINS_ONLY] == SETTINGS_YES)
			return s->file;
	}
	return NULL;
}

enum settings_set layers_managed_flag(const struct layers *l, enum settings_flag_id id)
{
	for (size_t i = 0; i < l->n; i++) {
		if (is_managed(l->v[i]))
			return l->v[i]->settings->flag[id];
	}
	return SETTINGS_UNSET;
}

const char *layers_managed_files(const struct layers *l)
{
	static const enum settings_list_id id[] = { SETTINGS_ALLOW_READ, SETTINGS_ALLOW_WRITE,
						    SETTINGS_ALLOW_EXEC, SETTINGS_DENY_READ,
						    SETTINGS_DENY_WRITE };

	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;
		bool any = s->flag[SETTINGS_FS_DISABLED] == SETTINGS_NO ||
			   s->flag[SETTINGS_MANAGED_READ_ONLY] == SETTINGS_YES;

		if (!is_managed(l->v[i]) || s->flag[SETTINGS_FS_DISABLED] == SETTINGS_YES)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(id); k++)
			any = any || s->list[id[k]].n;
		if (any)
			return s->file;
	}
	return NULL;
}

/* The administrator wants everything in the sandbox: a repository must not take part of it away. */
static bool is_required(const struct layers *l)
{
	return layers_managed_only(l) ||
	       layers_managed_flag(l, SETTINGS_UNSANDBOXED) == SETTINGS_NO;
}

/* Switches whose true loosens; of the others false loosens. */
static bool loosening(enum settings_flag_id id, enum settings_set value)
{
	switch (id) {
	case SETTINGS_STRICT:
	case SETTINGS_MANAGED_DOMAINS_ONLY:
	case SETTINGS_MANAGED_READ_ONLY:
		return value == SETTINGS_NO;
	case SETTINGS_FS_DISABLED:
	case SETTINGS_ALL_UNIX_SOCKETS:
	case SETTINGS_LOCAL_BINDING:
	case SETTINGS_CAPTURE:
	case SETTINGS_UNSANDBOXED:
	case SETTINGS_NUM_FLAGS:
		return value == SETTINGS_YES;
	}
	return true;
}

/*
 * Whether a layer's loosening counts: the managed file's does not under --no-config, a project's
 * only once it is trusted, and a repository never switches file confinement or strictness off.
 */
static bool may_loosen(const struct layers *l, const struct layer *layer)
{
	if (is_managed(layer))
		return !l->no_config;
	return layer->loosens && !(layer->rank == LAYER_PROJECT && is_required(l));
}

const struct settings_entry *layers_dropped(const struct layers *l, const char **file, size_t *n)
{
	*n = 0;
	for (size_t i = 0; l->no_config && i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;

		if (!is_managed(l->v[i]))
			continue;
		*file = s->file;
		*n = s->list[SETTINGS_ALLOWED_DOMAINS].n;
		return s->list[SETTINGS_ALLOWED_DOMAINS].v;
	}
	return NULL;
}

size_t layers_warn_sockets(const struct layers *l)
{
	size_t told = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;
		unsigned line = 0;
		const char *text = settings_socket_note(s, &line);

		if (!text || !may_loosen(l, l->v[i]))
			continue;
		log_warn("%s:%u: %s", s->file, line, text);
		told++;
	}
	return told;
}

const char *layers_in_use(const struct layers *l)
{
	const struct layer *best = NULL;

	/* The managed file, which comes first, is nobody's to change who reads this. */
	for (size_t i = 0; i < l->n; i++) {
		if (!best || is_managed(best))
			best = l->v[i];
	}
	return best ? best->settings->file : NULL;
}

enum settings_set layers_flag(const struct layers *l, enum settings_flag_id id)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct layer *layer = l->v[i];
		enum settings_set value = layer->settings->flag[id];

		if (value == SETTINGS_UNSET)
			continue;
		if (id == SETTINGS_FS_DISABLED && !is_managed(layer) && layers_managed_files(l))
			continue;
		if (loosening(id, value) && (!may_loosen(l, layer) || layer->rank == LAYER_PROJECT))
			continue;
		return value;
	}
	return SETTINGS_UNSET;
}

/* The file whose onUnknownHost holds, or NULL. */
static const struct settings *unknown_of(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;

		if (s->has_unknown && (s->unknown == VERDICT_DENY || may_loosen(l, l->v[i])))
			return s;
	}
	return NULL;
}

bool layers_unknown(const struct layers *l, enum verdict *out)
{
	const struct settings *s = unknown_of(l);

	if (s)
		*out = s->unknown;
	return s != NULL;
}

bool layers_managed_unknown(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i]->rank == LAYER_MANAGED && l->v[i]->settings->has_unknown)
			return true;
	return false;
}

const char *layers_upstream(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i]->settings->upstream && may_loosen(l, l->v[i]))
			return l->v[i]->settings->upstream;
	}
	return NULL;
}

const char *layers_managed_upstream(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (is_managed(l->v[i]))
			return l->v[i]->settings->upstream;
	}
	return NULL;
}

/* sniCheck of the highest layer that sets it; a repository only makes it stricter. */
static void apply_sni_check(const struct layers *l, struct policy *p)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;
		bool stricter = s->sni_check == SNI_STRICT;

		if (!s->has_sni_check)
			continue;
		if (!stricter && (!may_loosen(l, l->v[i]) || l->v[i]->rank == LAYER_PROJECT))
			continue;
		policy_set_sni_check(p, s->sni_check);
		return;
	}
}

static int add_all(const struct layer *layer, enum settings_list_id id, enum list list,
		   struct policy *p, struct error *err)
{
	const struct settings_list *from = &layer->settings->list[id];

	for (size_t i = 0; i < from->n; i++) {
		if (policy_add(p, list, from->v[i].text, layer->settings->file, from->v[i].line,
			       from->v[i].reason, err) < 0)
			return error_wrap(err, "%s:%u", layer->settings->file, from->v[i].line);
	}
	return 0;
}

/* A file that nobody has trusted must not make us read, and tell of, others' files. */
static int check_below(const struct layer *layer, const struct layer_file *f, struct error *err)
{
	CLEANUP_FREE char *dir = realpath(layer->dir, NULL);
	size_t n = dir ? strlen(dir) : 0;

	if (dir && f->real && strncmp(f->real, dir, n) == 0 && (n == 1 || f->real[n] == '/'))
		return 0;
	return error_set(err, 0, "%s: its list '%s' lies outside '%s', and the file is not trusted",
			 layer->settings->file, f->path, layer->dir);
}

/* A project's list, from what was read when trust was judged. */
static int add_kept(const struct layer *layer, enum list list, const char *path, struct policy *p,
		    struct error *err)
{
	for (size_t i = 0; i < layer->nkept; i++) {
		const struct layer_file *f = &layer->kept[i];

		if (strcmp(f->path, path) != 0)
			continue;
		if (!f->text) {
			*err = f->err;
			return -1;
		}
		if (!layer->loosens && check_below(layer, f, err) < 0)
			return -1;
		if (f->len == 0)
			return error_set(err, 0,
					 "%s is empty; a list without entries needs a comment",
					 path);
		return listfile_parse(p, list, f->text, f->len, path, err);
	}
	return error_set(err, 0, "'%s' was not read", path); /* our bug: fail closed */
}

static int add_files(const struct layer *layer, enum settings_list_id id, enum list list,
		     struct policy *p, struct reread *reread, struct error *err)
{
	const struct settings_list *from = &layer->settings->list[id];

	for (size_t i = 0; i < from->n; i++) {
		CLEANUP_FREE char *path = absolute(layer, from->v[i].text);
		int rc = layer->rank == LAYER_PROJECT ? add_kept(layer, list, path, p, err)
						      : reread_list(reread, p, list, path, err);

		if (rc < 0)
			return -1;
	}
	return 0;
}

/* Entries that do not count are read all the same: a broken file is broken whoever trusts it. */
static int check_entries(const struct layer *layer, struct error *err)
{
	struct policy *scratch = policy_new();
	int rc = add_all(layer, SETTINGS_ALLOWED_DOMAINS, LIST_ALLOW, scratch, err);

	if (rc == 0)
		rc = add_all(layer, SETTINGS_ALLOW_PRIVATE, LIST_PRIVATE, scratch, err);
	policy_free(scratch);
	return rc;
}

static int apply_layer(const struct layers *l, const struct layer *layer, struct policy *p,
		       struct reread *reread, struct error *err)
{
	const char *managed_only = layers_managed_only(l);
	const struct settings *s = layer->settings;

	if (add_all(layer, SETTINGS_DENIED_DOMAINS, LIST_DENY, p, err) < 0 ||
	    add_files(layer, SETTINGS_DENY_LISTS, LIST_DENY, p, reread, err) < 0)
		return -1;
	if (!may_loosen(l, layer))
		return check_entries(layer, err);
	if (managed_only && !is_managed(layer)) {
		if (s->list[SETTINGS_ALLOWED_DOMAINS].n || s->list[SETTINGS_ALLOW_LISTS].n)
			log_warn("%s: its allowed domains have no effect: %s allows managed "
				 "domains only",
				 s->file, managed_only);
		return 0;
	}
	if (add_all(layer, SETTINGS_ALLOWED_DOMAINS, LIST_ALLOW, p, err) < 0 ||
	    add_files(layer, SETTINGS_ALLOW_LISTS, LIST_ALLOW, p, reread, err) < 0)
		return -1;
	return add_all(layer, SETTINGS_ALLOW_PRIVATE, LIST_PRIVATE, p, err);
}

/* Which types: whoever may loosen says so; of which names is another question. */
static int apply_forwarded(const struct layers *l, struct policy *p, struct reread *reread,
			   struct error *err)
{
	struct recordtypes types = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;
		const struct settings_list *from = &s->list[SETTINGS_FORWARD_TYPES];
		struct recordtypes ignored = { 0 };
		bool counts = may_loosen(l, l->v[i]);

		for (size_t k = 0; k < from->n; k++) {
			if (recordtypes_add(counts ? &types : &ignored, from->v[k].text, err) == 0)
				continue;
			(void)error_wrap(err, "%s:%u: network.forwardRecordTypes", s->file,
					 from->v[k].line);
			return reread_failed(reread, s->file);
		}
	}
	policy_set_forwarded(p, &types);
	return 0;
}

int layers_apply(const struct layers *l, struct policy *p, struct reread *reread, struct error *err)
{
	const struct settings *unknown = unknown_of(l);

	for (size_t i = 0; i < l->n; i++) {
		if (apply_layer(l, l->v[i], p, reread, err) < 0)
			return reread_failed(reread, l->v[i]->settings->file);
	}
	if (apply_forwarded(l, p, reread, err) < 0)
		return -1;
	if (layers_flag(l, SETTINGS_STRICT) == SETTINGS_YES || layers_managed_only(l))
		policy_set_strict(p, true);
	if (unknown && unknown->unknown == VERDICT_ALLOW) {
		(void)error_set(err, 0,
				"%s: network.onUnknownHost: \"allow\" would open every host; "
				"only \"deny\" and \"ask\" are possible here",
				unknown->file);
		return reread_failed(reread, unknown->file);
	}
	if (unknown)
		policy_set_unknown(p, unknown->unknown);
	apply_sni_check(l, p);
	return 0;
}

static bool is_path_list(enum settings_list_id id)
{
	return id == SETTINGS_ALLOW_READ || id == SETTINGS_ALLOW_WRITE ||
	       id == SETTINGS_ALLOW_EXEC || id == SETTINGS_DENY_READ || id == SETTINGS_DENY_WRITE;
}

static bool is_tightening_list(enum settings_list_id id)
{
	return id == SETTINGS_DENY_READ || id == SETTINGS_DENY_WRITE || id == SETTINGS_ENV_DROP ||
	       id == SETTINGS_DENIED_DOMAINS || id == SETTINGS_DENY_LISTS;
}

/* Hands a string to @l, which frees it. */
static const char *keep(struct layers *l, char *s)
{
	l->made = xreallocarray(l->made, l->nmade + 1, sizeof(*l->made));
	l->made[l->nmade++] = s;
	return s;
}

/* A list is asked for more than once. */
static void say_missing(struct layers *l, const struct layer *layer, const struct settings_entry *e,
			const char *path)
{
	for (size_t i = 0; i < l->nmissing; i++)
		if (l->missing[i] == e)
			return;
	l->missing = xreallocarray(l->missing, l->nmissing + 1, sizeof(*l->missing));
	l->missing[l->nmissing++] = e;
	log_warn("%s:%u: '%s' does not exist, so nothing is granted there", layer->settings->file,
		 e->line, path);
}

static const char *entry_text(struct layers *l, const struct layer *layer, enum settings_list_id id,
			      const struct settings_entry *e)
{
	const char *path;

	CLEANUP_FREE char *text = xstrdup(e->text);
	size_t len = strlen(text);

	if (!is_path_list(id))
		return e->text;
	if (len > 3 && strcmp(text + len - 3, "/**") == 0)
		text[len - 3] = '\0'; /* a directory is all that is in it */
	path = keep(l, absolute(layer, text));
	if (is_tightening_list(id) || access(path, F_OK) == 0)
		return path;
	/* what it is granted for is that it may be made (confine.c) */
	if (id == SETTINGS_ALLOW_WRITE && protect_is_name(path_name(path)))
		return path;
	say_missing(l, layer, e, path);
	return NULL;
}

const char *const *layers_list(struct layers *l, enum settings_list_id id, size_t *n)
{
	const char **v = NULL;
	size_t count = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct layer *layer = l->v[i];
		const struct settings_list *list = &layer->settings->list[id];

		if (!is_tightening_list(id) && !may_loosen(l, layer))
			continue;
		if (id == SETTINGS_ALLOW_READ && !is_managed(layer) &&
		    layers_managed_flag(l, SETTINGS_MANAGED_READ_ONLY) == SETTINGS_YES)
			continue;
		for (size_t k = 0; k < list->n; k++) {
			const char *text = entry_text(l, layer, id, &list->v[k]);

			if (!text)
				continue;
			v = xreallocarray(v, count + 2, sizeof(*v));
			v[count++] = text;
			v[count] = NULL;
		}
	}
	free(l->lists[id]);
	l->lists[id] = v;
	*n = count;
	return v;
}
