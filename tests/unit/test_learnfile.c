#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/learnfile.h"
#include "tests/support/suffixlist.h"

#define DAY 86400

static struct learnt needed(const char *authority, bool is_private)
{
	struct learnt l = { .is_private = is_private, .first = 0, .last = DAY };

	assert_int_equal(target_parse_authority(authority, strlen(authority), 443, &l.target),
			 TARGET_OK);
	return l;
}

static void expect(const char *old, const struct learnt *v, size_t n, size_t added,
		   const char *want)
{
	struct error err;
	size_t got = 99;
	CLEANUP_FREE char *text = learnfile_merge(old, v, n, &got, &err);

	assert_non_null(text);
	assert_string_equal(text, want);
	assert_int_equal(got, added);
}

static void test_a_new_file_names_exactly_what_was_needed(void **state)
{
	struct learnt v[] = { needed("a.example", false), needed("[2a01::1]:80", false) };

	(void)state;
	expect(NULL, v, 2, 2,
	       "{\n"
	       "  \"network\": {\n"
	       "    \"allowedDomains\": [\n"
	       "      \"a.example:443\",\n"
	       "      \"[2a01::1]:80\"\n"
	       "    ],\n"
	       "    \"learned\": {\n"
	       "      \"a.example:443\": {\n"
	       "        \"first\": \"1970-01-01T00:00:00Z\",\n"
	       "        \"last\": \"1970-01-02T00:00:00Z\"\n"
	       "      },\n"
	       "      \"[2a01::1]:80\": {\n"
	       "        \"first\": \"1970-01-01T00:00:00Z\",\n"
	       "        \"last\": \"1970-01-02T00:00:00Z\"\n"
	       "      }\n"
	       "    }\n"
	       "  }\n"
	       "}\n");
}

static void test_what_is_covered_is_not_added_and_the_rest_stays(void **state)
{
	struct learnt v[] = { needed("a.b.example", false), needed("c.example:22", false) };

	(void)state;
	expect("{\"network\":{\"deniedDomains\":[\"x.example\"],\"allowedDomains\":"
	       "[\"*.b.example:443\"],\"learned\":{\"c.example:22\":{\"first\":\"then\"}}}}",
	       v, 2, 1,
	       "{\n"
	       "  \"network\": {\n"
	       "    \"deniedDomains\": [\n"
	       "      \"x.example\"\n"
	       "    ],\n"
	       "    \"allowedDomains\": [\n"
	       "      \"*.b.example:443\",\n"
	       "      \"c.example:22\"\n"
	       "    ],\n"
	       "    \"learned\": {\n"
	       "      \"c.example:22\": {\n"
	       "        \"first\": \"then\",\n"
	       "        \"last\": \"1970-01-02T00:00:00Z\"\n"
	       "      }\n"
	       "    }\n"
	       "  }\n"
	       "}\n");
}

static void test_merging_twice_is_merging_once(void **state)
{
	struct learnt v[] = { needed("a.example", false), needed("b.example:1", true) };
	struct error err;
	size_t added;
	CLEANUP_FREE char *once = learnfile_merge(NULL, v, 2, &added, &err);

	(void)state;
	assert_non_null(strstr(once, "\"allowPrivate\": [\n      \"b.example\"\n    ]"));
	expect(once, v, 2, 0, once);
}

static void test_what_is_no_settings_file_is_refused(void **state)
{
	struct learnt v = needed("a.example", false);
	struct error err;
	size_t added;

	(void)state;
	assert_null(learnfile_merge("[]", &v, 1, &added, &err));
	assert_null(learnfile_merge("{", &v, 1, &added, &err));
	assert_null(learnfile_merge("{\"network\": 1}", &v, 1, &added, &err));
}

/* All proposals, joined by blanks. */
static void collect(void *arg, const char *pattern, size_t count)
{
	char *text = arg;

	(void)sprintf(text + strlen(text), "%s=%zu ", pattern, count);
}

static void test_wildcards_need_siblings_and_a_parent_of_their_own(void **state)
{
	struct learnt v[] = {
		needed("a.cdn.example", false), needed("b.cdn.example", false),
		needed("a.github.io", false),	needed("b.github.io", false),
		needed("c.github.io", false),	needed("a.example", false),
		needed("b.example", false),	needed("c.example", false),
		needed("a.co.uk", false),	needed("b.co.uk", false),
		needed("c.co.uk", false),	needed("c.cdn.example:80", false),
		needed("1.2.3.4", false),	needed("c.cdn.example", false),
	};
	char text[512] = "";

	(void)state;
	learnfile_propose(v, 13, suffixlist, collect, text);
	assert_string_equal(text, "");
	learnfile_propose(v, 14, NULL, collect, text);
	assert_string_equal(text, "");
	learnfile_propose(v, 14, suffixlist, collect, text);
	assert_string_equal(text, "*.cdn.example:443=3 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_file_names_exactly_what_was_needed),
		cmocka_unit_test(test_what_is_covered_is_not_added_and_the_rest_stays),
		cmocka_unit_test(test_merging_twice_is_merging_once),
		cmocka_unit_test(test_what_is_no_settings_file_is_refused),
		cmocka_unit_test(test_wildcards_need_siblings_and_a_parent_of_their_own),
	};

	return cmocka_run_group_tests(tests, suffixlist_setup, suffixlist_teardown);
}
