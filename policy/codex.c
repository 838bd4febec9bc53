#include "policy/codex.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "policy/toml.h"

#define LEFT_MAX 400 /* bytes of names in the last warning; the rest of them is "..." */

/**
 * struct codex - one import
 * @profile: what default_permissions names, or NULL
 * @second: the profile is known, so that its tables can be told from others'
 * @seen: it has a network table
 * @off: network.enabled = false
 * @read_only: sandbox_mode; writable_roots do not hold then
 * @proxied: something there or in [features.network_proxy] turns the filter on
 */
struct codex {
	struct settings *out;
	char *profile;
	bool second, seen, off, proxied, open, read_only;
	char *left; /* names of what is not about hosts or files, ", " between them */
	settings_warn_cb *warn;
	void *warn_arg;
};

static int fail(struct codex *c, const struct toml_item *it, struct error *err, const char *what)
{
	return error_set(err, 0, "%s:%u: '%s' %s", c->out->file, it->line, it->key[it->nkey - 1],
			 what);
}

/* @text is freed. */
static void tell(struct codex *c, unsigned line, char *text)
{
	c->warn(c->warn_arg, c->out->file, line, text);
	free(text);
}

static void add(struct codex *c, enum settings_list_id id, const char *text, unsigned line)
{
	struct settings_list *l = &c->out->list[id];

	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct settings_entry){ .text = xstrdup(text), .line = line };
}

/* An entry of a list or the key of a table, with "allow" or "deny" behind it. */
static int take_domain(struct codex *c, const struct toml_item *it, const char *name,
		       const char *verdict, struct error *err)
{
	if (verdict && strcmp(verdict, "allow") == 0)
		add(c, SETTINGS_ALLOWED_DOMAINS, name, it->line);
	else if (verdict && strcmp(verdict, "deny") == 0)
		add(c, SETTINGS_DENIED_DOMAINS, name, it->line);
	else
		return fail(c, it, err, "must be \"allow\" or \"deny\"");
	c->proxied = true;
	return 0;
}

static int take_socket(struct codex *c, const struct toml_item *it, struct error *err)
{
	const char *verdict = it->text ? it->text : "";

	if (strcmp(verdict, "allow") == 0)
		add(c, SETTINGS_UNIX_SOCKETS, it->key[it->nkey - 1], it->line);
	else if (strcmp(verdict, "none") != 0 && strcmp(verdict, "deny") != 0)
		return fail(c, it, err, "must be \"allow\" or \"none\"");
	return 0;
}

static bool is_flag(const struct toml_item *it)
{
	return it->kind == TOML_TRUE || it->kind == TOML_FALSE;
}

static int take_list(struct codex *c, const struct toml_item *it, enum settings_list_id id,
		     struct error *err)
{
	if (it->kind == TOML_ARRAY && !it->element)
		return 0;
	if (it->kind != TOML_STRING || !it->element)
		return fail(c, it, err, "must be an array of strings");
	if (id == SETTINGS_ALLOW_WRITE && it->text[0] != '/' && it->text[0] != '~')
		tell(c, it->line,
		     xasprintf("'%s' is not taken over: it is no absolute path", it->text));
	else if (id == SETTINGS_UNIX_SOCKETS || id == SETTINGS_ALLOW_WRITE)
		add(c, id, it->text, it->line);
	else
		return take_domain(c, it, it->text,
				   id == SETTINGS_ALLOWED_DOMAINS ? "allow" : "deny", err);
	return 0;
}

/* One key of a network table; @k of @n segments are left below it. */
static int take_network(struct codex *c, const struct toml_item *it, const char *const *k, size_t n,
			struct error *err)
{
	static const struct {
		const char *key;
		enum settings_list_id list;
	} lists[] = { { "allowed_domains", SETTINGS_ALLOWED_DOMAINS },
		      { "denied_domains", SETTINGS_DENIED_DOMAINS },
		      { "allow_unix_sockets", SETTINGS_UNIX_SOCKETS } };
	bool yes = it->kind == TOML_TRUE;

