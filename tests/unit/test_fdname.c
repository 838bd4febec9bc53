#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
		cmocka_unit_test(test_open_refuses_what_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
