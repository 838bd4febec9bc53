/*
 * settings.c - one settings file as a value
 *
 * Theory of operation: the JSON library checks the text and gives a tree; jsonlines_index() gives
 * the line of each value in document order. One recursive walk visits the tree in that same order
 * (the library keeps members in the order of the text, and duplicate keys are refused), so that the
 * walk's counter is the index of the value's line. The walk looks each dotted path up in the table
 * of known keys (settings_keys.c), which says how the value is read.
 */
#include "policy/settings.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "policy/jsonlines.h"
#include "policy/permissions.h"
#include "policy/settings_keys.h"

/* One parse under way. */
struct parse_state {
	struct settings *out;
	const unsigned *lines;
	size_t nlines, next;
	json_t *reasons;
	bool import; /* somebody takes the file over: what is lost must be said */
	settings_warn_cb *warn;
	void *warn_arg;
	struct error *err;
};

static unsigned take_line(struct parse_state *ps)
{
	size_t i = ps->next++;

	return i < ps->nlines ? ps->lines[i] : 0;
}

static int fail(struct parse_state *ps, unsigned line, const char *path, const char *what)
{
	return error_set(ps->err, 0, "%s:%u: '%s' %s", ps->out->file, line, path, what);
}

static void warn(struct parse_state *ps, unsigned line, const char *path, const char *what)
{
	CLEANUP_FREE char *text = xasprintf("'%s' %s", path, what);

	ps->warn(ps->warn_arg, ps->out->file, line, text);
}

/* Passes over a value that is not read; the counter goes along. */
static void skip(struct parse_state *ps, json_t *v)
{
	const char *key;
	json_t *member;
	size_t i;

	(void)take_line(ps);
	json_object_foreach(v, key, member) skip(ps, member);
	json_array_foreach(v, i, member) skip(ps, member);
}

static void list_add(struct parse_state *ps, enum settings_list_id id, const char *text,
		     unsigned line)
{
	struct settings_list *l = &ps->out->list[id];

	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct settings_entry){ .text = xstrdup(text), .line = line };
}

/* The text of an element: a string, or an object with "name" or "path". */
static const char *element_text(json_t *v, bool named)
{
	json_t *name;

	if (json_is_string(v))
		return json_string_value(v);
	if (!named)
		return NULL;
	name = json_object_get(v, "name");
	if (!name)
		name = json_object_get(v, "path");
	return json_string_value(name);
}

static int read_list(struct parse_state *ps, const char *path, const struct settings_spec *spec,
		     json_t *v)
{
	bool named = spec->kind == KIND_NAMED;
	unsigned line = take_line(ps);
	json_t *element;
	size_t i;

	if (!json_is_array(v))
		return fail(ps, line, path, "must be an array of strings");
	json_array_foreach(v, i, element)
	{
		unsigned at = ps->next < ps->nlines ? ps->lines[ps->next] : 0;
		const char *text = element_text(element, named);

		if (!text || !*text)
			return fail(ps, at, path, "must hold strings that are not empty");
		list_add(ps, (enum settings_list_id)spec->id, text, at);
		skip(ps, element);
	}
	return 0;
}

static int read_flag(struct parse_state *ps, const char *path, const struct settings_spec *spec,
		     json_t *v)
{
	unsigned line = take_line(ps);

	if (!json_is_boolean(v))
		return fail(ps, line, path, "must be true or false");
	ps->out->flag[spec->id] = json_is_true(v) ? SETTINGS_YES : SETTINGS_NO;
	if (spec->id == SETTINGS_UNSANDBOXED && json_is_true(v))
		warn(ps, line, path, "has no effect here: no command leaves the sandbox");
	return 0;
}

static int read_unknown_host(struct parse_state *ps, const char *path, json_t *v)
{
	unsigned line = take_line(ps);
	const char *s = json_string_value(v);

	if (s && strcmp(s, "deny") == 0)
		ps->out->unknown = VERDICT_DENY;
	else if (s && strcmp(s, "ask") == 0)
		ps->out->unknown = VERDICT_ASK;
	else if (s && strcmp(s, "allow") == 0)
		ps->out->unknown = VERDICT_ALLOW;
	else
		return fail(ps, line, path, "must be \"deny\", \"ask\" or \"allow\"");
	ps->out->has_unknown = true;
	return 0;
}

