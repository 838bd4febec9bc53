/* Patterns over a small tree of files below a temporary directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/pathglob.h"

static char dir[64];
static char got[4096];

static void make(const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	FILE *f;

	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	static const char *const files[] = { ".env",	    ".env.local",  "a/.env",
					     "a/b/c/.env",  "a/b/x.key",   "x.key",
					     "a/b/y.keys",  "keys/id_rsa", "keys/id_ed25519",
					     "keys/config", "[id].ts",	   "i.ts" };

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_pathglob.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		make(files[i]);
	return 0;
}

static int teardown(void **state)
{
	CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", dir);

	(void)state;
	return system(command);
}

static void note(void *arg, const char *path)
{
	size_t n = strlen(dir);

	(void)arg;
	assert_memory_equal(path, dir, n);
	assert_true(path[n] == '/' || !path[n]);
	assert_true(strlen(got) + strlen(path) < sizeof(got));
	(void)strcat(strcat(got, path[n] ? path + n + 1 : "."), " ");
}

static void ignore(void *arg, const char *path)
{
	(void)arg, (void)path;
}

static int note_barred(void *arg, const char *path, struct error *err)
{
	(void)err;
	note(arg, path);
	(void)strcpy(got + strlen(got) - 1, "! ");
	return 0;
}

static int stop(void *arg, const char *path, struct error *err)
{
	(void)arg;
	return error_set(err, 0, "barred: %s", path);
}

static const struct pathglob to_note = { note, note_barred, NULL };
static const struct pathglob to_nobody = { ignore, stop, NULL };

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What matches, in the order of the alphabet. */
static const char *expand(const char *pattern)
{
	CLEANUP_FREE char *full = xasprintf("%s/%s", dir, pattern);
	static char sorted[4096];
	char *v[64], *save = NULL;
	struct error err;
	size_t n = 0;

	got[0] = sorted[0] = '\0';
	assert_int_equal(pathglob_expand(full, &to_note, &err), 0);
	for (char *p = strtok_r(got, " ", &save); p; p = strtok_r(NULL, " ", &save))
		v[n++] = p;
	qsort(v, n, sizeof(v[0]), by_text);
	for (size_t i = 0; i < n; i++)
		(void)strcat(strcat(sorted, i ? " " : ""), v[i]);
	return sorted;
}

static void test_wildcards_match_within_a_component(void **state)
{
	(void)state;
	assert_string_equal(expand(".env.*"), ".env.local");
	assert_string_equal(expand(".env*"), ".env .env.local");
	assert_string_equal(expand("*.key"), "x.key");
	assert_string_equal(expand("keys/id_*"), "keys/id_ed25519 keys/id_rsa");
	assert_string_equal(expand("*/.env"), "a/.env");
	assert_string_equal(expand("?.ts"), "i.ts");
	assert_string_equal(expand("[i-k].ts"), "i.ts");
	assert_string_equal(expand("nothing*"), "");
	assert_string_equal(expand("nowhere/*"), "");
	assert_string_equal(expand("x.key/*"), "");
}

static void test_two_stars_match_any_depth(void **state)
{
	(void)state;
	assert_string_equal(expand("**/.env"), ".env a/.env a/b/c/.env");
	assert_string_equal(expand("**/*.key"), "a/b/x.key x.key");
	assert_string_equal(expand("a/**/.env"), "a/.env a/b/c/.env");
	assert_string_equal(expand("a/**/c/.env*"), "a/b/c/.env");
	assert_string_equal(expand("keys/**"), "keys");
	assert_string_equal(expand("**/b"), "a/b b");
}

static void test_two_stars_in_a_component_are_any_text(void **state)
{
	(void)state;
	assert_string_equal(expand("**.env"), ".env a/.env a/b/c/.env");
	assert_string_equal(expand("a**.env"), "a/.env a/b/c/.env");
	assert_string_equal(expand("a/**y*"), "a/b/x.key a/b/y.keys");
	assert_string_equal(expand("**y/.env"), "");
	assert_string_equal(expand("**b/**.env"), "a/b/c/.env");
	assert_string_equal(expand("k**s/id_***9"), "keys/id_ed25519");
}

