#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "dns/cache.h"

static const struct addr one = { .family = AF_INET, .bytes = { 192, 0, 2, 1 } };

static struct hostname host(const char *text)
{
	struct hostname h = { .len = (uint8_t)strlen(text) };

	memcpy(h.s, text, h.len);
	return h;
}

static bool known(struct cache *c, const char *name, uint64_t now)
{
	struct hostname h = host(name);
	const struct addr *v;
	size_t n;

	return cache_get(c, &h, now, &v, &n);
}

static void put(struct cache *c, const char *name, uint32_t ttl, uint64_t now)
{
	struct hostname h = host(name);

	cache_put(c, &h, &one, 1, ttl, now);
}

static void test_get_returns_what_was_put(void **state)
{
	struct cache *c = cache_new(4);
	struct hostname h = host("a.example");
	struct addr v[2] = { one, { .family = AF_INET6, .bytes = { [15] = 9 } } };
	const struct addr *got;
	size_t n;

	(void)state;
	cache_put(c, &h, v, 2, 60, 0);
	assert_true(cache_get(c, &h, 0, &got, &n));
	assert_int_equal(n, 2);
	assert_true(addr_equal(&got[0], &v[0]) && addr_equal(&got[1], &v[1]));
	assert_false(known(c, "b.example", 0));
	cache_free(c);
}

static void test_get_ends_with_the_ttl(void **state)
{
	struct cache *c = cache_new(4);

	(void)state;
	put(c, "a.example", 10, 1000);
	assert_true(known(c, "a.example", 1000 + 9999));
	assert_false(known(c, "a.example", 1000 + 10000));
	assert_int_equal(cache_count(c), 0);
	cache_free(c);
}

static void test_put_cuts_the_ttl(void **state)
{
	struct cache *c = cache_new(4);

	(void)state;
	put(c, "a.example", UINT32_MAX, 0);
	assert_true(known(c, "a.example", CACHE_TTL_MAX * UINT64_C(1000) - 1));
	assert_false(known(c, "a.example", CACHE_TTL_MAX * UINT64_C(1000)));
	cache_free(c);
}

static void test_put_with_ttl_zero_forgets(void **state)
{
	struct cache *c = cache_new(4);

	(void)state;
	put(c, "a.example", 60, 0);
	put(c, "a.example", 0, 0);
	assert_false(known(c, "a.example", 0));
	cache_free(c);
}

static void test_put_replaces(void **state)
{
	struct cache *c = cache_new(4);
	struct hostname h = host("a.example");
	const struct addr *got;
	size_t n;

	(void)state;
	put(c, "a.example", 60, 0);
	cache_put(c, &h, NULL, 0, 5, 0);
	assert_true(cache_get(c, &h, 0, &got, &n));
	assert_int_equal(n, 0);
	assert_int_equal(cache_count(c), 1);
	cache_free(c);
}

static void test_put_drops_the_least_recently_used(void **state)
{
	struct cache *c = cache_new(2);

	(void)state;
	put(c, "a.example", 60, 0);
	put(c, "b.example", 60, 0);
	assert_true(known(c, "a.example", 1));
	put(c, "c.example", 60, 2);
	assert_true(known(c, "a.example", 3));
	assert_false(known(c, "b.example", 3));
	assert_true(known(c, "c.example", 3));
	cache_free(c);
}

static void test_put_is_bounded(void **state)
{
	struct cache *c = cache_new(100);
	char name[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "h%d.example", i);
		put(c, name, 60, 0);
	}
	assert_int_equal(cache_count(c), 100);
	assert_true(known(c, "h9999.example", 0));
	assert_false(known(c, "h0.example", 0));
	cache_clear(c);
	assert_int_equal(cache_count(c), 0);
	cache_free(c);
}

static void test_put_bounds_addresses(void **state)
{
	struct cache *c = cache_new(4);
	struct hostname h = host("a.example");
	struct addr v[CACHE_ADDRS_MAX + 10];
	const struct addr *got;
	size_t n;

	(void)state;
	for (size_t i = 0; i < CACHE_ADDRS_MAX + 10; i++)
		v[i] = one;
	cache_put(c, &h, v, CACHE_ADDRS_MAX + 10, 60, 0);
	assert_true(cache_get(c, &h, 0, &got, &n));
	assert_int_equal(n, CACHE_ADDRS_MAX);
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_returns_what_was_put),
		cmocka_unit_test(test_get_ends_with_the_ttl),
		cmocka_unit_test(test_put_cuts_the_ttl),
		cmocka_unit_test(test_put_with_ttl_zero_forgets),
		cmocka_unit_test(test_put_replaces),
		cmocka_unit_test(test_put_drops_the_least_recently_used),
		cmocka_unit_test(test_put_is_bounded),
		cmocka_unit_test(test_put_bounds_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
