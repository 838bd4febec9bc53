/* Links in the paths of grants: which are trusted, and what is said of the others. */
#include <errno.h>
#include <fcntl.h>
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
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/grantpath.h"

static char top[PATH_MAX];

/* Where it leads, if it is opened. */
static char reached[PATH_MAX];

static int check(const char *path, bool writable, struct error *err)
{
	CLEANUP_CLOSE int fd = -1;
	CLEANUP_FREE char *leads = NULL;
	CLEANUP_FREE char *home = xasprintf("%s/home", top);
	CLEANUP_FREE char *full = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", top, path);
	const struct grantpath g = {
		.what = "--write", .path = full, .home = home, .writable = writable
	};

	*err = (struct error){ 0 };
	fd = grantpath_open(&g, err);
	leads = fd < 0 ? NULL : fd_path(fd);
	(void)snprintf(reached, sizeof(reached), "%s", leads ? leads : "");
	return leads ? 0 : -1;
}

static void passes(const char *path)
{
	struct error err;

	if (check(path, true, &err))
		fail_msg("%s", err.msg);
}

static void leads_to(const char *path, const char *below)
{
	CLEANUP_FREE char *full = below[0] == '/' ? xstrdup(below) : xasprintf("%s/%s", top, below);

	passes(path);
	assert_string_equal(reached, full);
}

static void cannot_be_opened(const char *path, int code)
{
	struct error err;

	assert_int_equal(check(path, true, &err), -1);
	assert_int_equal(err.code, code);
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
	leads_to("ws", "ws");
	leads_to("ws/dir/../dir/.", "ws/dir");
	leads_to("/", "/");
	leads_to("/usr/./bin/", "/usr/bin");
	cannot_be_opened("ws/missing/x", ENOENT);
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
	passes("away/sub");
}

static void test_links_to_what_lies_beside_or_below(void **state)
{
	(void)state;
	link_to("dir", "ws/current");
	link_to("current/sub", "ws/deep");
	leads_to("ws/current", "ws/dir");
	leads_to("ws/current/sub", "ws/dir/sub");
	leads_to("ws/deep", "ws/dir/sub");
	leads_to("ws/deep/..", "ws/dir");
	link_to("../..", "ws/dir/up");
	refuses("ws/current/up", "/ws/dir/up is a link", top);
}

static void test_links_in_the_home_directory(void **state)
{
	(void)state;
	link_to("../away", "home/src");
	leads_to("home/src/sub", "away/sub");
	link_to("../../ws", "home/sub/link"); /* deeper, it may be a command's */
	refuses("home/sub/link", "/home/sub/link is a link", "/ws");
	link_to("sub/link", "home/both");
	refuses("home/both", "/home/sub/link is a link", "/ws");
}

static void test_links_of_the_system(void **state)
{
	struct error err;

	(void)state;
	leads_to("/proc/self/root/usr", "/usr"); /* nothing that a command can have made */
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
	cannot_be_opened("ws/dangling", ENOENT);
	cannot_be_opened("ws/loop", ELOOP);
}

static void test_what_was_judged_is_known_again(void **state)
{
	struct error err = { 0 };
	struct stat st;
	struct file_id id;

	CLEANUP_CLOSE int dir = open("ws/dir", O_PATH | O_CLOEXEC);
	CLEANUP_CLOSE int other = open("away", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(fstat(dir, &st), 0);
	id = (struct file_id){ st.st_dev, st.st_ino };
	assert_int_equal(grantpath_same(dir, &id, "ws/dir", &err), 0);
	assert_int_equal(grantpath_same(other, NULL, "ws/dir", &err), 0);
	assert_int_equal(grantpath_same(other, &id, "ws/dir", &err), -1);
	assert_non_null(strstr(err.msg, "ws/dir was replaced"));
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
		cmocka_unit_test(test_what_was_judged_is_known_again),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}
