/* Warnings for `check`, each with an entry that does not get it. */
#include "policy/lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/support/suffixlist.h"

struct seen {
	unsigned count[LINT_NUM_KINDS];
	char last[LINT_TEXT_MAX];
	unsigned line;
};

static void see(void *ctx, const struct lint *w)
{
	struct seen *s = ctx;

	s->count[w->kind]++;
	s->line = w->rule->line;
	(void)snprintf(s->last, sizeof(s->last), "%s", w->text);
}

static void add(struct policy *p, enum list list, const char *text, unsigned line)
{
	struct error err;

	if (policy_add(p, list, text, "f.json", line, NULL, &err))
		fail_msg("%s", err.msg);
}

/* One allow entry, and a deny entry or NULL: how many warnings of @kind? */
static unsigned count(enum lint_kind kind, const char *allow, const char *deny, struct seen *out)
{
	struct policy *p = policy_new();
	struct seen s = { .line = 0 };
	size_t n, sum = 0;

	add(p, LIST_ALLOW, allow, 3);
	if (deny)
		add(p, LIST_DENY, deny, 9);
	n = lint_policy(p, suffixlist, see, &s);
	for (size_t i = 0; i < LINT_NUM_KINDS; i++)
		sum += s.count[i];
	assert_int_equal(n, sum);
	policy_free(p);
	if (out)
		*out = s;
	return s.count[kind];
}

struct row {
	const char *allow;
	const char *deny;
	bool warned;
};

static void check(enum lint_kind kind, const struct row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned got = count(kind, row[i].allow, row[i].deny, NULL);

		if ((got > 0) != row[i].warned)
			fail_msg("%s (deny %s): %u warnings of kind %d", row[i].allow,
				 row[i].deny ? row[i].deny : "nothing", got, (int)kind);
	}
}

static void test_shadowed(void **state)
{
	static const struct row row[] = {
		{ "a.example", "a.example", true },
		{ "a.example:443", "a.example", true },
		{ "a.example:443", "a.example:443", true },
		{ "a.example:443,444", "a.example:400-500", true },
		{ "a.example:443,80", "a.example:443", false },
		{ "a.example", "a.example:443", false },
		{ "a.example:1-60000", "a.example:1-60000", false }, /* too many to try */
		{ "a.example", "*.example", true },
		{ "a.example", "b.example", false },
		{ "*.a.example", "**.example", true },
		{ "*.a.example", "*.a.example", true },
		{ "*.a.example", "x.a.example", false },
		{ "*.a.example", "a.example", false },
		{ "**.a.example", "*.a.example", true },
		{ "*", "*", true },
		{ "*", "*:22", false },
		{ "*:22", "*:22", true },
		{ "10.1.0.0/16", "10.0.0.0/8", true },
		{ "10.0.0.0/8", "10.1.0.0/16", false },
		{ "10.0.0.0/8", "10.0.0.0", false },
		{ "10.0.0.1", "10.0.0.0/8", true },
		{ "[fd00::1]", "fd00::/8", true },
		{ "0.0.0.0/0", "0.0.0.0", false },
		{ "a.example", "10.0.0.0/8", false },
	};
	struct seen s;

	(void)state;
	check(LINT_SHADOWED, row, ARRAY_SIZE(row));
	assert_int_equal(count(LINT_SHADOWED, "a.example", "*.example", &s), 1);
	assert_string_equal(s.last, "f.json:3: \"a.example\" never allows anything: denied by "
				    "\"*.example\", f.json");
	assert_int_equal(s.line, 3);
}

static void test_duplicate(void **state)
{
	struct policy *p = policy_new();
	struct seen s = { .line = 0 };
	struct error err;

	(void)state;
	add(p, LIST_ALLOW, "a.example", 1);
	add(p, LIST_ALLOW, "a.example:443", 2);
	assert_int_equal(lint_policy(p, suffixlist, see, &s), 0);
	add(p, LIST_ALLOW, "A.Example.", 3);
	assert_int_equal(lint_policy(p, suffixlist, see, &s), 1);
	assert_int_equal(s.count[LINT_DUPLICATE], 1);
	assert_string_equal(s.last, "f.json:3: \"a.example\" stands on the list already");
	/* the entry that only brings the reason is no duplicate */
	add(p, LIST_DENY, "d.example", 4);
	assert_int_equal(policy_add(p, LIST_DENY, "d.example", "f.json", 5, "why", &err), 0);
	assert_int_equal(lint_policy(p, suffixlist, see, &s), 1);
	policy_free(p);
}

