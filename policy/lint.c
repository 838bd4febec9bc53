#include "policy/lint.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "policy/hosting.h"
#include "policy/hostname.h"
#include "policy/lint_tables.h"
#include "policy/pattern.h"
#include "policy/ruleset.h"
#include "policy/suffix.h"

#define PIECE_MAX	300 /* of a file name or an entry, in a warning */
#define PORTS_TRIED_MAX 64  /* ports of an entry that are looked up one by one */
#define V4_BITS_MIN	8
#define V6_BITS_MIN	16
#define V6_ULA_FIRST	0xfc

/* The walk over one list. */
struct linter {
	const struct policy *policy;
	struct suffixes *suffixes;
	enum list list;
	lint_cb *cb;
	void *ctx;
	size_t n;
};

static void __attribute__((format(printf, 4, 5)))
warn(struct linter *l, enum lint_kind kind, const struct rule *rule, const char *fmt, ...)
{
	struct lint w = { .kind = kind, .list = l->list, .rule = rule };
	char file[PIECE_MAX], text[PIECE_MAX], place[PIECE_MAX + 16] = "";
	char why[LINT_TEXT_MAX - 2 * PIECE_MAX - 32];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (rule->file)
		(void)log_escape(file, sizeof(file), rule->file, strlen(rule->file));
	if (rule->file && rule->line)
		(void)snprintf(place, sizeof(place), "%s:%u: ", file, rule->line);
	else if (rule->file)
		(void)snprintf(place, sizeof(place), "%s: ", file);
	(void)snprintf(w.text, sizeof(w.text), "%s\"%s\" %s", place,
		       log_escape(text, sizeof(text), rule->text, strlen(rule->text)), why);
	l->cb(l->ctx, &w);
	l->n++;
}

static bool is_wildcard(const struct pattern *p)
{
	return p->kind == PATTERN_BELOW || p->kind == PATTERN_TREE;
}

/* The deny entry that covers all that @p names on @port (0: on every port). */
static const struct rule *find_deny(const struct policy *policy, const struct pattern *p,
				    uint16_t port)
{
	const struct ruleset *deny = policy_ruleset(policy, LIST_DENY);
	struct ruleset_query q = { .kinds = RULESET_ANY, .apex = true, .every_port = true };

	switch (p->kind) {
	case PATTERN_HOST:
		q.kinds |= RULESET_NAMES;
		return ruleset_find_name(deny, &p->host, port, &q);
	case PATTERN_BELOW:
	case PATTERN_TREE:
		q.kinds |= RULESET_KIND(PATTERN_BELOW) | RULESET_KIND(PATTERN_TREE);
		return ruleset_find_name(deny, &p->host, port, &q);
	case PATTERN_ANY:
		return ruleset_find_name(deny, &p->host, port, &q);
	case PATTERN_ADDR:
	case PATTERN_CIDR:
		q.kinds |= RULESET_ADDRS;
		q.max_bits = p->cidr.bits;
		/* 0 would be no bound, and only another /0 covers a /0 */
		if (!q.max_bits)
			q.kinds = RULESET_ANY;
		return ruleset_find_addr(deny, &p->cidr.addr, port, &q);
	case PATTERN_NUM_KINDS:
		break;
	}
	return NULL;
}

/* As above for every port of the entry; long ranges are covered by an entry for all ports only. */
static const struct rule *find_shadow(const struct policy *policy, const struct pattern *p)
{
	const struct rule *r = find_deny(policy, p, 0);
	unsigned tried = 0;

	if (r || !p->nports)
		return r;
	for (size_t i = 0; i < p->nports; i++)
		for (unsigned port = p->ports[i].lo; port <= p->ports[i].hi; port++) {
			if (++tried > PORTS_TRIED_MAX)
				return NULL;
			r = find_deny(policy, p, (uint16_t)port);
			if (!r)
				return NULL;
		}
	return r;
}

static void check_shadowed(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	const struct rule *r = find_shadow(l->policy, p);
	char text[PIECE_MAX], file[PIECE_MAX] = "";

	if (!r)
		return;
	if (r->file)
		(void)log_escape(file, sizeof(file), r->file, strlen(r->file));
	warn(l, LINT_SHADOWED, rule, "never allows anything: denied by \"%s\"%s%s",
	     log_escape(text, sizeof(text), r->text, strlen(r->text)), *file ? ", " : "", file);
}

static bool is_denied(const struct policy *policy, const char *name)
{
	struct pattern p;

	return !pattern_parse(name, strlen(name), &p, NULL) && find_deny(policy, &p, 0);
}

/* A wildcard above or at the hosting domain; one tenant's own names below it are fine. */
static void check_shared_hosting(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	char suffix[HOSTNAME_MAX + 1];
	const char *found = NULL;

	if (!is_wildcard(p))
		return;
	if (l->suffixes && suffix_is_shared(l->suffixes, p->host.s, suffix) && *suffix)
		found = suffix;
	if (!found)
		found = hosting_under(p->host.s);
	if (found)
		warn(l, LINT_SHARED_HOSTING, rule,
		     "allows names that anybody can get below %s; write the hosts that are meant",
		     found);
}

