/*
 * layers.h - the settings files of a run: found, read, trusted, combined
 *
 * managed (/etc/sbx-net/settings.json) > command line (options and --policy files) > project
 * (.sbx-net/settings.json where the command starts) > user (~/.config/sbx-net/settings.json).
 * Lists add up; a switch comes from the highest layer that sets it; the file of a project that
 * nobody has trusted only tightens; what the managed file locks, nothing below it loosens. Where the
 * managed file requires the sandbox (allowManagedDomainsOnly, or allowUnsandboxedCommands: false of
 * a Claude Code file), a project's file only tightens whoever trusts it.
 */
#ifndef CLI_LAYERS_LAYERS_H
#define CLI_LAYERS_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"
#include "policy/policy.h"
#include "policy/settings.h"

#define LAYERS_MANAGED_DIR  "/etc/sbx-net"
#define LAYERS_MANAGED_FILE LAYERS_MANAGED_DIR "/settings.json"
#define LAYERS_PROJECT_FILE ".sbx-net/settings.json"
#define LAYERS_MAX	    32 /* files of one run */

struct layers;
struct reread;

/**
 * layers_load() - read every settings file of a run
 * @o: --policy, --no-config and --trust-project are used
 * @cwd: where the command starts
 * @reread: NULL, or what is known from before in the same run (reread.h). The file of a project
 *          that nobody had trusted then, its lists and its absence, is taken from there and not
 *          read again
 *
 * Warnings go to the log. A file that is broken or cannot be read, or a --policy file that is
 * missing, is an error. Return: to be freed by layers_free(); NULL with @err.
 */
struct layers *layers_load(const struct run_options *o, const char *cwd, struct reread *reread,
			   struct error *err);

/** layers_ref() - one more owner, who calls layers_free() too. */
struct layers *layers_ref(struct layers *l);

/** layers_free() - gone with its last owner; NULL is allowed. */
void layers_free(struct layers *l);

/** layers_files() - every file that was looked for, present or not, domain lists among them; owned by @l. */
const char *const *layers_files(const struct layers *l, size_t *n);

/** layers_reads_again() - whether a load after this one reads @file, an entry of that array, again. */
bool layers_reads_again(const struct layers *l, const char *file);

/** layers_apply() - put the files' network entries and switches on @p. 0, or -1 with @err; @reread as above. */
int layers_apply(const struct layers *l, struct policy *p, struct reread *reread,
		 struct error *err);

/**
 * layers_dropped() - the hosts that the managed file allows, where --no-config drops them
 * @file: receives its name
 * @n: how many; 0 where nothing is dropped
 */
const struct settings_entry *layers_dropped(const struct layers *l, const char **file, size_t *n);

/** layers_warn_sockets() - tell of each file whose unix sockets open all of them. Return: how many. */
size_t layers_warn_sockets(const struct layers *l);

/** layers_in_use() - the settings file where a rule for this run would stand, or NULL if none is read. */
const char *layers_in_use(const struct layers *l);

/** layers_managed_only() - only the managed file may allow hosts; the file's name, or NULL. */
const char *layers_managed_only(const struct layers *l);

/**
 * layers_managed_files() - the managed file says something about files, and does not switch their
 * confinement off: so nobody below it does. The file's name, or NULL.
 */
const char *layers_managed_files(const struct layers *l);

/** layers_managed_flag() - the switch as the managed file sets it, or not. */
enum settings_set layers_managed_flag(const struct layers *l, enum settings_flag_id id);

/** layers_flag() - the switch from the highest layer that sets it (and may). */
enum settings_set layers_flag(const struct layers *l, enum settings_flag_id id);

/** layers_unknown() - onUnknownHost; false if no file sets it. */
bool layers_unknown(const struct layers *l, enum verdict *out);

/** layers_managed_unknown() - whether that comes from the managed file. */
bool layers_managed_unknown(const struct layers *l);

/** layers_upstream() - upstreamProxy of the highest layer that sets it, or NULL. */
const char *layers_upstream(const struct layers *l);

/** layers_managed_upstream() - upstreamProxy of the managed file, which no option changes. */
const char *layers_managed_upstream(const struct layers *l);

/**
 * layers_list() - a list over all layers
 *
 * Paths ("~/x", relative ones) are made absolute; a path that is to be granted and does not exist
 * is left out with a warning. Entries that loosen count only from files that may.
 *
 * Return: an array owned by @l, @n entries; NULL when there are none.
 */
const char *const *layers_list(struct layers *l, enum settings_list_id id, size_t *n);

#endif
