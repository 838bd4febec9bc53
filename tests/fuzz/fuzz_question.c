/*
 * fuzz_question.c - the lines of the control socket and the answer of an asking program
 *
 * Properties: what is shown is printable; an answer is one of those that exist; an answer that is
 * written in its plainest words, or as a line of the control socket, is understood as the same; a
 * question that is written and read again is the same question.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "policy/question.h"

#define NOW 1000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_printable(const char *s)
{
	for (; *s; s++)
		assert(*s >= 0x20 && *s <= 0x7e);
}

static void assert_same(const struct prompt_answer *a, const struct prompt_answer *b)
{
	assert(a->allow == b->allow && a->scope == b->scope && a->widen == b->widen);
	assert(a->seconds == b->seconds && !a->by && !b->by);
}

static void assert_answer(const struct prompt_answer *a)
{
	const char *verdict = a->allow ? "allow" : "deny", *wide = a->widen ? " wide" : "";
	struct question_request r;
	struct prompt_answer again;
	char scope[32], line[160];

	assert(a->scope < PROMPT_NUM_SCOPES);
	assert((a->scope == PROMPT_DURATION) == (a->seconds > 0));
	assert(a->seconds <= PROMPT_DURATION_MAX);
	if (a->scope == PROMPT_DURATION)
		(void)snprintf(scope, sizeof(scope), "%" PRIu32 "s", a->seconds);
	else
		(void)snprintf(scope, sizeof(scope), "%s", prompt_scope_name(a->scope));
	(void)snprintf(line, sizeof(line), "%s %s%s\n", verdict, scope, wide);
	assert(question_parse_words(line, strlen(line), 0, &again));
	assert_same(a, &again);
	(void)snprintf(line, sizeof(line),
		       "{\"op\":\"answer\",\"id\":7,\"verdict\":\"%s\",\"scope\":\"%s\","
		       "\"wide\":%s}",
		       verdict, scope, a->widen ? "true" : "false");
	question_parse_request(line, strlen(line), &r);
	assert(r.op == QUESTION_ANSWER && r.valid && r.id == 7);
	assert_same(a, &r.answer);
}

static void check_request(const char *text, size_t n)
{
	struct question_request r;

	question_parse_request(text, n, &r);
	assert_printable(r.by);
	assert_printable(r.target);
	assert(r.op == QUESTION_ANSWER || (!r.valid && r.id == 0 && !r.by[0]));
	assert(r.op == QUESTION_EXPLAIN || !r.target[0]);
	if (r.valid)
		assert_answer(&r.answer);
}

static void check_words(const char *text, size_t n)
{
	struct prompt_answer a = { .by = NULL };

	if (question_parse_words(text, n, 0, &a))
		assert_answer(&a);
}

static void assert_same_question(const struct question *a, const struct question *b)
{
	assert(a->id == b->id && a->pid == b->pid && a->waiting == b->waiting);
	assert(a->deadline == b->deadline);
	assert(strcmp(a->target, b->target) == 0 && strcmp(a->via, b->via) == 0);
	assert(strcmp(a->wide, b->wide) == 0 && strcmp(a->mark, b->mark) == 0);
	assert(strcmp(a->program, b->program) == 0 && strcmp(a->argv, b->argv) == 0);
	assert(strcmp(a->command, b->command) == 0 && strcmp(a->project, b->project) == 0);
}

static void check_event(const char *text, size_t n)
{
	char said[QUESTION_TEXT_MAX], line[QUESTION_LINE_MAX];
	enum question_event ev;
	struct question q, again;

	ev = question_parse_event(text, n, NOW, &q, said);
	assert_printable(said);
	assert_printable(q.target);
	assert_printable(q.program);
	assert_printable(q.argv);
	assert_printable(q.command);
	assert_printable(q.project);
	assert_printable(q.mark);
	assert_printable(q.wide);
	assert_printable(q.via);
	if (ev != QUESTION_EV_OPEN)
		return;
	n = question_format(&q, NOW, line);
	assert(n > 0 && line[n - 1] == '\n');
	assert(question_parse_event(line, n, NOW, &again, said) == QUESTION_EV_OPEN);
	assert_same_question(&q, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_request((const char *)data, size);
	check_words((const char *)data, size);
	check_event((const char *)data, size);
	return 0;
}
