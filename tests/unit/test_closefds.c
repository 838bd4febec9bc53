#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/closefds.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a child: cmocka and ctest have descriptors of their own. */
static void in_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int keep_three(void)
{
	const int keep[] = { 900, -1, 5, 3 };

	for (int fd = 3; fd < 12; fd++)
		if (dup2(0, fd) < 0)
			return 1;
	if (dup2(0, 900) < 0 || closefds_except(keep, 4, NULL))
		return 2;
	for (int fd = 0; fd < 1000; fd++) {
		bool want = fd <= 2 || fd == 3 || fd == 5 || fd == 900;

		if (is_open(fd) != want)
			return 3;
	}
	return 0;
}

static int keep_none(void)
{
	if (dup2(0, 3) < 0 || dup2(0, 700) < 0 || closefds_except(NULL, 0, NULL))
		return 1;
	return is_open(3) || is_open(700) || !is_open(0) || !is_open(2);
}

static int fill(void)
{
	struct stat null, st;

	(void)close(0);
	(void)close(2);
	if (closefds_fill_stdio(NULL) || stat("/dev/null", &null) || fstat(0, &st))
		return 1;
	if (st.st_rdev != null.st_rdev || fstat(2, &st) || st.st_rdev != null.st_rdev)
		return 2;
	return !is_open(1) || is_open(3);
}

static void test_except_keeps_what_is_listed(void **state)
{
	(void)state;
	in_child(keep_three);
	in_child(keep_none);
}

static int fill_alone(void)
{
	return closefds_except(NULL, 0, NULL) ? 9 : fill();
}

static void test_fill_stdio_leaves_no_gap(void **state)
{
	(void)state;
	in_child(fill_alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_except_keeps_what_is_listed),
		cmocka_unit_test(test_fill_stdio_leaves_no_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
