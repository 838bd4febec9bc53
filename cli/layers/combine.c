#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/layers/stack.h"

const char *layers_managed_only(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;

		if (layer_is_managed(l->v[i]) &&
		    s->flag[SETTINGS_MANAGED_DOMAINS_ONLY] == SETTINGS_YES)
			return s->file;
	}
	return NULL;
}

enum settings_set layers_managed_flag(const struct layers *l, enum settings_flag_id id)
{
	for (size_t i = 0; i < l->n; i++) {
		if (layer_is_managed(l->v[i]))
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

		if (!layer_is_managed(l->v[i]) || s->flag[SETTINGS_FS_DISABLED] == SETTINGS_YES)
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

bool layers_may_loosen(const struct layers *l, const struct layer *layer)
{
	if (layer_is_managed(layer))
		return !l->no_config;
	return layer->loosens && !(layer->rank == LAYER_PROJECT && is_required(l));
}

const struct settings_entry *layers_dropped(const struct layers *l, const char **file, size_t *n)
{
	*n = 0;
	for (size_t i = 0; l->no_config && i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;

		if (!layer_is_managed(l->v[i]))
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

		if (!text || !layers_may_loosen(l, l->v[i]))
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
		if (!best || layer_is_managed(best))
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
		if (id == SETTINGS_FS_DISABLED && !layer_is_managed(layer) &&
		    layers_managed_files(l))
			continue;
		if (loosening(id, value) &&
		    (!layers_may_loosen(l, layer) || layer->rank == LAYER_PROJECT))
			continue;
		return value;
	}
	return SETTINGS_UNSET;
}

const struct settings *layers_unknown_file(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct settings *s = l->v[i]->settings;

		if (s->has_unknown && (s->unknown == VERDICT_DENY || layers_may_loosen(l, l->v[i])))
			return s;
	}
	return NULL;
}

bool layers_unknown(const struct layers *l, enum verdict *out)
{
	const struct settings *s = layers_unknown_file(l);

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
		if (l->v[i]->settings->upstream && layers_may_loosen(l, l->v[i]))
			return l->v[i]->settings->upstream;
	}
	return NULL;
}

const char *layers_managed_upstream(const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (layer_is_managed(l->v[i]))
			return l->v[i]->settings->upstream;
	}
	return NULL;
}
