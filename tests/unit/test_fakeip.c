#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "dns/fakeip.h"

static struct hostname host(const char *text)
{
	struct hostname h = { .len = (uint8_t)strlen(text) };

	memcpy(h.s, text, h.len);
	return h;
}

static struct addr addr(const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return a;
}

static struct addr assign(struct fakeip *f, const char *name)
{
	struct hostname h = host(name);
	struct addr a;

	assert_true(fakeip_assign(f, &h, &a));
	return a;
}

static void test_assign_is_stable_and_distinct(void **state)
{
	struct fakeip *f = fakeip_new();
	struct addr a = assign(f, "a.example");
	struct addr b = assign(f, "b.example");
	struct addr again = assign(f, "a.example");

	(void)state;
	assert_true(addr_equal(&a, &again));
	assert_false(addr_equal(&a, &b));
	assert_true(fakeip_covers(&a) && fakeip_covers(&b));
	assert_int_equal(fakeip_count(f), 2);
	fakeip_free(f);
}

static void test_name_is_the_inverse_of_assign(void **state)
{
	struct fakeip *f = fakeip_new();
	struct addr a = assign(f, "a.example");
	struct addr mapped = { .family = AF_INET6, .bytes = { [10] = 0xff, [11] = 0xff } };
	struct hostname h;

	(void)state;
	memcpy(mapped.bytes + 12, a.bytes, 4);
	assert_true(fakeip_name(f, &a, &h));
	assert_string_equal(h.s, "a.example");
	assert_int_equal(h.len, 9);
	memset(&h, 0, sizeof(h));
	assert_true(fakeip_name(f, &mapped, &h));
	assert_string_equal(h.s, "a.example");
	fakeip_free(f);
}

static void test_name_knows_nothing_else(void **state)
{
	static const char *const rows[] = { "198.18.0.0", "198.18.0.2", "198.19.255.255",
					    "198.17.0.1", "198.20.0.1", "127.0.0.1",
					    "::1",	  "0.0.0.1",	"::198.18.0.1" };
	struct fakeip *f = fakeip_new();
	struct hostname h;

	(void)state;
	(void)assign(f, "a.example"); /* 198.18.0.1 */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct addr a = addr(rows[i]);

		assert_false(fakeip_name(f, &a, &h));
	}
	fakeip_free(f);
}

static void test_covers_is_the_block(void **state)
{
	static const char *const in[] = { "198.18.0.0", "198.18.0.1", "198.19.255.255",
					  "::ffff:198.18.3.4" };
	static const char *const out[] = {
		"198.17.255.255", "198.20.0.0",	  "::",
		"0.0.0.0",	  "::198.18.0.1", "64:ff9b::198.18.0.1"
	};
	struct addr none = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		struct addr a = addr(in[i]);

		assert_true(fakeip_covers(&a));
	}
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		struct addr a = addr(out[i]);

		assert_false(fakeip_covers(&a));
	}
	assert_false(fakeip_covers(&none));
}

static void test_tables_do_not_know_each_other(void **state)
{
	struct fakeip *f = fakeip_new(), *g = fakeip_new();
	struct addr a = assign(f, "secret.example");
	struct hostname h;

	(void)state;
	assert_false(fakeip_name(g, &a, &h));
	fakeip_free(f);
	fakeip_free(g);
}

static void test_assign_refuses_when_exhausted(void **state)
{
	struct fakeip *f = fakeip_new();
	struct addr first, last, a = { 0 };
	struct hostname h;
	char name[32];

	(void)state;
	first = assign(f, "h0.example");
	for (int i = 1; i < FAKEIP_MAX; i++) {
		(void)snprintf(name, sizeof(name), "h%d.example", i);
		last = assign(f, name);
	}
	assert_int_equal(fakeip_count(f), FAKEIP_MAX);
	a = addr("198.19.255.254");
	assert_true(addr_equal(&last, &a));

	a = (struct addr){ 0 };
	h = host("more.example");
	assert_false(fakeip_assign(f, &h, &a));
	assert_int_equal(a.family, 0);
	a = assign(f, "h0.example"); /* those that have one keep it */
	assert_true(addr_equal(&a, &first));
	assert_true(fakeip_name(f, &last, &h));
	assert_string_equal(h.s, "h131069.example");
	fakeip_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_assign_is_stable_and_distinct),
		cmocka_unit_test(test_name_is_the_inverse_of_assign),
		cmocka_unit_test(test_name_knows_nothing_else),
		cmocka_unit_test(test_covers_is_the_block),
		cmocka_unit_test(test_tables_do_not_know_each_other),
		cmocka_unit_test(test_assign_refuses_when_exhausted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