	if (n == 0 || (n == 1 && it->kind == TOML_TABLE && !it->element))
		return 0;
	if (n == 2 && strcmp(k[0], "domains") == 0)
		return take_domain(c, it, k[1], it->text, err);
	if (n == 2 && strcmp(k[0], "unix_sockets") == 0)
		return take_socket(c, it, err);
	for (size_t i = 0; n == 1 && i < ARRAY_SIZE(lists); i++) {
		if (strcmp(k[0], lists[i].key) == 0)
			return take_list(c, it, lists[i].list, err);
	}
	if (n == 1 && (strcmp(k[0], "domains") == 0 || strcmp(k[0], "unix_sockets") == 0))
		return fail(c, it, err, "must be a table");
	if (n == 1 && strcmp(k[0], "enabled") == 0) {
		if (!is_flag(it))
			return fail(c, it, err, "must be true or false");
		c->off |= !yes;
		c->open |= yes;
		return 0;
	}
	if (n == 1 && strcmp(k[0], "dangerously_allow_all_unix_sockets") == 0) {
		if (!is_flag(it))
			return fail(c, it, err, "must be true or false");
		c->out->flag[SETTINGS_ALL_UNIX_SOCKETS] = yes ? SETTINGS_YES : SETTINGS_NO;
		return 0;
	}
	if (it->kind != TOML_TABLE && !it->element)
		tell(c, it->line,
		     xasprintf("'%s', a key of the network table, has no effect here", k[n - 1]));
	return 0;
}

static bool is(const struct toml_item *it, size_t i, const char *name)
{
	return i < it->nkey && strcmp(it->key[i], name) == 0;
}

static int first_pass(void *arg, const struct toml_item *it, struct error *err)
{
	struct codex *c = arg;

	if (it->nkey != 1 || !is(it, 0, "default_permissions"))
		return 0;
	if (it->kind != TOML_STRING || it->element || c->profile)
		return fail(c, it, err, "must be one string");
	c->profile = xstrdup(it->text);
	return 0;
}

/* [sandbox_workspace_write], the older form: directories, and the network as a whole. */
static int take_workspace(struct codex *c, const struct toml_item *it, struct error *err)
{
	if (it->nkey == 1 && it->kind != TOML_TABLE)
		return fail(c, it, err, "must be a table");
	if (it->nkey == 2 && is(it, 1, "writable_roots"))
		return take_list(c, it, SETTINGS_ALLOW_WRITE, err);
	if (it->nkey == 2 && is(it, 1, "network_access")) {
		if (!is_flag(it))
			return fail(c, it, err, "must be true or false");
		c->off |= it->kind == TOML_FALSE;
		c->open |= it->kind == TOML_TRUE;
		return 0;
	}
	if (it->nkey > 1 && !it->element)
		tell(c, it->line, xasprintf("'%s' has no effect here", it->key[it->nkey - 1]));
	return 0;
}

static int take_mode(struct codex *c, const struct toml_item *it, struct error *err)
{
	if (it->kind != TOML_STRING || it->element)
		return fail(c, it, err, "must be one string");
	c->read_only = strcmp(it->text, "read-only") == 0;
	if (c->read_only)
		tell(c, it->line,
		     xasprintf("sandbox_mode \"read-only\" is not taken over: run with "
			       "--deny-write ."));
	else if (strcmp(it->text, "workspace-write") != 0)
		tell(c, it->line,
		     xasprintf("sandbox_mode \"%s\" is not taken over: a run is always confined",
			       it->text));
	return 0;
}

/* Something else: named once, by its first word, or its second where the first says little. */
static void leave(struct codex *c, const struct toml_item *it)
{
	const char *name = it->key[0];
	CLEANUP_FREE char *before = NULL, *padded = NULL, *wanted = NULL;

	if (c->left && strlen(c->left) > LEFT_MAX)
		return;
	before = take_ptr(c->left);
	if (is(it, 0, "features") && it->nkey > 1)
		name = it->key[1];
	padded = xasprintf(", %s,", before ? before : "");
	wanted = xasprintf(", %s,", name);
	if (strstr(padded, wanted) || (is(it, 0, "features") && it->nkey == 1))
		c->left = take_ptr(before);
	else
		c->left = before ? xasprintf("%s, %s", before, name) : xstrdup(name);
	if (c->left && strlen(c->left) > LEFT_MAX) {
		CLEANUP_FREE char *full = take_ptr(c->left);

		c->left = xasprintf("%.*s ...", LEFT_MAX, full);
	}
}

