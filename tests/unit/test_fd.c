/* Where a descriptor leads, whatever has become of the name. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int make(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void assert_leads_to(int fd, const char *dir, const char *name)
{
	CLEANUP_FREE char *path = fd_path(fd);
	char want[128];

	(void)snprintf(want, sizeof(want), "%s/%s", dir, name);
	assert_non_null(path);
	assert_string_equal(path, want);
}

static void assert_leads_nowhere(int fd)
{
	CLEANUP_FREE char *path = fd_path(fd);

	assert_null(path);
	assert_int_equal(errno, ENOENT);
}

static void test_path_of_what_is_gone_is_none(void **state)
{
	char top[] = "/tmp/sbx-fd.XXXXXX";
	CLEANUP_CLOSE int dir = -1, removed = -1, replaced = -1, linked = -1, named = -1;

	(void)state;
	assert_non_null(mkdtemp(top));
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	removed = make(dir, "removed");
	replaced = make(dir, "replaced");
	linked = make(dir, "linked");
	named = make(dir, "x (deleted)");
	assert_leads_to(removed, top, "removed");

	assert_int_equal(unlinkat(dir, "removed", 0), 0);
	assert_leads_nowhere(removed);
	assert_int_equal(linkat(dir, "linked", dir, "other", 0), 0); /* it lives on by that */
	assert_int_equal(unlinkat(dir, "linked", 0), 0);
	assert_leads_nowhere(linked);
	assert_int_equal(renameat(dir, "other", dir, "replaced"), 0);
	assert_leads_nowhere(replaced);
	assert_leads_to(named, top, "x (deleted)");

	(void)unlinkat(dir, "replaced", 0);
	(void)unlinkat(dir, "x (deleted)", 0);
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_path_of_what_is_gone_is_none) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
