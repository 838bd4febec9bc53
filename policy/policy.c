#include "policy/policy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "policy/grant.h"
#include "policy/pattern.h"
#include "policy/recordtype.h"
#include "policy/ruleset.h"

#define NUM_LISTS (LIST_SESSION_DENY + 1)

/* A block wider than these names nobody's network; it opens public addresses only. */
#define V4_BITS_MIN 8 /* 10.0.0.0/8, 127.0.0.0/8 */
#define V6_BITS_MIN 7 /* fc00::/7 */

struct policy {
	struct ruleset *list[NUM_LISTS];
	bool strict;
	enum verdict unknown;
	enum sni_check sni_check;
	struct recordtypes forwarded;
	const struct grants *answers;
	struct keeper keeper;
	struct policy *bound; /* our own: nothing is open that it refuses; NULL for none */
};

static const char *const code_name[] = {
	[CODE_OK] = "ok",
	[CODE_NOT_LISTED] = "not-listed",
	[CODE_DENIED] = "denied",
	[CODE_LOOPBACK] = "loopback",
	[CODE_METADATA] = "metadata",
	[CODE_LINK_LOCAL] = "link-local",
	[CODE_OWN_ADDRESS] = "own-address",
	[CODE_PRIVATE] = "private",
	[CODE_SPECIAL] = "special",
	[CODE_BAD_HOST] = "bad-host",
	[CODE_BAD_PORT] = "bad-port",
	[CODE_BAD_REQUEST] = "bad-request",
	[CODE_ASKED_NO] = "asked-no",
	[CODE_ASK_TIMEOUT] = "ask-timeout",
	[CODE_STRICT] = "strict",
	[CODE_ONLY] = "only",
	[CODE_SNI_MISMATCH] = "sni-mismatch",
	[CODE_LIMIT] = "limit",
	[CODE_DNS_FAILED] = "dns-failed",
	[CODE_CONNECT_FAILED] = "connect-failed",
	[CODE_CONNECT_TIMEOUT] = "connect-timeout",
};
static_assert(ARRAY_SIZE(code_name) == CODE_NUM, "one name a code");

static const enum code class_code[] = {
	[ADDR_PUBLIC] = CODE_OK,	 [ADDR_LOOPBACK] = CODE_LOOPBACK,
	[ADDR_METADATA] = CODE_METADATA, [ADDR_LINK_LOCAL] = CODE_LINK_LOCAL,
	[ADDR_PRIVATE] = CODE_PRIVATE,	 [ADDR_SPECIAL] = CODE_SPECIAL,
};
static_assert(ARRAY_SIZE(class_code) == ADDR_NUM_CLASSES, "one code a class");

static const struct ruleset_query deny_query = {
	.kinds = RULESET_NAMES | RULESET_ADDRS | RULESET_ANY,
	.apex = true,
	.every_port = true,
};
static const struct ruleset_query deny_addr_query = { .kinds = RULESET_ADDRS, .every_port = true };
static const struct ruleset_query allow_query = {
	.kinds = RULESET_NAMES | RULESET_ADDRS | RULESET_ANY,
};
static const struct ruleset_query exact_addr_query = { .kinds = RULESET_KIND(PATTERN_ADDR) };

const char *policy_code_name(enum code c)
{
	return code_name[c];
}

struct policy *policy_new(void)
{
	struct policy *p = xcalloc(1, sizeof(*p));

	for (size_t i = 0; i < NUM_LISTS; i++)
		p->list[i] = ruleset_new();
	p->unknown = VERDICT_DENY;
	p->sni_check = SNI_NAME;
	return p;
}

struct policy *policy_share(const struct policy *base)
{
	struct policy *p = xcalloc(1, sizeof(*p));

	*p = *base;
	for (size_t i = 0; i < NUM_LISTS; i++) {
		bool own = i == LIST_SESSION || i == LIST_SESSION_DENY;

		p->list[i] = own ? ruleset_new() : ruleset_ref(base->list[i]);
	}
	if (base->keeper.file)
		p->keeper.file = xstrdup(base->keeper.file);
	if (base->bound)
		p->bound = policy_share(base->bound);
	return p;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < NUM_LISTS; i++)
		ruleset_free(p->list[i]);
	policy_free(p->bound);
	free(p->keeper.file);
	free(p);
}

