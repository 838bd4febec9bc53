/*
 * settings.h - one settings file as a value: JSON text in, lists and switches out
 *
 * Three shapes are read: our own, the "sandbox" section (and permission rules) of a Claude Code
 * settings file, and a sandbox-runtime settings file. A file has one of them: what would be read in
 * another, and so be lost, is an error. Files are found, read and combined by cli/.
 */
#ifndef POLICY_SETTINGS_H
#define POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/policy.h"

#define SETTINGS_FILE_MAX (10 * 1024 * 1024) /* bytes of one settings file */

/** enum settings_shape - whose file it is; foreign unknown keys warn, our own are errors */
enum settings_shape {
	SETTINGS_OWN,
	SETTINGS_CLAUDE,
	SETTINGS_SRT,
};

/** enum settings_list_id - the lists; over the layers they add up */
enum settings_list_id {
	SETTINGS_ALLOWED_DOMAINS,
	SETTINGS_DENIED_DOMAINS,
	SETTINGS_ALLOW_PRIVATE,
	SETTINGS_ALLOW_LISTS, /* domain list files */
	SETTINGS_DENY_LISTS,
	SETTINGS_RESOLVERS,
	SETTINGS_FORWARD_TYPES,
	SETTINGS_ALLOW_READ,
	SETTINGS_ALLOW_WRITE,
	SETTINGS_ALLOW_EXEC,
	SETTINGS_DENY_READ,
	SETTINGS_DENY_WRITE,
	SETTINGS_ENV_PASS,
	SETTINGS_ENV_DROP,
	SETTINGS_UNIX_SOCKETS,
	SETTINGS_NUM_LISTS
};

/** enum settings_flag_id - the switches; the highest layer that sets one wins */
enum settings_flag_id {
	SETTINGS_STRICT,
	SETTINGS_MANAGED_DOMAINS_ONLY,
	SETTINGS_MANAGED_READ_ONLY,
	SETTINGS_FS_DISABLED,
	SETTINGS_ALL_UNIX_SOCKETS,
	SETTINGS_LOCAL_BINDING,
	SETTINGS_CAPTURE,
	SETTINGS_UNSANDBOXED, /* allowUnsandboxedCommands: nothing leaves the sandbox here anyway */
	SETTINGS_NUM_FLAGS
};

/** enum settings_set - a switch in a file: not there, false, true */
enum settings_set {
	SETTINGS_UNSET,
	SETTINGS_NO,
	SETTINGS_YES,
};

/** struct settings_entry - one entry of a list; @reason is NULL unless the file gives one */
struct settings_entry {
	char *text;
	unsigned line;
	char *reason;
};

/** struct settings_list - entries in the order of the file */
struct settings_list {
	struct settings_entry *v;
	size_t n;
};

/**
 * struct settings - what one file says; free with settings_free()
 * @file: as named by the caller
 * @unknown: onUnknownHost; only when @has_unknown
 * @upstream: upstreamProxy, or NULL
 * @sni_check: sniCheck; only when @has_sni_check
 */
struct settings {
	char *file;
	enum settings_shape shape;
	struct settings_list list[SETTINGS_NUM_LISTS];
	enum settings_set flag[SETTINGS_NUM_FLAGS];
	bool has_unknown;
	enum verdict unknown;
	char *upstream;
	bool has_sni_check;
	enum sni_check sni_check;
};

/**
 * typedef settings_warn_cb - something in the file has no effect here
 * @text: one sentence that names the key
 */
typedef void settings_warn_cb(void *arg, const char *file, unsigned line, const char *text);

/**
 * settings_parse() - read one file's text
 * @text, @len: UTF-8 JSON; duplicate keys and NUL characters are errors
 * @file: for messages; copied
 * @warn: told of keys without effect, never NULL
 *
 * Return: the settings, or NULL with @err ("FILE:LINE: ...").
 */
struct settings *settings_parse(const char *text, size_t len, const char *file,
				settings_warn_cb *warn, void *arg, struct error *err);

/**
 * settings_parse_own() - the same for a file in one of our own places
 *
 * An unknown key is an error whatever the shape: a single foreign key must not make a misspelt denial
 * a warning.
 */
struct settings *settings_parse_own(const char *text, size_t len, const char *file,
				    settings_warn_cb *warn, void *arg, struct error *err);

/**
 * settings_parse_as() - the same where somebody says whose file it is, to take it over
 *
 * A file with the keys of the other foreign shape is an error, and permission rules that are lost
 * are warned of: those that ask, and those that deny a tool rather than hosts or paths.
 */
struct settings *settings_parse_as(const char *text, size_t len, const char *file,
				   enum settings_shape shape, settings_warn_cb *warn, void *arg,
				   struct error *err);

/** settings_free() - NULL is allowed. */
void settings_free(struct settings *s);

/**
 * struct settings_key - one key that we know; the table is the reference of the documentation
 * @path: dotted, without a leading "sandbox."
 * @what: type and meaning, or why it has no effect
 * @used: false: accepted with a warning
 */
struct settings_key {
	const char *path;
	const char *what;
	bool used;
};

/** settings_keys() - all known keys. Return: how many. */
size_t settings_keys(const struct settings_key **out);

/**
 * settings_socket_note() - that a path of network.allowUnixSockets opens more than itself
 * @line: receives where the first one stands
 *
 * Neither seccomp nor Landlock knows sockets by their path. Return: the sentence; NULL without such a path.
 */
const char *settings_socket_note(const struct settings *s, unsigned *line);

#endif
