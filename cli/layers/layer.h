/*
 * layer.h - one settings file of a run, and the domain lists that a project's names
 *
 * What is hashed for a person's trust in a project is what will be in force: its lists are read once.
 */
#ifndef CLI_LAYERS_LAYER_H
#define CLI_LAYERS_LAYER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/settings.h"

struct reread;

/** enum layer_rank - which layer a file belongs to; lower is higher */
enum layer_rank {
	LAYER_MANAGED,
	LAYER_COMMAND_LINE,
	LAYER_PROJECT,
	LAYER_USER,
};

/**
 * struct layer_file - a domain list that a project's file names
 * @path: as the file means it; @real: where it really was
 * @text, @len: what it says; NULL if it could not be read
 * @err: why not
 */
struct layer_file {
	char *path, *text, *real;
	size_t len;
	struct error err;
};

/**
 * struct layer - one file
 * @owners: besides the first: a later reading may keep what it says
 * @rank: its layer
 * @loosens: its allow entries and loosening switches count
 * @dir: what relative paths in it are relative to
 * @kept, @nkept: a project's domain lists, as they were when trust in them was judged
 */
struct layer {
	unsigned owners;
	enum layer_rank rank;
	bool loosens;
	char *dir;
	struct settings *settings;
	struct layer_file *kept;
	size_t nkept;
};

/**
 * layer_new() - what a file says
 * @path: its name; @dir: what relative paths in it are relative to
 * @text, @len: all of it
 *
 * Return: to be freed by layer_free(); NULL with @err.
 */
struct layer *layer_new(enum layer_rank rank, const char *path, const char *dir, const char *text,
			size_t len, struct error *err);

/** layer_free() - gone with its last owner; NULL is allowed. */
void layer_free(struct layer *layer);

/** layer_path() - a path of the file, absolute; the caller frees. */
char *layer_path(const struct layer *layer, const char *path);

/** layer_keep_lists() - read every domain list that the file names, into @layer->kept. */
void layer_keep_lists(struct layer *layer, struct reread *reread);

/**
 * layer_check_kept() - whether all of them could be read
 *
 * One that cannot be read any more is none that somebody has changed: trust is no question then.
 * Return: 0, or -1 with @err.
 */
int layer_check_kept(const struct layer *layer, struct error *err);

/**
 * layer_trusted_text() - what trust in a project's file covers
 * @text: the file's
 *
 * That, and a line for each domain list that it names. The command may write those; it must not
 * thereby widen what a person has agreed to. The caller frees.
 */
char *layer_trusted_text(const struct layer *layer, const char *text);

/** layer_is_managed() - the administrator's. */
bool layer_is_managed(const struct layer *layer);

#endif
