/* Links in the paths of grants: which are trusted, and what is said of the others. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
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
#include "launcher/files/grantpath.h"

static char top[PATH_MAX];

static int check(const char *path, bool writable, struct error *err)
{
	CLEANUP_FREE char *home = xasprintf("%s/home", top);
	CLEANUP_FREE char *full = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", top, path);
	const struct grantpath g = {
		.what = "--write", .path = full, .home = home, .writable = writable
	};

	*err = (struct error){ 0 };
	return grantpath_check(&g, err);
}

static void passes(const char *path)
{
	struct error err;

	if (check(path, true, &err))
		fail_msg("%s", err.msg);
}

/* And is told which link it is, and, at the end, what to type. */
static void refuses(const char *path, const char *link, const char *leads)
{
	struct error err;

	assert_int_equal(check(path, true, &err), -1);
	assert_non_null(strstr(err.msg, link));
	assert_true(strlen(err.msg) > strlen(leads));
	assert_string_equal(err.msg + strlen(err.msg) - strlen(leads), leads);
}

static void link_to(const char *target, const char *name)
{
	assert_int_equal(symlink(target, name), 0);
}

static void test_paths_without_links(void **state)
{
	(void)state;
	passes("ws");
	passes("ws/dir/../dir/.");
	passes("ws/missing/x");
	passes("/");
	passes("/usr/bin");
}

static void test_links_to_what_lies_elsewhere(void **state)
{
	CLEANUP_FREE char *away = xasprintf("%s/away", top);
	CLEANUP_FREE char *below = xasprintf("%s/away/sub/x", top);
	CLEANUP_FREE char *absolute = xasprintf("%s/ws/absolute", top);

	(void)state;
	link_to("../away", "ws/out");
	link_to(away, "ws/absolute");
	link_to("out", "ws/twice");
	refuses("ws/out", "/ws/out is a link", away);
	refuses("ws/out/sub/x", "/ws/out is a link", below);
	refuses("ws/dir/../absolute", "/ws/absolute is a link", away);
	refuses("ws/twice", "/ws/twice is a link", away);
	refuses(absolute, "/ws/absolute is a link", away);
	passes("away"); /* what it says to type */
	passes("away/sub/x");
}

static void test_links_to_what_lies_beside_or_below(void **state)
{
	(void)state;
	link_to("dir", "ws/current");
	link_to("current/sub", "ws/deep");
	passes("ws/current");
	passes("ws/current/sub");
	passes("ws/deep");
	link_to("../..", "ws/dir/up");
	refuses("ws/current/up", "/ws/dir/up is a link", top);
}

static void test_links_in_the_home_directory(void **state)
{
	(void)state;
	link_to("../away", "home/src");
	passes("home/src/sub");
	link_to("../../ws", "home/sub/link"); /* deeper, it may be a command's */
	refuses("home/sub/link", "/home/sub/link is a link", "/ws");
	link_to("sub/link", "home/both");
	refuses("home/both", "/home/sub/link is a link", "/ws");
}

static void test_links_of_the_system(void **state)
{
	struct error err;

	(void)state;
	passes("/proc/self/root/usr"); /* nothing that a command can have made */
	passes("/var/run");
	link_to("/usr/bin/env", "ws/python");
	refuses("ws/python", "/ws/python is a link", "/usr/bin/env");
	assert_int_equal(check("ws/python", false, &err), 0); /* to read or run it everybody may */
}

static void test_links_that_lead_nowhere(void **state)
{
	(void)state;
	link_to("/nowhere/x", "ws/dangling");
	link_to("loop", "ws/loop");
	passes("ws/dangling"); /* and cannot be opened */
	passes("ws/loop");
}

static int enter_top(void **state)
{
	char dir[] = "/var/tmp/test-grantpath-XXXXXX";

	(void)state;
	if (!mkdtemp(dir) || !realpath(dir, top) || chdir(top) < 0)
		return -1;
	return system("mkdir -p ws/dir/sub away/sub home/sub"); // NOLINT(cert-env33-c)
}

static int leave_top(void **state)
{
	CLEANUP_FREE char *script = xasprintf("rm -rf '%s'", top);

	(void)state;
	return system(script); // NOLINT(cert-env33-c)
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_without_links),
		cmocka_unit_test(test_links_to_what_lies_elsewhere),
		cmocka_unit_test(test_links_to_what_lies_beside_or_below),
		cmocka_unit_test(test_links_in_the_home_directory),
		cmocka_unit_test(test_links_of_the_system),
		cmocka_unit_test(test_links_that_lead_nowhere),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}
