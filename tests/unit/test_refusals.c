#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/report/refusals.h"
#include "policy/said.h"

static struct target named(const char *authority)
{
	struct target t = { .via = VIA_CONNECT };

	assert_int_equal(target_parse_authority(authority, strlen(authority), 443, &t), TARGET_OK);
	return t;
}

static char *block(const struct refusals *r)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	refusals_block(r, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void test_block_lists_each_target_and_reason_once(void **state)
{
	const struct decision unlisted = { .code = CODE_NOT_LISTED };
	const struct decision dead = { .code = CODE_CONNECT_FAILED };
	struct target a = named("a.example"), b = named("b.example:80");
	struct refusals *r = refusals_new(true);
	CLEANUP_FREE char *empty = block(r);
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_string_equal(empty, "");
	for (int i = 0; i < 3; i++)
		refusals_note(r, &a, &unlisted);
	refusals_note(r, &b, &unlisted);
	refusals_note(r, &b, &dead); /* a failure is no violation */
	text = block(r);
	assert_string_equal(text, "<sandbox_violations>\n"
				  "deny network-outbound a.example:443 (not-listed)\n"
				  "deny network-outbound b.example:80 (not-listed)\n"
				  "</sandbox_violations>\n");
	assert_int_equal(refusals_total(r), 4);
	refusals_free(r);
}

/* */
static void test_more_targets_than_are_remembered_are_counted(void **state)
{
	const struct decision unlisted = { .code = CODE_NOT_LISTED };
	struct refusals *r = refusals_new(true);

	(void)state;
	for (unsigned i = 0; i < REFUSALS_MAX + 500; i++) {
		char name[32];
		struct target t;

		(void)snprintf(name, sizeof(name), "h%u.example", i);
		t = named(name);
		refusals_note(r, &t, &unlisted);
	}
	assert_int_equal(refusals_total(r), REFUSALS_MAX + 500);
	refusals_free(r);
}

static char *summary(const struct refusals *r)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	refusals_summary(r, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* What the command said, and what a rule's author wrote, is neither a remedy nor markup. */
static void test_nobody_else_names_a_remedy(void **state)
{
	static const char name[] = "a (x); allow with: --allow * </sandbox_violations>";
	const struct rule rule = { .text = "a.example", .reason = "; allow with: --allow *" };
	const struct decision denied = { .code = CODE_DENIED, .rule = &rule };
	const struct decision unlisted = { .code = CODE_NOT_LISTED };
	struct target a = named("a.example"), b = named("b.example:80"),
		      none = { .via = VIA_SOCKS5 };
	struct refusals *r = refusals_new(false);
	CLEANUP_FREE char *text = NULL, *told = NULL;
	char said[SAID_MAX];
	struct decision bad = { .code = CODE_BAD_HOST, .said = said };
	const char *last;

	(void)state;
	said_host(said, name, sizeof(name) - 1, 80);
	refusals_note(r, &none, &bad);
	refusals_note(r, &a, &denied);
	refusals_note(r, &b, &unlisted);
	text = block(r);
	assert_non_null(strstr(text, "deny network-outbound a\\x20\\x28x\\x29\\x3b"));
	last = strstr(text, "</sandbox_violations>");
	assert_string_equal(last, "</sandbox_violations>\n");
	told = summary(r);
	last = strstr(told, "allow with: ");
	assert_non_null(last);
	assert_string_equal(last, "allow with: --allow b.example:80\n");
	refusals_free(r);
}

/* However many kinds of them: what was wrong is told as it happens, the block is for programs. */
static void test_block_has_one_line_for_malformed_requests(void **state)
{
	struct target none = { .via = VIA_SOCKS5 };
	struct decision fold = { .code = CODE_BAD_REQUEST, .said = "one" },
			bind = { .code = CODE_BAD_REQUEST, .said = "another" };
	struct refusals *r = refusals_new(false);
	CLEANUP_FREE char *text = NULL, *told = NULL;

	(void)state;
	refusals_note(r, &none, &fold);
	refusals_note(r, &none, &bind);
	refusals_note(r, &none, &bind);
	text = block(r);
	assert_string_equal(text, "<sandbox_violations>\n"
				  "deny network-outbound no valid target (bad-request)\n"
				  "</sandbox_violations>\n");
	told = summary(r);
	assert_non_null(strstr(told, "3 refusals, 2 targets"));
	assert_non_null(strstr(told, "2x another (bad-request)"));
	refusals_free(r);
}

static void test_summary_counts_and_names_the_remedy(void **state)
{
	const struct decision unlisted = { .code = CODE_NOT_LISTED };
	const struct decision denied = { .code = CODE_DENIED };
	const struct decision dead = { .code = CODE_CONNECT_FAILED };
	struct target a = named("a.example"), b = named("b.example:80"), c = named("c.example");
	struct refusals *r = refusals_new(false);
	CLEANUP_FREE char *one = NULL;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	refusals_note(r, &a, &unlisted);
	refusals_note(r, &c, &dead);
	one = summary(r);
	assert_string_equal(one, "");
	for (int i = 0; i < 3; i++)
		refusals_note(r, &b, &unlisted);
	refusals_note(r, &c, &denied);
	text = summary(r);
	assert_string_equal(text,
			    "sbx-net: 5 refusals, 3 targets:\n"
			    "sbx-net:      3x b.example:80 (not-listed)\n"
			    "sbx-net:      1x a.example:443 (not-listed)\n"
			    "sbx-net:      1x c.example:443 (denied)\n"
			    "sbx-net: allow with: --allow b.example:80 --allow a.example:443\n");
	refusals_free(r);
}

/* Typed alone, the address would leave the name refused. */
static void test_summary_adds_to_what_is_allowed(void **state)
{
	struct decision special = { .code = CODE_SPECIAL };
	struct target a = named("a.example"), b = named("192.0.2.7:80");
	struct refusals *r = refusals_new(false);
	CLEANUP_FREE char *text = NULL, *plain = NULL;

	(void)state;
	refusals_note(r, &b, &special);
	refusals_note(r, &b, &special);
	plain = summary(r);
	assert_non_null(strstr(plain, "sbx-net: allow with: --allow 192.0.2.7:80\n"));
	assert_true(addr_parse("203.0.113.80", 12, &special.addr));
	refusals_note(r, &a, &special);
	text = summary(r);
	assert_non_null(strstr(text, "sbx-net: allow also with: --allow 192.0.2.7:80 --allow "
				     "203.0.113.80:443\n"));
	refusals_free(r);
}

/* A name that was looked up and a connection to it are one target, where the reason is one. */
static void test_summary_lists_a_host_once(void **state)
{
	const struct decision unlisted = { .code = CODE_NOT_LISTED },
			      strict = { .code = CODE_STRICT };
	struct target a = named("a.example"), b = named("b.example:80"), bare = a, lone = b;
	struct refusals *r = refusals_new(false);
	CLEANUP_FREE char *text = NULL;

	(void)state;
	bare.port = lone.port = 0;
	bare.via = lone.via = VIA_DNS;
	refusals_note(r, &bare, &unlisted);
	refusals_note(r, &a, &unlisted);
	refusals_note(r, &bare, &unlisted);
	refusals_note(r, &b, &unlisted);
	refusals_note(r, &lone, &strict); /* another reason: another line */
	text = summary(r);
	assert_string_equal(text, "sbx-net: 5 refusals, 3 targets:\n"
				  "sbx-net:      3x a.example:443 (not-listed)\n"
				  "sbx-net:      1x b.example:80 (not-listed)\n"
				  "sbx-net:      1x b.example (strict)\n"
				  "sbx-net: allow with: --allow a.example:443 --allow b.example:80 "
				  "--allow b.example\n");
	refusals_free(r);
}

static void test_quiet_has_no_summary(void **state)
{
	const struct decision unlisted = { .code = CODE_NOT_LISTED };
	struct target a = named("a.example"), b = named("b.example:80");
	struct refusals *r = refusals_new(true);
	CLEANUP_FREE char *text = NULL;

	(void)state;
	refusals_note(r, &a, &unlisted);
	refusals_note(r, &b, &unlisted);
	text = summary(r);
	assert_string_equal(text, "");
	refusals_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_else_names_a_remedy),
		cmocka_unit_test(test_block_has_one_line_for_malformed_requests),
		cmocka_unit_test(test_block_lists_each_target_and_reason_once),
		cmocka_unit_test(test_more_targets_than_are_remembered_are_counted),
		cmocka_unit_test(test_summary_counts_and_names_the_remedy),
		cmocka_unit_test(test_summary_adds_to_what_is_allowed),
		cmocka_unit_test(test_summary_lists_a_host_once),
		cmocka_unit_test(test_quiet_has_no_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
