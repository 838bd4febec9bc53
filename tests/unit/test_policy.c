/*
 * Decisions: the vectors about patterns, precedence, literals and ports, by id, and what a
 * resolved address may be. CONFORMANCE A is in here as A1..A24.
 */
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

#define ENTRIES_MAX 6

/* The lists of a case; each entry is one pattern. */
struct lists {
	const char *allow[ENTRIES_MAX];
	const char *deny[ENTRIES_MAX];
	const char *only[ENTRIES_MAX];
	const char *private[ENTRIES_MAX];
	bool strict;
	enum verdict unknown;
};

static void add_all(struct policy *p, enum list list, const char *const entry[ENTRIES_MAX])
{
	for (unsigned i = 0; i < ENTRIES_MAX && entry[i]; i++) {
		struct error err;

		if (policy_add(p, list, entry[i], "test", i + 1, NULL, &err))
			fail_msg("%s", err.msg);
	}
}

static struct policy *make(const struct lists *l)
{
	struct policy *p = policy_new();

	add_all(p, LIST_ALLOW, l->allow);
	add_all(p, LIST_DENY, l->deny);
	add_all(p, LIST_ONLY, l->only);
	add_all(p, LIST_PRIVATE, l->private);
	policy_set_strict(p, l->strict);
	policy_set_unknown(p, l->unknown);
	return p;
}

static struct target target(const char *text)
{
	struct target t = { .via = VIA_CONNECT };

	if (target_parse_authority(text, strlen(text), 0, &t) != TARGET_OK)
		fail_msg("%s is no target", text);
	return t;
}

static struct addr addr(const char *text)
{
	struct addr a;

	if (!addr_parse(text, strlen(text), &a))
		fail_msg("%s is no address", text);
	return a;
}

struct row {
	const char *id;
	const char *target;
	enum verdict verdict;
	enum code code;
};

static void check(const struct lists *l, const struct row *row, size_t n)
{
	struct policy *p = make(l);

	for (size_t i = 0; i < n; i++) {
		struct target t = target(row[i].target);
		struct decision d;

		policy_decide(p, &t, &d);
		if (d.verdict != row[i].verdict || d.code != row[i].code)
			fail_msg("%s: %s: verdict %d, %s", row[i].id, row[i].target, d.verdict,
				 policy_code_name(d.code));
		assert_int_equal(d.addr.family, AF_UNSPEC);
		if (d.code == CODE_DENIED || d.verdict == VERDICT_ALLOW)
			assert_true(d.rule || l->unknown == VERDICT_ALLOW);
	}
	policy_free(p);
}

#define CHECK(l, rows) check(l, rows, ARRAY_SIZE(rows))

