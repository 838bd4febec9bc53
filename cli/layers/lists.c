#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/layers/stack.h"
#include "cli/statedir.h"
#include "launcher/files/protect.h"

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

/*
 * What is denied in the home directory is denied in the one that the user database names, too: HOME is
 * whatever whoever starts the run says. Return: NULL if that is the same, or another entry.
 */
static const char *entry_at_home(struct layers *l, enum settings_list_id id,
				 const struct settings_entry *e)
{
	const struct passwd *pw;
	const char *home = statedir_home();
	size_t len = strlen(e->text);

	if ((id != SETTINGS_DENY_READ && id != SETTINGS_DENY_WRITE) || e->text[0] != '~' ||
	    (e->text[1] && e->text[1] != '/'))
		return NULL;
	pw = getpwuid(geteuid());
	if (!pw || pw->pw_dir[0] != '/' || (home && strcmp(home, pw->pw_dir) == 0))
		return NULL;
	if (len > 4 && strcmp(e->text + len - 3, "/**") == 0)
		len -= 3;
	return keep(l, xasprintf("%s%.*s", pw->pw_dir, (int)(len - 1), e->text + 1));
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
	path = keep(l, layer_path(layer, text));
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

		if (!is_tightening_list(id) && !layers_may_loosen(l, layer))
			continue;
		if (id == SETTINGS_ALLOW_READ && !layer_is_managed(layer) &&
		    layers_managed_flag(l, SETTINGS_MANAGED_READ_ONLY) == SETTINGS_YES)
			continue;
		for (size_t k = 0; k < list->n; k++) {
			const char *text = entry_text(l, layer, id, &list->v[k]);

			if (!text)
				continue;
			v = xreallocarray(v, count + 3, sizeof(*v));
			v[count++] = text;
			text = entry_at_home(l, id, &list->v[k]);
			if (text)
				v[count++] = text;
			v[count] = NULL;
		}
	}
	free(l->lists[id]);
	l->lists[id] = v;
	*n = count;
	return v;
}
