#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/layers/stack.h"
#include "cli/reread.h"
#include "policy/listfile.h"
#include "policy/recordtype.h"

/* sniCheck of the highest layer that sets it; a repository only makes it stricter. */
static void apply_sni_check(const struct layers *l, struct policy *p)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;
		bool stricter = s->sni_check == SNI_STRICT;

		if (!s->has_sni_check)
			continue;
		if (!stricter && (!layers_may_loosen(l, l->v[i]) || l->v[i]->rank == LAYER_PROJECT))
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
		CLEANUP_FREE char *path = layer_path(layer, from->v[i].text);
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
	if (!layers_may_loosen(l, layer))
		return check_entries(layer, err);
	if (managed_only && !layer_is_managed(layer)) {
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
		bool counts = layers_may_loosen(l, l->v[i]);

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
	const struct settings *unknown = layers_unknown_file(l);

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
