#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdreserve.h"

/* Takes descriptors until there are none. Return: how many. */
static int take_all(int *v, int max)
{
	int n = 0;

	while (n < max && (v[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	if (n < max)
		assert_int_equal(errno, EMFILE);
	return n;
}

static void give(const int *v, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(close(v[i]), 0);
}

static void test_what_is_kept_back_is_there_when_all_else_is_taken(void **state)
{
	const struct rlimit few = { 64, 64 };
	int taken[64], lent[64], n, m;

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	n = take_all(taken, 64);
	fdreserve_lend(); /* nothing was kept back */
	assert_int_equal(take_all(lent, 64), 0);
	fdreserve_back();
	give(taken, n);
	fdreserve_fill();
	n = take_all(taken, 64);
	assert_true(n > 0);
	for (int round = 0; round < 3; round++) {
		fdreserve_lend();
		fdreserve_lend();
		m = take_all(lent, 64);
		assert_int_equal(m, FDRESERVE_MAX);
		give(lent, m);
		fdreserve_back();
		m = take_all(lent, 64); /* the outer one still lends */
		assert_int_equal(m, FDRESERVE_MAX);
		give(lent, m);
		fdreserve_back();
		assert_int_equal(take_all(lent, 64), 0);
	}
	give(taken, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_kept_back_is_there_when_all_else_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
