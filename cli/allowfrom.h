/*
 * allowfrom.h - --allow-from TOOL: the registries that a tool is configured for
 *
 * The tool is asked itself, outside the sandbox and before anything else happens, so that no host
 * stands in our tree. It is found where no command may have written (hired.h) and runs in the root
 * directory: a project's own file must not widen the policy. Only git's remotes are the project's by
 * their nature.
 *
 * --allow opens an address of this machine, or of its network, where one is named: what the user has
 * typed means that. What a tool prints may be what a repository says, and means no such thing.
 */
#ifndef CLI_ALLOWFROM_H
#define CLI_ALLOWFROM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/error.h"
#include "cli/options.h"
#include "policy/target.h"

#define ALLOWFROM_TOOLS "npm apt pip cargo go git"

/** allowfrom_check() - whether that is one of ALLOWFROM_TOOLS. */
bool allowfrom_check(const char *tool);

/** typedef allowfrom_cb - one host and port that was found */
typedef void allowfrom_cb(void *arg, const struct target *t);

/** enum allowfrom_words - what names a host in a tool's answer, besides a URL (http, https, ssh, git) */
enum allowfrom_words {
	ALLOWFROM_URLS,	   /* nothing */
	ALLOWFROM_HOSTS,   /* a word with a dot: a host for https */
	ALLOWFROM_REMOTES, /* git's "user@host:path" */
};

/** allowfrom_scan() - the hosts of a tool's answer, @text; each time one is found. */
void allowfrom_scan(const char *text, enum allowfrom_words words, allowfrom_cb *cb, void *arg);

/**
 * allowfrom_may() - whether a tool's configuration may open that: no address but a public one, and no
 * name that stands for this machine or a metadata service
 * @own: this machine's addresses
 */
bool allowfrom_may(const struct target *t, const struct addr_set *own);

struct allowfrom;

/**
 * allowfrom_new() - ask each tool of --allow-from, add --allow options to @o, and say on stderr which
 * @cwd: of the run; must outlive what is returned
 *
 * Return: what the new options point to, to be freed after them by allowfrom_free(); NULL with @err
 * if a tool could not be asked.
 */
struct allowfrom *allowfrom_new(struct run_options *o, const char *cwd, struct error *err);

/** allowfrom_free() - NULL is allowed. */
void allowfrom_free(struct allowfrom *a);

#endif
