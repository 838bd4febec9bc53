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
#include <strings.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/xalloc.h"
#include "policy/deniedpath.h"
#include "policy/jsonlines.h"
#include "policy/permissions.h"
#include "policy/settings_keys.h"

#define BLANKS " \t\r\n"

/* One parse under way. */
struct parse_state {
	struct settings *out;
	const unsigned *lines;
	size_t nlines, next;
	json_t *reasons;
	bool own;    /* in one of our own places */
	bool import; /* somebody takes the file over: what is lost must be said */
	char *idle;  /* keys without an effect, in one sentence: they are there at every start */
	unsigned idle_line;
	settings_warn_cb *warn;
	void *warn_arg;
	struct error *err;
};

/* The line of what comes next. */
static unsigned peek_line(const struct parse_state *ps)
{
	return ps->next < ps->nlines ? ps->lines[ps->next] : 0;
}

static unsigned take_line(struct parse_state *ps)
{
	unsigned line = peek_line(ps);

	ps->next++;
	return line;
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

static void note_idle(struct parse_state *ps, const char *path, const char *why)
{
	char *all = xasprintf("%s%s'%s' has no effect here: %s", ps->idle ? ps->idle : "",
			      ps->idle ? "; " : "", path, why);

	if (!ps->idle)
		ps->idle_line = peek_line(ps);
	free(ps->idle);
	ps->idle = all;
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

/* The same; what is denied must be what its writer can have meant. @what: the key or the rule. */
static int list_take(struct parse_state *ps, enum settings_list_id id, const char *text,
		     const char *what, unsigned line)
{
	const char *slip = id == SETTINGS_DENY_READ || id == SETTINGS_DENY_WRITE
				   ? deniedpath_slip(text)
				   : NULL;
	CLEANUP_FREE char *message = slip ? xasprintf("'%s' %s", text, slip) : NULL;

	if (message)
		return fail(ps, line, what, message);
	list_add(ps, id, text, line);
	return 0;
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
		unsigned at = peek_line(ps);
		const char *text = element_text(element, named);

		if (!text || !*text)
			return fail(ps, at, path, "must hold strings that are not empty");
		if (list_take(ps, (enum settings_list_id)spec->id, text, path, at))
			return -1;
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
		return fail(ps, line, path, "must be \"deny\" or \"ask\"");
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
	unsigned line = peek_line(ps);
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
		if (!spec->key.used)
			note_idle(ps, path, spec->key.what);
		skip(ps, v);
		return 0;
	}
	return -1;
}

/* A key that nobody knows: fatal in our own files and places, a warning in others'. */
static int read_stranger(struct parse_state *ps, const char *path, json_t *v)
{
	unsigned line = peek_line(ps);
	const char *near = settings_spec_nearest(path);
	CLEANUP_FREE char *what = near ? xasprintf("is not a known key; did you mean '%s'?", near)
				       : xstrdup("is not a known key");

	if (ps->out->shape == SETTINGS_OWN || ps->own)
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

		if (spec && strchr(key, '.'))
			return fail(ps, peek_line(ps), path,
				    "is one key with a dot in it: write an object in an object");
		if (spec && spec->foreign && ps->out->shape == SETTINGS_OWN)
			spec = NULL;
		if ((spec ? read_value(ps, path, spec, v) : read_stranger(ps, path, v)) < 0)
			return -1;
	}
	return 0;
}

/* Deny rules of one file that are about no command, and that we do not read. */
struct lost {
	const char *first;
	unsigned line, n;
};

/* What runs commands is not about hosts or paths; only who takes the file over needs to hear of it. */
static bool is_about_commands(const char *rule)
{
	return strncmp(rule, "Bash", 4) == 0 || strncmp(rule, "mcp__", 5) == 0;
}

static void lose(struct parse_state *ps, struct lost *lost, const char *rule, unsigned line)
{
	if (ps->import) {
		warn(ps, line, rule,
		     "is not taken over: it denies a tool, and no host or path; deny the hosts "
		     "instead that must not be reached");
		return;
	}
	if (is_about_commands(rule) || lost->n++ > 0)
		return;
	lost->first = rule;
	lost->line = line;
}

/* Said once a file: there may be many, and a run has no use for a line each. */
static void tell_lost(struct parse_state *ps, const struct lost *lost)
{
	CLEANUP_FREE char *what = xasprintf("is not taken over: it denies a tool, and no host or "
					    "path that we know (such rules in this file: %u)",
					    lost->n);

	if (lost->n > 0)
		warn(ps, lost->line, lost->first, what);
}

