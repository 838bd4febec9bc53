#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/prompt.h"
#include "tests/support/suffixlist.h"

#define TIMEOUT 60000

/* What the owner of the queue was told. */
struct world {
	struct prompt *p;
	unsigned soon, opened, changed, closed;
	enum prompt_end end;
	bool has_answer;
	size_t waiting;
	struct prompt_answer answer;
};

/* One who waits. */
struct client {
	struct prompt_waiter *w;
	unsigned calls;
	struct decision d;
};

static void soon(void *arg)
{
	((struct world *)arg)->soon++;
}

static void opened(void *arg, struct prompt_question *q)
{
	(void)q;
	((struct world *)arg)->opened++;
}

static void changed(void *arg, struct prompt_question *q)
{
	struct world *w = arg;

	w->changed++;
	w->waiting = prompt_waiting(q);
}

static void closed(void *arg, struct prompt_question *q, enum prompt_end end,
		   const struct prompt_answer *answer)
{
	struct world *w = arg;

	(void)q;
	w->closed++;
	w->end = end;
	w->has_answer = answer;
	if (answer)
		w->answer = *answer;
}

static void start(struct world *w)
{
	const struct prompt_config cfg = {
		.suffixes = suffixlist,
		.timeout_ms = TIMEOUT,
		.soon = soon,
		.opened = opened,
		.changed = changed,
		.closed = closed,
		.arg = w,
	};

	*w = (struct world){ .p = prompt_new(&cfg) };
}

static void told(void *arg, const struct decision *d)
{
	struct client *c = arg;

	c->calls++;
	c->d = *d;
}

static void ask(struct world *w, struct client *c, const char *authority, uint64_t now)
{
	struct target t = { .via = VIA_CONNECT };

	assert_int_equal(target_parse_authority(authority, strlen(authority), 443, &t), TARGET_OK);
	*c = (struct client){ .calls = 0 };
	c->w = prompt_ask(w->p, &t, now, told, c);
	assert_non_null(c->w);
}

static const struct prompt_answer yes = { .allow = true, .by = "tester" };
static const struct prompt_answer no = { .by = "tester" };

static void test_equal_targets_join_one_question(void **state)
{
	struct client c[20], other;
	struct world w;

	(void)state;
	start(&w);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		ask(&w, &c[i], "a.example:443", 0);
	ask(&w, &other, "a.example:80", 0);
	assert_int_equal(w.opened, 2);
	assert_int_equal(prompt_waiting(prompt_first(w.p)), 20);
	assert_true(prompt_answer(w.p, 1, &yes));
	assert_int_equal(c[0].calls, 0); /* never from within */
	prompt_run(w.p, 1);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		assert_int_equal(c[i].calls, 1);
		assert_int_equal(c[i].d.verdict, VERDICT_ALLOW);
		assert_int_equal(c[i].d.code, CODE_OK);
		assert_string_equal(c[i].d.by, "tester");
	}
	assert_int_equal(other.calls, 0);
	prompt_free(w.p);
}

static void test_no_is_no(void **state)
{
	struct client c;
	struct world w;

	(void)state;
	start(&w);
	ask(&w, &c, "a.example", 0);
	assert_true(prompt_answer(w.p, 1, &no));
	prompt_run(w.p, 0);
	assert_int_equal(c.d.verdict, VERDICT_DENY);
	assert_int_equal(c.d.code, CODE_ASKED_NO);
	prompt_free(w.p);
}

static void test_first_answer_wins(void **state)
{
	struct client c;
	struct world w;

	(void)state;
	start(&w);
	ask(&w, &c, "a.example", 0);
	assert_true(prompt_answer(w.p, 1, &no));
	assert_false(prompt_answer(w.p, 1, &yes));
	prompt_run(w.p, 0);
	assert_false(prompt_answer(w.p, 1, &yes));
	assert_int_equal(c.calls, 1);
	assert_int_equal(c.d.verdict, VERDICT_DENY);
	assert_int_equal(w.closed, 1);
	prompt_free(w.p);
}

static void test_timeout_is_no_once(void **state)
{
	struct client c, late;
	struct world w;

	(void)state;
	start(&w);
	assert_true(prompt_next(w.p) == UINT64_MAX);
	ask(&w, &c, "a.example", 1000);
	assert_true(prompt_next(w.p) == 1000 + TIMEOUT);
	prompt_run(w.p, 1000 + TIMEOUT - 1);
	assert_int_equal(c.calls, 0);
	prompt_run(w.p, 1000 + TIMEOUT);
	assert_int_equal(c.calls, 1);
	assert_int_equal(c.d.verdict, VERDICT_DENY);
	assert_int_equal(c.d.code, CODE_ASK_TIMEOUT);
	assert_null(c.d.by);
	assert_int_equal(w.end, PROMPT_TIMED_OUT);
	assert_false(prompt_answer(w.p, 1, &yes)); /* late */
	ask(&w, &late, "a.example", 2000 + TIMEOUT);
	assert_int_equal(w.opened, 2);
	prompt_free(w.p);
}

static void test_last_cancel_withdraws(void **state)
{
	struct client a, b;
	struct world w;

	(void)state;
	start(&w);
	ask(&w, &a, "a.example", 0);
	ask(&w, &b, "a.example", 0);
	prompt_cancel(w.p, a.w);
	assert_int_equal(w.closed, 0);
	assert_int_equal(w.waiting, 1);
	prompt_cancel(w.p, b.w);
	assert_int_equal(w.closed, 1);
	assert_int_equal(w.end, PROMPT_WITHDRAWN);
	assert_false(w.has_answer);
	assert_false(prompt_answer(w.p, 1, &yes));
	prompt_run(w.p, 2 * TIMEOUT);
	assert_int_equal(a.calls + b.calls, 0);
	prompt_free(w.p);
}

