#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdname.h"

static void test_is_knows_names_of_descriptors(void **state)
{
	static const char *const names[] = {
		"fd:1",	       "fd:",	     "fd:x",	     "/dev/stdout",
		"/dev/stderr", "/dev/fd/63", "/dev/fd/what", "/proc/self/fd/2"
	};
	static const char *const files[] = { "./fd:1", "out/fd:1",  "FD:1",	     "/dev/stdin",
					     "",       "/dev/null", "/dev/stdout/x", "/dev/fd" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(fdname_is(names[i]));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_false(fdname_is(files[i]));
}

static void test_check_wants_an_open_number(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(fdname_check("fd:2", &err), 0);
	assert_int_equal(fdname_check("a file", &err), 0);
	assert_int_equal(fdname_check("/dev/fd/9999999", &err), -1);
	assert_non_null(strstr(err.msg, "9999999 is not open"));
	assert_int_equal(fdname_check("fd:x", &err), -1);
	assert_int_equal(fdname_check("/dev/fd/-1", &err), -1);
	assert_int_equal(fdname_check("fd:99999999999", &err), -1);
}

/* As the shell's > makes it: a path would be opened once more, and written from its start. */
static void test_open_shares_the_offset(void **state)
{
	static const char *const begins[] = { "fd:", "/dev/fd/", "/proc/self/fd/" };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		CLEANUP_CLOSE int file = memfd_create("out", MFD_CLOEXEC), fd = -1;
		char name[64], text[16] = "";

		assert_int_equal(write(file, "said", 4), 4);
		(void)snprintf(name, sizeof(name), "%s%d", begins[i], file);
		fd = fdname_open(name, "the report", &err);
		assert_true(fd > 2 && fd != file);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(write(fd, " more", 5), 5);
		assert_int_equal(pread(file, text, sizeof(text) - 1, 0), 9);
		assert_string_equal(text, "said more");
	}
}

/* A file that has a name can be written by that, too, whatever descriptor leads to it. */
static void test_file_is_the_path_of_a_regular_file(void **state)
{
	char path[] = "/tmp/test-fdname.XXXXXX", name[64];
	CLEANUP_CLOSE int file = mkostemp(path, O_CLOEXEC), null = -1;
	CLEANUP_FREE char *is = NULL, *none = NULL, *gone = NULL;

	(void)state;
	(void)snprintf(name, sizeof(name), "fd:%d", file);
	is = fdname_file(name);
	assert_non_null(is);
	assert_string_equal(is, path);
	assert_int_equal(unlink(path), 0);
	gone = fdname_file(name);
	assert_null(gone);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	(void)snprintf(name, sizeof(name), "fd:%d", null);
	none = fdname_file(name);
	assert_null(none);
	assert_null(fdname_file("fd:9999999"));
	assert_null(fdname_file("a file"));
}

/* What the command has been given is its own. */
static void test_file_is_none_of_standard_output(void **state)
{
	char path[] = "/tmp/test-fdname.XXXXXX", name[64];
	CLEANUP_CLOSE int file = mkostemp(path, O_CLOEXEC), out = dup(STDOUT_FILENO);
	char *is;

	(void)state;
	(void)snprintf(name, sizeof(name), "fd:%d", file);
	(void)fflush(stdout);
	assert_true(dup2(file, STDOUT_FILENO) >= 0);
	is = fdname_file(name);
	(void)dup2(out, STDOUT_FILENO);
	(void)unlink(path);
	assert_null(is);
}

static void test_open_refuses_what_cannot_be_written(void **state)
{
	CLEANUP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct error err = { 0 };
	char name[32];

	(void)state;
	(void)snprintf(name, sizeof(name), "fd:%d", fd);
	assert_int_equal(fdname_open(name, "the report", &err), -1);
	assert_non_null(strstr(err.msg, "cannot write the report to fd:"));
	assert_int_equal(fdname_open("fd:9999999", "the report", &err), -1);
	assert_int_equal(fdname_open("fd:", "the report", &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_knows_names_of_descriptors),
		cmocka_unit_test(test_check_wants_an_open_number),
		cmocka_unit_test(test_open_shares_the_offset),
		cmocka_unit_test(test_file_is_the_path_of_a_regular_file),
		cmocka_unit_test(test_file_is_none_of_standard_output),
		cmocka_unit_test(test_open_refuses_what_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
