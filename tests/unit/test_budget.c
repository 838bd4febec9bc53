/* The parts of what there is: never more than all, and none that is nothing. */
#include "cli/serve/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proxy/limits.h"

static size_t sum(const struct budget *b)
{
	return OWN_DESCRIPTORS + b->clients + b->sessions + b->listeners + 2 * b->pipes +
	       b->connections;
}

static void test_of_gives_no_more_than_there_is(void **state)
{
	(void)state;
	for (size_t files = DESCRIPTORS_LEAST; files < 2000000; files += files / 7) {
		const struct budget b = budget_of(files);

		assert_true(sum(&b) <= files);
		assert_true(b.sessions < b.clients); /* whoever asks how it goes finds a place */
		assert_true(b.connections >= 50 * CONNECTION_DESCRIPTORS);
		assert_true(b.listeners > 0 && b.pipes > 0);
	}
}

static void test_of_plenty_is_bounded(void **state)
{
	const struct budget b = budget_of(1000000000);

	(void)state;
	assert_int_equal(b.clients, CLIENTS_MAX);
	assert_int_equal(b.sessions, SESSIONS_MAX);
	assert_int_equal(b.connections, PROXY_CONNECTIONS_MAX * CONNECTION_DESCRIPTORS);
	assert_int_equal(b.pipes, PIPES_MAX);
}

static void test_of_little_is_as_of_the_least(void **state)
{
	const struct budget little = budget_of(10), least = budget_of(DESCRIPTORS_LEAST);

	(void)state;
	assert_int_equal(sum(&little), sum(&least));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_gives_no_more_than_there_is),
		cmocka_unit_test(test_of_plenty_is_bounded),
		cmocka_unit_test(test_of_little_is_as_of_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
