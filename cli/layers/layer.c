#include "cli/layers/layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/reread.h"
#include "cli/statedir.h"
#include "launcher/digest.h"
#include "policy/listfile.h"

static void on_warning(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg;
	log_warn("%s:%u: %s", file, line, text);
}

char *layer_path(const struct layer *layer, const char *path)
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
	reread_note(reread, path, fd);
	f->real = fd_path(fd); /* of what is open: the name may lead elsewhere a moment later */
	f->text = fd_read_file(fd, room, &f->len);
	if (!f->text)
		(void)error_set(&f->err, errno, "cannot read '%s'", path);
	return f->len;
}

void layer_keep_lists(struct layer *layer, struct reread *reread)
{
	static const enum settings_list_id id[] = { SETTINGS_ALLOW_LISTS, SETTINGS_DENY_LISTS };
	size_t room = LISTFILE_SIZE_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(id); i++) {
		const struct settings_list *list = &layer->settings->list[id[i]];

		for (size_t k = 0; k < list->n; k++)
			room -= keep_file(layer, reread, layer_path(layer, list->v[k].text), room);
	}
}

int layer_check_kept(const struct layer *layer, struct error *err)
{
	for (size_t i = 0; i < layer->nkept; i++) {
		if (layer->kept[i].text)
			continue;
		*err = layer->kept[i].err;
		return -1;
	}
	return 0;
}

char *layer_trusted_text(const struct layer *layer, const char *text)
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

void layer_free(struct layer *layer)
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

struct layer *layer_new(enum layer_rank rank, const char *path, const char *dir, const char *text,
			size_t len, struct error *err)
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

bool layer_is_managed(const struct layer *layer)
{
	return layer->rank == LAYER_MANAGED;
}