/* What an entry may be depends on the list: a too wide one is harmless where it refuses. */
static int check_for_list(enum list list, const struct pattern *p, const char *text,
			  struct error *err)
{
	if (list != LIST_DENY && pattern_is_too_wide(p))
		return error_set(
			err, 0,
			"\"%s\": would allow every name under a public registry; write the "
			"hosts, or \"*\" for all of them",
			text);
	if (list == LIST_PRIVATE && !pattern_is_name(p)) {
		char word[SHELLWORD_MAX(PATTERN_TEXT_MAX)];

		return error_set(
			err, 0,
			"\"%s\": this list takes names that may lead to private addresses; to "
			"open an address or a block, allow it: --allow %s",
			text, shellword(word, sizeof(word), text));
	}
	return 0;
}

void policy_set_keeper(struct policy *p, bool managed, const char *file)
{
	free(p->keeper.file);
	p->keeper = (struct keeper){ .managed = managed, .file = xstrdup(file) };
}

int policy_add(struct policy *p, enum list list, const char *pattern, const char *file,
	       unsigned line, const char *reason, struct error *err)
{
	struct rule rule = { .text = pattern, .file = file, .line = line, .reason = reason };
	struct pattern parsed;

	if (pattern_parse(pattern, strlen(pattern), &parsed, err))
		return -1;
	if (check_for_list(list, &parsed, pattern, err))
		return -1;
	return ruleset_add(p->list[list], &parsed, &rule, err);
}

/* Where policy_take_over() stands. */
struct takeover {
	struct ruleset *to;
	const char *file;
	struct error *err;
	int rc;
};

static bool take_over_cb(void *ctx, const struct pattern *pattern, const struct rule *rule)
{
	struct takeover *t = ctx;

	if (rule->file && strcmp(rule->file, t->file) == 0)
		t->rc = ruleset_add(t->to, pattern, rule, t->err);
	return t->rc == 0;
}

int policy_take_over(struct policy *p, enum list list, const struct policy *from, const char *file,
		     struct error *err)
{
	struct takeover t = { .to = p->list[list], .file = file, .err = err };

	ruleset_each(from->list[list], take_over_cb, &t);
	/* What an earlier file had said, too, which is perhaps read again without it. */
	if (t.rc == 0)
		ruleset_each_duplicate(from->list[list], take_over_cb, &t);
	return t.rc;
}

void policy_bound(struct policy *p, const struct policy *whole)
{
	policy_free(p->bound);
	p->bound = policy_share(whole->bound ? whole->bound : whole);
}

void policy_reserve(struct policy *p, enum list list, size_t entries)
{
	ruleset_reserve(p->list[list], entries);
}

void policy_set_strict(struct policy *p, bool strict)
{
	p->strict = strict;
}

void policy_set_sni_check(struct policy *p, enum sni_check check)
{
	p->sni_check = check;
}

enum sni_check policy_sni_check(const struct policy *p)
{
	return p->bound && p->bound->sni_check > p->sni_check ? p->bound->sni_check : p->sni_check;
}

void policy_set_forwarded(struct policy *p, const struct recordtypes *types)
{
	p->forwarded = *types;
}

bool policy_forwards(const struct policy *p, uint16_t type)
{
	return recordtypes_have(&p->forwarded, type) &&
	       (!p->bound || recordtypes_have(&p->bound->forwarded, type));
}

void policy_set_unknown(struct policy *p, enum verdict verdict)
{
	p->unknown = verdict;
}

void policy_set_answers(struct policy *p, const struct grants *answers)
{
	p->answers = answers;
}

size_t policy_count(const struct policy *p, enum list list)
{
	return ruleset_count(p->list[list]);
}

const struct ruleset *policy_ruleset(const struct policy *p, enum list list)
{
	return p->list[list];
}

static void set(struct decision *out, enum verdict verdict, enum code code, const struct rule *rule)
{
	*out = (struct decision){ .verdict = verdict, .code = code, .rule = rule };
}

static void name_keeper(const struct policy *p, struct decision *out)
{
	out->keeper = p->keeper.file ? &p->keeper : NULL;
}

static void deny(struct decision *out, enum code code, const struct rule *rule)
{
	set(out, VERDICT_DENY, code, rule);
}

/*
 * Which lists open a target. With an own list of the run only that one allows; where an address
 * that an allowed name leads to is judged, what the allow list says about addresses still counts.
 */
enum reach {
	REACH_ANY,   /* the allow list and the run's own */
	REACH_ALLOW, /* the one that allows in this run */
};

