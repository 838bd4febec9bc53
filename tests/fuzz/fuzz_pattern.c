/*
 * Lines of the input: patterns, then after an empty line targets. A pattern prints to text that
 * parses to the same; what the rule set finds for a target, a plain loop over the patterns finds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pattern.h"
#include "policy/ruleset.h"
#include "policy/target.h"

#define PATTERNS_MAX 64

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct lines {
	const char *p;
	size_t n;
};

static struct lines next_line(struct lines *rest)
{
	const char *nl = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	struct lines line = { rest->p, nl ? (size_t)(nl - rest->p) : rest->n };
	size_t used = line.n + (nl ? 1 : 0);

	rest->p += used;
	rest->n -= used;
	return line;
}

static bool same(const struct pattern *a, const struct pattern *b)
{
	for (size_t i = 0; i < PATTERN_PORTS_MAX; i++)
		if (a->ports[i].lo != b->ports[i].lo || a->ports[i].hi != b->ports[i].hi)
			return false;
	return a->kind == b->kind && a->nports == b->nports && hostname_equal(&a->host, &b->host) &&
	       addr_equal(&a->cidr.addr, &b->cidr.addr) && a->cidr.bits == b->cidr.bits;
}

static void check_format(const struct pattern *p)
{
	char text[PATTERN_TEXT_MAX];
	struct pattern again;
	struct error err;

	CHECK(strlen(pattern_format(p, text)) < sizeof(text));
	CHECK(pattern_parse(text, strlen(text), &again, &err) == 0);
	CHECK(same(p, &again));
	for (size_t i = 0; i < p->nports; i++) {
		CHECK(p->ports[i].lo >= 1 && p->ports[i].lo <= p->ports[i].hi);
		CHECK(!i || p->ports[i].lo > p->ports[i - 1].hi + 1);
	}
}

/* The reference: text of the name against text of the pattern, the slow way. */
static bool name_matches(const struct pattern *p, const char *name, bool apex)
{
	size_t n = strlen(name), m = strlen(p->host.s);
	bool equal = !strcmp(name, p->host.s);
	bool below = n > m + 1 && name[n - m - 1] == '.' && !strcmp(name + n - m, p->host.s);

	switch (p->kind) {
	case PATTERN_HOST:
		return equal;
	case PATTERN_BELOW:
		return below || (apex && equal);
	case PATTERN_TREE:
		return below || equal;
	case PATTERN_ANY:
		return true;
	case PATTERN_ADDR:
	case PATTERN_CIDR:
	case PATTERN_NUM_KINDS:
		break;
	}
	return false;
}

static bool reference(const struct pattern *p, const struct target *t,
		      const struct ruleset_query *q)
{
	if (!(q->kinds & RULESET_KIND(p->kind)))
		return false;
	if (t->port ? !pattern_has_port(p, t->port) : q->every_port && p->nports)
		return false;
	if (!target_is_literal(t))
		return name_matches(p, t->host.s, q->apex);
	if (p->kind == PATTERN_ANY)
		return true;
	return !pattern_is_name(p) && p->cidr.bits >= q->min_bits &&
	       (!q->max_bits || p->cidr.bits <= q->max_bits) && cidr_contains(&p->cidr, &t->addr);
}

static void check_target(const struct ruleset *rs, const struct pattern *v, size_t n,
			 const struct target *t, const struct ruleset_query *q)
{
	const struct rule *r;
	struct pattern found;
	struct error err;
	bool want = false;

	for (size_t i = 0; i < n; i++)
		want |= reference(&v[i], t, q);
	r = target_is_literal(t) ? ruleset_find_addr(rs, &t->addr, t->port, q)
				 : ruleset_find_name(rs, &t->host, t->port, q);
	CHECK((r != NULL) == want);
	if (!r)
		return;
	CHECK(pattern_parse(r->text, strlen(r->text), &found, &err) == 0);
	CHECK(reference(&found, t, q));
}

static void check_queries(const struct ruleset *rs, const struct pattern *v, size_t n,
			  struct target *t)
{
	const unsigned all = RULESET_NAMES | RULESET_ADDRS | RULESET_ANY;
	const struct ruleset_query query[] = {
		{ .kinds = all },
		{ .kinds = all, .apex = true, .every_port = true },
		{ .kinds = RULESET_ADDRS, .min_bits = 8, .max_bits = 24 },
		{ .kinds = RULESET_KIND(PATTERN_ADDR) | RULESET_KIND(PATTERN_BELOW) },
	};
	uint16_t port = t->port;

	for (size_t i = 0; i < sizeof(query) / sizeof(query[0]); i++) {
		check_target(rs, v, n, t, &query[i]);
		t->port = 0;
		check_target(rs, v, n, t, &query[i]);
		t->port = port;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pattern v[PATTERNS_MAX];
	struct lines rest = { (const char *)data, size };
	struct ruleset *rs = ruleset_new();
	size_t n = 0;
	struct error err;

	while (rest.n && n < PATTERNS_MAX) {
		struct lines line = next_line(&rest);
		struct rule rule = { .file = "f", .line = 1 };
		char text[PATTERN_TEXT_MAX];

		if (!line.n)
			break;
		if (pattern_parse(line.p, line.n, &v[n], &err)) {
			CHECK(err.msg[0]);
			for (const char *c = err.msg; *c; c++)
				CHECK(*c >= ' ' && *c <= '~');
			continue;
		}
		check_format(&v[n]);
		(void)snprintf(text, sizeof(text), "%.*s", (int)line.n, line.p);
		rule.text = text;
		CHECK(ruleset_add(rs, &v[n], &rule, &err) == 0);
		n++;
	}
	CHECK(ruleset_count(rs) <= n);
	while (rest.n) {
		struct lines line = next_line(&rest);
		struct target t = { .via = VIA_CONNECT };

		if (target_parse_authority(line.p, line.n, 443, &t) == TARGET_OK)
			check_queries(rs, v, n, &t);
	}
	ruleset_free(rs);
	return 0;
}
