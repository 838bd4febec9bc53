/* What is read of files that lie where somebody else may write. */
#include <errno.h>
#include <fcntl.h>
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
#include "cli/filemark.h"

struct fixture {
	char dir[64];
	char *root, *below, *file, *absent, *outside;
	struct filemark *marks;
};

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A root with a file in a directory, one that is not there, and one outside. */
static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	const char *files[3];

	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/test_filemark.XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->root = xasprintf("%s/root", f->dir);
	f->below = xasprintf("%s/below", f->root);
	f->file = xasprintf("%s/file", f->below);
	f->absent = xasprintf("%s/absent", f->below);
	f->outside = xasprintf("%s/outside", f->dir);
	assert_int_equal(mkdir(f->root, 0700), 0);
	assert_int_equal(mkdir(f->below, 0700), 0);
	write_file(f->file, "first");
	write_file(f->outside, "outside");
	files[0] = f->file;
	files[1] = f->absent;
	files[2] = f->outside;
	f->marks = filemark_new(files, 3, (const char *const *)&f->root, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", f->dir);

	filemark_free(f->marks);
	free(f->root);
	free(f->below);
	free(f->file);
	free(f->absent);
	free(f->outside);
	free(f);
	return system(command);
}

/* The text that is read of the marked file, whose name leads to it or not. */
static void check(const struct fixture *f, enum filemark_found found, const char *text)
{
	CLEANUP_CLOSE int fd = -1;
	CLEANUP_FREE char *read = NULL;
	struct error why = { 0 };
	size_t len;

	assert_int_equal(filemark_open(f->marks, f->file, &fd, &why), found);
	read = fd_read_file(fd, 100, &len);
	assert_string_equal(read, text);
	if (found == FILEMARK_MOVED)
		assert_non_null(strstr(why.msg, f->file));
}

static void test_each_reading_begins_at_the_start(void **state)
{
	check(*state, FILEMARK_SAME, "first");
	check(*state, FILEMARK_SAME, "first");
}

static void test_a_change_in_place_is_read(void **state)
{
	const struct fixture *f = *state;

	write_file(f->file, "second");
	check(f, FILEMARK_SAME, "second");
}

static void test_what_takes_the_name_is_not_read(void **state)
{
	const struct fixture *f = *state;
	CLEANUP_FREE char *other = xasprintf("%s/other", f->dir);

	write_file(other, "other");
	assert_int_equal(rename(other, f->file), 0);
	check(f, FILEMARK_MOVED, "first");
}

static void test_a_directory_that_takes_the_place_of_one_above(void **state)
{
	const struct fixture *f = *state;
	CLEANUP_FREE char *away = xasprintf("%s/away", f->root);

	assert_int_equal(rename(f->below, away), 0);
	check(f, FILEMARK_MOVED, "first");
	assert_int_equal(mkdir(f->below, 0700), 0);
	write_file(f->file, "other");
	check(f, FILEMARK_MOVED, "first");
	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(rmdir(f->below), 0);
	assert_int_equal(rename(away, f->below), 0);
	check(f, FILEMARK_SAME, "first");
}

static void test_a_removed_file_is_read_all_the_same(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(unlink(f->file), 0);
	check(f, FILEMARK_MOVED, "first");
}

static void test_what_was_not_there_is_never_read(void **state)
{
	const struct fixture *f = *state;
	struct error why;
	int fd = 0;

	assert_int_equal(filemark_open(f->marks, f->absent, &fd, &why), FILEMARK_SAME);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fd, -1);
	write_file(f->absent, "other");
	assert_int_equal(filemark_open(f->marks, f->absent, &fd, &why), FILEMARK_MOVED);
	assert_int_equal(fd, -1);
	assert_int_equal(filemark_fd(f->marks, f->absent), -1);
}

static void test_what_lies_outside_is_not_marked(void **state)
{
	const struct fixture *f = *state;
	CLEANUP_CLOSE int outside = open(f->outside, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int inside = open(f->file, O_RDONLY | O_CLOEXEC);
	struct error why;
	int fd = 0;

	assert_int_equal(filemark_open(f->marks, f->outside, &fd, &why), FILEMARK_UNKNOWN);
	assert_int_equal(filemark_fd(f->marks, f->outside), -1);
	assert_int_equal(filemark_fd(NULL, f->file), -1);
	assert_false(filemark_is_open_to_writes(f->marks, outside));
	assert_true(filemark_is_open_to_writes(f->marks, inside)); /* the twins */
	assert_true(filemark_fd(f->marks, f->file) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_reading_begins_at_the_start, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_change_in_place_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_takes_the_name_is_not_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_directory_that_takes_the_place_of_one_above,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_removed_file_is_read_all_the_same, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_was_not_there_is_never_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_lies_outside_is_not_marked, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
