#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/grant.h"
#include "tests/support/suffixlist.h"

static int64_t clock_now = 1000;

static int64_t now(void)
{
	return clock_now;
}

static struct target target(const char *authority)
{
	struct target t = { .via = VIA_CONNECT };

	assert_int_equal(target_parse_authority(authority, strlen(authority), 443, &t), TARGET_OK);
	return t;
}

static bool add(struct grants *g, const char *pattern, bool allow, enum grant_scope scope,
		int64_t until)
{
	struct grant grant = {
		.allow = allow, .scope = scope, .when = 1, .until = until, .by = "tester"
	};

	(void)snprintf(grant.pattern, sizeof(grant.pattern), "%s", pattern);
	if (scope == GRANT_PROJECT)
		(void)snprintf(grant.project, sizeof(grant.project), "/home/me/project");
	return grants_add(g, &grant);
}

/* "allow", "deny" or "none" */
static const char *find(const struct grants *g, const char *authority)
{
	struct target t = target(authority);
	struct decision d;

	if (!grants_find(g, &t, &d))
		return "none";
	assert_string_equal(d.by, "tester");
	assert_int_equal(d.code, d.verdict == VERDICT_ALLOW ? CODE_OK : CODE_ASKED_NO);
	return d.verdict == VERDICT_ALLOW ? "allow" : "deny";
}

static void test_answer_is_for_exactly_what_was_asked(void **state)
{
	struct grants *g = grants_new(now);

	(void)state;
	assert_true(add(g, "a.example:443", true, GRANT_RUN, 0));
	assert_true(add(g, "[2a01::1]:22", true, GRANT_RUN, 0));
	assert_string_equal(find(g, "a.example:443"), "allow");
	assert_string_equal(find(g, "a.example:80"), "none");
	assert_string_equal(find(g, "b.a.example:443"), "none");
	assert_string_equal(find(g, "[2a01::1]:22"), "allow");
	assert_string_equal(find(g, "[2a01::2]:22"), "none");
	grants_free(g);
}

static void test_wider_answer_covers_names_below(void **state)
{
	struct grants *g = grants_new(now);

	(void)state;
	assert_true(add(g, "*.cdn.example:443", true, GRANT_FOREVER, 0));
	assert_string_equal(find(g, "x.cdn.example"), "allow");
	assert_string_equal(find(g, "x.y.cdn.example"), "allow");
	assert_string_equal(find(g, "cdn.example"), "none");
	assert_string_equal(find(g, "xcdn.example"), "none");
	assert_true(add(g, "bad.cdn.example:443", false, GRANT_FOREVER, 0));
	assert_string_equal(find(g, "bad.cdn.example"), "deny");
	assert_string_equal(find(g, "x.cdn.example"), "allow");
	grants_free(g);
}

static void test_run_comes_before_project_before_forever(void **state)
{
	struct grants *g = grants_new(now);

	(void)state;
	assert_true(add(g, "a.example:443", false, GRANT_FOREVER, 0));
	assert_string_equal(find(g, "a.example"), "deny");
	assert_true(add(g, "a.example:443", true, GRANT_PROJECT, 0));
	assert_string_equal(find(g, "a.example"), "allow");
	assert_true(add(g, "a.example:443", false, GRANT_RUN, 0));
	assert_string_equal(find(g, "a.example"), "deny");
	grants_drop_saved(g);
	assert_int_equal(grants_count(g), 1);
	assert_string_equal(find(g, "a.example"), "deny");
	grants_free(g);
}

static void test_expired_answer_is_ignored(void **state)
{
	struct grants *g = grants_new(now);

	(void)state;
	clock_now = 1000;
	assert_true(add(g, "a.example:443", true, GRANT_FOREVER, 1010));
	clock_now = 1009;
	assert_string_equal(find(g, "a.example"), "allow");
	clock_now = 1010;
	assert_string_equal(find(g, "a.example"), "none");
	grants_free(g);
	clock_now = 1000;
}

/* How long ago it was given nobody can tell then; one without an end is as good as ever. */
static void test_a_clock_set_back_ends_what_was_for_a_while(void **state)
{
	struct grant a = { .allow = true, .scope = GRANT_RUN, .when = 5000, .until = 5010 };
	struct grants *g = grants_new(now);

	(void)state;
	(void)snprintf(a.pattern, sizeof(a.pattern), "a.example:443");
	(void)snprintf(a.by, sizeof(a.by), "tester");
	assert_true(grants_add(g, &a));
	(void)snprintf(a.pattern, sizeof(a.pattern), "b.example:443");
	a.until = 0;
	assert_true(grants_add(g, &a));
	clock_now = 5000 - GRANT_CLOCK_SLACK;
	assert_string_equal(find(g, "a.example"), "allow");
	clock_now--;
	assert_string_equal(find(g, "a.example"), "none");
	assert_string_equal(find(g, "b.example"), "allow");
	grants_free(g);
	clock_now = 1000;
}

