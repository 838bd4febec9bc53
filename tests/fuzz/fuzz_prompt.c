/*
 * fuzz_prompt.c - questions, answers, time-outs and those who go away, in any order
 *
 * Each two bytes of the input are one act: who and what. Properties: whoever asked is told once and
 * never after it went away, from prompt_run() only; nobody hears yes about a target unless a yes was
 * given to that very question; what was opened is closed once; in the end nobody waits.
 */
#undef NDEBUG /* the properties are assertions, whatever the build */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/prompt.h"

#define WAITERS 96
#define TARGETS 80 /* more than PROMPT_OPEN_MAX */
#define TIMEOUT 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct model;

/* One who asked. @w: while it may still be told. */
struct asker {
	struct model *m;
	struct prompt_waiter *w;
	uint64_t question; /* 0: there was no room for one */
};

struct model {
	struct prompt *p;
	struct asker v[WAITERS];
	uint64_t now, opened, closed, last;
	bool running, due;
	uint64_t yes; /* the question that was answered yes last */
};

static void soon(void *arg)
{
	struct model *m = arg;

	m->due = true;
}

static void opened(void *arg, struct prompt_question *q)
{
	struct model *m = arg;

	assert(prompt_id(q) == m->last + 1 && prompt_waiting(q) == 1);
	assert(prompt_deadline(q) == m->now + TIMEOUT);
	m->last = prompt_id(q);
	m->opened++;
	prompt_set_user(q, m);
}

static void changed(void *arg, struct prompt_question *q)
{
	assert(prompt_user(q) == arg && prompt_waiting(q) >= 1);
}

static void closed(void *arg, struct prompt_question *q, enum prompt_end end,
		   const struct prompt_answer *answer)
{
	struct model *m = arg;

	assert(prompt_user(q) == arg && (answer != NULL) == (end != PROMPT_WITHDRAWN));
	assert(end == PROMPT_ANSWERED || !answer || (!answer->allow && !answer->by));
	m->closed++;
}

static void told(void *arg, const struct decision *d)
{
	struct asker *a = arg;

	assert(a->m->running && a->w);
	assert(d->verdict == VERDICT_ALLOW || d->verdict == VERDICT_DENY);
	assert((d->verdict == VERDICT_ALLOW) == (d->code == CODE_OK));
	/* an answer is passed on in the run after it, so the last yes is this question's */
	assert(d->verdict == VERDICT_DENY || (a->question && a->question == a->m->yes));
	assert(d->code != CODE_LIMIT || a->question == 0);
	a->w = NULL;
}

static void ask(struct model *m, struct asker *a, unsigned target)
{
	struct target t = { .port = 443, .via = VIA_CONNECT };
	struct prompt_question *q;

	if (a->w)
		return;
	memcpy(t.host.s, "xx.example", 11);
	t.host.s[0] = (char)('a' + target / 16);
	t.host.s[1] = (char)('a' + target % 16);
	t.host.len = 10;
	a->question = 0;
	a->w = prompt_ask(m->p, &t, m->now, told, a);
	for (q = prompt_first(m->p); q; q = prompt_after(q)) {
		if (target_equal(prompt_target(q), &t))
			a->question = prompt_id(q);
	}
	assert(a->question || m->opened - m->closed == PROMPT_OPEN_MAX);
}

static void run(struct model *m)
{
	m->running = true;
	prompt_run(m->p, m->now);
	m->running = false;
	m->due = false;
	m->yes = 0;
	assert(prompt_next(m->p) > m->now);
}

static void answer(struct model *m, uint64_t id, unsigned how)
{
	struct prompt_answer a = { .allow = how & 1,
				   .scope = (enum prompt_scope)(how % PROMPT_NUM_SCOPES),
				   .seconds = how & 2 ? 60 : 0,
				   .widen = how & 4,
				   .by = "x" };
	bool open = prompt_find(m->p, id);

	if (m->due)
		run(m); /* one answer at a time, or @yes would not say whose it was */
	open = open && prompt_find(m->p, id);
	if (!prompt_answer(m->p, id, &a)) {
		assert(!open || (a.scope == PROMPT_DURATION && !a.seconds) || a.widen);
		return;
	}
	assert(open && !prompt_find(m->p, id));
	m->yes = a.allow ? id : 0;
}

static void act(struct model *m, unsigned what, unsigned who)
{
	struct asker *a = &m->v[who % WAITERS];
	const struct prompt_question *first = prompt_first(m->p);

	switch (what & 7) {
	case 0:
	case 1:
		ask(m, a, who % TARGETS);
		break;
	case 2:
		ask(m, a, what >> 3);
		break;
	case 3:
		if (a->w)
			prompt_cancel(m->p, a->w);
		a->w = NULL;
		break;
	case 4:
		answer(m, first ? prompt_id(first) : who, what >> 3);
		break;
	case 5:
		answer(m, who, what >> 3);
		break;
	case 6:
		prompt_lost(m->p, who);
		break;
	default:
		m->now += who;
		run(m);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *m = calloc(1, sizeof(*m));
	struct prompt_config cfg = { TIMEOUT, NULL, soon, opened, changed, closed, m };

	assert(m);
	m->p = prompt_new(&cfg);
	for (size_t i = 0; i < WAITERS; i++)
		m->v[i].m = m;
	for (size_t i = 0; i + 1 < size; i += 2)
		act(m, data[i], data[i + 1]);
	if (size & 1) { /* half of the inputs: freed with what is open */
		prompt_free(m->p);
		free(m);
		return 0;
	}
	m->now += TIMEOUT;
	run(m);
	for (size_t i = 0; i < WAITERS; i++)
		assert(!m->v[i].w);
	assert(m->opened == m->closed && !prompt_first(m->p));
	prompt_free(m->p);
	free(m);
	return 0;
}