static int read_sni_check(struct parse_state *ps, const char *path, json_t *v)
{
	static const char *const words[] = {
		[SNI_OFF] = "off", [SNI_NAME] = "name", [SNI_STRICT] = "strict"
	};
	unsigned line = take_line(ps);
	const char *s = json_string_value(v);

	for (size_t i = 0; s && i < ARRAY_SIZE(words); i++) {
		if (strcmp(s, words[i]) != 0)
			continue;
		ps->out->sni_check = (enum sni_check)i;
		ps->out->has_sni_check = true;
		return 0;
	}
	return fail(ps, line, path, "must be \"strict\", \"name\" or \"off\"");
}

static int read_upstream(struct parse_state *ps, const char *path, json_t *v)
{
	unsigned line = take_line(ps);

	if (!json_is_string(v))
		return fail(ps, line, path, "must be a string");
	free(ps->out->upstream);
	ps->out->upstream = xstrdup(json_string_value(v));
	return 0;
}

static int read_reasons(struct parse_state *ps, const char *path, json_t *v)
{
	unsigned line = ps->next < ps->nlines ? ps->lines[ps->next] : 0;
	const char *key;
	json_t *member;

	if (!json_is_object(v))
		return fail(ps, line, path, "must be an object");
	json_object_foreach(v, key, member)
	{
		if (!json_is_string(member))
			return fail(ps, line, path, "must map entries to strings");
	}
	ps->reasons = v;
	skip(ps, v);
	return 0;
}

static int read_enabled(struct parse_state *ps, const char *path, json_t *v)
{
	unsigned line = take_line(ps);

	if (!json_is_boolean(v))
		return fail(ps, line, path, "must be true or false");
	if (json_is_false(v))
		return fail(ps, line, path,
			    "is false, which asks for no sandbox at all; leave this file out");
	return 0;
}

static int walk(struct parse_state *ps, const char *prefix, json_t *section);

static int read_value(struct parse_state *ps, const char *path, const struct settings_spec *spec,
		      json_t *v)
{
	unsigned line;

	switch (spec->kind) {
	case KIND_SECTION:
		line = take_line(ps);
		if (!json_is_object(v))
			return fail(ps, line, path, "must be an object");
		return walk(ps, path, v);
	case KIND_LIST:
	case KIND_NAMED:
		return read_list(ps, path, spec, v);
	case KIND_FLAG:
		return read_flag(ps, path, spec, v);
	case KIND_REASONS:
		return read_reasons(ps, path, v);
	case KIND_UNKNOWN_HOST:
		return read_unknown_host(ps, path, v);
	case KIND_UPSTREAM:
		return read_upstream(ps, path, v);
	case KIND_SNI_CHECK:
		return read_sni_check(ps, path, v);
	case KIND_ENABLED:
		return read_enabled(ps, path, v);
	case KIND_NONE:
		line = ps->next < ps->nlines ? ps->lines[ps->next] : 0;
		if (!spec->key.used) {
			CLEANUP_FREE char *text =
				xasprintf("has no effect here: %s", spec->key.what);

			warn(ps, line, path, text);
		}
		skip(ps, v);
		return 0;
	}
	return -1;
}

/* A key that nobody knows: fatal in our own files, a warning in others'. */
static int read_stranger(struct parse_state *ps, const char *path, json_t *v)
{
	unsigned line = ps->next < ps->nlines ? ps->lines[ps->next] : 0;
	const char *near = settings_spec_nearest(path);
	CLEANUP_FREE char *what = near ? xasprintf("is not a known key; did you mean '%s'?", near)
				       : xstrdup("is not a known key");

	if (ps->out->shape == SETTINGS_OWN)
		return fail(ps, line, path, what);
	warn(ps, line, path, what);
	skip(ps, v);
	return 0;
}