static int read_rule(struct parse_state *ps, const char *path, json_t *v, bool deny,
		     struct lost *lost)
{
	unsigned line = take_line(ps);
	enum settings_list_id list = SETTINGS_ALLOWED_DOMAINS;
	const char *rule = json_string_value(v);
	CLEANUP_FREE char *value = NULL;

	if (!rule)
		return fail(ps, line, path, "must hold strings");
	switch (permission_parse(rule, deny, &list, &value)) {
	case PERMISSION_NONE:
		if (deny)
			lose(ps, lost, rule, line);
		return 0;
	case PERMISSION_TAKEN:
		return list_take(ps, list, value, rule, line);
	case PERMISSION_LOOSE:
		warn(ps, line, rule, "allows nothing here: only exact paths and domains do");
		return 0;
	case PERMISSION_BAD:
		return fail(ps, line, rule,
			    "cannot be enforced here: name exact paths or domains, as "
			    "WebFetch(domain:HOST), Read(PATH), Edit(PATH) or Write(PATH)");
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
		unsigned line = peek_line(ps);

		if (ps->import)
			warn(ps, line, json_is_string(rule) ? json_string_value(rule) : "ask",
			     "is not taken over: no rule here asks; hosts that nothing names are "
			     "asked about with --ask");
		skip(ps, rule);
	}
}

static int read_rules(struct parse_state *ps, const char *path, json_t *rules, bool deny,
		      struct lost *lost)
{
	json_t *rule;
	size_t i;

	(void)take_line(ps);
	json_array_foreach(rules, i, rule)
	{
		if (read_rule(ps, path, rule, deny, lost) < 0)
			return -1;
	}
	return 0;
}

/* One of @words but for a slip: nobody would read it as that, and it would be lost. */
static const char *misspelt(const char *key, const char *const *words, size_t n)
{
	const char *begin = key + strspn(key, BLANKS);
	CLEANUP_FREE char *word = xstrndup(begin, strlen(begin));
	size_t len = strlen(word), near;

	while (len > 0 && strchr(BLANKS, word[len - 1]))
		word[--len] = '\0';
	for (size_t i = 0; i < n; i++)
		if (strcmp(key, words[i]) == 0)
			return NULL;
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(word, words[i]) == 0)
			return words[i];
	near = nearest_word(word, words, n);
	return near < n ? words[near] : NULL;
}

/* Whether rules that we would read stand there. */
static bool holds_rules(json_t *v)
{
	json_t *rule;
	size_t i;

	json_array_foreach(v, i, rule)
	{
		enum settings_list_id list;
		CLEANUP_FREE char *value = NULL;

		if (json_is_string(rule) && permission_parse(json_string_value(rule), true, &list,
							     &value) != PERMISSION_NONE)
			return true;
	}
	return false;
}

/* Another member of "permissions": modes are nobody's here, but what denies must not be lost there. */
static int pass_over_permission(struct parse_state *ps, const char *path, json_t *v)
{
	if (holds_rules(v))
		return fail(ps, peek_line(ps), path,
			    "holds rules and is not a known key: they stand in 'allow' or 'deny'");
	if (json_is_array(v) && json_array_size(v) > 0)
		warn(ps, peek_line(ps), path, "is not a known key, and is not taken over");
	skip(ps, v);
	return 0;
}

static int fail_misspelt(struct parse_state *ps, const char *path, const char *word)
{
	CLEANUP_FREE char *what = xasprintf("is not a known key; did you mean '%s'?", word);

	return fail(ps, peek_line(ps), path, what);
}

/* A member of "permissions". */
static int read_permission(struct parse_state *ps, const char *key, json_t *v, struct lost *lost)
{
	static const char *const lists[] = { "allow", "deny", "ask", "additionalDirectories" };
	CLEANUP_FREE char *path = xasprintf("permissions.%s", key);
	const char *word = misspelt(key, lists, ARRAY_SIZE(lists));
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		known = known || strcmp(key, lists[i]) == 0;
	if (word)
		return fail_misspelt(ps, path, word);
	if (!known)
		return pass_over_permission(ps, path, v);
	if (!json_is_array(v))
		return fail(ps, peek_line(ps), path, "must be an array of strings");
	if (strcmp(key, "additionalDirectories") == 0)
		return read_list(ps, path, settings_spec_find("filesystem.allowWrite"), v);
	if (strcmp(key, "ask") != 0)
		return read_rules(ps, path, v, strcmp(key, "deny") == 0, lost);
	read_asks(ps, v);
	return 0;
}

