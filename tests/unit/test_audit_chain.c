#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/audit_chain.h"

#define LINES 3

struct log {
	char line[LINES][256];
	size_t n[LINES]; /* without the newline */
};

static void make(struct log *l)
{
	static const char *const text[LINES] = { "{\"event\":\"a\",\"n\":1}\n", "{\"n\":2}\n",
						 "{\"n\":3}\n" };
	struct audit_chain c;

	audit_chain_init(&c);
	for (size_t i = 0; i < LINES; i++) {
		memcpy(l->line[i], text[i], strlen(text[i]));
		l->n[i] = audit_chain_seal(&c, l->line[i], strlen(text[i])) - 1;
		assert_int_equal(l->line[i][l->n[i]], '\n');
	}
}

static void test_what_was_sealed_holds(void **state)
{
	struct audit_chain c;
	struct log l;

	(void)state;
	make(&l);
	audit_chain_init(&c);
	for (size_t i = 0; i < LINES; i++)
		assert_true(audit_chain_check(&c, l.line[i], l.n[i]));
}

static void test_first_digest_is_that_of_sha256sum(void **state)
{
	/* printf '%064d{"n":2}' 0 | sha256sum */
	static const char want[] =
		"f25c2a9770b289b10f5dcf0382c27c4efaad654fab34ac7102e4cac9d1384c92";
	char line[256] = "{\"n\":2}\n";
	struct audit_chain c;

	(void)state;
	audit_chain_init(&c);
	(void)audit_chain_seal(&c, line, 8);
	assert_string_equal(c.last, want);
}

static void test_any_changed_byte_breaks(void **state)
{
	struct audit_chain first, c;
	struct log l;

	(void)state;
	make(&l);
	audit_chain_init(&first);
	assert_true(audit_chain_check(&first, l.line[0], l.n[0]));
	for (size_t i = 0; i < l.n[1]; i++) {
		c = first;
		l.line[1][i] ^= 1;
		assert_false(audit_chain_check(&c, l.line[1], l.n[1]));
		l.line[1][i] ^= 1;
	}
	assert_true(audit_chain_check(&first, l.line[1], l.n[1]));
}

static void test_a_missing_or_moved_line_breaks(void **state)
{
	struct audit_chain c;
	struct log l;

	(void)state;
	make(&l);
	audit_chain_init(&c);
	assert_false(audit_chain_check(&c, l.line[1], l.n[1]));
	assert_true(audit_chain_check(&c, l.line[0], l.n[0]));
	assert_false(audit_chain_check(&c, l.line[2], l.n[2]));
	assert_true(audit_chain_check(&c, l.line[1], l.n[1]));
}

static void test_short_and_foreign_lines_break(void **state)
{
	static const char *const bad[] = { "", "{}", "x", "{\"n\":1}", ",\"chain\":\"00\"}" };
	struct audit_chain c;

	(void)state;
	audit_chain_init(&c);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_false(audit_chain_check(&c, bad[i], strlen(bad[i])));
		assert_false(audit_chain_resume(&c, bad[i], strlen(bad[i])));
	}
}

/* Somebody has changed the log, and any byte may be in it. */
static void test_a_nul_in_a_line_breaks(void **state)
{
	enum { LONG = 1 << 24 }; /* to write so far behind a short copy is to crash */
	char *line = calloc(1, LONG);
	struct audit_chain c, whole;
	size_t n;

	(void)state;
	assert_non_null(line);
	memset(line, 'y', LONG / 2);
	memcpy(line, "{\"n\":\"", 6);
	memcpy(line + LONG / 2, "}\n", 2);
	audit_chain_init(&c);
	n = audit_chain_seal(&c, line, LONG / 2 + 2) - 1;
	audit_chain_init(&whole);
	assert_true(audit_chain_check(&whole, line, n));
	line[8] = '\0';
	audit_chain_init(&whole);
	assert_false(audit_chain_check(&whole, line, n));
	free(line);
}

static void test_resume_goes_on_behind_a_line(void **state)
{
	struct audit_chain c;
	struct log l;

	(void)state;
	make(&l);
	audit_chain_init(&c);
	assert_true(audit_chain_resume(&c, l.line[1], l.n[1]));
	assert_true(audit_chain_check(&c, l.line[2], l.n[2]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_sealed_holds),
		cmocka_unit_test(test_first_digest_is_that_of_sha256sum),
		cmocka_unit_test(test_any_changed_byte_breaks),
		cmocka_unit_test(test_a_missing_or_moved_line_breaks),
		cmocka_unit_test(test_short_and_foreign_lines_break),
		cmocka_unit_test(test_a_nul_in_a_line_breaks),
		cmocka_unit_test(test_resume_goes_on_behind_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