static int walk(struct parse_state *ps, const char *prefix, json_t *section)
{
	const char *key;
	json_t *v;

	json_object_foreach(section, key, v)
	{
		CLEANUP_FREE char *path = prefix ? xasprintf("%s.%s", prefix, key) : xstrdup(key);
		const struct settings_spec *spec = settings_spec_find(path);

		if (spec && spec->foreign && ps->out->shape == SETTINGS_OWN)
			spec = NULL;
		if ((spec ? read_value(ps, path, spec, v) : read_stranger(ps, path, v)) < 0)
			return -1;
	}
	return 0;
}

static int read_rule(struct parse_state *ps, const char *path, json_t *v, bool deny)
{
	unsigned line = take_line(ps);
	enum settings_list_id list = SETTINGS_ALLOWED_DOMAINS;
	const char *rule = json_string_value(v);
	CLEANUP_FREE char *value = NULL;

	if (!rule)
		return fail(ps, line, path, "must hold strings");
	switch (permission_parse(rule, deny, &list, &value)) {
	case PERMISSION_NONE:
		if (ps->import && deny)
			warn(ps, line, rule,
			     "is not taken over: it denies a tool, and no host or path; deny the "
			     "hosts instead that must not be reached");
		return 0;
	case PERMISSION_TAKEN:
		list_add(ps, list, value, line);
		return 0;
	case PERMISSION_LOOSE:
		warn(ps, line, rule, "allows nothing here: only exact paths and domains do");
		return 0;
	case PERMISSION_BAD:
		return fail(ps, line, rule, "cannot be enforced here: name exact paths or domains");
	}
	return -1;
}

/* What is asked about there follows from no rule here. */
static void read_asks(struct parse_state *ps, json_t *rules)
{
	json_t *rule;
	size_t i;

	(void)take_line(ps);
	json_array_foreach(rules, i, rule)
	{
		unsigned line = ps->next < ps->nlines ? ps->lines[ps->next] : 0;

		if (ps->import)
			warn(ps, line, json_is_string(rule) ? json_string_value(rule) : "ask",
			     "is not taken over: no rule here asks; hosts that nothing names are "
			     "asked about with --ask");
		skip(ps, rule);
	}
}

/* "permissions": {"allow": [...], "deny": [...], "additionalDirectories": [...]} */
static int read_permissions(struct parse_state *ps, json_t *v)
{
	const char *key;
	json_t *rules, *rule;
	size_t i;

	(void)take_line(ps);
	json_object_foreach(v, key, rules)
	{
		bool deny = strcmp(key, "deny") == 0;

		if (strcmp(key, "additionalDirectories") == 0) {
			const struct settings_spec *spec =
				settings_spec_find("filesystem.allowWrite");

			if (read_list(ps, "permissions.additionalDirectories", spec, rules) < 0)
				return -1;
			continue;
		}
		if (strcmp(key, "ask") == 0 && json_is_array(rules)) {
			read_asks(ps, rules);
			continue;
		}
		if ((!deny && strcmp(key, "allow") != 0) || !json_is_array(rules)) {
			skip(ps, rules);
			continue;
		}
		(void)take_line(ps);
		json_array_foreach(rules, i, rule)
		{
			if (read_rule(ps, deny ? "permissions.deny" : "permissions.allow", rule,
				      deny) < 0)
				return -1;
		}
	}
	return 0;
}

