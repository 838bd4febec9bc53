#include "cli/rules.h"

#include <errno.h>

#include "base/log.h"
#include "policy/listfile.h"

/* Whether an option would allow something that only the managed file may. */
static bool is_locked(const struct option_value *v, const char *managed_only)
{
	if (!managed_only)
		return false;
	return v->id == OPT_ALLOW || v->id == OPT_ALLOW_LIST || v->id == OPT_ALLOW_PRIVATE;
}

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
	case OPT_ALLOW_LIST:
		return listfile_load(p, LIST_ALLOW, v->value, err);
	case OPT_DENY_LIST:
		return listfile_load(p, LIST_DENY, v->value, err);
	case OPT_POLICY: /* a layer of its own */
		return 0;
	default:
		return error_set(err, ENOTSUP, "%s %s", v->option, v->value);
	}
}

static int add_options(struct policy *p, const struct run_options *o, const char *managed_only,
		       struct error *err)
{
	for (size_t i = 0; i < o->rules.n; i++) {
		const struct option_value *v = &o->rules.v[i];

		if (is_locked(v, managed_only)) {
			log_warn("%s %s has no effect: %s allows managed domains only", v->option,
				 v->value, managed_only);
			continue;
		}
		if (add_rule(p, v, err) < 0)
			return -1;
	}
	if (o->strict)
		policy_set_strict(p, true);
	return 0;
}

struct policy *rules_build(const struct run_options *o, const struct layers *layers,
			   struct error *err)
{
	const char *managed_only = layers ? layers_managed_only(layers) : NULL;
	struct policy *p = policy_new();

	if (add_options(p, o, managed_only, err) < 0 ||
	    (layers && layers_apply(layers, p, err) < 0)) {
		policy_free(p);
		return NULL;
	}
	return p;
}