static void test_decide_names_and_wildcards(void **state)
{
	static const struct lists l = { .allow = { "good.example", "*.wild.example" },
					.deny = { "bad.wild.example" } };
	static const struct row row[] = {
		{ "A1", "good.example:443", VERDICT_ALLOW, CODE_OK },
		{ "H-014", "GOOD.EXAMPLE:443", VERDICT_ALLOW, CODE_OK },
		{ "H-016", "good.example.:443", VERDICT_ALLOW, CODE_OK },
		{ "A2", "sub.good.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A2", "good.exampl:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A2", "other.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "H-011", "xn--gd-9bb.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "H-012", "xn--a:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "H-017", "bad.wild.example.:443", VERDICT_DENY, CODE_DENIED },
		{ "H-017", "BAD.wild.EXAMPLE.:443", VERDICT_DENY, CODE_DENIED },
		{ "H-030", "_dmarc.wild.example:443", VERDICT_ALLOW, CODE_OK },
		/* decided (D?): *.host matches at any depth */
		{ "H-040", "a.wild.example:443", VERDICT_ALLOW, CODE_OK },
		{ "H-040", "a.b.c.wild.example:443", VERDICT_ALLOW, CODE_OK },
		{ "H-041", "wild.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "H-042", "evilwild.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "H-042", "wild.example.evil.test:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "H-042", "wild.exampleevil:443", VERDICT_DENY, CODE_NOT_LISTED },
		/* decided (D?): a deny entry names what it says; *.bad... or **.bad... for a tree */
		{ "H-047", "x.bad.wild.example:443", VERDICT_ALLOW, CODE_OK },
	};

	(void)state;
	CHECK(&l, row);
}

static void test_decide_empty_policy_denies(void **state)
{
	static const struct lists l = { .unknown = VERDICT_DENY };
	static const struct row row[] = {
		{ "A13", "good.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A13", "8.8.8.8:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A13", "10.0.0.1:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A-001", "127.0.0.1:443", VERDICT_DENY, CODE_LOOPBACK },
	};

	(void)state;
	CHECK(&l, row);
}

static void test_decide_deny_wins(void **state)
{
	static const struct lists same = { .allow = { "x.example" }, .deny = { "x.example" } };
	static const struct lists inner = { .allow = { "*.example.com", "api.other.com" },
					    .deny = { "internal.example.com", "*.other.com" } };
	static const struct lists star = { .allow = { "x.example", "1.2.3.4" }, .deny = { "*" } };
	static const struct lists port = { .allow = { "x.example" }, .deny = { "*:22" } };
	static const struct lists over = { .allow = { "*.wild.example", "h.example" },
					   .deny = { "a.wild.example:8080", "h.example:8080" } };
	static const struct lists apex = { .allow = { "*" }, .deny = { "*.deny.example" } };
	static const struct row in_same[] = {
		{ "A9 H-046", "x.example:443", VERDICT_DENY, CODE_DENIED },
	};
	static const struct row in_inner[] = {
		{ "A10", "internal.example.com:1", VERDICT_DENY, CODE_DENIED },
		{ "A10", "api.example.com:1", VERDICT_ALLOW, CODE_OK },
		{ "A11", "api.other.com:1", VERDICT_DENY, CODE_DENIED },
	};
	static const struct row in_star[] = {
		{ "A15", "x.example:443", VERDICT_DENY, CODE_DENIED },
		{ "A15", "1.2.3.4:443", VERDICT_DENY, CODE_DENIED },
	};
	static const struct row in_port[] = {
		{ "A16", "x.example:22", VERDICT_DENY, CODE_DENIED },
		{ "A16", "x.example:443", VERDICT_ALLOW, CODE_OK },
	};
	static const struct row in_over[] = {
		{ "H-054", "a.wild.example:8080", VERDICT_DENY, CODE_DENIED },
		{ "H-054", "a.wild.example:443", VERDICT_ALLOW, CODE_OK },
		{ "H-054", "h.example:8080", VERDICT_DENY, CODE_DENIED },
		{ "H-054", "h.example:443", VERDICT_ALLOW, CODE_OK },
	};
	static const struct row in_apex[] = {
		/* decided (D?): *.host on the deny list covers host too */
		{ "H-045", "deny.example:443", VERDICT_DENY, CODE_DENIED },
		{ "H-045", "a.deny.example:443", VERDICT_DENY, CODE_DENIED },
		{ "H-045", "xdeny.example:443", VERDICT_ALLOW, CODE_OK },
	};

	(void)state;
	CHECK(&same, in_same);
	CHECK(&inner, in_inner);
	CHECK(&star, in_star);
	CHECK(&port, in_port);
	CHECK(&over, in_over);
	CHECK(&apex, in_apex);
}

static void test_decide_ports(void **state)
{
	static const struct lists l = {
		.allow = { "h.example:443", "*.w.example:8443", "any.example",
			   "r.example:80-82,90" },
	};
	static const struct row row[] = {
		{ "A17 H-055", "h.example:443", VERDICT_ALLOW, CODE_OK },
		{ "A17 H-055", "h.example:80", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A17 H-055", "h.example:22", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A17 H-055", "h.example:444", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A17", "h.example:9999", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A18", "a.w.example:8443", VERDICT_ALLOW, CODE_OK },
		{ "A18", "a.w.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		/* decided (D? T-009): no port is every port */
		{ "A19 T-009", "any.example:22", VERDICT_ALLOW, CODE_OK },
		{ "A19", "any.example:443", VERDICT_ALLOW, CODE_OK },
		{ "A19", "any.example:65535", VERDICT_ALLOW, CODE_OK },
		{ "", "r.example:80", VERDICT_ALLOW, CODE_OK },
		{ "", "r.example:82", VERDICT_ALLOW, CODE_OK },
		{ "", "r.example:83", VERDICT_DENY, CODE_NOT_LISTED },
		{ "", "r.example:90", VERDICT_ALLOW, CODE_OK },
	};

	(void)state;
	CHECK(&l, row);
}

static void test_decide_literals_need_their_own_entry(void **state)
{
	static const struct lists star = { .allow = { "*", "*.example" } };
	static const struct lists names = { .allow = { "*.example", "good.example" } };
	static const struct lists exact = { .allow = { "192.168.1.1", "[2001:db8::1]:443",
						       "10.0.0.0/8:22", "8.8.8.8" } };
	static const struct row in_star[] = {
		{ "", "a.test:443", VERDICT_ALLOW, CODE_OK },
		/* decided (D? D-022): no port is singled out; * opens public literals */
		{ "D-022", "8.8.8.8:53", VERDICT_ALLOW, CODE_OK },
		{ "", "[2606:2800::1]:443", VERDICT_ALLOW, CODE_OK },
		{ "A-001", "127.0.0.1:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-001", "127.0.0.2:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-001", "127.255.255.254:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-002", "0.0.0.0:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-004", "[::1]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-004", "[::0.0.0.1]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-005", "[::ffff:127.0.0.1]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-005", "[::ffff:0.0.0.0]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-007", "[::127.0.0.1]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-009", "[64:ff9b::7f00:1]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-009", "[64:ff9b::a9fe:a9fe]:80", VERDICT_DENY, CODE_METADATA },
		{ "A-009", "[64:ff9b::a00:1]:80", VERDICT_DENY, CODE_PRIVATE },
		{ "A-010", "[64:ff9b:1::1]:80", VERDICT_DENY, CODE_SPECIAL },
		{ "A-012", "[2002:7f00:1::]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A-014", "[fe80::5efe:7f00:1]:80", VERDICT_DENY, CODE_LINK_LOCAL },
		{ "A-015", "[fe80::1]:80", VERDICT_DENY, CODE_LINK_LOCAL },
		{ "A-016", "[fec0::1]:80", VERDICT_DENY, CODE_PRIVATE },
		{ "A-016", "[fd00::1]:80", VERDICT_DENY, CODE_PRIVATE },
		{ "A-017", "[ff02::1]:80", VERDICT_DENY, CODE_SPECIAL },
		{ "A-017", "224.0.0.1:80", VERDICT_DENY, CODE_SPECIAL },
		{ "A-019", "100.64.0.1:80", VERDICT_DENY, CODE_PRIVATE },
		{ "A-019", "100.127.255.255:80", VERDICT_DENY, CODE_PRIVATE },
		{ "A-019", "100.63.255.255:80", VERDICT_ALLOW, CODE_OK },
		{ "A-019", "100.128.0.0:80", VERDICT_ALLOW, CODE_OK },
		{ "A-020", "169.254.0.1:80", VERDICT_DENY, CODE_LINK_LOCAL },
		{ "A-020", "169.254.169.254:80", VERDICT_DENY, CODE_METADATA },
		{ "A-021", "[fd00:ec2::254]:80", VERDICT_DENY, CODE_METADATA },
		{ "A-022", "168.63.129.16:80", VERDICT_DENY, CODE_METADATA },
		{ "A-024", "192.0.2.1:80", VERDICT_DENY, CODE_SPECIAL },
		{ "", "10.0.0.1:80", VERDICT_DENY, CODE_PRIVATE },
	};
	static const struct row in_names[] = {
		{ "A7", "127.0.0.1:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "A7", "192.168.1.1:80", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A7", "8.8.8.8:80", VERDICT_DENY, CODE_NOT_LISTED },
	};
	static const struct row in_exact[] = {
		{ "A8", "192.168.1.1:80", VERDICT_ALLOW, CODE_OK },
		{ "A8", "192.168.1.2:80", VERDICT_DENY, CODE_NOT_LISTED },
		{ "A-039", "[2001:DB8:0:0::1]:443", VERDICT_ALLOW, CODE_OK },
		{ "A-039", "[2001:db8::1]:80", VERDICT_DENY, CODE_NOT_LISTED },
		{ "", "10.1.2.3:22", VERDICT_ALLOW, CODE_OK },
		{ "", "[::ffff:10.1.2.3]:22", VERDICT_ALLOW, CODE_OK },
		{ "", "10.1.2.3:23", VERDICT_DENY, CODE_NOT_LISTED },
		{ "", "8.8.8.8:443", VERDICT_ALLOW, CODE_OK },
		{ "", "8.8.4.4:443", VERDICT_DENY, CODE_NOT_LISTED },
	};

	(void)state;
	CHECK(&star, in_star);
	CHECK(&names, in_names);
	CHECK(&exact, in_exact);
}

static void test_decide_denied_literals(void **state)
{
	static const struct lists l = {
		.allow = { "*", "[::1]", "fd00::/8", "[fd00:ec2::254]" },
		.deny = { "[::1]:443", "[2001:DB8:0:0::1]:8443", "[fd00:ec2::254]",
			  "93.184.216.0/24" },
	};
	static const struct lists open = { .allow = { "[2001:db8::1]" },
					   .deny = { "[2001:DB8:0:0::1]:8443" } };
	static const struct row row[] = {
		{ "A20", "[::1]:443", VERDICT_DENY, CODE_DENIED },
		{ "A20", "[::1]:80", VERDICT_ALLOW, CODE_OK },
		{ "A21", "[fd00:ec2::254]:80", VERDICT_DENY, CODE_DENIED },
		{ "A21", "[FD00:0EC2:0::0254]:80", VERDICT_DENY, CODE_DENIED },
		{ "", "93.184.216.34:80", VERDICT_DENY, CODE_DENIED },
		{ "", "[::ffff:93.184.216.34]:80", VERDICT_DENY, CODE_DENIED },
		{ "", "[64:ff9b::5db8:d822]:80", VERDICT_DENY, CODE_DENIED },
		{ "", "93.184.217.34:80", VERDICT_ALLOW, CODE_OK },
	};
	static const struct row in_open[] = {
		{ "A20", "[2001:db8::1]:8443", VERDICT_DENY, CODE_DENIED },
		{ "A20", "[2001:db8::1]:443", VERDICT_ALLOW, CODE_OK },
	};

	(void)state;
	CHECK(&l, row);
	CHECK(&open, in_open);
}

/* Blocks: each opens its own kind; none opens metadata or link-local. */
static void test_decide_blocks(void **state)
{
	static const struct lists all = { .allow = { "0.0.0.0/0", "::/0" } };
	static const struct lists kind = { .allow = { "127.0.0.0/8", "169.254.0.0/16", "fe80::/10",
						      "198.18.0.0/15", "fc00::/7" } };
	static const struct lists exact = { .allow = { "169.254.169.254:80", "[fe80::1]",
						       "169.254.7.7" } };
	static const struct row in_all[] = {
		{ "", "8.8.8.8:80", VERDICT_ALLOW, CODE_OK },
		{ "", "[2606:2800::1]:80", VERDICT_ALLOW, CODE_OK },
		{ "", "127.0.0.1:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "[::1]:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "10.0.0.1:80", VERDICT_DENY, CODE_PRIVATE },
		{ "", "169.254.169.254:80", VERDICT_DENY, CODE_METADATA },
		{ "", "168.63.129.16:80", VERDICT_DENY, CODE_METADATA },
	};
	static const struct row in_kind[] = {
		{ "", "127.0.0.1:80", VERDICT_ALLOW, CODE_OK },
		{ "", "198.18.0.1:80", VERDICT_ALLOW, CODE_OK },
		{ "", "[fd12::1]:80", VERDICT_ALLOW, CODE_OK },
		{ "", "[fd00:ec2::254]:80", VERDICT_DENY, CODE_METADATA },
		{ "", "169.254.0.1:80", VERDICT_DENY, CODE_LINK_LOCAL },
		{ "", "169.254.169.254:80", VERDICT_DENY, CODE_METADATA },
		{ "", "[fe80::1]:80", VERDICT_DENY, CODE_LINK_LOCAL },
	};
	static const struct row in_exact[] = {
		{ "", "169.254.169.254:80", VERDICT_ALLOW, CODE_OK },
		{ "", "169.254.169.254:81", VERDICT_DENY, CODE_METADATA },
		{ "", "169.254.170.2:80", VERDICT_DENY, CODE_METADATA },
		{ "", "[fe80::1]:80", VERDICT_ALLOW, CODE_OK },
		{ "", "169.254.7.7:80", VERDICT_ALLOW, CODE_OK },
		{ "", "169.254.7.8:80", VERDICT_DENY, CODE_LINK_LOCAL },
	};

	(void)state;
	CHECK(&all, in_all);
	CHECK(&kind, in_kind);
	CHECK(&exact, in_exact);
}

static void test_decide_names_of_this_machine(void **state)
{
	static const struct lists star = { .allow = { "*" } };
	static const struct lists name = { .allow = { "localhost:3000", "*.localhost:4000" } };
	static const struct lists addrs = { .allow = { "127.0.0.1:3000" } };
	static const struct lists deny = { .allow = { "localhost" }, .deny = { "localhost:22" } };
	static const struct lists lan = { .allow = { "*.localdomain" } };
	static const struct lists meta = { .allow = { "metadata.google.internal", "*" } };
	static const struct lists open = { .allow = { "metadata.google.internal",
						      "169.254.169.254:80" } };
	static const struct row in_star[] = {
		{ "", "localhost:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "LOCALHOST.:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "a.localhost:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "ip6-localhost:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "metadata.google.internal:80", VERDICT_DENY, CODE_METADATA },
		{ "", "localhost.example:80", VERDICT_ALLOW, CODE_OK },
	};
	static const struct row in_name[] = {
		{ "", "localhost:3000", VERDICT_ALLOW, CODE_OK },
		{ "", "localhost:3001", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "127.0.0.1:3000", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "a.localhost:3000", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "a.localhost:4000", VERDICT_ALLOW, CODE_OK },
	};
	static const struct row in_addrs[] = {
		{ "", "127.0.0.1:3000", VERDICT_ALLOW, CODE_OK },
		{ "", "localhost:3000", VERDICT_ALLOW, CODE_OK },
		{ "", "localhost:3001", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "127.0.0.1:3001", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "127.0.0.2:3000", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "[::1]:3000", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "other.example:3000", VERDICT_DENY, CODE_NOT_LISTED },
	};
	static const struct row in_deny[] = {
		{ "", "localhost:80", VERDICT_ALLOW, CODE_OK },
		{ "", "localhost:22", VERDICT_DENY, CODE_DENIED },
	};
	static const struct row in_lan[] = {
		{ "", "localhost.localdomain:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "a.localhost.localdomain:80", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "nas.localdomain:80", VERDICT_ALLOW, CODE_OK },
	};
	static const struct row in_meta[] = {
		{ "", "metadata.google.internal:80", VERDICT_DENY, CODE_METADATA },
	};
	static const struct row in_open[] = {
		{ "", "metadata.google.internal:80", VERDICT_ALLOW, CODE_OK },
		{ "", "metadata.google.internal:81", VERDICT_DENY, CODE_METADATA },
	};

	(void)state;
	CHECK(&star, in_star);
	CHECK(&name, in_name);
	CHECK(&addrs, in_addrs);
	CHECK(&deny, in_deny);
	CHECK(&lan, in_lan);
	CHECK(&meta, in_meta);
	CHECK(&open, in_open);
}

static void test_decide_unknown_hosts(void **state)
{
	static const struct lists ask = { .allow = { "a.example" },
					  .deny = { "d.example" },
					  .unknown = VERDICT_ASK };
	static const struct lists learn = { .deny = { "d.example" }, .unknown = VERDICT_ALLOW };
	static const struct lists strict = { .allow = { "a.example" },
					     .strict = true,
					     .unknown = VERDICT_ASK };
	static const struct row in_ask[] = {
		{ "A14", "b.example:443", VERDICT_ASK, CODE_NOT_LISTED },
		{ "", "a.example:443", VERDICT_ALLOW, CODE_OK },
		{ "", "d.example:443", VERDICT_DENY, CODE_DENIED },
		{ "", "8.8.8.8:443", VERDICT_ASK, CODE_NOT_LISTED },
		{ "", "10.0.0.1:443", VERDICT_ASK, CODE_NOT_LISTED },
		{ "", "224.0.0.1:443", VERDICT_DENY, CODE_SPECIAL },
		{ "", "127.0.0.1:443", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "localhost:443", VERDICT_DENY, CODE_LOOPBACK },
		{ "", "169.254.169.254:80", VERDICT_DENY, CODE_METADATA },
	};
	static const struct row in_learn[] = {
		{ "", "b.example:443", VERDICT_ALLOW, CODE_OK },
		{ "", "8.8.8.8:443", VERDICT_ALLOW, CODE_OK },
		{ "", "d.example:443", VERDICT_DENY, CODE_DENIED },
		{ "", "10.0.0.1:443", VERDICT_DENY, CODE_PRIVATE },
		{ "", "198.18.0.1:443", VERDICT_DENY, CODE_SPECIAL },
		{ "", "127.0.0.1:443", VERDICT_DENY, CODE_LOOPBACK },
	};
	static const struct row in_strict[] = {
		{ "A22", "b.example:443", VERDICT_DENY, CODE_STRICT },
		{ "A22", "a.example:443", VERDICT_ALLOW, CODE_OK },
	};

	(void)state;
	CHECK(&ask, in_ask);
	CHECK(&learn, in_learn);
	CHECK(&strict, in_strict);
}

/* Whoever writes --only means all that the run may reach: settings and --allow add nothing to it. */
static void test_decide_own_list_of_the_run(void **state)
{
	static const struct lists only = { .allow = { "a.example", "8.8.8.8", "127.0.0.1:3002" },
					   .deny = { "d.example" },
					   .only = { "o.example", "d.example", "127.0.0.1:3000" },
					   .unknown = VERDICT_ASK };
	static const struct lists strict = { .allow = { "a.example" },
					     .only = { "o.example", "8.8.8.8", "127.0.0.1:3000" },
					     .strict = true };
	static const struct row in_only[] = {
		{ "A23", "o.example:443", VERDICT_ALLOW, CODE_OK },
		{ "A23", "a.example:443", VERDICT_DENY, CODE_ONLY },
		{ "A23", "8.8.8.8:443", VERDICT_DENY, CODE_ONLY },
		{ "A23", "127.0.0.1:3002", VERDICT_DENY, CODE_ONLY },
		{ "A23", "localhost:3002", VERDICT_DENY, CODE_ONLY },
		{ "A23", "localhost:3000", VERDICT_ALLOW, CODE_OK },
		{ "A23", "d.example:443", VERDICT_DENY, CODE_DENIED },
		{ "A23", "x.example:443", VERDICT_DENY, CODE_ONLY },
		{ "A23", "127.0.0.1:3000", VERDICT_ALLOW, CODE_OK },
		{ "A23", "127.0.0.1:3001", VERDICT_DENY, CODE_LOOPBACK },
	};
	static const struct row in_strict[] = {
		{ "A23", "o.example:443", VERDICT_ALLOW, CODE_OK },
		{ "A23", "8.8.8.8:443", VERDICT_ALLOW, CODE_OK },
		{ "A23", "127.0.0.1:3000", VERDICT_ALLOW, CODE_OK },
		{ "A23", "localhost:3000", VERDICT_ALLOW, CODE_OK },
		{ "A23", "a.example:443", VERDICT_DENY, CODE_ONLY },
		{ "A23", "x.example:443", VERDICT_DENY, CODE_ONLY },
	};

	(void)state;
	CHECK(&only, in_only);
	CHECK(&strict, in_strict);
}

static void test_decide_refuses_the_unformed(void **state)
{
	struct policy *p = make(&(struct lists){ .allow = { "*" }, .unknown = VERDICT_ALLOW });
	struct target t = target("a.example:443");
	struct decision d;

	(void)state;
	t.port = 0;
	policy_decide(p, &t, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_int_equal(d.code, CODE_BAD_PORT);
	t.via = VIA_DNS;
	policy_decide(p, &t, &d);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	t.host = (struct hostname){ 0 };
	policy_decide(p, &t, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_int_equal(d.code, CODE_BAD_HOST);
	policy_free(p);
}

/* A DNS question has no port: open if some port is, denied only if every port is. */
static void test_decide_without_port(void **state)
{
	struct policy *p =
		make(&(struct lists){ .allow = { "a.example:443", "*.b.example", "localhost:3000" },
				      .deny = { "x.b.example", "y.b.example:22" } });
	static const struct {
		const char *host;
		enum verdict verdict;
		enum code code;
	} row[] = {
		{ "a.example:1", VERDICT_ALLOW, CODE_OK },
		{ "x.b.example:1", VERDICT_DENY, CODE_DENIED },
		{ "y.b.example:1", VERDICT_ALLOW, CODE_OK },
		{ "c.example:1", VERDICT_DENY, CODE_NOT_LISTED },
		{ "localhost:1", VERDICT_ALLOW, CODE_OK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct target t = target(row[i].host);
		struct decision d;

		t.via = VIA_DNS;
		t.port = 0;
		policy_decide(p, &t, &d);
		if (d.verdict != row[i].verdict || d.code != row[i].code)
			fail_msg("%s: %d %s", row[i].host, d.verdict, policy_code_name(d.code));
	}
	policy_free(p);
}

/* H-057: the way in does not matter. */
static void test_decide_ignores_the_way_in(void **state)
{
	struct policy *p =
		make(&(struct lists){ .allow = { "a.example" }, .deny = { "d.example" } });
	static const char *const host[] = { "a.example:443", "d.example:443", "x.example:443",
					    "127.0.0.1:443", "10.0.0.1:443" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(host); i++) {
		struct target t = target(host[i]);
		struct decision first, d;

		policy_decide(p, &t, &first);
		for (int via = 0; via < VIA_NUM; via++) {
			t.via = (enum via)via;
			policy_decide(p, &t, &d);
			assert_int_equal(d.verdict, first.verdict);
			assert_int_equal(d.code, first.code);
			assert_ptr_equal(d.rule, first.rule);
		}
	}
	policy_free(p);
}

struct vet_row {
	const char *target;
	const char *addr;
	enum code code;
};

static void check_vet(const struct lists *l, const struct vet_row *row, size_t n)
{
	struct addr own_v[] = { addr("198.51.100.7"), addr("10.9.9.9"), addr("93.184.216.99"),
				addr("2606:2800::7"), addr("127.0.0.1") };
	struct cidr own_blocks[] = { { addr("2a01:4f8:77::"), 64 }, { addr("93.184.217.0"), 28 } };
	struct addr_set own = { own_v, ARRAY_SIZE(own_v), own_blocks, ARRAY_SIZE(own_blocks) };
	struct policy *p = make(l);

	for (size_t i = 0; i < n; i++) {
		struct target t = target(row[i].target);
		struct addr a = addr(row[i].addr);
		struct decision d;

		policy_vet(p, &t, &a, &own, &d);
		if (d.code != row[i].code)
			fail_msg("%s -> %s: %s, want %s", row[i].target, row[i].addr,
				 policy_code_name(d.code), policy_code_name(row[i].code));
		assert_int_equal(d.verdict, row[i].code == CODE_OK ? VERDICT_ALLOW : VERDICT_DENY);
		if (d.verdict == VERDICT_DENY)
			assert_true(addr_equal(&d.addr, &a));
	}
	policy_free(p);
}

#define CHECK_VET(l, rows) check_vet(l, rows, ARRAY_SIZE(rows))

/* A-040, D-002, D-004: every address that an allowed name leads to. */
static void test_vet_refuses_classes(void **state)
{
	static const struct lists l = { .allow = { "*", "g.example" } };
	static const struct vet_row row[] = {
		{ "g.example:443", "93.184.216.34", CODE_OK },
		{ "g.example:443", "2606:2800::1", CODE_OK },
		{ "g.example:443", "127.0.0.1", CODE_LOOPBACK },
		{ "g.example:443", "127.0.1.1", CODE_LOOPBACK }, /* D-012 */
		{ "g.example:443", "0.0.0.0", CODE_LOOPBACK },
		{ "g.example:443", "::1", CODE_LOOPBACK },
		{ "g.example:443", "::ffff:127.0.0.1", CODE_LOOPBACK },
		{ "g.example:443", "64:ff9b::7f00:1", CODE_LOOPBACK },
		{ "g.example:443", "169.254.169.254", CODE_METADATA },
		{ "g.example:443", "168.63.129.16", CODE_METADATA },
		{ "g.example:443", "100.100.100.200", CODE_METADATA },
		{ "g.example:443", "fd00:ec2::254", CODE_METADATA },
		{ "g.example:443", "169.254.1.1", CODE_LINK_LOCAL },
		{ "g.example:443", "fe80::1", CODE_LINK_LOCAL },
		{ "g.example:443", "10.0.0.1", CODE_PRIVATE },
		{ "g.example:443", "100.64.0.1", CODE_PRIVATE },
		{ "g.example:443", "64:ff9b::a00:1", CODE_PRIVATE },
		{ "g.example:443", "fd12::1", CODE_PRIVATE },
		{ "g.example:443", "224.0.0.1", CODE_SPECIAL },
		{ "g.example:443", "198.18.0.1", CODE_SPECIAL },
		/* this machine's own, plain and in disguise */
		{ "g.example:443", "93.184.216.99", CODE_OWN_ADDRESS },
		{ "g.example:443", "::ffff:93.184.216.99", CODE_OWN_ADDRESS },
		{ "g.example:443", "64:ff9b::5db8:d863", CODE_OWN_ADDRESS },
		{ "g.example:443", "2606:2800::7", CODE_OWN_ADDRESS },
		/* a block that a local route leads here, and its neighbours */
		{ "g.example:443", "2a01:4f8:77::5", CODE_OWN_ADDRESS },
		{ "[2a01:4f8:77::5]:443", "2a01:4f8:77::5", CODE_OWN_ADDRESS },
		{ "g.example:443", "2a01:4f8:77:1::5", CODE_OK },
		{ "g.example:443", "93.184.217.15", CODE_OWN_ADDRESS },
		{ "g.example:443", "93.184.217.16", CODE_OK },
		{ "g.example:443", "10.9.9.9", CODE_OWN_ADDRESS },
		/* a public literal that is this machine */
		{ "93.184.216.99:443", "93.184.216.99", CODE_OWN_ADDRESS },
		{ "93.184.216.34:443", "93.184.216.34", CODE_OK },
	};

	(void)state;
	CHECK_VET(&l, row);
}

static void test_vet_listed_addresses_open(void **state)
{
	static const struct lists l = {
		.allow = { "g.example", "127.0.0.1:3000", "10.0.0.0/8:443", "169.254.169.254:80",
			   "198.51.100.7", "203.0.113.0/24" },
	};
	static const struct lists wide = { .allow = { "g.example", "0.0.0.0/0", "::/0",
						      "127.0.0.0/8:1" } };
	static const struct vet_row row[] = {
		{ "g.example:3000", "127.0.0.1", CODE_OK },
		{ "g.example:3001", "127.0.0.1", CODE_LOOPBACK },
		{ "g.example:3000", "127.0.0.2", CODE_LOOPBACK },
		{ "g.example:3000", "::1", CODE_LOOPBACK },
		{ "g.example:443", "10.1.2.3", CODE_OK },
		{ "g.example:80", "10.1.2.3", CODE_PRIVATE },
		{ "g.example:443", "192.168.0.1", CODE_PRIVATE },
		{ "g.example:80", "169.254.169.254", CODE_OK },
		{ "g.example:443", "169.254.169.254", CODE_METADATA },
		{ "g.example:443", "198.51.100.7", CODE_OK },	   /* own, but listed itself */
		{ "g.example:443", "10.9.9.9", CODE_OWN_ADDRESS }, /* own: a block is not enough */
		{ "g.example:443", "203.0.113.9", CODE_OK },
		{ "10.1.2.3:443", "10.1.2.3", CODE_OK },
		{ "10.1.2.3:80", "10.1.2.3", CODE_PRIVATE },
	};
	static const struct vet_row in_wide[] = {
		{ "g.example:443", "8.8.8.8", CODE_OK },
		{ "g.example:443", "10.0.0.1", CODE_PRIVATE },
		{ "g.example:443", "169.254.169.254", CODE_METADATA },
		{ "g.example:443", "::1", CODE_LOOPBACK },
		{ "g.example:1", "127.0.0.1", CODE_OK },
		{ "g.example:2", "127.0.0.1", CODE_LOOPBACK },
	};

	(void)state;
	CHECK_VET(&l, row);
	CHECK_VET(&wide, in_wide);
}

static void test_vet_denied_addresses(void **state)
{
	static const struct lists l = {
		.allow = { "g.example", "93.184.216.34", "10.0.0.0/8" },
		.deny = { "93.184.216.0/24", "10.1.0.0/16:22", "2606:2800::/32", "*.evil.example" },
	};
	static const struct vet_row row[] = {
		{ "g.example:443", "93.184.216.34", CODE_DENIED },
		{ "g.example:443", "::ffff:93.184.216.34", CODE_DENIED },
		{ "g.example:443", "64:ff9b::5db8:d822", CODE_DENIED },
		{ "g.example:443", "93.184.217.34", CODE_OK },
		{ "g.example:22", "10.1.0.1", CODE_DENIED },
		{ "g.example:23", "10.1.0.1", CODE_OK },
		{ "g.example:443", "2606:2800::1", CODE_DENIED },
	};

	(void)state;
	CHECK_VET(&l, row);
}

static void test_vet_private_names(void **state)
{
	static const struct lists l = { .allow = { "*" },
					.private = { "*.corp.example:443", "nas.example" } };
	static const struct lists any = { .allow = { "*" }, .private = { "*" } };
	static const struct vet_row row[] = {
		{ "a.corp.example:443", "10.0.0.1", CODE_OK },
		{ "a.corp.example:443", "fd12::1", CODE_OK },
		{ "a.corp.example:443", "100.64.0.1", CODE_OK },
		{ "a.corp.example:80", "10.0.0.1", CODE_PRIVATE },
		{ "corp.example:443", "10.0.0.1", CODE_PRIVATE },
		{ "nas.example:80", "192.168.1.1", CODE_OK },
		{ "g.example:443", "10.0.0.1", CODE_PRIVATE },
		{ "a.corp.example:443", "127.0.0.1", CODE_LOOPBACK },
		{ "a.corp.example:443", "169.254.1.1", CODE_LINK_LOCAL },
		{ "a.corp.example:443", "169.254.169.254", CODE_METADATA },
		{ "a.corp.example:443", "100.100.100.200", CODE_METADATA },
		{ "a.corp.example:443", "198.18.0.1", CODE_SPECIAL },
		{ "a.corp.example:443", "10.9.9.9", CODE_OWN_ADDRESS },
	};
	static const struct vet_row in_any[] = {
		{ "g.example:443", "10.0.0.1", CODE_OK },
		{ "g.example:443", "127.0.0.1", CODE_LOOPBACK },
		{ "10.0.0.1:443", "10.0.0.1", CODE_PRIVATE },
	};

	(void)state;
	CHECK_VET(&l, row);
	CHECK_VET(&any, in_any);
}

/* localhost means 127.0.0.1 and ::1, whatever a resolver says. */
static void test_vet_names_of_this_machine(void **state)
{
	static const struct lists l = { .allow = { "localhost:3000", "*" } };
	static const struct lists by_addr = { .allow = { "127.0.0.1:3000" } };
	static const struct vet_row row[] = {
		{ "localhost:3000", "127.0.0.1", CODE_OK },
		{ "localhost:3000", "::1", CODE_OK },
		{ "localhost:3000", "127.0.0.2", CODE_NOT_LISTED },
		{ "localhost:3000", "93.184.216.34", CODE_NOT_LISTED },
		{ "localhost:3000", "10.0.0.1", CODE_NOT_LISTED },
		{ "localhost:3001", "127.0.0.1", CODE_LOOPBACK },
		{ "localhost.localdomain:3000", "127.0.0.1", CODE_LOOPBACK },
		{ "other.example:3000", "127.0.0.1", CODE_LOOPBACK },
	};
	static const struct vet_row in_addr[] = {
		{ "localhost:3000", "127.0.0.1", CODE_OK },
		{ "localhost:3000", "::1", CODE_LOOPBACK },
		{ "localhost:3001", "127.0.0.1", CODE_LOOPBACK },
	};

	(void)state;
	CHECK_VET(&l, row);
	CHECK_VET(&by_addr, in_addr);
}

/* A person may say yes to a private literal, and to nothing worse. */
static void test_vet_literals_that_were_asked_about(void **state)
{
	static const struct lists ask = { .unknown = VERDICT_ASK };
	static const struct lists strict = { .unknown = VERDICT_ASK, .strict = true };
	static const struct lists only = { .unknown = VERDICT_ASK, .only = { "a.example" } };
	static const struct vet_row in_ask[] = {
		{ "10.0.0.1:22", "10.0.0.1", CODE_OK },
		{ "a.example:22", "10.0.0.1", CODE_PRIVATE },
		{ "10.9.9.9:22", "10.9.9.9", CODE_OWN_ADDRESS },
		{ "127.0.0.1:22", "127.0.0.1", CODE_LOOPBACK },
		{ "169.254.1.1:22", "169.254.1.1", CODE_LINK_LOCAL },
		{ "224.0.0.1:22", "224.0.0.1", CODE_SPECIAL },
	};
	static const struct vet_row otherwise[] = {
		{ "10.0.0.1:22", "10.0.0.1", CODE_PRIVATE },
	};

	(void)state;
	CHECK_VET(&ask, in_ask);
	CHECK_VET(&strict, otherwise);
	CHECK_VET(&only, otherwise);
}

static void test_vet_without_own_addresses(void **state)
{
	struct policy *p = make(&(struct lists){ .allow = { "g.example" } });
	struct target t = target("g.example:443");
	struct addr a = addr("93.184.216.34"), lo = addr("127.0.0.1");
	struct decision d;

	(void)state;
	policy_vet(p, &t, &a, NULL, &d);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	policy_vet(p, &t, &lo, NULL, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	policy_free(p);
}

static void test_add_refuses_by_list(void **state)
{
	struct policy *p = policy_new();
	struct error err;

	(void)state;
	assert_int_equal(policy_add(p, LIST_ALLOW, "*.com", NULL, 0, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "*.com"));
	assert_int_equal(policy_add(p, LIST_ONLY, "**.co.uk", NULL, 0, NULL, &err), -1);
	assert_int_equal(policy_add(p, LIST_DENY, "*.com", NULL, 0, NULL, &err), 0);
	assert_int_equal(policy_add(p, LIST_DENY, "*", NULL, 0, NULL, &err), 0);
	assert_int_equal(policy_add(p, LIST_PRIVATE, "10.0.0.0/8", NULL, 0, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "--allow 10.0.0.0/8"));
	assert_int_equal(policy_add(p, LIST_PRIVATE, "*", NULL, 0, NULL, &err), 0);
	assert_int_equal(policy_add(p, LIST_ALLOW, "a..b", "f", 3, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "a..b"));
	assert_int_equal(policy_add(p, LIST_ALLOW, "a..b", NULL, 0, NULL, NULL), -1);
	assert_int_equal(policy_count(p, LIST_ALLOW), 0);
	assert_int_equal(policy_count(p, LIST_DENY), 2);
	policy_free(p);
}

/* A24: a reason belongs to its own entry; names of built-in properties mean nothing here. */
static void test_reasons(void **state)
{
	struct policy *p = policy_new();
	struct target t = target("x.bad.example:443");
	struct decision d;
	struct error err;

	(void)state;
	assert_int_equal(policy_add(p, LIST_ALLOW, "*", NULL, 0, NULL, &err), 0);
	assert_int_equal(policy_add(p, LIST_DENY, "*.bad.example", "f", 9, "tracks users", &err),
			 0);
	assert_int_equal(policy_add(p, LIST_DENY, "constructor", "f", 10, NULL, &err), 0);
	policy_decide(p, &t, &d);
	assert_int_equal(d.code, CODE_DENIED);
	assert_string_equal(d.rule->text, "*.bad.example");
	assert_string_equal(d.rule->file, "f");
	assert_int_equal(d.rule->line, 9);
	assert_string_equal(d.rule->reason, "tracks users");
	t = target("constructor:443");
	policy_decide(p, &t, &d);
	assert_int_equal(d.code, CODE_DENIED);
	assert_null(d.rule->reason);
	policy_free(p);
}

/* A12, H-046: order inside a list and between lists changes nothing. */
static void test_order_of_entries_does_not_matter(void **state)
{
	static const struct {
		enum list list;
		const char *text;
	} entry[] = {
		{ LIST_ALLOW, "*.a.example" },	    { LIST_DENY, "x.a.example" },
		{ LIST_DENY, "y.a.example:22" },    { LIST_ALLOW, "x.a.example" },
		{ LIST_ALLOW, "y.a.example:1-99" },
	};
	static const char *const host[] = { "x.a.example:1", "y.a.example:22", "y.a.example:23",
					    "z.a.example:1", "a.example:1" };
	struct decision want[ARRAY_SIZE(host)];

	(void)state;
	for (size_t shift = 0; shift < ARRAY_SIZE(entry); shift++) {
		struct policy *p = policy_new();

		for (size_t i = 0; i < ARRAY_SIZE(entry); i++) {
			size_t k = (i * 2 + shift) % ARRAY_SIZE(entry);
			struct error err;

			assert_int_equal(
				policy_add(p, entry[k].list, entry[k].text, NULL, 0, NULL, &err),
				0);
		}
		for (size_t i = 0; i < ARRAY_SIZE(host); i++) {
			struct target t = target(host[i]);
			struct decision d;

			policy_decide(p, &t, &d);
			if (shift == 0)
				want[i] = d;
			assert_int_equal(d.verdict, want[i].verdict);
			assert_int_equal(d.code, want[i].code);
		}
		policy_free(p);
	}
}

static void test_capture_ports(void **state)
{
	struct policy *p = make(&(struct lists){
		.allow = { "a.example:8080", "*.b.example:25,9000-9002", "c.example",
			   "d.example:8080", "e.example:20000-60000" },
		.deny = { "x.example:7" },
		.only = { "o.example:6" } });
	static const uint16_t want[] = { 6, 25, 8080, 9000, 9001, 9002, 20000 };
	uint16_t out[16];
	size_t n;

	(void)state;
	/* what one entry names by number comes before what a wide range sweeps in */
	n = policy_capture_ports(p, out, ARRAY_SIZE(want));
	assert_int_equal(n, ARRAY_SIZE(want));
	assert_memory_equal(out, want, sizeof(want));
	assert_int_equal(policy_capture_ports(p, out, 2), 2);
	assert_int_equal(policy_capture_ports(p, out, 0), 0);
	policy_free(p);
	p = policy_new();
	assert_int_equal(policy_capture_ports(p, out, 16), 0);
	policy_free(p);
}

static void test_code_names(void **state)
{
	static const char *const name[] = {
		"ok",	       "not-listed",	 "denied",
		"loopback",    "metadata",	 "link-local",
		"own-address", "private",	 "special",
		"bad-host",    "bad-port",	 "bad-request",
		"asked-no",    "ask-timeout",	 "strict",
		"only",	       "sni-mismatch",	 "limit",
		"dns-failed",  "connect-failed", "connect-timeout",
	};

	(void)state;
	assert_int_equal(ARRAY_SIZE(name), CODE_NUM);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		assert_string_equal(policy_code_name((enum code)i), name[i]);
	policy_free(NULL);
}

/* Bounds: deny and never come first, and the bounds open nothing. */
static void bounds_only_narrow(enum list list)
{
	static const struct row row[] = {
		{ "in both", "a.example.com:443", VERDICT_ALLOW, CODE_OK },
		{ "not in the bounds", "b.example.com:443", VERDICT_DENY, CODE_ONLY },
		{ "bounds, other port", "a.example.com:80", VERDICT_DENY, CODE_ONLY },
		{ "bounds only", "elsewhere.example:443", VERDICT_DENY, CODE_NOT_LISTED },
		{ "denied", "x.elsewhere.example:443", VERDICT_DENY, CODE_DENIED },
		{ "bounds open no loopback", "127.0.0.1:443", VERDICT_DENY, CODE_LOOPBACK },
		{ "address in both", "192.0.2.7:443", VERDICT_ALLOW, CODE_OK },
		{ "address not in bounds", "192.0.2.8:443", VERDICT_DENY, CODE_ONLY },
	};
	const struct lists lists = { .allow = { "*.example.com", "192.0.2.0/24" },
				     .deny = { "x.elsewhere.example" } };
	static const char *const bounds[ENTRIES_MAX] = { "a.example.com:443", "192.0.2.7",
							 "**.elsewhere.example", "127.0.0.1" };
	struct policy *p = make(&lists);

	add_all(p, list, bounds);
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct target t = target(row[i].target);
		struct decision d;

		policy_decide(p, &t, &d);
		if (d.verdict != row[i].verdict || d.code != row[i].code)
			fail_msg("%s: %s", row[i].id, policy_code_name(d.code));
	}
	policy_free(p);
}

static void test_bounds_only_narrow(void **state)
{
	(void)state;
	bounds_only_narrow(LIST_WITHIN);
	bounds_only_narrow(LIST_SESSION);
}

/* A session's bounds do not add to those that stand already. */
static void test_bounds_hold_together(void **state)
{
	static const struct {
		const char *target;
		enum verdict verdict;
	} row[] = {
		{ "a.example.com:443", VERDICT_DENY },
		{ "b.example.com:443", VERDICT_ALLOW },
		{ "c.example.com:443", VERDICT_DENY },
	};
	const struct lists lists = { .allow = { "*.example.com" } };
	struct policy *p = make(&lists);

	(void)state;
	add_all(p, LIST_WITHIN,
		(const char *const[ENTRIES_MAX]){ "a.example.com", "b.example.com" });
	add_all(p, LIST_SESSION,
		(const char *const[ENTRIES_MAX]){ "b.example.com", "c.example.com" });
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct target t = target(row[i].target);
		struct decision d;

		policy_decide(p, &t, &d);
		assert_int_equal(d.verdict, row[i].verdict);
	}
	policy_free(p);
}

/* A session's own deny entries and bounds are on top of what all have; nobody else has them. */
static void test_share_adds_bounds_only(void **state)
{
	static const struct {
		const char *target;
		enum verdict base, shared;
		enum code code;
	} row[] = {
		{ "a.example.com:443", VERDICT_ALLOW, VERDICT_ALLOW, CODE_OK },
		{ "b.example.com:443", VERDICT_ALLOW, VERDICT_DENY, CODE_DENIED },
		{ "c.example.com:443", VERDICT_ALLOW, VERDICT_DENY, CODE_ONLY },
		{ "d.example.com:443", VERDICT_DENY, VERDICT_DENY, CODE_DENIED },
		{ "198.51.100.7:443", VERDICT_ALLOW, VERDICT_DENY, CODE_DENIED },
		{ "elsewhere.example:443", VERDICT_DENY, VERDICT_DENY, CODE_ONLY },
	};
	const struct lists lists = { .allow = { "*.example.com", "198.51.100.0/24" },
				     .deny = { "d.example.com" } };
	struct policy *base = make(&lists), *p = policy_share(base), *other = policy_share(base);
	struct decision d;

	(void)state;
	add_all(p, LIST_SESSION_DENY,
		(const char *const[ENTRIES_MAX]){ "b.example.com", "198.51.100.7" });
	add_all(p, LIST_SESSION,
		(const char *const[ENTRIES_MAX]){ "a.example.com", "b.example.com", "d.example.com",
						  "198.51.100.7" });
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct target t = target(row[i].target);

		policy_decide(base, &t, &d);
		assert_int_equal(d.verdict, row[i].base);
		policy_decide(other, &t, &d);
		assert_int_equal(d.verdict, row[i].base);
	}
	policy_free(base); /* the lists live on */
	policy_free(other);
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct target t = target(row[i].target);

		policy_decide(p, &t, &d);
		assert_int_equal(d.verdict, row[i].shared);
		assert_int_equal(d.code, row[i].code);
	}
	policy_free(p);
}

/* An address that an allowed name leads to. */
static void test_share_denies_addresses(void **state)
{
	const struct lists lists = { .allow = { "*.example.com" } };
	struct policy *base = make(&lists), *p = policy_share(base);
	const struct addr a = { .family = AF_INET, .bytes = { 93, 184, 216, 34 } };
	struct target t = target("a.example.com:443");
	struct decision d;

	(void)state;
	add_all(p, LIST_SESSION_DENY, (const char *const[ENTRIES_MAX]){ "93.184.216.0/24" });
	policy_vet(base, &t, &a, NULL, &d);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	policy_vet(p, &t, &a, NULL, &d);
	assert_int_equal(d.code, CODE_DENIED);
	policy_free(p);
	policy_free(base);
}

/* What is known of a name before it is looked up: nobody is asked in vain. */
static void test_foresee_asks_only_what_an_answer_opens(void **state)
{
	static const struct {
		const char *addr[2];
		enum verdict verdict;
		enum code code;
		const char *leads_to;
	} row[] = {
		{ { NULL }, VERDICT_ASK, CODE_NOT_LISTED, NULL },
		{ { "93.184.216.34" }, VERDICT_ASK, CODE_NOT_LISTED, NULL },
		{ { "127.0.0.1", "93.184.216.34" }, VERDICT_ASK, CODE_NOT_LISTED, NULL },
		{ { "127.0.0.1" }, VERDICT_DENY, CODE_NOT_LISTED, "127.0.0.1" },
		{ { "10.0.0.1", "127.0.0.1" }, VERDICT_DENY, CODE_NOT_LISTED, "10.0.0.1" },
		{ { "169.254.169.254" }, VERDICT_DENY, CODE_METADATA, NULL },
		{ { "203.0.113.9" }, VERDICT_DENY, CODE_DENIED, NULL },
	};
	const struct lists l = { .deny = { "203.0.113.0/24" }, .unknown = VERDICT_ASK };
	struct policy *p = make(&l);
	const struct target t = target("h.example:80");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct addr v[2];
		struct decision d;
		size_t n = 0;

		while (n < ARRAY_SIZE(v) && row[i].addr[n]) {
			v[n] = addr(row[i].addr[n]);
			n++;
		}
		policy_decide(p, &t, &d);
		assert_int_equal(d.verdict, VERDICT_ASK);
		policy_foresee(p, &t, v, n, NULL, &d);
		assert_int_equal(d.verdict, row[i].verdict);
		assert_int_equal(d.code, row[i].code);
		if (row[i].leads_to) {
			const struct addr to = addr(row[i].leads_to);

			assert_memory_equal(&d.leads_to, &to, sizeof(to));
		} else {
			assert_int_equal(d.leads_to.family, AF_UNSPEC);
		}
	}
	policy_free(p);
}

static enum verdict verdict_of(const struct policy *p, const char *text)
{
	struct target t = target(text);
	struct decision d;

	policy_decide(p, &t, &d);
	return d.verdict;
}

static enum verdict vet_of(const struct policy *p, const char *text, const char *address)
{
	struct target t = target(text);
	struct addr a = addr(address);
	struct decision d;

	policy_vet(p, &t, &a, NULL, &d);
	return d.verdict;
}

/* Whatever either of the two refuses is refused, and asking is stricter than allowing. */
static void test_bound_only_tightens(void **state)
{
	static const struct lists was = { .allow = { "both.example", "was.example", "10.0.0.0/8" },
					  .deny = { "bad.example" },
					  .unknown = VERDICT_ASK };
	static const struct lists is = { .allow = { "both.example", "is.example", "bad.example",
						    "10.0.0.0/8", "172.16.0.0/12" },
					 .deny = { "ads.example", "10.2.0.0/16" },
					 .unknown = VERDICT_DENY };
	struct policy *whole = make(&was), *p = make(&is), *next = make(&is), *shared;
	struct decision d;
	struct target t = target("bad.example:443");

	(void)state;
	assert_int_equal(verdict_of(p, "is.example:443"), VERDICT_ALLOW); /* the twins */
	assert_int_equal(verdict_of(p, "bad.example:443"), VERDICT_ALLOW);
	assert_int_equal(vet_of(p, "both.example:443", "172.16.0.1"), VERDICT_ALLOW);
	policy_set_sni_check(whole, SNI_STRICT);
	policy_set_sni_check(p, SNI_OFF);
	policy_bound(p, whole);
	policy_free(whole); /* what it said lives on */
	shared = policy_share(p);
	for (const struct policy *x = p;; x = shared) {
		assert_int_equal(verdict_of(x, "both.example:443"), VERDICT_ALLOW);
		assert_int_equal(verdict_of(x, "was.example:443"), VERDICT_DENY);
		assert_int_equal(verdict_of(x, "is.example:443"), VERDICT_ASK);
		assert_int_equal(verdict_of(x, "ads.example:443"), VERDICT_DENY);
		policy_decide(x, &t, &d);
		assert_int_equal(d.code, CODE_DENIED);
		assert_string_equal(d.rule->text, "bad.example");
		assert_int_equal(vet_of(x, "both.example:443", "10.1.2.3"), VERDICT_ALLOW);
		assert_int_equal(vet_of(x, "both.example:443", "10.2.0.1"), VERDICT_DENY);
		assert_int_equal(vet_of(x, "both.example:443", "172.16.0.1"), VERDICT_DENY);
		assert_int_equal(policy_sni_check(x), SNI_STRICT);
		if (x == shared)
			break;
	}
	/* The next one is bound by the first, not by this. */
	policy_bound(next, p);
	policy_free(p);
	assert_int_equal(verdict_of(next, "both.example:443"), VERDICT_ALLOW);
	assert_int_equal(verdict_of(next, "is.example:443"), VERDICT_ASK);
	policy_free(next);
	policy_free(shared);
}

static void test_take_over_is_of_one_file(void **state)
{
	struct policy *from = policy_new(), *p = policy_new();
	struct target t = target("a.example:8080");
	struct decision d;
	struct error err;

	(void)state;
	assert_int_equal(
		policy_add(from, LIST_DENY, "*.a.example:8080,9090", "one", 7, "why", &err), 0);
	assert_int_equal(policy_add(from, LIST_DENY, "b.example", "two", 1, NULL, &err), 0);
	assert_int_equal(policy_add(from, LIST_ALLOW, "c.example", "one", 2, NULL, &err), 0);
	assert_int_equal(policy_take_over(p, LIST_DENY, from, "one", &err), 0);
	policy_free(from);
	assert_int_equal(policy_count(p, LIST_DENY), 1);
	assert_int_equal(policy_count(p, LIST_ALLOW), 0);
	policy_decide(p, &t, &d);
	assert_int_equal(d.code, CODE_DENIED);
	assert_string_equal(d.rule->file, "one");
	assert_int_equal(d.rule->line, 7);
	assert_string_equal(d.rule->reason, "why");
	t = target("a.example:443");
	policy_decide(p, &t, &d);
	assert_int_equal(d.code, CODE_NOT_LISTED);
	policy_free(p);
}

/* The earlier file may be read again without the entry: that of the later one stands. */
static void test_take_over_is_of_what_others_have_too(void **state)
{
	struct policy *from = policy_new(), *p = policy_new();
	struct target t = target("a.example:443");
	struct decision d;
	struct error err;

	(void)state;
	policy_set_unknown(p, VERDICT_ASK);
	assert_int_equal(policy_add(from, LIST_DENY, "a.example", "one", 1, NULL, &err), 0);
	assert_int_equal(policy_add(from, LIST_DENY, "a.example", "two", 2, NULL, &err), 0);
	assert_int_equal(policy_take_over(p, LIST_DENY, from, "three", &err), 0);
	assert_int_equal(policy_count(p, LIST_DENY), 0);
	assert_int_equal(policy_take_over(p, LIST_DENY, from, "two", &err), 0);
	policy_free(from);
	policy_decide(p, &t, &d);
	assert_int_equal(d.code, CODE_DENIED);
	assert_string_equal(d.rule->file, "two");
	assert_int_equal(d.rule->line, 2);
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide_names_and_wildcards),
		cmocka_unit_test(test_decide_empty_policy_denies),
		cmocka_unit_test(test_decide_deny_wins),
		cmocka_unit_test(test_decide_ports),
		cmocka_unit_test(test_decide_literals_need_their_own_entry),
		cmocka_unit_test(test_decide_denied_literals),
		cmocka_unit_test(test_decide_blocks),
		cmocka_unit_test(test_decide_names_of_this_machine),
		cmocka_unit_test(test_decide_unknown_hosts),
		cmocka_unit_test(test_decide_own_list_of_the_run),
		cmocka_unit_test(test_decide_refuses_the_unformed),
		cmocka_unit_test(test_decide_without_port),
		cmocka_unit_test(test_decide_ignores_the_way_in),
		cmocka_unit_test(test_vet_refuses_classes),
		cmocka_unit_test(test_vet_listed_addresses_open),
		cmocka_unit_test(test_vet_denied_addresses),
		cmocka_unit_test(test_vet_private_names),
		cmocka_unit_test(test_vet_names_of_this_machine),
		cmocka_unit_test(test_vet_literals_that_were_asked_about),
		cmocka_unit_test(test_vet_without_own_addresses),
		cmocka_unit_test(test_add_refuses_by_list),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_order_of_entries_does_not_matter),
		cmocka_unit_test(test_capture_ports),
		cmocka_unit_test(test_code_names),
		cmocka_unit_test(test_bounds_only_narrow),
		cmocka_unit_test(test_bounds_hold_together),
		cmocka_unit_test(test_share_adds_bounds_only),
		cmocka_unit_test(test_share_denies_addresses),
		cmocka_unit_test(test_foresee_asks_only_what_an_answer_opens),
		cmocka_unit_test(test_bound_only_tightens),
		cmocka_unit_test(test_take_over_is_of_one_file),
		cmocka_unit_test(test_take_over_is_of_what_others_have_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
