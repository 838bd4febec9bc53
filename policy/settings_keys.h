/*
 * settings_keys.h - the table of known settings keys, for the parser
 */
#ifndef POLICY_SETTINGS_KEYS_H
#define POLICY_SETTINGS_KEYS_H

#include "policy/settings.h"

/** enum settings_kind - how a key's value is read */
enum settings_kind {
	KIND_SECTION, /* an object whose members are keys of their own */
	KIND_LIST,    /* array of strings -> list @id */
	KIND_NAMED,   /* array of strings, or of objects with a "name" or "path" -> list @id */
	KIND_FLAG,    /* true or false -> flag @id */
	KIND_REASONS, /* object: denied entry -> why */
	KIND_UNKNOWN_HOST,
	KIND_UPSTREAM,
	KIND_SNI_CHECK,
	KIND_ENABLED, /* "enabled": false would be a policy that is not enforced */
	KIND_NONE,    /* known, without effect here */
};

/**
 * struct settings_spec - one line of the table
 * @key: what the public table shows
 * @kind: how it is read
 * @id: list or flag
 * @foreign: only known in files of other programs
 */
struct settings_spec {
	struct settings_key key;
	enum settings_kind kind;
	int id;
	bool foreign;
};

/** settings_spec_find() - the line of a dotted path, or NULL. */
const struct settings_spec *settings_spec_find(const char *path);

/** settings_spec_nearest() - the known path most like a mistyped one, or NULL. */
const char *settings_spec_nearest(const char *path);

#endif
