#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/lookalike.h"

static void test_pairs(void **state)
{
	static const struct {
		const char *name, *other;
		bool like;
	} rows[] = {
		{ "g00gle.com", "google.com", true },
		{ "www.paypa1.com", "paypal.com", true },
		{ "rnicrosoft.com", "microsoft.com", true },
		{ "git-hub.com", "github.com", true },
		{ "githib.com", "github.com", true },
		{ "gihtub.com", "github.com", true },
		{ "githubb.com", "github.com", true },
		{ "github.com", "github.com", false },
		{ "api.github.com", "github.com", false },
		{ "www.example.com", "api.example.com", false },
		{ "gitlab.com", "github.com", false },
		{ "a.io", "b.io", false },
		{ "com", "github.com", false },
		{ "github.com.evil.example", "github.com", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(lookalike_of(rows[i].name, rows[i].other), rows[i].like);
}

static void test_known(void **state)
{
	(void)state;
	assert_string_equal(lookalike_known("raw.g1thub.com"), "github.com");
	assert_null(lookalike_known("raw.github.com"));
	assert_null(lookalike_known("example.org"));
	assert_null(lookalike_known(""));
}

static void test_foreign(void **state)
{
	static const struct {
		struct hostname h;
		bool foreign;
	} rows[] = {
		{ { 16, "xn--bcher-kva.de" }, true },
		{ { 20, "www.xn--bcher-kva.de" }, true },
		{ { 10, "axn--b.com" }, false },
		{ { 11, "example.com" }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(lookalike_is_foreign(&rows[i].h), rows[i].foreign);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
