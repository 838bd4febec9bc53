/*
 * Whatever the lists say: denied is denied, nothing is allowed without an entry that names it, and
 * no address of this machine, of a metadata service or of a link opens without its own entry.
 *
 * Lines of the input: "aPATTERN" allow, "dPATTERN" deny, "oPATTERN" only, "pPATTERN" private,
 * "s" strict, "k" ask, "l" allow unknown; "tTARGET" is decided, and vetted for the last "vADDRESS".
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pattern.h"
#include "policy/policy.h"

#define PATTERNS_MAX 32
#define TARGETS_MAX  16 /* decided of one input: the model looks at every pattern for each */
#define LINE_MAX     400
#define LISTS	     4

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The policy under test, and what it was made of. */
struct model {
	struct policy *policy;
	struct pattern v[LISTS][PATTERNS_MAX];
	size_t n[LISTS], targets;
	bool strict;
	enum verdict unknown;
};

static const struct addr own_addr = { .family = AF_INET, .bytes = { 93, 184, 216, 99 } };

static bool name_matches(const struct pattern *p, const struct hostname *h, bool apex)
{
	switch (p->kind) {
	case PATTERN_ANY:
		return true;
	case PATTERN_HOST:
		return hostname_equal(h, &p->host);
	case PATTERN_BELOW:
		return hostname_is_under(h, p->host.s) && (apex || !hostname_equal(h, &p->host));
	case PATTERN_TREE:
		return hostname_is_under(h, p->host.s);
	case PATTERN_ADDR:
	case PATTERN_CIDR:
	case PATTERN_NUM_KINDS:
		break;
	}
	return false;
}

static bool names_addr(const struct pattern *p, const struct addr *a, uint16_t port)
{
	return !pattern_is_name(p) && pattern_has_port(p, port) && cidr_contains(&p->cidr, a);
}

/* Some entry of the list that names the address: the very address, or a block of @bits or more. */
static bool lists_addr(const struct model *m, enum list list, const struct addr *a, uint16_t port,
		       bool exact, unsigned bits)
{
	for (size_t i = 0; i < m->n[list]; i++) {
		const struct pattern *p = &m->v[list][i];

		if (names_addr(p, a, port) && (p->kind == PATTERN_ADDR || !exact) &&
		    p->cidr.bits >= bits)
			return true;
	}
	return false;
}

static bool opens_addr(const struct model *m, const struct addr *a, uint16_t port, bool exact,
		       unsigned bits)
{
	return lists_addr(m, LIST_ALLOW, a, port, exact, bits) ||
	       lists_addr(m, LIST_ONLY, a, port, exact, bits);
}

static bool lists_target(const struct model *m, enum list list, const struct target *t)
{
	for (size_t i = 0; i < m->n[list]; i++) {
		const struct pattern *p = &m->v[list][i];

		if (!pattern_has_port(p, t->port))
			continue;
		if (target_is_literal(t)
			    ? p->kind == PATTERN_ANY || names_addr(p, &t->addr, t->port)
			    : name_matches(p, &t->host, list == LIST_DENY))
			return true;
	}
	return false;
}

/* What an address needs to be open, by its class. */
static bool class_is_open(const struct model *m, const struct addr *a, uint16_t port)
{
	bool v4 = a->family == AF_INET || cidr_contains(&(struct cidr){ { AF_INET, { 0 } }, 0 }, a);

	switch (addr_classify(a)) {
	case ADDR_PUBLIC:
		return true;
	case ADDR_LOOPBACK:
		return opens_addr(m, a, port, false, v4 ? 8 : 127);
	case ADDR_METADATA:
	case ADDR_LINK_LOCAL:
		return opens_addr(m, a, port, true, 0);
	case ADDR_PRIVATE:
	case ADDR_SPECIAL:
		return opens_addr(m, a, port, false, v4 ? 8 : 7);
	case ADDR_NUM_CLASSES:
		break;
	}
	return false;
}

