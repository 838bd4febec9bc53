/* What /proc tells of a process, by names that were chosen to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/procstat.h"

/* A child that calls itself @name: who does it say has started it? */
static pid_t parent_of_one_called(const char *name)
{
	int ready[2];
	pid_t pid, parent;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_NAME, name);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	parent = procstat_parent(pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return parent;
}

static void test_parent_whatever_the_name(void **state)
{
	(void)state;
	assert_int_equal(procstat_parent(getpid()), getppid());
	assert_int_equal(parent_of_one_called("plain"), getpid());
	assert_int_equal(parent_of_one_called("a) S 1 1 ("), getpid());
	assert_int_equal(parent_of_one_called(") R 1"), getpid());
	assert_int_equal(parent_of_one_called("new\nline"), getpid());
	assert_int_equal(parent_of_one_called(""), getpid());
}

static void test_parent_of_nobody(void **state)
{
	(void)state;
	assert_int_equal(procstat_parent(0), 0);
	assert_int_equal(procstat_parent(-1), 0);
	assert_int_equal(procstat_parent(1 << 22), 0); /* PID_MAX_LIMIT */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parent_whatever_the_name),
		cmocka_unit_test(test_parent_of_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
