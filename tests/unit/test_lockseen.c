/* Names that were locked, and have become another file, or cannot be looked at. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/xalloc.h"
#include "launcher/files/lockseen.h"

#define NAMES 24

static char top[PATH_MAX];
static char *names[NAMES];
static char said[32 * PATH_MAX];
static size_t lines;

static void hear(void *arg, const char *line)
{
	size_t n = strlen(said);

	(void)arg;
	lines++;
	(void)snprintf(said + n, sizeof(said) - n, "%s\n", line);
}

static void shell(const char *script)
{
	if (system(script) != 0) // NOLINT(cert-env33-c): a test's own words
		fail_msg("%s", script);
}

/* Files d/0, d/1, ... */
static int enter(void **state)
{
	(void)state;
	(void)snprintf(top, sizeof(top), "/tmp/test-lockseen-XXXXXX");
	if (!mkdtemp(top) || chdir(top) < 0)
		return -1;
	for (int i = 0; i < NAMES; i++)
		names[i] = xasprintf("%s/d/%d", top, i);
	shell("mkdir d; for i in $(seq 0 23); do echo $i > d/$i; done");
	return 0;
}

static int leave(void **state)
{
	(void)state;
	for (int i = 0; i < NAMES; i++)
		free(names[i]);
	shell("rm -r \"$PWD\"");
	return chdir("/");
}

static void change(const char *script)
{
	struct lockseen s;

	said[0] = '\0';
	lines = 0;
	lockseen_note(&s, names, NAMES);
	lockseen_except(&s, "d/../d/23");
	lockseen_except(&s, "missing");
	shell(script);
	lockseen_compare(&s, hear, NULL);
	lockseen_clear(&s);
}

static void test_what_is_the_same_is_not_told(void **state)
{
	(void)state;
	change("echo more >> d/0; chmod 400 d/1; rm d/2; mv d d2; mv d2 d");
	assert_string_equal(said, "");
}

static void test_another_file_is_told(void **state)
{
	(void)state;
	change("echo new > n; mv n d/0; rm d/1 d/23; mkdir d/1 d/23");
	assert_int_equal(lines, 2);
	assert_non_null(strstr(said, "/d/0 is not what it was"));
	assert_non_null(strstr(said, "/d/1 is not what it was"));
}

static void test_many_are_counted(void **state)
{
	(void)state;
	change("rm d/*; for i in $(seq 0 19); do mkdir d/$i; done");
	assert_int_equal(lines, 17);
	assert_non_null(strstr(said, "\n4 more locked names"));
}

/* For root too no permission is needed for a path without an end. */
static void test_what_cannot_be_looked_at_is_told(void **state)
{
	(void)state;
	change("mv d e; ln -s d d");
	assert_int_equal(lines, 1);
	assert_non_null(strstr(said, "/d/0, and 22 more locked names, cannot be looked at"));
	change("echo it was not seen before");
	assert_string_equal(said, "");
	if (geteuid() == 0)
		return;
	shell("rm d; mv e d");
	change("chmod 000 d");
	shell("chmod 700 d");
	assert_non_null(strstr(said, "cannot be looked at"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_the_same_is_not_told, enter, leave),
		cmocka_unit_test_setup_teardown(test_another_file_is_told, enter, leave),
		cmocka_unit_test_setup_teardown(test_many_are_counted, enter, leave),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_looked_at_is_told, enter,
						leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
