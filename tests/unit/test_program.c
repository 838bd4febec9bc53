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

#include "launcher/program.h"

static char top[] = "/tmp/sbx-net-program-XXXXXX";

/* @path: value of PATH, a leading '%' for the test's directory; NULL for an environment without it. */
static void expect(const char *name, const char *path, int code, const char *found)
{
	char variable[PATH_MAX] = "";
	char *envp[] = { (char[]){ "A=b" }, path ? variable : NULL, NULL };
	struct error err = { 0 };
	char *got = NULL;

	if (path && *path == '%')
		(void)snprintf(variable, sizeof(variable), "PATH=%s%s", top, path + 1);
	else if (path)
		(void)snprintf(variable, sizeof(variable), "PATH=%s", path);
	if (program_find(name, envp, &got, &err) != code)
		fail_msg("%s in %s: %s", name, variable, err.msg);
	assert_int_equal(err.msg[0] != '\0', code != 0);
	if (found)
		assert_string_equal(got, found);
	else
		assert_null(got);
	free(got);
}

static void test_find_searches_path(void **state)
{
	char want[PATH_MAX];
	char variable[PATH_MAX];
	char *envp[] = { variable, NULL };
	char *got = NULL;

	(void)state;
	(void)snprintf(variable, sizeof(variable), "PATH=/nonexistent:%s/a:%s/b", top, top);
	(void)snprintf(want, sizeof(want), "%s/b/tool", top);
	assert_int_equal(program_find("tool", envp, &got, NULL), 0);
	assert_string_equal(got, want); /* a/tool is not executable: the search goes on */
	free(got);
}

static void test_find_takes_paths_as_they_are(void **state)
{
	(void)state;
	expect("./b/tool", "", 0, "./b/tool");
	expect("/bin/sh", "", 0, "/bin/sh");
	expect("b/tool", "", 0, "b/tool");
}

static void test_find_uses_a_default_path(void **state)
{
	(void)state;
	expect("env", NULL, 0, "/usr/bin/env");
}

static void test_find_tells_missing_from_forbidden(void **state)
{
	(void)state;
	expect("no-such-tool", "/usr/bin:/bin", 127, NULL);
	expect("", "/usr/bin:/bin", 127, NULL);
	expect("./missing", "", 127, NULL);
	expect("./a/tool/below-a-file", "", 127, NULL);
	expect("./a", "", 126, NULL);	    /* a directory */
	expect("./a/tool", "", 126, NULL);  /* no execute bit */
	expect("tool", "%/a", 126, NULL);   /* found in PATH, but no execute bit */
	expect("a", "%", 127, NULL);	    /* directories in PATH do not count */
	expect("/dev/null", "", 126, NULL); /* not a file */
}

static void test_exit_code(void **state)
{
	(void)state;
	assert_int_equal(program_exit_code(ENOENT), 127);
	assert_int_equal(program_exit_code(EACCES), 126);
	assert_int_equal(program_exit_code(ENOEXEC), 126);
	assert_int_equal(program_exit_code(EPERM),
			 126); /* file capabilities that nobody has here */
	assert_int_equal(program_exit_code(ENOSYS), 125);
}

static int make_tree(void **state)
{
	int fd;

	(void)state;
	if (!mkdtemp(top) || chdir(top) < 0 || mkdir("a", 0755) || mkdir("b", 0755))
		return -1;
	fd = open("a/tool", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || close(fd) < 0)
		return -1;
	fd = open("b/tool", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	return fd < 0 ? -1 : close(fd);
}

static int remove_tree(void **state)
{
	(void)state;
	return unlink("a/tool") || unlink("b/tool") || rmdir("a") || rmdir("b") || chdir("/") ||
	       rmdir(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find_searches_path),
		cmocka_unit_test(test_find_takes_paths_as_they_are),
		cmocka_unit_test(test_find_uses_a_default_path),
		cmocka_unit_test(test_find_tells_missing_from_forbidden),
		cmocka_unit_test(test_exit_code),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