/* A Claude Code file: its "sandbox" section and permission rules; the rest is not about us. */
static int read_claude(struct parse_state *ps, json_t *root)
{
	const char *key;
	json_t *v;

	json_object_foreach(root, key, v)
	{
		int rc = 0;

		if (strcmp(key, "sandbox") == 0 && json_is_object(v)) {
			(void)take_line(ps);
			rc = walk(ps, NULL, v);
		} else if (strcmp(key, "permissions") == 0 && json_is_object(v)) {
			rc = read_permissions(ps, v);
		} else {
			skip(ps, v);
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* Read as the wrong one of the two shapes a file would be empty. */
static int other_shape(struct parse_state *ps, json_t *root)
{
	bool claude = json_object_get(root, "sandbox") || json_object_get(root, "permissions");
	bool srt = json_object_get(root, "network") || json_object_get(root, "filesystem");

	if (ps->out->shape == SETTINGS_SRT && claude)
		return error_set(ps->err, 0,
				 "%s: has the keys of a Claude Code settings file: import it as "
				 "'claude', not as 'srt'",
				 ps->out->file);
	if (ps->out->shape == SETTINGS_CLAUDE && srt && !claude)
		return error_set(ps->err, 0,
				 "%s: has the keys of a sandbox-runtime settings file: import it "
				 "as 'srt', not as 'claude'",
				 ps->out->file);
	return 0;
}

static enum settings_shape shape_of(json_t *root, const char *file)
{
	const char *key;
	json_t *v;

	if (json_object_get(root, "sandbox") || json_object_get(root, "permissions"))
		return SETTINGS_CLAUDE;
	if (strstr(file, ".srt") || strstr(file, "srt-settings"))
		return SETTINGS_SRT;
	json_object_foreach(root, key, v)
	{
		const struct settings_spec *spec = settings_spec_find(key);

		if (spec && spec->foreign)
			return SETTINGS_SRT;
	}
	return SETTINGS_OWN;
}

/* Gives each denied entry the reason that stands under its exact text. */
static int apply_reasons(struct parse_state *ps)
{
	struct settings_list *denied = &ps->out->list[SETTINGS_DENIED_DOMAINS];
	const char *key;
	json_t *reason;

	json_object_foreach(ps->reasons, key, reason)
	{
		bool found = false;

		for (size_t i = 0; i < denied->n; i++) {
			if (strcmp(denied->v[i].text, key) != 0 || denied->v[i].reason)
				continue;
			denied->v[i].reason = xstrdup(json_string_value(reason));
			found = true;
		}
		if (!found)
			warn(ps, 0, key, "has a reason but is not among the denied domains");
	}
	return 0;
}

static struct settings *parse(const char *text, size_t len, const char *file,
			      const enum settings_shape *shape, settings_warn_cb *warn_cb,
			      void *arg, struct error *err)
{
	struct parse_state ps = { .warn = warn_cb, .warn_arg = arg, .err = err };
	CLEANUP_FREE unsigned *lines = NULL;
	json_error_t jerr;
	json_t *root;
	int rc;

	if (memchr(text, '\0', len)) {
		(void)error_set(err, 0, "%s: has a NUL byte, so it is no JSON text", file);
		return NULL;
	}
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &jerr);
	if (!root || !json_is_object(root)) {
		(void)error_set(err, 0, "%s:%d: %s", file, root ? 1 : jerr.line,
				root ? "must be a JSON object" : jerr.text);
		json_decref(root);
		return NULL;
	}
	ps.out = xcalloc(1, sizeof(*ps.out));
	ps.out->file = xstrdup(file);
	ps.out->shape = shape ? *shape : shape_of(root, file);
	ps.nlines = jsonlines_index(text, len, &lines);
	ps.lines = lines;
	(void)take_line(&ps);
	ps.import = shape != NULL;
	rc = shape ? other_shape(&ps, root) : 0;
	if (rc == 0)
		rc = ps.out->shape == SETTINGS_CLAUDE ? read_claude(&ps, root)
						      : walk(&ps, NULL, root);
	if (rc == 0)
		rc = apply_reasons(&ps);
	json_decref(root);
	assert(rc < 0 || ps.next == ps.nlines); /* the walk met every value */
	if (rc < 0) {
		settings_free(ps.out);
		return NULL;
	}
	return ps.out;
}

struct settings *settings_parse(const char *text, size_t len, const char *file,
				settings_warn_cb *warn_cb, void *arg, struct error *err)
{
	return parse(text, len, file, NULL, warn_cb, arg, err);
}

struct settings *settings_parse_as(const char *text, size_t len, const char *file,
				   enum settings_shape shape, settings_warn_cb *warn_cb, void *arg,
				   struct error *err)
{
	return parse(text, len, file, &shape, warn_cb, arg, err);
}

void settings_free(struct settings *s)
{
	if (!s)
		return;
	for (size_t l = 0; l < SETTINGS_NUM_LISTS; l++) {
		for (size_t i = 0; i < s->list[l].n; i++) {
			free(s->list[l].v[i].text);
			free(s->list[l].v[i].reason);
		}
		free(s->list[l].v);
	}
	free(s->upstream);
	free(s->file);
	free(s);
}