static void check_relay(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(relays); i++) {
		const struct relay *r = &relays[i];
		bool itself = hostname_text_is_under(p->host.s, r->name);

		if (!itself && !(is_wildcard(p) && hostname_text_is_under(r->name, p->host.s)))
			continue;
		if (itself)
			warn(l, LINT_RELAY, rule, "is a way around the list: %s %s", r->name,
			     r->what);
		else if (!is_denied(l->policy, r->name))
			warn(l, LINT_RELAY, rule,
			     "allows %s, which %s; deny that, or write the hosts", r->name,
			     r->what);
	}
}

static void check_root_label(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(root_labels); i++)
		if (p->kind == PATTERN_HOST && !strcmp(p->host.s, root_labels[i]))
			warn(l, LINT_REGISTRY, rule, "is one host name, not what lies below it");
}

static void check_never_name(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	struct target t = { .host = p->host, .via = VIA_DNS };
	struct decision d;

	if (p->kind != PATTERN_HOST || !hostname_is_metadata(&p->host))
		return;
	policy_decide(l->policy, &t, &d);
	if (d.code == CODE_METADATA)
		warn(l, LINT_NEVER, rule,
		     "never opens a metadata service; that takes its address, too");
}

static void check_name(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	if (p->kind == PATTERN_ANY) {
		warn(l, LINT_EVERYTHING, rule, "allows every name and every public address");
		return;
	}
	check_root_label(l, p, rule);
	check_never_name(l, p, rule);
	check_shared_hosting(l, p, rule);
	check_relay(l, p, rule);
}

static void check_addr(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	bool v4 = p->cidr.addr.family == AF_INET;
	bool ula = !v4 && (p->cidr.addr.bytes[0] & 0xfe) == V6_ULA_FIRST;
	enum addr_class class = addr_classify(&p->cidr.addr);

	if (p->kind == PATTERN_ADDR) {
		if (class == ADDR_METADATA)
			warn(l, LINT_METADATA, rule,
			     "opens a cloud metadata service, which hands out credentials");
		return;
	}
	if (class == ADDR_LINK_LOCAL && p->cidr.bits >= V4_BITS_MIN)
		warn(l, LINT_NEVER, rule,
		     "opens nothing: link-local addresses are opened one by one");
	else if (p->cidr.bits < (v4 ? V4_BITS_MIN : V6_BITS_MIN) && !ula &&
		 (class == ADDR_PUBLIC || !p->cidr.bits || v4))
		warn(l, LINT_WIDE_BLOCK, rule,
		     "is a good part of the internet, and opens only public addresses in it");
}

static void check_ports(struct linter *l, const struct pattern *p, const struct rule *rule)
{
	if (p->nports == 1 && p->ports[0].lo == 1 && p->ports[0].hi == UINT16_MAX)
		warn(l, LINT_PORTS, rule, "names every port, as it would without a port");
}

bool lint_opens_no_port(const struct pattern *p)
{
	static const struct cidr v4 = { .addr = { .family = AF_INET, .bytes = { 127 } },
					.bits = 8 };
	bool loopback = false;

	if (p->kind == PATTERN_HOST)
		loopback = hostname_is_local(&p->host);
	else if (p->kind == PATTERN_ADDR)
		loopback = addr_classify(&p->cidr.addr) == ADDR_LOOPBACK;
	else if (p->kind == PATTERN_CIDR)
		loopback = p->cidr.bits >= v4.bits && cidr_contains(&v4, &p->cidr.addr);
	return loopback && p->nports == 0;
}

static bool check_entry(void *ctx, const struct pattern *p, const struct rule *rule)
{
	struct linter *l = ctx;

	check_ports(l, p, rule);
	if (l->list == LIST_DENY)
		return true;
	if (l->list != LIST_PRIVATE) {
		check_shadowed(l, p, rule);
		if (lint_opens_no_port(p))
			warn(l, LINT_NO_PORT, rule, "%s", LINT_OPENS_NO_PORT);
		if (pattern_is_name(p))
			check_name(l, p, rule);
		else
			check_addr(l, p, rule);
	}
	return true;
}

static bool check_duplicate(void *ctx, const struct pattern *p, const struct rule *rule)
{
	struct linter *l = ctx;

	(void)p;
	warn(l, LINT_DUPLICATE, rule, "stands on the list already");
	return true;
}

size_t lint_policy(const struct policy *p, struct suffixes *suffixes, lint_cb *cb, void *ctx)
{
	static const enum list list[] = { LIST_DENY, LIST_ALLOW, LIST_ONLY, LIST_PRIVATE };
	struct linter l = { .policy = p, .suffixes = suffixes, .cb = cb, .ctx = ctx };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		l.list = list[i];
		ruleset_each(policy_ruleset(p, list[i]), check_entry, &l);
		ruleset_each_duplicate(policy_ruleset(p, list[i]), check_duplicate, &l);
	}
	return l.n;
}