static void test_cancel_between_answer_and_delivery(void **state)
{
	struct client a, b;
	struct world w;

	(void)state;
	start(&w);
	ask(&w, &a, "a.example", 0);
	ask(&w, &b, "a.example", 0);
	assert_true(prompt_answer(w.p, 1, &yes));
	prompt_cancel(w.p, a.w);
	prompt_run(w.p, 0);
	assert_int_equal(a.calls, 0);
	assert_int_equal(b.calls, 1);
	prompt_free(w.p);
}

static void test_too_many_questions_are_refused(void **state)
{
	struct client c[PROMPT_OPEN_MAX], more, joins;
	char name[32];
	struct world w;

	(void)state;
	start(&w);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		(void)snprintf(name, sizeof(name), "h%zu.example", i);
		ask(&w, &c[i], name, 0);
	}
	ask(&w, &more, "more.example", 0);
	ask(&w, &joins, "h3.example", 0);
	prompt_run(w.p, 0);
	assert_int_equal(more.calls, 1);
	assert_int_equal(more.d.verdict, VERDICT_DENY);
	assert_int_equal(more.d.code, CODE_LIMIT);
	assert_int_equal(joins.calls, 0);
	prompt_free(w.p);
}

static void test_invalid_answers_leave_the_question_open(void **state)
{
	static const struct {
		const char *target;
		struct prompt_answer answer;
		bool ok;
	} rows[] = {
		{ "a.example", { .allow = true, .scope = PROMPT_DURATION }, false },
		{ "a.example",
		  { .allow = true, .scope = PROMPT_DURATION, .seconds = PROMPT_DURATION_MAX + 1 },
		  false },
		{ "a.example", { .allow = true, .scope = PROMPT_DURATION, .seconds = 60 }, true },
		{ "a.b.example", { .allow = true, .widen = true }, true },
		{ "example.com", { .allow = true, .widen = true }, false },
		{ "shop.co.uk", { .allow = true, .widen = true }, false },
		{ "someone.github.io", { .allow = true, .widen = true }, false },
		{ "51.15.10.1", { .allow = true, .widen = true }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client c;
		struct world w;

		start(&w);
		ask(&w, &c, rows[i].target, 0);
		assert_int_equal(prompt_answer(w.p, 1, &rows[i].answer), rows[i].ok);
		assert_int_equal(prompt_find(w.p, 1) == NULL, rows[i].ok);
		prompt_free(w.p);
	}
}

static void test_lost_asker_is_no(void **state)
{
	struct client c;
	struct world w;

	(void)state;
	start(&w);
	ask(&w, &c, "a.example", 0);
	prompt_lost(w.p, 1);
	prompt_run(w.p, 0);
	assert_int_equal(c.d.verdict, VERDICT_DENY);
	assert_int_equal(c.d.code, CODE_NOT_LISTED);
	prompt_free(w.p);
}

/* One who asks again as soon as it is told: about another target, as plain HTTP does. */
struct again {
	struct world *w;
	struct client next;
};

static void told_and_asks(void *arg, const struct decision *d)
{
	struct again *a = arg;

	(void)d;
	ask(a->w, &a->next, "next.example", 0);
}

static void test_asking_from_the_answer(void **state)
{
	struct target t = { .via = VIA_HTTP };
	struct world w;
	struct again a = { .w = &w };

	(void)state;
	start(&w);
	assert_int_equal(target_parse_authority("a.example:80", 12, 0, &t), TARGET_OK);
	assert_non_null(prompt_ask(w.p, &t, 0, told_and_asks, &a));
	assert_true(prompt_answer(w.p, 1, &yes));
	prompt_run(w.p, 0);
	assert_int_equal(w.opened, 2);
	assert_int_equal(prompt_id(prompt_first(w.p)), 2);
	prompt_free(w.p);
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint32_t seconds;
	} rows[] = {
		{ "90", 90 },	  { "90s", 90 },
		{ "15m", 900 },	  { "2h", 7200 },
		{ "7d", 604800 }, { "366d", 31622400 },
		{ "367d", 0 },	  { "", 0 },
		{ "m", 0 },	  { "0", 0 },
		{ "-1m", 0 },	  { "1.5h", 0 },
		{ "1w", 0 },	  { "99999999999d", 0 },
		{ "1 m", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(prompt_parse_duration(rows[i].text, strlen(rows[i].text)),
				 rows[i].seconds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_targets_join_one_question),
		cmocka_unit_test(test_no_is_no),
		cmocka_unit_test(test_first_answer_wins),
		cmocka_unit_test(test_timeout_is_no_once),
		cmocka_unit_test(test_last_cancel_withdraws),
		cmocka_unit_test(test_cancel_between_answer_and_delivery),
		cmocka_unit_test(test_too_many_questions_are_refused),
		cmocka_unit_test(test_invalid_answers_leave_the_question_open),
		cmocka_unit_test(test_lost_asker_is_no),
		cmocka_unit_test(test_asking_from_the_answer),
		cmocka_unit_test(test_durations),
	};

	return cmocka_run_group_tests(tests, suffixlist_setup, suffixlist_teardown);
}
