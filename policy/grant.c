#include "policy/grant.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonout.h"
#include "base/xalloc.h"
#include "policy/hosting.h"
#include "policy/pattern.h"
#include "policy/suffix.h"

/* An answer in the table. @rule: what a decision points to. */
struct entry {
	struct grant grant;
	struct pattern pattern;
	struct rule rule;
};

struct grants {
	grant_clock *now;
	struct entry **v; /* each on its own: decisions point into them */
	size_t n;
};

static const char *const origin[] = {
	[GRANT_RUN] = "answered for this run",
	[GRANT_PROJECT] = "answered for this project",
	[GRANT_FOREVER] = "answered for every run",
};
static_assert(ARRAY_SIZE(origin) == GRANT_NUM_SCOPES, "one origin a scope");

struct grants *grants_new(grant_clock *now)
{
	struct grants *g = xcalloc(1, sizeof(*g));

	g->now = now;
	return g;
}

void grants_free(struct grants *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++)
		free(g->v[i]);
	free(g->v);
	free(g);
}

size_t grants_count(const struct grants *g)
{
	return g->n;
}

/* What may be an answer: one host, address or *.domain, and one port. */
static bool parse_pattern(const char *text, struct pattern *out)
{
	if (pattern_parse(text, strlen(text), out, NULL))
		return false;
	if (out->nports != 1 || out->ports[0].lo != out->ports[0].hi)
		return false;
	return out->kind == PATTERN_HOST || out->kind == PATTERN_ADDR ||
	       (out->kind == PATTERN_BELOW && !pattern_is_too_wide(out));
}

static struct entry *same(struct grants *g, const struct grant *grant)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i]->grant.scope == grant->scope &&
		    strcmp(g->v[i]->grant.pattern, grant->pattern) == 0)
			return g->v[i];
	return NULL;
}

bool grants_add(struct grants *g, const struct grant *grant)
{
	struct pattern pattern;
	struct entry *e;

	if (!parse_pattern(grant->pattern, &pattern))
		return false;
	e = same(g, grant);
	if (!e) {
		if (g->n == GRANTS_MAX)
			return false;
		e = xcalloc(1, sizeof(*e));
		g->v = xreallocarray(g->v, g->n + 1, sizeof(*g->v));
		g->v[g->n++] = e;
	}
	e->grant = *grant;
	e->pattern = pattern;
	e->rule = (struct rule){ .text = e->grant.pattern, .file = origin[grant->scope] };
	return true;
}

void grants_drop_saved(struct grants *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i]->grant.scope == GRANT_RUN)
			g->v[kept++] = g->v[i];
		else
			free(g->v[i]);
	}
	g->n = kept;
}

static bool matches(const struct pattern *p, const struct target *t)
{
	if (t->port && !pattern_has_port(p, t->port))
		return false;
	if (p->kind == PATTERN_ADDR)
		return target_is_literal(t) && addr_equal(&p->cidr.addr, &t->addr);
	if (target_is_literal(t))
		return false;
	if (p->kind == PATTERN_HOST)
		return hostname_equal(&p->host, &t->host);
	return hostname_is_under(&t->host, p->host.s) && !hostname_equal(&p->host, &t->host);
}

/* Whether @a is to be heard before @b. */
static bool before(const struct entry *a, const struct entry *b, bool any_port)
{
	bool exact_a = a->pattern.kind != PATTERN_BELOW, exact_b = b->pattern.kind != PATTERN_BELOW;

	if (any_port && a->grant.allow != b->grant.allow)
		return a->grant.allow;
	if (exact_a != exact_b)
		return exact_a;
	if (a->pattern.host.len != b->pattern.host.len)
		return a->pattern.host.len > b->pattern.host.len;
	return a->grant.scope < b->grant.scope;
}

bool grant_is_saved(const struct rule *rule)
{
	return rule->file == origin[GRANT_PROJECT] || rule->file == origin[GRANT_FOREVER];
}

bool grant_is_over(const struct grant *g, int64_t now)
{
	return g->until && (g->until <= now || now < g->when - GRANT_CLOCK_SLACK);
}

