/*
 * why.c - `sbx-net why HOST[:PORT]` and `sbx-net check [FILE]...`: the policy without a run
 *
 * Both build the policy by the very calls of `run`, so that they cannot disagree with the proxy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/allowfrom.h"
#include "cli/commands.h"
#include "cli/ask/memory.h"
#include "cli/rules.h"
#include "cli/suffixfile.h"
#include "dns/hostsfile.h"
#include "dns/resolver.h"
#include "launcher/launcher.h"
#include "policy/grant.h"
#include "policy/lint.h"
#include "policy/pattern.h"
#include "policy/policy.h"
#include "policy/refusal.h"

#define WHY_PORT      443 /* of a HOST without a port */
#define EXIT_REFUSED  1
#define EXIT_WARNINGS 1
#define EXIT_BROKEN   2

/* struct loaded - a policy and what its entries point into */
struct loaded {
	struct rules rules;
	struct allowfrom *from;
};

static int load(struct loaded *l, struct run_options *o, struct error *err)
{
	CLEANUP_FREE char *cwd = realpath(".", NULL);

	l->from = allowfrom_new(o, cwd ? cwd : ".", err);
	if (!l->from)
		return -1;
	return rules_load(&l->rules, o, cwd ? cwd : ".", err);
}

static void loaded_clear(struct loaded *l)
{
	rules_clear(&l->rules);
	allowfrom_free(l->from);
}

/* What was answered for later runs counts here as it does there. */
static struct grants *hear_answers(struct rules *r)
{
	struct grants *g = grants_new(memory_now);
	CLEANUP_FREE char *cwd = realpath(".", NULL);
	struct error err;

	if (memory_load(g, cwd ? cwd : ".", &err) < 0)
		log_warn("remembered answers: %s", err.msg);
	if (!layers_managed_only(r->layers))
		policy_set_answers(r->policy, g);
	return g;
}

static void print_rule(const struct rule *r)
{
	char text[512], file[1024];

	if (!r)
		return;
	log_escape(text, sizeof(text), r->text, strlen(r->text));
	log_escape(file, sizeof(file), r->file, strlen(r->file));
	if (r->line)
		printf("rule: %s (%s:%u)\n", text, file, r->line);
	else
		printf("rule: %s (%s)\n", text, file);
}

/* What is known without a query, as the proxy knows it; this machine's own addresses need not be. */
static void foresee(const struct policy *p, const struct target *t, struct decision *d)
{
	struct addr v[RESOLVER_ADDRS_MAX];
	struct error ignored;
	struct hostsfile *hosts = hostsfile_open("/etc/hosts", &ignored);

	policy_foresee(p, t, v, hosts ? hostsfile_lookup(hosts, &t->host, v, ARRAY_SIZE(v)) : 0,
		       NULL, d);
	hostsfile_close(hosts);
}

static int explain(const struct policy *p, const struct target *t)
{
	char text[REFUSAL_MAX], name[TARGET_TEXT_MAX];
	struct decision d;

	policy_decide(p, t, &d);
	foresee(p, t, &d);
	if (d.verdict == VERDICT_ALLOW)
		printf("allowed %s\n", target_format(t, name));
	else if (d.verdict == VERDICT_ASK)
		printf("asked about %s (on no list)\n", target_format(t, name));
	else
		printf("%s\n", refusal_format(t, &d, text));
	print_rule(d.rule);
	printf("code: %s\n", policy_code_name(d.code));
	if (d.verdict == VERDICT_ALLOW && !target_is_literal(t))
		printf("addresses: judged when the name is resolved; those of this machine, "
		       "metadata, private and special-use ones are refused unless allowed, too\n");
	return d.verdict == VERDICT_ALLOW ? 0 : EXIT_REFUSED;
}

static int parse_target(const char *word, struct target *t)
{
	enum target_parse rc = target_parse_authority(word, strlen(word), WHY_PORT, t);
	struct pattern pattern;
	struct error err;
	char text[256];

	t->via = VIA_CONNECT;
	if (rc == TARGET_OK)
		return 0;
	/* An entry for it would be wrong in the same way, and says how it is meant to be. */
	if (pattern_parse(word, strlen(word), &pattern, &err) < 0) {
		fprintf(stderr, "sbx-net: why: %s\n", err.msg);
		return -1;
	}
	fprintf(stderr, "sbx-net: why: '%s' is no HOST[:PORT]: %s\n",
		log_escape(text, sizeof(text), word, strlen(word)),
		rc == TARGET_BAD_PORT ? "bad port" : "bad host");
	return -1;
}

static int why(struct run_options *o)
{
	struct loaded l = { .from = NULL };
	struct target t = { .port = 0 };
	struct error err;
	int status;

	if (o->ncommand != 1) {
		fprintf(stderr, "sbx-net: usage: sbx-net why [OPTION]... HOST[:PORT]\n");
		return OPTIONS_EXIT_USAGE;
	}
	if (parse_target(o->command[0], &t) < 0)
		return OPTIONS_EXIT_USAGE;
	if (load(&l, o, &err) < 0) {
		fprintf(stderr, "sbx-net: %s\n", err.msg);
		status = LAUNCHER_EXIT_SETUP;
	} else {
		struct grants *answers = hear_answers(&l.rules);

		status = explain(l.rules.policy, &t);
		policy_set_answers(l.rules.policy, NULL);
		grants_free(answers);
	}
	loaded_clear(&l);
	return status;
}

int why_main(int argc, char **argv)
{
	struct run_options o;
	int status;

	run_options_init(&o);
	status = command_options(&o, "why", argc, argv);
	if (status < 0)
		status = why(&o);
	run_options_clear(&o);
	return status;
}

static void on_lint(void *arg, const struct lint *warning)
{
	(void)arg;
	printf("%s\n", warning->text);
}

static size_t lint(const struct policy *p)
{
	struct suffixes *suffixes = suffixfile_read();
	size_t warnings;

	if (!suffixes)
		fprintf(stderr,
			"sbx-net: no public suffix list in %s (Debian: publicsuffix); fewer "
			"wildcards are warned of\n",
			SUFFIXFILE_PATH);
	warnings = lint_policy(p, suffixes, on_lint, NULL);
	suffixes_free(suffixes);
	return warnings;
}

/* Loads what the options and the FILEs say; the FILEs count as --policy. */
static int check(struct run_options *o)
{
	struct loaded l = { .from = NULL };
	struct error err;
	size_t warnings;
	int status = 0;

	for (size_t i = 0; i < o->ncommand; i++)
		options_add_rule(o, OPT_POLICY, o->command[i]);
	if (load(&l, o, &err) < 0) {
		fprintf(stderr, "sbx-net: %s\n", err.msg);
		status = EXIT_BROKEN;
	} else {
		warnings = lint(l.rules.policy) + layers_warn_sockets(l.rules.layers);
		printf("%zu allowed, %zu denied, %zu warning%s\n",
		       policy_count(l.rules.policy, LIST_ALLOW),
		       policy_count(l.rules.policy, LIST_DENY), warnings, warnings == 1 ? "" : "s");
		if (o->strict && warnings)
			status = EXIT_WARNINGS;
	}
	loaded_clear(&l);
	return status;
}

int check_main(int argc, char **argv)
{
	struct run_options o;
	int status;

	run_options_init(&o);
	status = command_options(&o, "check", argc, argv);
	if (status < 0)
		status = check(&o);
	run_options_clear(&o);
	return status;
}