static int second_pass(void *arg, const struct toml_item *it, struct error *err)
{
	struct codex *c = arg;

	if (is(it, 0, "features") && is(it, 1, "network_proxy")) {
		c->proxied |= it->nkey == 2 && it->kind == TOML_TRUE;
		if (it->nkey == 3 && is(it, 2, "enabled")) {
			c->proxied |= it->kind == TOML_TRUE;
			return 0;
		}
		return it->nkey > 2 ? take_network(c, it, it->key + 2, it->nkey - 2, err) : 0;
	}
	if (is(it, 0, "sandbox_workspace_write"))
		return take_workspace(c, it, err);
	if (it->nkey == 1 && is(it, 0, "sandbox_mode"))
		return take_mode(c, it, err);
	if (!is(it, 0, "permissions")) {
		if (!is(it, 0, "default_permissions"))
			leave(c, it);
		return 0;
	}
	/* an older form had one table for all */
	if (is(it, 1, "network")) {
		c->seen = true;
		return take_network(c, it, it->key + 2, it->nkey - 2, err);
	}
	if (!c->profile || !is(it, 1, c->profile))
		return 0;
	c->seen = true;
	if (is(it, 2, "extends") && it->kind == TOML_STRING && it->text[0] != ':')
		return fail(c, it, err, "names another profile, which is not followed here");
	if (!is(it, 2, "network")) {
		if (it->nkey > 2 && it->kind != TOML_TABLE && !it->element && !is(it, 2, "extends"))
			tell(c, it->line,
			     xasprintf("'%s' of '%s' is not taken over", it->key[it->nkey - 1],
				       it->key[it->nkey - 2]));
		return 0;
	}
	return take_network(c, it, it->key + 3, it->nkey - 3, err);
}

static int contradiction(const struct codex *c, struct error *err)
{
	const struct settings_list *allow = &c->out->list[SETTINGS_ALLOWED_DOMAINS];
	const struct settings_list *deny = &c->out->list[SETTINGS_DENIED_DOMAINS];

	for (size_t i = 0; i < allow->n; i++) {
		for (size_t k = 0; k < deny->n; k++) {
			if (strcmp(allow->v[i].text, deny->v[k].text) == 0)
				return error_set(err, 0, "%s:%u: '%s' is allowed and denied",
						 c->out->file, allow->v[i].line, allow->v[i].text);
		}
	}
	return 0;
}

static void clear(struct settings_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].text);
	free(l->v);
	*l = (struct settings_list){ .n = 0 };
}

static int finish(struct codex *c, struct error *err)
{
	bool builtin = c->profile && c->profile[0] == ':';

	if (c->profile && !builtin && !c->seen)
		return error_set(err, 0,
				 "%s: default_permissions names '%s', and there is no "
				 "[permissions.%s]",
				 c->out->file, c->profile, c->profile);
	if (contradiction(c, err) < 0)
		return -1;
	if (builtin && strcmp(c->profile, ":workspace") != 0)
		tell(c, 0, xasprintf("default_permissions \"%s\" is not taken over", c->profile));
	if (c->read_only && c->out->list[SETTINGS_ALLOW_WRITE].n) {
		tell(c, 0,
		     xstrdup("writable_roots do not hold there in sandbox_mode "
			     "\"read-only\", and are not taken over"));
		clear(&c->out->list[SETTINGS_ALLOW_WRITE]);
	}
	if (c->left)
		tell(c, 0, xasprintf("not taken over: %s", c->left));
	if (c->off) {
		if (c->out->list[SETTINGS_ALLOWED_DOMAINS].n)
			c->warn(c->warn_arg, c->out->file, 0,
				"the network is not enabled there, so that nothing is allowed "
				"here");
		clear(&c->out->list[SETTINGS_ALLOWED_DOMAINS]);
	} else if (c->open && !c->proxied) {
		c->warn(c->warn_arg, c->out->file, 0,
			"the network is unrestricted there, and no list of hosts follows from "
			"that: nothing is allowed here; name hosts with --allow or in "
			"allowedDomains, or "
			"let --learn find them");
	}
	return 0;
}

struct settings *codex_parse(const char *text, size_t len, const char *file, settings_warn_cb *warn,
			     void *arg, struct error *err)
{
	struct codex c = { .warn = warn, .warn_arg = arg };
	int rc;

	c.out = xcalloc(1, sizeof(*c.out));
	c.out->file = xstrdup(file);
	rc = toml_parse(text, len, file, first_pass, &c, err);
	if (rc == 0)
		rc = toml_parse(text, len, file, second_pass, &c, err);
	if (rc == 0)
		rc = finish(&c, err);
	free(c.profile);
	free(c.left);
	if (rc == 0)
		return c.out;
	settings_free(c.out);
	return NULL;
}