static void test_what_is_missing_matches_where_it_may_come(void **state)
{
	(void)state;
	assert_string_equal(expand("**/later"), "later");
	assert_string_equal(expand("a/**/later/still"), "a/later/still");
	assert_string_equal(expand("**/later*"), "");
	assert_string_equal(expand("*/**/later"), "");
}

static void test_a_backslash_takes_its_meaning_from_a_wildcard(void **state)
{
	(void)state;
	assert_string_equal(expand("\\[id].ts"), "[id].ts");
	assert_string_equal(expand("x\\.ke\\y"), "x.key");
}

/* As a command leaves it that takes permissions for the next run. */
static void test_directories_that_cannot_be_looked_into(void **state)
{
	CLEANUP_FREE char *b = xasprintf("%s/a/b", dir);
	CLEANUP_FREE char *link = xasprintf("%s/to_c", dir);
	CLEANUP_FREE char *full = xasprintf("%s/**/.env", dir);
	CLEANUP_FREE char *hand_over = xasprintf("chown -R 65534 '%s'", dir);
	bool root = geteuid() == 0;
	struct error err;

	(void)state;
	if (root) { /* who may look into everything */
		assert_int_equal(system(hand_over), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	assert_int_equal(symlink("a/b/c", link), 0);
	for (mode_t mode = 0; mode < 0700; mode += 0100) {
		assert_int_equal(chmod(b, mode), 0);
		if ((mode & 0500) == 0500)
			continue;
		assert_string_equal(expand("**/.env"), ".env a/.env a/b!");
		assert_string_equal(expand("a/*/x.key"), mode & 0100 ? "a/b/x.key" : "a/b!");
		assert_string_equal(expand("a/*/c/.env"), mode & 0100 ? "a/b/c/.env" : "a/b!");
		assert_string_equal(expand("to_c/*"), mode & 0100 ? "to_c/.env" : "to_c!");
		assert_string_equal(expand("a/b/*"), "a/b!");
		assert_string_equal(expand("x*"), "x.key");
		assert_int_equal(pathglob_expand(full, &to_nobody, &err), -1);
	}
	assert_int_equal(chmod(b, 0700), 0);
	if (root)
		assert_int_equal(seteuid(0), 0);
}

static void test_links_match_and_are_not_searched(void **state)
{
	CLEANUP_FREE char *up = xasprintf("%s/a/up", dir);
	CLEANUP_FREE char *link = xasprintf("%s/link.key", dir);

	(void)state;
	assert_int_equal(symlink("..", up), 0);
	assert_int_equal(symlink("/nonexistent", link), 0);
	assert_string_equal(expand("**/.env"), ".env a/.env a/b/c/.env");
	assert_string_equal(expand("*.key"), "link.key x.key");
	/* named without a wildcard, a link is followed as everywhere */
	assert_string_equal(expand("a/up/*.key"), "a/up/link.key a/up/x.key");
}

static void test_too_much_is_an_error(void **state)
{
	CLEANUP_FREE char *pattern = xasprintf("%s/many/*", dir);
	struct error err;
	char name[64];

	(void)state;
	for (int i = 0; i <= PATHGLOB_MATCHES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "many/%d", i);
		make(name);
	}
	assert_int_equal(pathglob_expand(pattern, &to_nobody, &err), -1);
	assert_non_null(strstr(err.msg, "many/*"));
}

static void test_is(void **state)
{
	(void)state;
	assert_true(pathglob_is("a*") && pathglob_is("?") && pathglob_is("[id].ts"));
	assert_false(pathglob_is("/a/b.c-d{e}"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_wildcards_match_within_a_component),
		T(test_two_stars_match_any_depth),
		T(test_two_stars_in_a_component_are_any_text),
		T(test_what_is_missing_matches_where_it_may_come),
		T(test_a_backslash_takes_its_meaning_from_a_wildcard),
		T(test_directories_that_cannot_be_looked_into),
		T(test_links_match_and_are_not_searched),
		T(test_too_much_is_an_error),
		T(test_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
