#include "policy/learnfile.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xalloc.h"
#include "policy/hosting.h"
#include "policy/policy.h"
#include "policy/suffix.h"

#define PATTERN_MAX (TARGET_TEXT_MAX + 2)

/* The member of an object, made if it is missing; borrowed. */
static json_t *member(json_t *object, const char *key, json_t *(*make)(void))
{
	json_t *v = json_object_get(object, key);

	if (!v) {
		v = make();
		(void)json_object_set_new(object, key, v);
	}
	return v;
}

/* What the file allows by itself. An entry that it may not have was refused when it was read. */
static struct policy *policy_of(const json_t *network, json_t *allowed)
{
	struct policy *p = policy_new();
	struct error err;
	json_t *v;
	size_t i;

	json_array_foreach(allowed, i, v)(void)
		policy_add(p, LIST_ALLOW, json_string_value(v), NULL, 0, NULL, &err);
	json_array_foreach(json_object_get(network, "allowLocal"), i, v)(void)
		policy_add(p, LIST_ALLOW, json_string_value(v), NULL, 0, NULL, &err);
	return p;
}

static bool is_covered(const struct policy *p, const struct target *t)
{
	struct decision d;

	policy_decide(p, t, &d);
	return d.verdict == VERDICT_ALLOW;
}

static bool has_text(json_t *array, const char *text)
{
	json_t *v;
	size_t i;

	json_array_foreach(array, i, v)
	{
		if (strcmp(json_string_value(v), text) == 0)
			return true;
	}
	return false;
}

static json_t *day(int64_t when)
{
	time_t t = (time_t)when;
	char text[32];
	struct tm tm;

	(void)gmtime_r(&t, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static void put_seen(json_t *learned, const char *pattern, const struct learnt *l)
{
	json_t *seen = member(learned, pattern, json_object);

	if (!json_is_object(seen))
		return; /* somebody's own words */
	if (!json_object_get(seen, "first"))
		(void)json_object_set_new(seen, "first", day(l->first));
	(void)json_object_set_new(seen, "last", day(l->last));
	if (l->program && !json_object_get(seen, "program"))
		(void)json_object_set_new(seen, "program", json_string(l->program));
}

static size_t merge(json_t *root, const struct learnt *v, size_t n)
{
	json_t *network = member(root, "network", json_object);
	json_t *allowed = member(network, "allowedDomains", json_array);
	json_t *learned = member(network, "learned", json_object);
	struct policy *p = policy_of(network, allowed);
	char pattern[TARGET_TEXT_MAX];
	size_t added = 0;

	for (size_t i = 0; i < n; i++) {
		(void)target_format(&v[i].target, pattern);
		if (!is_covered(p, &v[i].target)) {
			(void)json_array_append_new(allowed, json_string(pattern));
			added++;
		}
		if (has_text(allowed, pattern) && json_is_object(learned))
			put_seen(learned, pattern, &v[i]);
		if (v[i].is_private && !target_is_literal(&v[i].target)) {
			json_t *names = member(network, "allowPrivate", json_array);

			if (!has_text(names, v[i].target.host.s))
				(void)json_array_append_new(names, json_string(v[i].target.host.s));
		}
	}
	policy_free(p);
	return added;
}

char *learnfile_merge(const char *old, const struct learnt *v, size_t n, size_t *added,
		      struct error *err)
{
	json_t *root = old ? json_loads(old, JSON_REJECT_DUPLICATES, NULL) : json_object();
	char *text, *out;

	if (!json_is_object(root) || (json_object_get(root, "network") &&
				      !json_is_object(json_object_get(root, "network")))) {
		json_decref(root);
		(void)error_set(err, 0, "no settings file");
		return NULL;
	}
	*added = merge(root, v, n);
	text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (!text)
		die("out of memory");
	out = xasprintf("%s\n", text);
	free(text);
	return out;
}

/* The part behind the first label, where a wildcard may stand before it; or NULL. */
static const char *parent_of(const struct target *t, struct suffixes *suffixes)
{
	const char *dot = target_is_literal(t) ? NULL : strchr(t->host.s, '.');

	if (!dot || suffix_is_shared(suffixes, dot + 1, NULL) || hosting_is_shared(dot + 1))
		return NULL;
	return dot + 1;
}

/* One who has a @parent, and another. */
static bool are_siblings(const struct learnt *a, const char *parent, const struct learnt *b)
{
	const char *dot = target_is_literal(&b->target) ? NULL : strchr(b->target.host.s, '.');

	return dot && a->target.port == b->target.port && strcmp(parent, dot + 1) == 0;
}

void learnfile_propose(const struct learnt *v, size_t n, struct suffixes *suffixes,
		       learnfile_propose_cb *cb, void *arg)
{
	for (size_t i = 0; i < n; i++) {
		const char *parent = parent_of(&v[i].target, suffixes);
		size_t before = 0, count = 0;
		char pattern[PATTERN_MAX];

		for (size_t k = 0; parent && k < n; k++) {
			if (!are_siblings(&v[i], parent, &v[k]))
				continue;
			count++;
			before += k < i;
		}
		if (before > 0 || count < LEARNFILE_SIBLINGS)
			continue;
		(void)snprintf(pattern, sizeof(pattern), "*.%s:%u", parent,
			       (unsigned)v[i].target.port);
		cb(arg, pattern, count);
	}
}
