/* Texts at offsets that never move. */
#include "policy/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define TEXTS 20000

static void test_texts_stay_where_they_are(void **state)
{
	static uint32_t off[TEXTS];
	struct arena a = { 0 };
	const char *first = NULL;
	char text[32];

	(void)state;
	for (unsigned i = 0; i < TEXTS; i++) {
		(void)snprintf(text, sizeof(text), "text %u", i);
		off[i] = arena_string(&a, text, 100);
		if (i == 0)
			first = arena_at(&a, off[0]);
	}
	assert_ptr_equal(first, arena_at(&a, off[0]));
	for (unsigned i = 0; i < TEXTS; i++) {
		(void)snprintf(text, sizeof(text), "text %u", i);
		assert_string_equal(arena_at(&a, off[i]), text);
	}
	assert_true(a.n > 1);
	assert_int_equal(arena_memory(&a), a.n * ARENA_CHUNK_SIZE);
	arena_clear(&a);
	assert_int_equal(arena_memory(&a), 0);
	arena_clear(&a);
}

static void test_string_cuts_and_knows_null(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_int_equal(arena_string(&a, NULL, 10), ARENA_NONE);
	assert_string_equal(arena_at(&a, arena_string(&a, "abcdef", 3)), "abc");
	assert_string_equal(arena_at(&a, arena_string(&a, "", 3)), "");
	arena_clear(&a);
}

/* A piece that does not fit begins a chunk; the largest one fills it. */
static void test_alloc_at_the_edge_of_a_chunk(void **state)
{
	struct arena a = { 0 };
	uint32_t off;

	(void)state;
	memset(arena_alloc(&a, ARENA_CHUNK_SIZE - 1, &off), 'x', ARENA_CHUNK_SIZE - 1);
	assert_int_equal(off, 0);
	*arena_alloc(&a, 1, &off) = 'y';
	assert_int_equal(off, ARENA_CHUNK_SIZE - 1);
	memset(arena_alloc(&a, ARENA_CHUNK_SIZE, &off), 'z', ARENA_CHUNK_SIZE);
	assert_int_equal(off, ARENA_CHUNK_SIZE);
	assert_int_equal(*arena_at(&a, ARENA_CHUNK_SIZE - 1), 'y');
	arena_clear(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_stay_where_they_are),
		cmocka_unit_test(test_string_cuts_and_knows_null),
		cmocka_unit_test(test_alloc_at_the_edge_of_a_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