static bool has_own_list(const struct policy *p)
{
	return ruleset_count(p->list[LIST_ONLY]) > 0;
}

static const struct rule *listed_addr(const struct policy *p, enum reach reach,
				      const struct addr *a, uint16_t port,
				      const struct ruleset_query *q)
{
	const struct rule *r = ruleset_find_addr(p->list[LIST_ONLY], a, port, q);

	if (r || (reach == REACH_ALLOW && has_own_list(p)))
		return r;
	return ruleset_find_addr(p->list[LIST_ALLOW], a, port, q);
}

static const struct rule *listed_name(const struct policy *p, enum reach reach,
				      const struct hostname *h, uint16_t port,
				      const struct ruleset_query *q)
{
	const struct rule *r = ruleset_find_name(p->list[LIST_ONLY], h, port, q);

	if (r || (reach == REACH_ALLOW && has_own_list(p)))
		return r;
	return ruleset_find_name(p->list[LIST_ALLOW], h, port, q);
}

/* The entry that names @a itself, or a block around it which is no wider than its kind. */
static const struct rule *opened(const struct policy *p, enum reach reach, const struct addr *a,
				 uint16_t port, enum addr_class class)
{
	struct ruleset_query q = { .kinds = RULESET_ADDRS };
	bool v4 = addr_unmapped(a).family == AF_INET; /* an entry for it is IPv4, too */

	switch (class) {
	case ADDR_METADATA:
	case ADDR_LINK_LOCAL:
		return listed_addr(p, reach, a, port, &exact_addr_query);
	case ADDR_LOOPBACK:
		q.min_bits = v4 ? V4_BITS_MIN : 127;
		break;
	case ADDR_PRIVATE:
	case ADDR_SPECIAL:
		q.min_bits = v4 ? V4_BITS_MIN : V6_BITS_MIN;
		break;
	case ADDR_PUBLIC:
	case ADDR_NUM_CLASSES:
		break;
	}
	return listed_addr(p, reach, a, port, &q);
}

static const struct addr loopback_addr[] = {
	{ AF_INET, { 127, 0, 0, 1 } },
	{ AF_INET6, { [15] = 1 } },
};

/*
 * The entry that names a name of this machine: itself, or a wildcard over such names (*.localhost).
 * "*" and *.localdomain mean other hosts.
 */
static const struct rule *listed_local(const struct policy *p, enum reach reach,
				       const struct hostname *h, uint16_t port)
{
	struct ruleset_query exact = { .kinds = RULESET_KIND(PATTERN_HOST) };
	struct ruleset_query q = { .kinds = RULESET_NAMES };
	const struct rule *r = listed_name(p, reach, h, port, &exact);
	struct pattern pattern;

	if (r)
		return r;
	r = listed_name(p, reach, h, port, &q); /* the most specific: wider ones are less local */
	if (!r || pattern_parse(r->text, strlen(r->text), &pattern, NULL) ||
	    !hostname_is_local(&pattern.host))
		return NULL;
	return r;
}

/* The entry that opens a name of this machine: its own, or that of the loopback address. */
static const struct rule *opened_local(const struct policy *p, enum reach reach,
				       const struct hostname *h, uint16_t port)
{
	const struct rule *r = listed_local(p, reach, h, port);

	for (size_t i = 0; !r && i < ARRAY_SIZE(loopback_addr); i++)
		r = listed_addr(p, reach, &loopback_addr[i], port, &exact_addr_query);
	return r;
}

