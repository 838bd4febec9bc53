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

#include "launcher/files/workdir.h"

static char top[] = "/tmp/sbx-net-workdir-XXXXXX";

static void at(char out[static PATH_MAX], const char *name)
{
	(void)snprintf(out, PATH_MAX, "%s/%s", top, name);
}

/* NULL for accepted, else a piece of the reason. */
static void expect(const char *name, const char *reason)
{
	char home[PATH_MAX], program[PATH_MAX], path[PATH_MAX];
	struct workdir_context c = { .home = home, .program = program };
	struct error err = { 0 };
	int rc;

	at(home, "u/home");
	at(program, "u/home/bin/prog");
	at(path, name);
	rc = workdir_check(*name == '/' ? name : path, &c, &err);
	assert_int_equal(rc, reason ? -1 : 0);
	if (reason && !strstr(err.msg, reason))
		fail_msg("%s: %s", name, err.msg);
}

static void test_check_accepts_projects(void **state)
{
	(void)state;
	expect("u/home/proj", NULL);
	expect("u/home/proj/sub", NULL);
	expect("u/other", NULL);
}

static void test_check_refuses_too_much(void **state)
{
	(void)state;
	expect("/", "more than one");
	expect("/tmp", "more than one");
	expect("/usr", "system");
	expect("/usr/bin", "system");
	expect("/usr/share", "system");
	expect("/etc", "system");
	expect("/proc/self", "system");
	expect("u/home", "home");
	expect("u", "home");
	expect("u/home/bin", "program");
	expect("u/home/.ssh", "credentials");
	expect("u/home/.config/gh/sub", "credentials");
	expect("u/missing", "No such file");
}

static void test_check_is_not_fooled_by_spelling(void **state)
{
	(void)state;
	expect("/usr/../usr/./share/", "system");
	expect("link-to-home", "home");
	expect("link-to-usr/share", "system");
}

static int make_tree(void **state)
{
	static const char *const dirs[] = { "u",
					    "u/home",
					    "u/home/proj",
					    "u/home/proj/sub",
					    "u/home/bin",
					    "u/other",
					    "u/home/.ssh",
					    "u/home/.config",
					    "u/home/.config/gh",
					    "u/home/.config/gh/sub" };
	char path[PATH_MAX], home[PATH_MAX];

	(void)state;
	if (!mkdtemp(top))
		return -1;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		at(path, dirs[i]);
		if (mkdir(path, 0755) < 0)
			return -1;
	}
	at(home, "u/home");
	at(path, "link-to-home");
	if (symlink(home, path) < 0)
		return -1;
	at(path, "link-to-usr");
	return symlink("/usr", path);
}

static int remove_tree(void **state)
{
	char command[PATH_MAX + 8];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_accepts_projects),
		cmocka_unit_test(test_check_refuses_too_much),
		cmocka_unit_test(test_check_is_not_fooled_by_spelling),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