/* "permissions": {"allow": [...], "deny": [...], "additionalDirectories": [...]} */
static int read_permissions(struct parse_state *ps, json_t *v)
{
	struct lost lost = { 0 };
	const char *key;
	json_t *member;

	(void)take_line(ps);
	json_object_foreach(v, key, member)
	{
		if (read_permission(ps, key, member, &lost) < 0)
			return -1;
	}
	tell_lost(ps, &lost);
	return 0;
}

/*
 * What stands beside the two in a Claude Code file is not about us; what is must not be lost there. "env" is
 * the variables of that program, and no beginning of ours.
 */
static int pass_over(struct parse_state *ps, const char *key, json_t *v)
{
	static const char *const ours[] = { "sandbox",	  "permissions", "network",
					    "filesystem", "credentials", "environment" };
	const char *word = strcmp(key, "env") == 0 ? NULL : misspelt(key, ours, ARRAY_SIZE(ours));
	bool dotted = strncmp(key, "sandbox.", 8) == 0 || strncmp(key, "permissions.", 12) == 0;

	if (word)
		return fail_misspelt(ps, key, word);
	if (dotted || (settings_spec_find(key) && strcmp(key, "$schema") != 0))
		return fail(ps, peek_line(ps), key,
			    "is not read beside 'sandbox' or 'permissions', and would be lost: "
			    "move it into 'sandbox', or into a file of its own");
	skip(ps, v);
	return 0;
}

/* A Claude Code file: its "sandbox" section and permission rules. */
static int read_claude(struct parse_state *ps, json_t *root)
{
	const char *key;
	json_t *v;

	json_object_foreach(root, key, v)
	{
		bool sandbox = strcmp(key, "sandbox") == 0;
		int rc;

		if (!sandbox && strcmp(key, "permissions") != 0) {
			rc = pass_over(ps, key, v);
		} else if (!json_is_object(v)) {
			rc = fail(ps, peek_line(ps), key, "must be an object");
		} else if (sandbox) {
			(void)take_line(ps);
			rc = walk(ps, NULL, v);
		} else {
			rc = read_permissions(ps, v);
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
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *key;
	json_t *v;

	if (json_object_get(root, "sandbox") || json_object_get(root, "permissions"))
		return SETTINGS_CLAUDE;
	if (strstr(name, ".srt") || strstr(name, "srt-settings"))
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

/* What somebody may have meant to give who gave no JSON. */
static const char *other_text(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(" \t\r\n", text[at]))
		at++;
	if (at + 1 < len && text[at] == '/' && (text[at + 1] == '/' || text[at + 1] == '*'))
		return "; JSON has no comments";
	if (at < len && !strchr("{[\"", text[at]))
		return "; a list of hosts, one a line, is for --allow-list or --deny-list";
	return "";
}

static struct settings *parse(const char *text, size_t len, const char *file, bool own,
			      const enum settings_shape *shape, settings_warn_cb *warn_cb,
			      void *arg, struct error *err)
{
	struct parse_state ps = { .own = own, .warn = warn_cb, .warn_arg = arg, .err = err };
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
		(void)error_set(err, 0, "%s:%d: %s%s", file, root ? 1 : jerr.line,
				root ? "must be a JSON object" : jerr.text, other_text(text, len));
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
	if (rc == 0 && ps.idle)
		ps.warn(ps.warn_arg, ps.out->file, ps.idle_line, ps.idle);
	free(ps.idle);
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
	return parse(text, len, file, false, NULL, warn_cb, arg, err);
}

struct settings *settings_parse_own(const char *text, size_t len, const char *file,
				    settings_warn_cb *warn_cb, void *arg, struct error *err)
{
	return parse(text, len, file, true, NULL, warn_cb, arg, err);
}

struct settings *settings_parse_as(const char *text, size_t len, const char *file,
				   enum settings_shape shape, settings_warn_cb *warn_cb, void *arg,
				   struct error *err)
{
	return parse(text, len, file, false, &shape, warn_cb, arg, err);
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

const char *settings_socket_note(const struct settings *s, unsigned *line)
{
	const struct settings_list *l = &s->list[SETTINGS_UNIX_SOCKETS];

	if (!l->n)
		return NULL;
	*line = l->v[0].line;
	return "network.allowUnixSockets: any path opens every unix socket that the command can "
	       "reach, those of agents and container engines too; without the key none is";
}