bool grants_find(const struct grants *g, const struct target *t, struct decision *out)
{
	const struct entry *best = NULL;
	int64_t now = g->n ? g->now() : 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct entry *e = g->v[i];

		if (grant_is_over(&e->grant, now))
			continue;
		if (matches(&e->pattern, t) && (!best || before(e, best, t->port == 0)))
			best = e;
	}
	/* One port's no is not the name's. */
	if (!best || (t->port == 0 && !best->grant.allow))
		return false;
	*out = (struct decision){
		.verdict = best->grant.allow ? VERDICT_ALLOW : VERDICT_DENY,
		.code = best->grant.allow ? CODE_OK : CODE_ASKED_NO,
		.rule = &best->rule,
		.by = best->grant.by,
	};
	return true;
}

bool grant_widen(const struct target *t, struct suffixes *suffixes, char out[GRANT_PATTERN_MAX])
{
	const char *dot = strchr(t->host.s, '.');
	char text[GRANT_PATTERN_MAX];
	struct pattern p;

	if (target_is_literal(t) || !dot || suffix_is_shared(suffixes, dot + 1, NULL) ||
	    hosting_is_shared(dot + 1))
		return false;
	(void)snprintf(text, sizeof(text), "*%.*s:%u", HOSTNAME_MAX, dot, (unsigned)t->port);
	if (!parse_pattern(text, &p))
		return false;
	memcpy(out, text, sizeof(text));
	return true;
}

size_t grant_format(const struct grant *grant, char out[GRANT_LINE_MAX])
{
	struct jsonout j;

	jsonout_begin(&j, out, GRANT_LINE_MAX);
	jsonout_str(&j, "pattern", grant->pattern);
	jsonout_str(&j, "verdict", grant->allow ? "allow" : "deny");
	jsonout_str(&j, "project", grant->scope == GRANT_PROJECT ? grant->project : "*");
	jsonout_uint(&j, "when", (uint64_t)grant->when);
	jsonout_uint(&j, "until", (uint64_t)grant->until);
	jsonout_str(&j, "by", grant->by);
	return jsonout_end(&j);
}

/* jsonout.h writes bytes as U+0001..U+00FF, so that is what they are read from. */
static bool copy_bytes(const char *utf8, char *out, size_t size)
{
	size_t n = 0;

	for (const unsigned char *p = (const void *)utf8; *p; p++) {
		unsigned c = *p;

		if (c >= 0x80) {
			if (c != 0xc2 && c != 0xc3)
				return false;
			c = (c & 3) << 6 | (*++p & 0x3f);
		}
		if (n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return true;
}

static bool get_string(const json_t *o, const char *key, char *out, size_t size)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && copy_bytes(s, out, size);
}

static bool get_time(const json_t *o, const char *key, int64_t *out)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*out = json_integer_value(v);
	return true;
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			return false;
	return true;
}

static bool read_grant(const json_t *o, struct grant *g)
{
	struct pattern pattern;
	char verdict[8];

	if (!get_string(o, "pattern", g->pattern, sizeof(g->pattern)) ||
	    !get_string(o, "verdict", verdict, sizeof(verdict)) ||
	    !get_string(o, "project", g->project, sizeof(g->project)) ||
	    !get_string(o, "by", g->by, sizeof(g->by)) || !get_time(o, "when", &g->when) ||
	    !get_time(o, "until", &g->until))
		return false;
	if (!parse_pattern(g->pattern, &pattern) || !is_printable(g->by))
		return false;
	g->allow = strcmp(verdict, "allow") == 0;
	if (!g->allow && strcmp(verdict, "deny") != 0)
		return false;
	g->scope = strcmp(g->project, "*") == 0 ? GRANT_FOREVER : GRANT_PROJECT;
	if (g->scope == GRANT_FOREVER)
		g->project[0] = '\0';
	return g->scope == GRANT_FOREVER || g->project[0] == '/';
}

int grant_parse(const char *line, size_t len, struct grant *out, struct error *err)
{
	json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	struct grant *g = xcalloc(1, sizeof(*g));
	bool ok = json_is_object(o) && read_grant(o, g);

	if (ok)
		*out = *g;
	json_decref(o);
	free(g);
	return ok ? 0 : error_set(err, 0, "not a remembered answer");
}
