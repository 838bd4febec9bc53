#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/xalloc.h"

static void test_grow_doubles_and_keeps_what_is_there(void **state)
{
	unsigned *v = NULL;
	size_t room = 0, moves = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		size_t before = room;

		v = xgrow(v, &room, i + 1, 4, sizeof(*v));
		moves += room != before;
		assert_true(room > i);
		v[i] = i;
	}
	assert_int_equal(room, 1024);
	assert_int_equal(moves, 9); /* 4, 8, ... 1024 */
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(v[i], i);
	free(v);
}

static void test_grow_gives_what_doubling_does_not(void **state)
{
	size_t room = 0;
	char *p = xgrow(NULL, &room, 100, 16, 1);

	(void)state;
	assert_int_equal(room, 100);
	memset(p, 1, 100);
	assert_ptr_equal(xgrow(p, &room, 100, 16, 1), p);
	assert_int_equal(room, 100);
	p = xgrow(p, &room, 1000, 16, 1);
	assert_int_equal(room, 1000);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grow_doubles_and_keeps_what_is_there),
		cmocka_unit_test(test_grow_gives_what_doubling_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
