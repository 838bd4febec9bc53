#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/jsonlines.h"

static void expect(const char *text, const unsigned *want, size_t n)
{
	unsigned *got;

	assert_int_equal(jsonlines_index(text, strlen(text), &got), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
	free(got);
}

static void test_index_counts_values_in_document_order(void **state)
{
	(void)state;
	expect("{}", (const unsigned[]){ 1 }, 1);
	expect("{\n \"a\": [\n  1,\n  \"x\"],\n \"b\" :\n true}",
	       (const unsigned[]){ 1, 2, 3, 4, 6 }, 5);
}

static void test_index_is_not_misled_by_strings(void **state)
{
	(void)state;
	expect("[\"}\\\",{\",\n\"b:\",{\"k\\\"\\n\":\"v\"}]", (const unsigned[]){ 1, 1, 2, 2, 2 },
	       5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_counts_values_in_document_order),
		cmocka_unit_test(test_index_is_not_misled_by_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
