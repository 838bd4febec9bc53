/* Placeholders: what is made, what is locked, and that nothing else is ever removed. */
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
#include "base/xalloc.h"
#include "launcher/protect.h"

static char top[PATH_MAX];

static struct launcher_plan workspace(void)
{
	return (struct launcher_plan){ .cwd = top };
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static bool lists(const struct protect *p, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", top, name);

	for (size_t i = 0; i < p->npaths; i++)
		if (strcmp(p->paths[i], path) == 0)
			return true;
	return false;
}

static void prepare(struct protect *p)
{
	struct launcher_plan plan = workspace();
	struct error err;

	if (protect_prepare(&plan, p, &err))
		fail_msg("%s", err.msg);
}

static void finish(struct protect *p)
{
	protect_remove(p);
	protect_clear(p);
}

static void test_absent_names_are_held_and_let_go(void **state)
{
	struct protect p;
	struct stat st;

	(void)state;
	prepare(&p);
	assert_true(lists(&p, ".claude") && lists(&p, ".mcp.json") && lists(&p, ".bashrc"));
	assert_int_equal(lstat(".mcp.json", &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_false(exists(".git")); /* git init must work */
	finish(&p);
	assert_false(exists(".mcp.json"));
}

static void test_inside_git_absent_names_are_what_git_ignores(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(mkdir(".git", 0755), 0);
	write_file(".git/config", "[core]\n");
	prepare(&p);
	assert_true(lists(&p, ".git/config") && lists(&p, ".git/hooks") &&
		    lists(&p, ".git/commondir"));
	assert_true(exists(".git/commondir") && exists(".git/config.worktree"));
	finish(&p);
	assert_false(exists(".git/commondir") || exists(".git/hooks") ||
		     exists(".git/config.worktree"));
	assert_true(exists(".git/config"));
	assert_int_equal(unlink(".git/config") | rmdir(".git"), 0);
}

/* git outside must not replace what is locked inside: that would take the lock away. */
static void test_git_outside_finds_its_configuration_locked(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(system("git init -q . && git config a.b c"), 0);
	prepare(&p);
	assert_int_not_equal(system("git config a.b d 2> /dev/null"), 0);
	assert_int_equal(system("git status > /dev/null && git config a.b > /dev/null"), 0);
	finish(&p);
	assert_int_equal(system("git config a.b d && rm -rf .git"), 0);
}

static void test_what_has_become_data_stays(void **state)
{
	struct protect p;

	(void)state;
	prepare(&p);
	/* somebody outside replaces a placeholder while the run lasts */
	assert_int_equal(unlink(".mcp.json"), 0);
	write_file(".mcp.json", "{}");
	finish(&p);
	assert_true(exists(".mcp.json"));
	assert_false(exists(".claude"));
	assert_int_equal(unlink(".mcp.json"), 0);
}

static void test_existing_names_are_locked_as_they_are(void **state)
{
	struct protect p;
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(".claude", 0700), 0);
	assert_int_equal(mkdir("real", 0700), 0);
	assert_int_equal(symlink("real", ".vscode"), 0);
	prepare(&p);
	assert_true(lists(&p, ".claude") && lists(&p, ".vscode") && lists(&p, "real"));
	finish(&p);
	assert_int_equal(stat(".claude", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(rmdir(".claude") | unlink(".vscode") | rmdir("real"), 0);
}

static void test_a_dangling_link_stops_the_start(void **state)
{
	struct launcher_plan plan = workspace();
	struct protect p = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(symlink("nowhere", ".claude"), 0);
	assert_int_equal(protect_prepare(&plan, &p, &err), -1);
	assert_non_null(strstr(err.msg, ".claude"));
	assert_false(exists(".sbx-net")); /* and nothing stays behind */
	assert_int_equal(unlink(".claude"), 0);
}

/* The first run to end leaves what the second one needs; the last one tidies up. */
static void test_two_runs_share_placeholders(void **state)
{
	struct protect a, b;

	(void)state;
	prepare(&a);
	prepare(&b);
	finish(&a);
	assert_true(exists(".mcp.json"));
	finish(&b);
	assert_false(exists(".mcp.json"));
}

static void test_denied_paths_come_last_and_may_be_missing(void **state)
{
	CLEANUP_FREE char *path = xasprintf("%s/a/b/c", top);
	const char *const denied[] = { path };
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	plan.deny_write = (struct path_list){ denied, 1 };
	assert_int_equal(protect_prepare(&plan, &p, &err), 0);
	assert_int_equal(p.npaths, p.first_denied + 1);
	assert_true(lists(&p, "a")); /* the first component that is missing */
	finish(&p);
	assert_false(exists("a"));
}

static void test_git_directories_of_submodules(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(mkdir(".git", 0755) | mkdir(".git/modules", 0755) |
				 mkdir(".git/modules/m", 0755),
			 0);
	write_file(".git/modules/m/config", "");
	prepare(&p);
	assert_true(lists(&p, ".git/modules/m/config"));
	finish(&p);
	assert_int_equal(unlink(".git/modules/m/config") | rmdir(".git/modules/m") |
				 rmdir(".git/modules") | rmdir(".git"),
			 0);
}

static int enter_top(void **state)
{
	static char dir[] = "/tmp/sbx-net-protect-XXXXXX";

	(void)state;
	return !mkdtemp(dir) || !realpath(dir, top) || chdir(top) < 0 ? -1 : 0;
}

static int leave_top(void **state)
{
	(void)state;
	return chdir("/") < 0 || rmdir(top) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent_names_are_held_and_let_go),
		cmocka_unit_test(test_inside_git_absent_names_are_what_git_ignores),
		cmocka_unit_test(test_git_outside_finds_its_configuration_locked),
		cmocka_unit_test(test_what_has_become_data_stays),
		cmocka_unit_test(test_existing_names_are_locked_as_they_are),
		cmocka_unit_test(test_a_dangling_link_stops_the_start),
		cmocka_unit_test(test_two_runs_share_placeholders),
		cmocka_unit_test(test_denied_paths_come_last_and_may_be_missing),
		cmocka_unit_test(test_git_directories_of_submodules),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}