static void check_decide(const struct model *m, const struct target *t, struct decision *d)
{
	/* The run's own list, where there is one, stands in the place of the allow list. */
	bool listed = lists_target(m, m->n[LIST_ONLY] ? LIST_ONLY : LIST_ALLOW, t);
	enum addr_class class = target_is_literal(t) ? addr_classify(&t->addr) : ADDR_PUBLIC;

	policy_decide(m->policy, t, d);
	CHECK(d->code < CODE_NUM && (d->verdict == VERDICT_ALLOW) == (d->code == CODE_OK));
	if (d->verdict == VERDICT_DENY)
		return;
	CHECK(!lists_target(m, LIST_DENY, t));
	if (class == ADDR_LOOPBACK || class == ADDR_METADATA || class == ADDR_LINK_LOCAL)
		CHECK(class_is_open(m, &t->addr, t->port));
	if (d->verdict == VERDICT_ASK) {
		CHECK(m->unknown == VERDICT_ASK && !m->strict && !m->n[LIST_ONLY]);
		return;
	}
	if (target_is_literal(t))
		CHECK(class_is_open(m, &t->addr, t->port));
	if (d->rule)
		CHECK(listed || hostname_is_local(&t->host));
	else
		CHECK(m->unknown == VERDICT_ALLOW && !m->strict && !m->n[LIST_ONLY]);
}

static bool private_name(const struct model *m, const struct target *t, const struct addr *a)
{
	return addr_classify(a) == ADDR_PRIVATE && !target_is_literal(t) &&
	       lists_target(m, LIST_PRIVATE, t);
}

static void check_vet(const struct model *m, const struct target *t, const struct addr *a)
{
	struct addr own_v = own_addr;
	struct addr_set own = { .v = &own_v, .n = 1 };
	struct decision d;
	bool exact = opens_addr(m, a, t->port, true, 0);

	policy_vet(m->policy, t, a, &own, &d);
	CHECK((d.verdict == VERDICT_ALLOW) == (d.code == CODE_OK) && d.verdict != VERDICT_ASK);
	if (d.verdict == VERDICT_DENY) {
		CHECK(addr_equal(&d.addr, a));
		return;
	}
	CHECK(!lists_addr(m, LIST_DENY, a, t->port, false, 0));
	CHECK(exact || !addr_set_contains(&own, a));
	if (!target_is_literal(t) && hostname_is_local(&t->host)) {
		CHECK(exact || addr_classify(a) == ADDR_LOOPBACK);
		return;
	}
	CHECK(class_is_open(m, a, t->port) || private_name(m, t, a) ||
	      (target_is_literal(t) && m->unknown == VERDICT_ASK &&
	       addr_classify(a) == ADDR_PRIVATE));
}

static void add(struct model *m, enum list list, const char *text)
{
	struct pattern *p = &m->v[list][m->n[list]];
	struct error err;

	if (m->n[list] < PATTERNS_MAX && !policy_add(m->policy, list, text, NULL, 0, NULL, &err) &&
	    !pattern_parse(text, strlen(text), p, &err))
		m->n[list]++;
}

static void do_line(struct model *m, const char *line, struct addr *a)
{
	struct target t = { .via = VIA_CONNECT };
	struct decision d;

	switch (line[0]) {
	case 'a':
		add(m, LIST_ALLOW, line + 1);
		break;
	case 'd':
		add(m, LIST_DENY, line + 1);
		break;
	case 'o':
		add(m, LIST_ONLY, line + 1);
		break;
	case 'p':
		add(m, LIST_PRIVATE, line + 1);
		break;
	case 's':
		policy_set_strict(m->policy, m->strict = true);
		break;
	case 'k':
	case 'l':
		m->unknown = line[0] == 'k' ? VERDICT_ASK : VERDICT_ALLOW;
		policy_set_unknown(m->policy, m->unknown);
		break;
	case 'v':
		(void)addr_parse(line + 1, strlen(line + 1), a);
		break;
	case 't':
		if (m->targets++ >= TARGETS_MAX ||
		    target_parse_authority(line + 1, strlen(line + 1), 443, &t) != TARGET_OK)
			break;
		check_decide(m, &t, &d);
		check_vet(m, &t, target_is_literal(&t) ? &t.addr : a);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct model m;
	struct addr a = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
	char line[LINE_MAX];
	size_t n = 0;

	memset(m.n, 0, sizeof(m.n));
	m.targets = 0;
	m.strict = false;
	m.unknown = VERDICT_DENY;
	m.policy = policy_new();
	for (size_t i = 0; i <= size; i++) {
		if (i < size && data[i] != '\n') {
			if (n < LINE_MAX - 1 && data[i])
				line[n++] = (char)data[i];
			continue;
		}
		line[n] = '\0';
		do_line(&m, line, &a);
		n = 0;
	}
	policy_free(m.policy);
	return 0;
}
