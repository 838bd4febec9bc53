#include "cli/rules.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/reread.h"

/* Whether an option would allow something that only the managed file may. */
static bool is_locked(const struct option_value *v, const char *managed_only)
{
	if (!managed_only)
		return false;
	return v->id == OPT_ALLOW || v->id == OPT_ALLOW_LIST || v->id == OPT_ALLOW_PRIVATE;
}

/*
 * The list that --only makes. Where settings say that only the listed hosts are open
 * (strictAllowlist, allowManagedDomainsOnly) it may narrow them, and adds nothing.
 */
static enum list own_list(const struct layers *l)
{
	bool locked = layers_managed_only(l) || layers_flag(l, SETTINGS_STRICT) == SETTINGS_YES;

	return locked ? LIST_WITHIN : LIST_ONLY;
}

/* Which list an option's value joins. */
static int add_rule(struct policy *p, const struct option_value *v, enum list own,
		    struct reread *reread, struct error *err)
{
	switch (v->id) {
	case OPT_ALLOW:
		return policy_add(p, LIST_ALLOW, v->value, v->option, 0, NULL, err);
	case OPT_DENY:
		return policy_add(p, LIST_DENY, v->value, v->option, 0, NULL, err);
	case OPT_ONLY:
		return policy_add(p, own, v->value, v->option, 0, NULL, err);
	case OPT_ALLOW_PRIVATE:
		return policy_add(p, LIST_PRIVATE, v->value, v->option, 0, NULL, err);
	case OPT_ALLOW_LIST:
		return reread_list(reread, p, LIST_ALLOW, v->value, err);
	case OPT_DENY_LIST:
		return reread_list(reread, p, LIST_DENY, v->value, err);
	case OPT_POLICY: /* a layer of its own */
		return 0;
	default:
		return error_set(err, ENOTSUP, "%s %s", v->option, v->value);
	}
}

static int add_options(struct policy *p, const struct run_options *o, const struct layers *l,
		       struct reread *reread, struct error *err)
{
	const char *managed_only = layers_managed_only(l);

	for (size_t i = 0; i < o->rules.n; i++) {
		const struct option_value *v = &o->rules.v[i];

		if (is_locked(v, managed_only)) {
			log_warn("%s %s has no effect: %s allows managed domains only", v->option,
				 v->value, managed_only);
			continue;
		}
		if (add_rule(p, v, own_list(l), reread, err) < 0)
			return error_wrap(err, "%s", v->option);
	}
	if (o->strict)
		policy_set_strict(p, true);
	return 0;
}

const char *rules_kept_to(const struct run_options *o)
{
	for (size_t i = 0; o->locked && i < o->rules.n; i++) {
		if (o->rules.v[i].id == OPT_POLICY)
			return o->rules.v[i].value;
	}
	return NULL;
}

/* Refusals must not advise an option that has no effect. */
static void set_keeper(struct policy *p, const struct run_options *o, const struct layers *l)
{
	const char *managed = layers_managed_only(l), *file = rules_kept_to(o);

	if (managed || file)
		policy_set_keeper(p, managed != NULL, managed ? managed : file);
}

static int load(struct rules *r, const struct run_options *o, const char *cwd,
		struct reread *reread, struct error *err)
{
	struct rules made = { .layers = layers_load(o, cwd, reread, err) };

	if (!made.layers)
		return -1;
	made.policy = policy_new();
	if (add_options(made.policy, o, made.layers, reread, err) < 0 ||
	    layers_apply(made.layers, made.policy, reread, err) < 0) {
		rules_clear(&made);
		return -1;
	}
	set_keeper(made.policy, o, made.layers);
	*r = made;
	return 0;
}

int rules_load(struct rules *r, const struct run_options *o, const char *cwd, struct error *err)
{
	return load(r, o, cwd, NULL, err);
}

/* Where half of a change may have arrived, nothing is open that was not before. */
static void settle(struct rules *r, const struct rules *before, struct reread *reread)
{
	r->stamps = reread->stamps;
	reread->stamps = (struct liststamps){ .v = NULL };
	r->rest_ms = liststamps_rest_ms(&r->stamps, clock_ms());
	if (reread->moved || reread->nkept > 0 || r->rest_ms > 0)
		policy_bound(r->policy, before->policy);
}

int rules_reread(struct rules *r, const struct run_options *o, const char *cwd,
		 const struct rules *before, const struct filemark *marks, struct error *err)
{
	struct reread reread = { .before = before, .marks = marks };
	int rc;

	/* Begun anew for each file that fails: of a broken one nothing must have been taken. */
	do
		rc = load(r, o, cwd, &reread, err);
	while (rc < 0 && reread_keep_failed(&reread, err));
	if (rc == 0)
		settle(r, before, &reread);
	if (rc == 0 && (reread.moved || reread.nkept > 0)) {
		*err = reread.why;
		rc = 1;
	}
	reread_clear(&reread);
	return rc;
}

static int add_bounds(struct policy *p, const struct run_options *o, struct error *err)
{
	for (size_t i = 0; i < o->rules.n; i++) {
		const struct option_value *v = &o->rules.v[i];

		if (policy_add(p, LIST_SESSION_DENY, v->value, v->option, 0, NULL, err) < 0)
			return error_wrap(err, "%s", v->option);
	}
	for (size_t i = 0; i < o->within.n; i++) {
		if (policy_add(p, LIST_SESSION, o->within.v[i], option_spelling(OPT_ONLY), 0, NULL,
			       err) < 0)
			return -1;
	}
	return 0;
}

int rules_share(struct rules *r, const struct rules *base, const struct run_options *o,
		struct error *err)
{
	struct rules made = { .layers = layers_ref(base->layers),
			      .policy = policy_share(base->policy) };

	if (add_bounds(made.policy, o, err) < 0) {
		rules_clear(&made);
		return -1;
	}
	*r = made;
	return 0;
}

void rules_clear(struct rules *r)
{
	policy_free(r->policy);
	layers_free(r->layers);
	liststamps_clear(&r->stamps);
	*r = (struct rules){ .layers = NULL };
}