static void test_newer_answer_replaces(void **state)
{
	struct grants *g = grants_new(now);

	(void)state;
	assert_true(add(g, "a.example:443", true, GRANT_RUN, 0));
	assert_true(add(g, "a.example:443", false, GRANT_RUN, 0));
	assert_int_equal(grants_count(g), 1);
	assert_string_equal(find(g, "a.example"), "deny");
	grants_free(g);
}

static void test_a_name_without_port_takes_a_yes_only(void **state)
{
	struct grants *g = grants_new(now);
	struct target t = target("a.example");
	struct decision d;

	(void)state;
	t.port = 0;
	t.via = VIA_DNS;
	assert_true(add(g, "a.example:80", false, GRANT_RUN, 0));
	assert_false(grants_find(g, &t, &d));
	assert_true(add(g, "a.example:443", true, GRANT_RUN, 0));
	assert_true(grants_find(g, &t, &d));
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	grants_free(g);
}

static void test_what_is_no_answer(void **state)
{
	static const char *const bad[] = {
		"*",
		"*:443",
		"*.com:443",
		"*.co.uk:443",
		"**.a.example:443",
		"a.example",
		"a.example:1-2",
		"a.example:1,2",
		"10.0.0.0/8:443",
		"",
		"a..example:443",
		"a.example:70000",
	};
	struct grants *g = grants_new(now);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(add(g, bad[i], true, GRANT_RUN, 0));
	assert_int_equal(grants_count(g), 0);
	assert_true(add(g, "*.a.example:443", true, GRANT_RUN, 0));
	grants_free(g);
}

static void test_table_is_bounded(void **state)
{
	struct grants *g = grants_new(now);
	char name[32];

	(void)state;
	for (unsigned i = 0; i < GRANTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "h%u.example:443", i);
		assert_true(add(g, name, true, GRANT_RUN, 0));
	}
	assert_false(add(g, "more.example:443", true, GRANT_RUN, 0));
	assert_true(add(g, "h7.example:443", false, GRANT_RUN, 0));
	grants_free(g);
}

static void test_widening(void **state)
{
	static const struct {
		const char *target, *wide;
	} rows[] = {
		{ "a.b.example:443", "*.b.example:443" },
		{ "x.y.cdn.example:80", "*.y.cdn.example:80" },
		{ "b.example", NULL },
		{ "example.com", NULL },
		{ "shop.co.uk", NULL },
		{ "www.shop.co.uk:443", "*.shop.co.uk:443" },
		{ "me.github.io", NULL },
		{ "bucket.s3.amazonaws.com", NULL },
		{ "51.15.10.1", NULL },
		{ "[2a01::1]", NULL },
		{ "host", NULL },
	};
	char wide[GRANT_PATTERN_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target t = target(rows[i].target);

		assert_int_equal(grant_widen(&t, suffixlist, wide), rows[i].wide != NULL);
		if (rows[i].wide)
			assert_string_equal(wide, rows[i].wide);
	}
}

static void test_line_round_trip(void **state)
{
	static const struct grant rows[] = {
		{ "a.example:443", true, GRANT_FOREVER, 5, 0, "tty", "" },
		{ "*.b.example:80", false, GRANT_PROJECT, 5, 99, "control", "/home/me/a b\"\n" },
		{ "[2a01::1]:22", true, GRANT_PROJECT, 5, 0, "exec:x", "/h\xc3\xa9\xff\x01" },
	};
	char line[GRANT_LINE_MAX];
	struct grant back;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = grant_format(&rows[i], line);

		assert_true(n > 1 && line[n - 1] == '\n');
		assert_null(memchr(line, '\n', n - 1));
		assert_int_equal(grant_parse(line, n - 1, &back, &err), 0);
		assert_string_equal(back.pattern, rows[i].pattern);
		assert_string_equal(back.project, rows[i].project);
		assert_string_equal(back.by, rows[i].by);
		assert_int_equal(back.allow, rows[i].allow);
		assert_int_equal(back.scope, rows[i].scope);
		assert_int_equal(back.when, rows[i].when);
		assert_int_equal(back.until, rows[i].until);
	}
}

