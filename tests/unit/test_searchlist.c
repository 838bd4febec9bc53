/* Questions that a stub resolver makes up: suffixes of the search line, and A with AAAA. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/searchlist.h"

static struct searchlist *with(const char *text)
{
	char path[] = "/tmp/sbx-search-XXXXXX";
	int fd = mkstemp(path);
	struct searchlist *s;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	s = searchlist_new(path);
	unlink(path);
	return s;
}

static enum searchlist_kind ask(struct searchlist *s, const char *text, uint64_t now)
{
	struct hostname h;
	struct addr a;

	assert_int_equal(hostname_parse(text, strlen(text), &h, &a), HOSTNAME_NAME);
	return searchlist_ask(s, &h, now);
}

static bool asks(struct searchlist *s, const char *text, uint64_t now)
{
	return ask(s, text, now) == SEARCHLIST_MADE_UP;
}

static void test_suffix_behind_a_name_of_the_moment(void **state)
{
	struct searchlist *s = with("nameserver 192.0.2.1\nsearch old.test\n"
				    "search Corp.Test\tlab.test \n# search x.test\n");

	(void)state;
	assert_false(asks(s, "good.example", 1000));
	assert_true(asks(s, "good.example.corp.test", 1001));
	assert_true(asks(s, "good.example.lab.test", 1002));
	assert_false(asks(s, "good.example.old.test", 1003));
	assert_false(asks(s, "good.example.x.test", 1003));
	assert_false(asks(s, "other.example.corp.test", 1004)); /* nobody asked for other.example */
	assert_false(asks(s, "good.examplecorp.test", 1004));
	assert_false(asks(s, "corp.test", 1004));
	/* a moment later it is a question of its own */
	assert_false(asks(s, "good.example.corp.test", 1000 + SEARCHLIST_MOMENT_MS + 1));
	searchlist_free(s);
}

/* Many dots asked for (ndots): the suffixes come first. */
static void test_suffix_before_the_name(void **state)
{
	struct searchlist *s = with("search corp.test lab.test\n");
	static const char text[] = "good.example.corp.test";
	struct hostname h;
	struct addr a;

	(void)state;
	assert_int_equal(hostname_parse(text, strlen(text), &h, &a), HOSTNAME_NAME);
	assert_int_equal(ask(s, text, 1000), SEARCHLIST_UNSURE);
	assert_int_equal(ask(s, "good.example.lab.test", 1000), SEARCHLIST_UNSURE);
	assert_false(searchlist_is_expansion(s, &h, 1001));
	assert_int_equal(ask(s, "good.example", 1001), SEARCHLIST_PLAIN);
	assert_true(searchlist_is_expansion(s, &h, 1002));
	searchlist_free(s);
}

static bool guess(struct searchlist *s, const char *text, uint64_t now)
{
	struct hostname h;
	struct addr a;

	assert_int_equal(hostname_parse(text, strlen(text), &h, &a), HOSTNAME_NAME);
	(void)searchlist_ask(s, &h, now);
	return searchlist_is_guess(s, &h, now);
}

static void test_guesses_of_a_resolver_with_many_dots(void **state)
{
	struct searchlist *s = with("options timeout:1 ndots:5\nsearch corp.test\n");
	struct searchlist *plain = with("search corp.test\n");

	(void)state;
	assert_true(guess(s, "good.example.corp.test", 1000));
	assert_false(guess(s, "good.example", 1001));
	assert_false(guess(s, "db.corp.test", 2000)); /* of "db" */
	assert_true(guess(s, "a.b.corp.test.corp.test", 3000));
	assert_false(guess(s, "a.b.corp.test", 3001)); /* meant: it was tried with a suffix */
	assert_false(guess(s, "a.b.c.d.e.f.corp.test", 4000)); /* dots enough */
	assert_false(guess(plain, "good.example.corp.test", 1000));
	searchlist_free(s);
	searchlist_free(plain);
}

static void test_base_is_what_was_meant(void **state)
{
	struct searchlist *s = with("search corp.test\noptions ndots:5\n");
	struct hostname name, base;
	struct addr a;

	(void)state;
	assert_int_equal(hostname_parse("good.example.corp.test", 22, &name, &a), HOSTNAME_NAME);
	assert_true(searchlist_base(s, &name, &base));
	assert_string_equal(base.s, "good.example");
	assert_int_equal(base.len, 12);
	assert_int_equal(hostname_parse("intranet.corp.test", 18, &name, &a), HOSTNAME_NAME);
	assert_false(searchlist_base(s, &name, &base)); /* one label: meant as it is */
	assert_int_equal(hostname_parse("good.example", 12, &name, &a), HOSTNAME_NAME);
	assert_false(searchlist_base(s, &name, &base));
	searchlist_free(s);
}

static void test_twins(void **state)
{
	struct searchlist *s = with("");

	(void)state;
	assert_false(asks(s, "no.example", 1000));
	assert_true(asks(s, "no.example", 1000));  /* A and AAAA */
	assert_false(asks(s, "no.example", 1001)); /* once more: a question of its own */
	assert_true(asks(s, "no.example", 1001));
	assert_false(asks(s, "no.example", 1001 + SEARCHLIST_MOMENT_MS + 1));
	assert_false(asks(s, "yes.example", 9000));
	searchlist_free(s);
}

static bool same(const struct searchlist *s, const char *a, const char *b)
{
	struct hostname x = { .len = (uint8_t)strlen(a) }, y = { .len = (uint8_t)strlen(b) };

	memcpy(x.s, a, x.len);
	memcpy(y.s, b, y.len);
	return searchlist_is_same(s, &x, &y);
}

static void test_same_with_a_suffix(void **state)
{
	struct searchlist *s = with("search corp.test b.corp.test\n");

	(void)state;
	assert_true(same(s, "vm", "vm") && same(s, "vm.corp.test", "vm"));
	assert_true(same(s, "vm", "vm.b.corp.test"));
	assert_false(same(s, "vm2", "vm") || same(s, "xvm.corp.test", "vm"));
	assert_false(same(s, "corp.test", "vm") || same(s, "vm.other.test", "vm"));
	assert_false(same(s, "vm.corp.test", "") || same(s, "corp.test", ""));
	assert_false(same(s, "vm.corp.test", "vm.b.corp.test"));
	searchlist_free(s);
}

static void test_no_file(void **state)
{
	struct searchlist *s = searchlist_new("/nonexistent/resolv.conf");

	(void)state;
	assert_false(asks(s, "a.example", 1));
	assert_false(asks(s, "a.example.corp.test", 1));
	searchlist_free(s);
	searchlist_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suffix_behind_a_name_of_the_moment),
		cmocka_unit_test(test_suffix_before_the_name),
		cmocka_unit_test(test_guesses_of_a_resolver_with_many_dots),
		cmocka_unit_test(test_base_is_what_was_meant),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_same_with_a_suffix),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
