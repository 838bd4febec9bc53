/* Rules that have been reported keep their address. */
#include "policy/rulecache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ENTRIES 5000u

static void test_put_gives_one_address_an_entry(void **state)
{
	static const struct rule *seen[ENTRIES];
	struct rulecache *rc = rulecache_new();

	(void)state;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct rule r = { .text = "a", .line = i };

		seen[i] = rulecache_put(rc, i * 3, &r);
	}
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct rule r = { .text = "b", .line = seen[i]->line };

		assert_int_equal(seen[i]->line, i);
		assert_ptr_equal(rulecache_put(rc, i * 3, &r), seen[i]);
		assert_string_equal(seen[i]->text, "b"); /* what it says now */
	}
	assert_true(rulecache_memory(rc) >= ENTRIES * sizeof(struct rule));
	rulecache_free(rc);
	rulecache_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_gives_one_address_an_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