static void test_broken_lines(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"x",
		"{\"pattern\":\"a.example:443\"}",
		"{\"pattern\":\"*:443\",\"verdict\":\"allow\",\"project\":\"*\",\"when\":1,"
		"\"until\":0,\"by\":\"t\"}",
		"{\"pattern\":\"a.example:443\",\"verdict\":\"yes\",\"project\":\"*\",\"when\":1,"
		"\"until\":0,\"by\":\"t\"}",
		"{\"pattern\":\"a.example:443\",\"verdict\":\"allow\",\"project\":\"rel\","
		"\"when\":1,\"until\":0,\"by\":\"t\"}",
		"{\"pattern\":\"a.example:443\",\"verdict\":\"allow\",\"project\":\"*\",\"when\":1,"
		"\"until\":-1,\"by\":\"t\"}",
		"{\"pattern\":\"a.example:443\",\"verdict\":\"allow\",\"project\":\"*\",\"when\":1,"
		"\"until\":0,\"by\":\"\\u001b[31m\"}",
	};
	static const char good[] =
		"{\"pattern\":\"a.example:443\",\"verdict\":\"allow\",\"project\":\"*\",\"when\":1,"
		"\"until\":0,\"by\":\"t\"}";
	struct grant g;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(grant_parse(bad[i], strlen(bad[i]), &g, &err), -1);
	assert_int_equal(grant_parse(good, strlen(good), &g, &err), 0);
}

/* The decision order: an answer comes behind every list and before "unknown". */
static void test_policy_hears_answers_last(void **state)
{
	struct grants *g = grants_new(now);
	struct target a = target("a.example"), d = target("d.example"), l = target("l.example"),
		      local = target("localhost:80"), ten = target("10.1.2.3:80");
	struct policy *p = policy_new();
	struct decision out;
	struct error err;

	(void)state;
	assert_true(add(g, "a.example:443", true, GRANT_FOREVER, 0));
	assert_true(add(g, "d.example:443", true, GRANT_FOREVER, 0));
	assert_true(add(g, "l.example:443", false, GRANT_FOREVER, 0));
	assert_true(add(g, "localhost:80", true, GRANT_FOREVER, 0));
	assert_int_equal(policy_add(p, LIST_DENY, "d.example", "t", 1, NULL, &err), 0);
	assert_int_equal(policy_add(p, LIST_ALLOW, "l.example", "t", 1, NULL, &err), 0);
	policy_decide(p, &a, &out);
	assert_int_equal(out.code, CODE_NOT_LISTED);
	policy_set_answers(p, g);
	policy_decide(p, &a, &out);
	assert_int_equal(out.verdict, VERDICT_ALLOW);
	assert_string_equal(out.rule->text, "a.example:443");
	policy_decide(p, &d, &out);
	assert_int_equal(out.code, CODE_DENIED);
	policy_decide(p, &l, &out);
	assert_int_equal(out.verdict, VERDICT_ALLOW);
	policy_decide(p, &local, &out);
	assert_int_equal(out.code, CODE_LOOPBACK);
	policy_decide(p, &ten, &out);
	assert_int_equal(out.verdict, VERDICT_DENY);
	assert_true(add(g, "10.1.2.3:80", true, GRANT_RUN, 0));
	policy_decide(p, &ten, &out);
	assert_int_equal(out.verdict, VERDICT_ALLOW);
	policy_vet(p, &ten, &ten.addr, NULL, &out);
	assert_int_equal(out.verdict, VERDICT_ALLOW);
	policy_set_strict(p, true);
	policy_decide(p, &a, &out);
	assert_int_equal(out.code, CODE_STRICT);
	policy_set_strict(p, false);
	assert_int_equal(policy_add(p, LIST_ONLY, "o.example", "t", 1, NULL, &err), 0);
	policy_decide(p, &a, &out);
	assert_int_equal(out.code, CODE_ONLY);
	policy_free(p);
	grants_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer_is_for_exactly_what_was_asked),
		cmocka_unit_test(test_wider_answer_covers_names_below),
		cmocka_unit_test(test_run_comes_before_project_before_forever),
		cmocka_unit_test(test_expired_answer_is_ignored),
		cmocka_unit_test(test_a_clock_set_back_ends_what_was_for_a_while),
		cmocka_unit_test(test_newer_answer_replaces),
		cmocka_unit_test(test_a_name_without_port_takes_a_yes_only),
		cmocka_unit_test(test_what_is_no_answer),
		cmocka_unit_test(test_table_is_bounded),
		cmocka_unit_test(test_widening),
		cmocka_unit_test(test_line_round_trip),
		cmocka_unit_test(test_broken_lines),
		cmocka_unit_test(test_policy_hears_answers_last),
	};

	return cmocka_run_group_tests(tests, suffixlist_setup, suffixlist_teardown);
}
