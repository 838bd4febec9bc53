#include <errno.h>
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

#include "cli/untouched.h"

static char top[] = "/tmp/sbx-net-untouched-XXXXXX";
static struct untouched *u;

/* @path: below the test's directory, or absolute. */
static void expect(const char *path, enum untouched_found want, enum untouched_found closely)
{
	char full[PATH_MAX];
	struct error why = { 0 };

	(void)snprintf(full, sizeof(full), "%s%s%s", *path == '/' ? "" : top,
		       *path == '/' ? "" : "/", path);
	if (untouched_look(u, full, &why) != want)
		fail_msg("%s: %s", path, why.msg);
	assert_int_equal(why.msg[0] != '\0', want != UNTOUCHED);
	if (untouched_look_closely(u, full, &why) != closely)
		fail_msg("%s, closely: %s", path, why.msg);
}

static void test_where_a_command_may_write(void **state)
{
	(void)state;
	expect("ws", TOUCHED, TOUCHED);
	expect("ws/tool", TOUCHED, TOUCHED);
	expect("ws/missing/below", TOUCHED, TOUCHED);
	expect("granted/tool", TOUCHED, TOUCHED);
	expect("file", TOUCHED, TOUCHED);
	expect("own", UNTOUCHED, UNTOUCHED);
	expect("own/tool", UNTOUCHED, UNTOUCHED);
	expect("/bin/sh", UNTOUCHED, UNTOUCHED);
	expect("wsx/tool", UNTOUCHED, UNTOUCHED); /* not below ws */
}

static void test_links_on_the_way(void **state)
{
	(void)state;
	expect("own/towards", TOUCHED, TOUCHED); /* a link to ws */
	expect("own/towards/tool", TOUCHED, TOUCHED);
	expect("own/link", TOUCHED, TOUCHED);	    /* to a file in ws */
	expect("ws/away/tool", TOUCHED, TOUCHED);   /* which the command can lead elsewhere */
	expect("own/by/../tool", TOUCHED, TOUCHED); /* "by" is a link into ws */
	expect("own/../own/./tool", UNTOUCHED, UNTOUCHED);
	expect("own/beside", UNTOUCHED, UNTOUCHED);
	expect("own/loop", TOUCHED_UNKNOWN, TOUCHED_UNKNOWN);
	expect("own/missing", TOUCHED_UNKNOWN, TOUCHED_UNKNOWN);
}

static void test_what_everybody_may_write(void **state)
{
	(void)state;
	expect("open/tool", TOUCHED_OTHERS, TOUCHED_OTHERS);
	expect("own/world", TOUCHED_OTHERS, TOUCHED_OTHERS);
	expect("sticky/tool", UNTOUCHED, UNTOUCHED);
	expect("sticky", UNTOUCHED, TOUCHED_OTHERS); /* a new name can be made there */
	if (geteuid() == 0)
		expect("sticky/others", TOUCHED_OTHERS, TOUCHED_OTHERS);
}

static void test_other_names(void **state)
{
	(void)state;
	expect("own/hard", UNTOUCHED, TOUCHED);
	expect("own/harmless", UNTOUCHED, UNTOUCHED);
}

static void test_what_is_no_path(void **state)
{
	struct error why;
	char path[PATH_MAX + 10];

	(void)state;
	assert_int_equal(untouched_look(u, "", &why), TOUCHED_UNKNOWN);
	assert_int_equal(untouched_look(u, "bin/sh", &why), TOUCHED_UNKNOWN);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(untouched_look(u, path, &why), TOUCHED_UNKNOWN);
	path[NAME_MAX + 5] = '\0';
	assert_int_equal(untouched_look(u, path, &why), TOUCHED_UNKNOWN);
}

static void test_is_named(void **state)
{
	static const struct {
		const char *text;
		bool named;
	} rows[] = { { "%s/ws", true },	   { "-x=%s/ws/a b:c", true },
		     { "%s/wsx", false },  { "%s/wsx %s/ws'", true },
		     { "%s/ws.d", false }, { "%s/own", false },
		     { "", false } };
	char text[2 * PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *from = rows[i].text;
		size_t n = 0;

		for (text[0] = '\0'; *from; from++)
			if (strncmp(from, "%s", 2) == 0)
				n += strlen(strcpy(text + n, top)), from++;
			else
				text[n++] = *from, text[n] = '\0';
		if (untouched_is_named(u, text) != rows[i].named)
			fail_msg("%s", text);
	}
}

static void test_grants_in(void **state)
{
	char dir[PATH_MAX];

	(void)state;
	assert_true(untouched_grants_in(u, top));
	(void)snprintf(dir, sizeof(dir), "%s/granted/below", top);
	assert_true(untouched_grants_in(u, dir));
	(void)snprintf(dir, sizeof(dir), "%s/own", top);
	assert_false(untouched_grants_in(u, dir));
	(void)snprintf(dir, sizeof(dir), "%s/ws", top); /* which is no grant */
	assert_false(untouched_grants_in(u, dir));
}

static const char script[] =
	"umask 022; mkdir ws wsx own granted granted/below open sticky && "
	"touch ws/tool wsx/tool own/tool granted/tool file open/tool sticky/tool own/world && "
	"chmod 777 open && chmod 1777 sticky && chmod 666 own/world && "
	"ln -s ../ws own/towards && ln -s ../ws/tool own/link && ln -s ../own ws/away && "
	"mkdir ws/deep && ln -s ../ws/deep own/by && ln -s tool own/beside && "
	"ln -s loop own/loop && touch own/hard && ln own/hard ws/second && "
	"touch own/harmless && ln own/harmless own/third && "
	"if [ $(id -u) = 0 ]; then touch sticky/others && chown 12345 sticky/others; fi";

static int make(void **state)
{
	const char *granted[2];
	char path[2][PATH_MAX], cwd[PATH_MAX];
	struct run_options o = { .write = { .v = granted, .n = 2 } };
	struct error err;

	(void)state;
	if (!mkdtemp(top) || chdir(top) < 0 || system(script) != 0) // NOLINT(cert-env33-c)
		return -1;
	(void)snprintf(path[0], PATH_MAX, "%s/granted", top);
	(void)snprintf(path[1], PATH_MAX, "file"); /* relative, as it was typed */
	(void)snprintf(cwd, sizeof(cwd), "%s/ws", top);
	granted[0] = path[0];
	granted[1] = path[1];
	u = untouched_new(&o, NULL, cwd, &err);
	return u ? 0 : -1;
}

static int tidy(void **state)
{
	char command[PATH_MAX];

	(void)state;
	untouched_free(u);
	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	return chdir("/") || system(command); // NOLINT(cert-env33-c)
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_a_command_may_write),
		cmocka_unit_test(test_links_on_the_way),
		cmocka_unit_test(test_what_everybody_may_write),
		cmocka_unit_test(test_other_names),
		cmocka_unit_test(test_what_is_no_path),
		cmocka_unit_test(test_is_named),
		cmocka_unit_test(test_grants_in),
	};

	return cmocka_run_group_tests(tests, make, tidy);
}
