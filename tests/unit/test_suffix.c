/* The public suffix list, with libpsl as the independent opinion. */
#include "policy/suffix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <libpsl.h>

#include "base/cleanup.h"
#include "tests/support/suffixlist.h"

#define LIST_TEXT "/usr/share/publicsuffix/public_suffix_list.dat"

static void test_shared_or_not(void **state)
{
	static const struct {
		const char *domain;
		bool shared;
		const char *found;
	} rows[] = {
		{ "com", true, "com" },
		{ "co.uk", true, "co.uk" },
		{ "github.io", true, "github.io" },
		{ "example.com", false, "" },
		{ "me.github.io", false, "" },
		{ "example.co.uk", false, "" },
		{ "python.org", false, "" },
		/* a star stands for one label: those and their parent */
		{ "kawasaki.jp", true, "kawasaki.jp" },
		{ "any.kawasaki.jp", true, "any.kawasaki.jp" },
		{ "mine.any.kawasaki.jp", false, "" },
		/* an exception to it */
		{ "city.kawasaki.jp", false, "" },
		{ "www.ck", false, "" },
		{ "any.ck", true, "any.ck" },
		/* a domain is shared when part of it is */
		{ "amazonaws.com", true, NULL },
		{ "compute.amazonaws.com", true, "compute.amazonaws.com" },
		/* a name that is like a suffix and is none */
		{ "notgithub.io", false, "" },
		{ "xn--p1ai", true, "xn--p1ai" },
		{ "example.xn--p1ai", false, "" },
		/* what nobody has registered: a single label is somebody's registry */
		{ "corp", true, "" },
		{ "build.corp", false, "" },
		{ "", true, "" },
	};
	char found[HOSTNAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (suffix_is_shared(suffixlist, rows[i].domain, found) != rows[i].shared)
			fail_msg("%s: not %d", rows[i].domain, rows[i].shared);
		if (rows[i].found)
			assert_string_equal(found, rows[i].found);
		assert_int_equal(suffix_is_shared(suffixlist, rows[i].domain, NULL),
				 rows[i].shared);
	}
}

static void test_without_a_list_everything_is_shared(void **state)
{
	char found[HOSTNAME_MAX + 1];

	(void)state;
	assert_true(suffix_is_shared(NULL, "example.com", found));
	assert_string_equal(found, "");
}

/* One entry of the list, and names around it, against libpsl. */
static void compare(const psl_ctx_t *psl, const char *entry)
{
	static const char *const before[] = { "", "a.", "xq.", "www.", "b.a." };
	bool star = strncmp(entry, "*.", 2) == 0;
	const char *base = entry + (star ? 2 : 0) + (*entry == '!');
	char name[HOSTNAME_MAX + 8];

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		char found[HOSTNAME_MAX + 1];
		bool ours;

		(void)snprintf(name, sizeof(name), "%s%s", before[i], base);
		ours = suffix_is_shared(suffixlist, name, found);
		/* Ours takes in domains above a suffix, which libpsl does not look for. */
		if (psl_is_public_suffix(psl, name) && !ours)
			fail_msg("%s is a public suffix and not shared", name);
		if (ours && *found && strcmp(found, name) == 0 &&
		    !psl_is_public_suffix(psl, name) && !(star && i == 0))
			fail_msg("%s is no public suffix", name);
		if (ours && strcmp(found, name) != 0 && !strstr(found, name))
			fail_msg("%s is not below %s", found, name);
	}
}

static void test_libpsl_says_the_same_of_every_entry(void **state)
{
	psl_ctx_t *psl = psl_load_file(SUFFIXLIST_PATH);
	FILE *f = fopen(LIST_TEXT, "re");
	char line[512];
	size_t n = 0;

	(void)state;
	assert_non_null(psl);
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		bool ascii = true;

		line[strcspn(line, " \t\r\n")] = '\0';
		for (const char *p = line; *p; p++)
			ascii &= *p > 0;
		if (!*line || strncmp(line, "//", 2) == 0 || !ascii)
			continue;
		compare(psl, line);
		n++;
	}
	(void)fclose(f);
	psl_free(psl);
	assert_true(n > 5000);
}

static void test_what_is_no_list(void **state)
{
	static const char magic[] = ".DAFSA@PSL_0   \n";
	/* a list whose one offset leads back to itself: letters without end */
	static const char loop[] = ".DAFSA@PSL_0   \n\x80\xe1";
	static const char outside[] = ".DAFSA@PSL_0   \n\xbf\xe1\x80";
	static const char shorter[] = ".DAFSA@PSL_0   \n\xe0";
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = { { loop, sizeof(loop) - 1 },
		    { outside, sizeof(outside) - 1 },
		    { shorter, sizeof(shorter) - 1 } };

	(void)state;
	assert_null(suffixes_new("", 0));
	assert_null(suffixes_new(magic, sizeof(magic) - 1));
	assert_null(suffixes_new("// a text, as it once was\ncom\n", 30));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct suffixes *s = suffixes_new(bad[i].bytes, bad[i].n);

		assert_non_null(s);
		assert_true(suffix_is_shared(s, "example.com", NULL));
		suffixes_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_or_not),
		cmocka_unit_test(test_without_a_list_everything_is_shared),
		cmocka_unit_test(test_libpsl_says_the_same_of_every_entry),
		cmocka_unit_test(test_what_is_no_list),
	};

	return cmocka_run_group_tests(tests, suffixlist_setup, suffixlist_teardown);
}
