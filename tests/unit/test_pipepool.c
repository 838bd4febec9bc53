#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy/pipepool.h"

static void test_get_gives_a_large_empty_pipe(void **state)
{
	struct pipepool pool = { .n = 0 };
	struct pipe p, q;
	int rd;

	(void)state;
	assert_true(pipepool_get(&pool, &p));
	assert_int_equal(p.size, PIPE_SIZE);
	assert_int_equal(fcntl(p.wr, F_GETPIPE_SZ), PIPE_SIZE);
	assert_true(fcntl(p.rd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(p.rd, F_GETFD) & FD_CLOEXEC);
	rd = p.rd;
	pipepool_put(&pool, &p);
	assert_int_equal(p.rd, -1);
	assert_true(pipepool_get(&pool, &q)); /* the same one again */
	assert_int_equal(q.rd, rd);
	pipepool_drop(&pool, &q);
	assert_int_equal(fcntl(rd, F_GETFD), -1);
	pipepool_clear(&pool);
}

static void test_pool_is_bounded(void **state)
{
	enum { N = PIPE_POOL_MAX + 8 };
	struct pipepool pool = { .n = 0 };
	struct pipe p[N];
	size_t big = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		assert_true(pipepool_get(&pool, &p[i]));
		assert_true(p[i].size >= PIPE_SIZE_MIN);
		big += p[i].size == PIPE_SIZE;
	}
	assert_int_equal(big, PIPE_BIG_MAX);
	for (int i = 0; i < N; i++)
		pipepool_put(&pool, &p[i]);
	assert_int_equal(pool.n, PIPE_POOL_MAX);
	pipepool_clear(&pool);
	assert_int_equal(pool.n, 0);
	assert_int_equal(pool.big, 0);
}

static void test_get_says_no_without_descriptors(void **state)
{
	struct pipepool pool = { .n = 0 };
	struct rlimit old, none;
	struct pipe p;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_false(pipepool_get(&pool, &p));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(pipepool_get(&pool, &p));
	pipepool_drop(&pool, &p);
}

/* An unprivileged user may have 64 MiB of pipes in all: large ones are rationed, none is tiny. */
static void test_get_within_the_limit_of_a_user(void **state)
{
	struct pipepool pool = { .n = 0 };
	struct pipe p[200];
	int status;
	pid_t pid;

	(void)state;
	if (getuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		int bad = setresuid(65533, 65533, 65533) != 0;

		for (int i = 0; i < 200 && !bad; i++)
			bad = !pipepool_get(&pool, &p[i]) || p[i].size < PIPE_SIZE_MIN;
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* However many have bytes pending: what cannot have one copies. */
static void test_get_gives_no_more_than_the_bound(void **state)
{
	struct pipepool pool = { .max = 2 };
	struct pipe a, b, c = PIPE_NONE;

	(void)state;
	assert_true(pipepool_get(&pool, &a));
	assert_true(pipepool_get(&pool, &b));
	assert_false(pipepool_get(&pool, &c));
	pipepool_put(&pool, &a);
	assert_true(pipepool_get(&pool, &c)); /* what is given back */
	pipepool_drop(&pool, &b);
	assert_true(pipepool_get(&pool, &b)); /* or closed */
	assert_false(pipepool_get(&pool, &a));
	pipepool_drop(&pool, &b);
	pipepool_drop(&pool, &c);
	pipepool_clear(&pool);
	assert_int_equal(pool.made, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_gives_no_more_than_the_bound),
		cmocka_unit_test(test_get_gives_a_large_empty_pipe),
		cmocka_unit_test(test_pool_is_bounded),
		cmocka_unit_test(test_get_says_no_without_descriptors),
		cmocka_unit_test(test_get_within_the_limit_of_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
