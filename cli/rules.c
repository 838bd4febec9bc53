#include "cli/rules.h"

#include <errno.h>

/* Which list an option's value joins. */
static int add_rule(struct policy *p, const struct option_value *v, struct error *err)
{
	switch (v->id) {
	case OPT_ALLOW:
		return policy_add(p, LIST_ALLOW, v->value, v->option, 0, NULL, err);
	case OPT_DENY:
		return policy_add(p, LIST_DENY, v->value, v->option, 0, NULL, err);
	case OPT_ONLY:
		return policy_add(p, LIST_ONLY, v->value, v->option, 0, NULL, err);
	case OPT_ALLOW_PRIVATE:
		return policy_add(p, LIST_PRIVATE, v->value, v->option, 0, NULL, err);
	default:
		return error_set(err, ENOTSUP, "%s %s", v->option, v->value);
	}
}

struct policy *rules_build(const struct run_options *o, struct error *err)
{
	struct policy *p = policy_new();

	for (size_t i = 0; i < o->rules.n; i++) {
		if (add_rule(p, &o->rules.v[i], err) < 0) {
			policy_free(p);
			return NULL;
		}
	}
	policy_set_strict(p, o->strict);
	return p;
}