/* A metadata name is open only where an address behind such names is listed. */
static bool metadata_listed(const struct policy *p, uint16_t port)
{
	static const struct addr addr[] = {
		{ AF_INET, { 169, 254, 169, 254 } },
		{ AF_INET6, { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 } },
		{ AF_INET6, { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(addr); i++)
		if (listed_addr(p, REACH_ANY, &addr[i], port, &exact_addr_query))
			return true;
	return false;
}

/* Step 1. Return: CODE_OK, or why the target is refused whatever the lists say. */
static enum code never(const struct policy *p, const struct target *t)
{
	enum addr_class class;

	if (t->host.len == 0)
		return CODE_BAD_HOST;
	if (t->port == 0 && t->via != VIA_DNS)
		return CODE_BAD_PORT;
	if (!target_is_literal(t)) {
		if (hostname_is_local(&t->host) && !opened_local(p, REACH_ANY, &t->host, t->port))
			return CODE_LOOPBACK;
		if (hostname_is_metadata(&t->host) && !metadata_listed(p, t->port))
			return CODE_METADATA;
		return CODE_OK;
	}
	class = addr_classify(&t->addr);
	switch (class) {
	case ADDR_LOOPBACK:
	case ADDR_METADATA:
	case ADDR_LINK_LOCAL:
		return opened(p, REACH_ANY, &t->addr, t->port, class) ? CODE_OK : class_code[class];
	case ADDR_PUBLIC:
	case ADDR_PRIVATE:
	case ADDR_SPECIAL:
	case ADDR_NUM_CLASSES:
		break;
	}
	return CODE_OK;
}

/* The deny entry for an address, or for an IPv4 address that it only wraps. */
static const struct rule *denied_addr(const struct policy *p, const struct addr *a, uint16_t port,
				      const struct ruleset_query *q)
{
	static const enum list list[] = { LIST_DENY, LIST_SESSION_DENY };
	const struct rule *r = NULL;
	struct addr v4;

	for (size_t i = 0; !r && i < ARRAY_SIZE(list); i++) {
		r = ruleset_find_addr(p->list[list[i]], a, port, q);
		if (!r && addr_unwrap(a, &v4))
			r = ruleset_find_addr(p->list[list[i]], &v4, port, q);
	}
	return r;
}

static const struct rule *denied(const struct policy *p, const struct target *t)
{
	const struct rule *r;

	if (target_is_literal(t))
		return denied_addr(p, &t->addr, t->port, &deny_query);
	r = ruleset_find_name(p->list[LIST_DENY], &t->host, t->port, &deny_query);
	return r ? r
		 : ruleset_find_name(p->list[LIST_SESSION_DENY], &t->host, t->port, &deny_query);
}

/* Bounds narrow what the other lists say; what they open, those must open too. */
static bool within(const struct policy *p, enum list list, const struct target *t)
{
	const struct ruleset *bounds = p->list[list];

	if (!ruleset_count(bounds))
		return true;
	if (target_is_literal(t))
		return ruleset_find_addr(bounds, &t->addr, t->port, &allow_query);
	return ruleset_find_name(bounds, &t->host, t->port, &allow_query);
}

/* "*" stands for names and public addresses; other literals need an entry of their own. */
static const struct rule *allowed(const struct policy *p, const struct target *t)
{
	enum addr_class class;
	const struct rule *r;

	if (!target_is_literal(t) && hostname_is_local(&t->host))
		return opened_local(p, REACH_ALLOW, &t->host, t->port);
	if (!target_is_literal(t))
		return listed_name(p, REACH_ALLOW, &t->host, t->port, &allow_query);
	class = addr_classify(&t->addr);
	r = opened(p, REACH_ALLOW, &t->addr, t->port, class);
	if (!r && class == ADDR_PUBLIC)
		r = listed_addr(p, REACH_ALLOW, &t->addr, t->port, &allow_query);
	return r;
}

/* A remembered answer. Special-use addresses are not asked about, so none stands for them. */
static bool answered(const struct policy *p, const struct target *t, enum addr_class class,
		     struct decision *out)
{
	return p->answers && class != ADDR_SPECIAL && grants_find(p->answers, t, out);
}

/*
 * "*", or a block that names nobody's network, stands before the target: what keeps it out is its
 * class, and an entry for it is the remedy.
 */
static bool is_kept_out(const struct policy *p, const struct target *t, enum addr_class class)
{
	return (class == ADDR_PRIVATE || class == ADDR_SPECIAL) &&
	       listed_addr(p, REACH_ALLOW, &t->addr, t->port, &allow_query);
}

/* Steps 4 to 7, for a target that is on no list. */
static void decide_unlisted(const struct policy *p, const struct target *t, struct decision *out)
{
	enum addr_class class = ADDR_PUBLIC;

	if (target_is_literal(t))
		class = addr_classify(&t->addr);
	if (p->unknown != VERDICT_ASK && is_kept_out(p, t, class)) {
		deny(out, class_code[class], NULL);
	} else if (has_own_list(p)) {
		deny(out, CODE_ONLY, NULL);
	} else if (p->strict) {
		deny(out, CODE_STRICT, NULL);
	} else if (answered(p, t, class, out)) {
		return;
	} else if (p->unknown == VERDICT_DENY) {
		deny(out, CODE_NOT_LISTED, NULL);
	} else if (class == ADDR_SPECIAL ||
		   (class == ADDR_PRIVATE && p->unknown == VERDICT_ALLOW)) {
		deny(out, class_code[class], NULL);
	} else {
		set(out, p->unknown, p->unknown == VERDICT_ASK ? CODE_NOT_LISTED : CODE_OK, NULL);
	}
}

static void decide(const struct policy *p, const struct target *t, struct decision *out)
{
	enum code code = never(p, t);
	const struct rule *r;

	if (code != CODE_OK) {
		deny(out, code, NULL);
		return;
	}
	r = denied(p, t);
	if (r) {
		deny(out, CODE_DENIED, r);
		return;
	}
	if (!within(p, LIST_WITHIN, t) || !within(p, LIST_SESSION, t)) {
		deny(out, CODE_ONLY, NULL);
		return;
	}
	r = allowed(p, t);
	if (r)
		set(out, VERDICT_ALLOW, CODE_OK, r);
	else
		decide_unlisted(p, t, out);
}

/* With bounds or an own list one option may not do, and --allow may be the wrong one. */
static unsigned lacks(const struct policy *p, const struct target *t)
{
	bool bounded = !within(p, LIST_WITHIN, t) || !within(p, LIST_SESSION, t);
	unsigned lists = bounded ? LACKS_ONLY : 0;

	if (!bounded && !has_own_list(p))
		return 0;
	if (!allowed(p, t))
		lists |= has_own_list(p) ? LACKS_ONLY : LACKS_ALLOW;
	return lists;
}

static void decide_alone(const struct policy *p, const struct target *t, struct decision *out)
{
	decide(p, t, out);
	name_keeper(p, out);
	if (out->verdict == VERDICT_DENY && t->host.len)
		out->lists = lacks(p, t);
}

static bool is_stricter(const struct decision *a, const struct decision *b)
{
	return b->verdict != VERDICT_DENY && a->verdict != b->verdict &&
	       a->verdict != VERDICT_ALLOW;
}

void policy_decide(const struct policy *p, const struct target *t, struct decision *out)
{
	struct decision bound;

	decide_alone(p, t, out);
	if (!p->bound || out->verdict == VERDICT_DENY)
		return;
	decide_alone(p->bound, t, &bound);
	if (is_stricter(&bound, out))
		*out = bound;
}

static bool is_own(const struct addr_set *own, const struct addr *a)
{
	struct addr v4;

	if (!own)
		return false;
	return addr_set_contains(own, a) || (addr_unwrap(a, &v4) && addr_set_contains(own, &v4));
}

/* May a name of this machine lead to @a? localhost means 127.0.0.1 and ::1, nothing else. */
static enum code vet_local_name(const struct policy *p, const struct target *t,
				const struct addr *a)
{
	if (!listed_local(p, REACH_ANY, &t->host, t->port))
		return CODE_LOOPBACK;
	for (size_t i = 0; i < ARRAY_SIZE(loopback_addr); i++)
		if (addr_equal(a, &loopback_addr[i]))
			return CODE_OK;
	return CODE_NOT_LISTED;
}

/* A private literal that is on no list gets this far only when a person said yes to it. */
static bool was_asked_about(const struct policy *p, const struct target *t)
{
	struct decision d;

	if (!target_is_literal(t) || p->strict || has_own_list(p))
		return false;
	return p->unknown == VERDICT_ASK ||
	       (answered(p, t, ADDR_PRIVATE, &d) && d.verdict == VERDICT_ALLOW);
}

static enum code vet_class(const struct policy *p, const struct target *t, enum addr_class class)
{
	struct ruleset_query q = { .kinds = RULESET_NAMES | RULESET_ANY };

	if (class == ADDR_PRIVATE && was_asked_about(p, t))
		return CODE_OK;
	if (class == ADDR_PRIVATE && !target_is_literal(t) &&
	    ruleset_find_name(p->list[LIST_PRIVATE], &t->host, t->port, &q))
		return CODE_OK;
	return class_code[class];
}

static void vet_alone(const struct policy *p, const struct target *t, const struct addr *a,
		      const struct addr_set *own, struct decision *out)
{
	enum addr_class class = addr_classify(a);
	const struct rule *r = denied_addr(p, a, t->port, &deny_addr_query);
	enum code code;

	if (r)
		code = CODE_DENIED;
	else if (listed_addr(p, REACH_ANY, a, t->port, &exact_addr_query))
		code = CODE_OK;
	else if (!target_is_literal(t) && hostname_is_local(&t->host))
		code = vet_local_name(p, t, a);
	else if (class != ADDR_LOOPBACK && is_own(own, a))
		code = CODE_OWN_ADDRESS;
	else if (opened(p, REACH_ANY, a, t->port, class))
		code = CODE_OK;
	else
		code = vet_class(p, t, class);
	if (code == CODE_OK) {
		set(out, VERDICT_ALLOW, CODE_OK, NULL);
	} else {
		deny(out, code, r);
		out->addr = *a;
		name_keeper(p, out);
	}
}

void policy_vet(const struct policy *p, const struct target *t, const struct addr *a,
		const struct addr_set *own, struct decision *out)
{
	vet_alone(p, t, a, own, out);
	if (p->bound && out->verdict == VERDICT_ALLOW)
		vet_alone(p->bound, t, a, own, out);
}

/* Whether all that is wrong so far is that it is on no list. */
static bool is_unlisted(const struct target *t, const struct decision *d)
{
	if (d->verdict == VERDICT_ALLOW || !t->host.len || hostname_is_local(&t->host) ||
	    d->addr.family != AF_UNSPEC)
		return false;
	return d->code == CODE_NOT_LISTED || d->code == CODE_STRICT || d->code == CODE_ONLY ||
	       d->code == CODE_ASKED_NO || d->code == CODE_ASK_TIMEOUT;
}

void policy_foresee(const struct policy *p, const struct target *t, const struct addr *v, size_t n,
		    const struct addr_set *own, struct decision *d)
{
	struct decision next, first = *d;

	if (!is_unlisted(t, d))
		return;
	if (target_is_literal(t)) {
		policy_vet(p, t, &t->addr, own, &next);
		if (next.verdict == VERDICT_DENY && d->lists)
			d->lists |= LACKS_ALLOW; /* bounds open no address */
		return;
	}
	for (size_t i = 0; i < n; i++) {
		policy_vet(p, t, &v[i], own, &next);
		if (next.verdict == VERDICT_ALLOW) {
			d->leads_to = (struct addr){ .family = AF_UNSPEC };
			return;
		}
		if (i == 0)
			first = next;
		/* An entry for it would not do, or should not be advised. */
		if (next.code != CODE_DENIED && next.code != CODE_METADATA &&
		    d->leads_to.family == AF_UNSPEC)
			d->leads_to = v[i];
	}
	if (d->verdict != VERDICT_ASK || n == 0)
		return;
	if (d->leads_to.family == AF_UNSPEC)
		*d = first;
	d->verdict = VERDICT_DENY;
}

/* The ports of allow entries as a bit set, narrow intervals before wide ones. */
struct port_bits {
	uint8_t bit[(UINT16_MAX + 1) / 8];
	size_t n, max;
	unsigned width_min, width_max;
};

static void add_ports(void *ctx, const struct port_range *r)
{
	struct port_bits *b = ctx;
	unsigned width = (unsigned)r->hi - r->lo + 1;

	if (width < b->width_min || width > b->width_max)
		return;
	for (unsigned port = r->lo; port <= r->hi && b->n < b->max; port++) {
		uint8_t mask = (uint8_t)(1u << port % 8);

		if (!(b->bit[port / 8] & mask))
			b->n++;
		b->bit[port / 8] |= mask;
	}
}

size_t policy_capture_ports(const struct policy *p, uint16_t *out, size_t max)
{
	struct port_bits b = { .max = max, .width_max = 1 };
	size_t n = 0;

	for (; b.width_min <= UINT16_MAX; b.width_min = b.width_max + 1, b.width_max *= 16) {
		ruleset_each_port(p->list[LIST_ALLOW], add_ports, &b);
		ruleset_each_port(p->list[LIST_ONLY], add_ports, &b);
	}
	b.bit[0] &= 0xfe; /* there is no port 0 */
	for (unsigned i = 0; i < sizeof(b.bit); i++)
		for (unsigned k = 0; b.bit[i] && k < 8; k++)
			if (b.bit[i] & 1u << k)
				out[n++] = (uint16_t)(i * 8 + k);
	return n;
}

void policy_each(const struct policy *p, enum list list, policy_visit *visit, void *ctx)
{
	ruleset_each(p->list[list], visit, ctx);
}
