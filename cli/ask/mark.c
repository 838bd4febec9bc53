#include "cli/ask/mark.h"

#include <stdio.h>
#include <string.h>

#include "policy/lookalike.h"
#include "policy/pattern.h"

/* An allowed name that this one may be taken for. */
struct likeness {
	const char *name;
	char found[HOSTNAME_MAX + 1];
};

static bool compare(void *ctx, const struct pattern *pattern, const struct rule *rule)
{
	struct likeness *l = ctx;

	(void)rule;
	if (!pattern_is_name(pattern) || !lookalike_of(l->name, pattern->host.s))
		return true;
	(void)snprintf(l->found, sizeof(l->found), "%s", pattern->host.s);
	return false;
}

void mark_target(const struct policy *p, const struct target *t, char out[QUESTION_TEXT_MAX])
{
	static const char foreign[] =
		"an international name (xn--): in other letters it may look like another";
	struct likeness l = { .name = t->host.s };
	const char *known;

	out[0] = '\0';
	if (target_is_literal(t)) {
		(void)snprintf(out, QUESTION_TEXT_MAX, "an address without a name%s",
			       addr_classify(&t->addr) == ADDR_PUBLIC
				       ? ""
				       : ", not of the public internet");
		return;
	}
	if (lookalike_is_foreign(&t->host)) {
		memcpy(out, foreign, sizeof(foreign));
		return;
	}
	policy_each(p, LIST_ALLOW, compare, &l);
	known = l.found[0] ? l.found : lookalike_known(t->host.s);
	if (known)
		(void)snprintf(out, QUESTION_TEXT_MAX, "looks like %s, and is not", known);
}