static void test_wide(void **state)
{
	static const struct row blocks[] = {
		{ "0.0.0.0/0", NULL, true },  { "128.0.0.0/1", NULL, true },
		{ "8.0.0.0/7", NULL, true },  { "10.0.0.0/8", NULL, false },
		{ "::/0", NULL, true },	      { "2000::/3", NULL, true },
		{ "fc00::/7", NULL, false },  { "2606:2800::/32", NULL, false },
		{ "a.example", NULL, false },
	};
	static const struct row all[] = {
		{ "*", NULL, true },
		{ "*:443", NULL, true },
		{ "*.a.example", NULL, false },
	};
	static const struct row ports[] = {
		{ "a.example:1-65535", NULL, true },
		{ "a.example:1-65534", NULL, false },
		{ "a.example", NULL, false },
	};

	static const struct row loopback[] = {
		{ "localhost", NULL, true },
		{ "127.0.0.1", NULL, true },
		{ "127.0.0.0/8", NULL, true },
		{ "[::1]", NULL, true },
		{ "localhost:5432", NULL, false },
		{ "127.0.0.1:1-9", NULL, false },
		{ "[::1]:80", NULL, false },
		{ "0.0.0.0/0", NULL, false },
		{ "::/0", NULL, false },
		{ "a.example", NULL, false },
		{ "*", NULL, false },
		{ "10.0.0.1", NULL, false },
	};

	(void)state;
	check(LINT_WIDE_BLOCK, blocks, ARRAY_SIZE(blocks));
	check(LINT_EVERYTHING, all, ARRAY_SIZE(all));
	check(LINT_PORTS, ports, ARRAY_SIZE(ports));
	check(LINT_NO_PORT, loopback, ARRAY_SIZE(loopback));
}

static void test_known_names(void **state)
{
	static const struct row hosting[] = {
		{ "*.github.io", NULL, true },	 { "**.github.io:443", NULL, true },
		{ "*.azure.com", NULL, true },	 { "*.me.github.io", NULL, false },
		{ "me.github.io", NULL, false }, { "*.mygithub.io", NULL, false },
		{ "*.kawasaki.jp", NULL, true }, { "*.fastly.net", NULL, true },
		{ "*.corp", NULL, false },	 { "*.shop.co.uk", NULL, false },
	};
	static const struct row relay[] = {
		{ "translate.google.com", NULL, true },
		{ "*.google.com", NULL, true },
		{ "*.google.com", "translate.google.com", false },
		{ "*.google.com", "translate.google.com:80", true },
		{ "www.google.com", NULL, false },
		{ "x.ngrok.io", NULL, true },
		{ "ngrok.io.example", NULL, false },
		{ "notpastebin.com", NULL, false },
		{ "8.8.8.8", NULL, false },
	};
	static const struct row label[] = {
		{ "com", NULL, true },
		{ "com:443", NULL, true },
		{ "example.com", NULL, false },
		{ "intranet", NULL, false },
	};

	(void)state;
	check(LINT_SHARED_HOSTING, hosting, ARRAY_SIZE(hosting));
	check(LINT_RELAY, relay, ARRAY_SIZE(relay));
	check(LINT_REGISTRY, label, ARRAY_SIZE(label));
}

static void test_metadata_and_never(void **state)
{
	static const struct row metadata[] = {
		{ "169.254.169.254", NULL, true },
		{ "[fd00:ec2::254]:80", NULL, true },
		{ "169.254.169.1", NULL, false },
	};
	static const struct row never[] = {
		{ "169.254.0.0/16", NULL, true },     { "fe80::/10", NULL, true },
		{ "169.254.169.1", NULL, false },     { "metadata.google.internal", NULL, true },
		{ "*.google.internal", NULL, false }, { "10.0.0.0/8", NULL, false },
	};
	struct policy *p = policy_new();
	struct seen s = { .line = 0 };

	(void)state;
	check(LINT_METADATA, metadata, ARRAY_SIZE(metadata));
	check(LINT_NEVER, never, ARRAY_SIZE(never));
	add(p, LIST_ALLOW, "metadata.google.internal", 1);
	add(p, LIST_ALLOW, "169.254.169.254", 2);
	(void)lint_policy(p, suffixlist, see, &s);
	assert_int_equal(s.count[LINT_NEVER], 0);
	policy_free(p);
}

static void test_deny_entries_are_left_alone(void **state)
{
	static const char *const entry[] = { "*",
					     "*.com",
					     "com",
					     "*.github.io",
					     "pastebin.com",
					     "0.0.0.0/0",
					     "169.254.0.0/16",
					     "169.254.169.254" };
	struct policy *p = policy_new();
	struct seen s = { .line = 0 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(entry); i++)
		add(p, LIST_DENY, entry[i], i);
	assert_int_equal(lint_policy(p, suffixlist, see, &s), 0);
	add(p, LIST_PRIVATE, "*", 1);
	assert_int_equal(lint_policy(p, suffixlist, see, &s), 0);
	add(p, LIST_ONLY, "pastebin.com", 1);
	assert_true(lint_policy(p, suffixlist, see, &s) > 0);
	policy_free(p);
}

static void test_text_is_escaped(void **state)
{
	static char longer[3000];
	struct policy *p = policy_new();
	struct seen s = { .line = 0 };
	struct error err;

	(void)state;
	memset(longer, 0x1b, sizeof(longer) - 1);
	assert_int_equal(policy_add(p, LIST_ALLOW, "*", longer, 1, NULL, &err), 0);
	assert_int_equal(lint_policy(p, suffixlist, see, &s), 1);
	for (const char *c = s.last; *c; c++)
		assert_true(*c >= ' ' && *c <= '~');
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shadowed),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_known_names),
		cmocka_unit_test(test_metadata_and_never),
		cmocka_unit_test(test_deny_entries_are_left_alone),
		cmocka_unit_test(test_text_is_escaped),
	};

	return cmocka_run_group_tests(tests, suffixlist_setup, suffixlist_teardown);
}
