#include "policy/prompt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "base/xalloc.h"

/* One connection. @question: what it waits for, NULL once @decision stands. */
struct prompt_waiter {
	TAILQ_ENTRY(prompt_waiter) link;
	struct prompt_question *question;
	struct decision decision;
	prompt_waiter_cb *cb;
	void *arg;
};

TAILQ_HEAD(waiters, prompt_waiter);

struct prompt_question {
	TAILQ_ENTRY(prompt_question) link;
	uint64_t id, deadline;
	struct target target;
	struct waiters waiters;
	size_t nwaiters;
	void *user;
};

TAILQ_HEAD(questions, prompt_question);

struct prompt {
	struct prompt_config cfg;
	struct questions open; /* in the order of their time-outs */
	size_t nopen;
	uint64_t last_id;
	struct waiters ready; /* have an answer that they were not told yet */
};

static const char *const scope_name[] = {
	[PROMPT_ONCE] = "once",	      [PROMPT_RUN] = "run",	      [PROMPT_PROJECT] = "project",
	[PROMPT_FOREVER] = "forever", [PROMPT_DURATION] = "duration",
};
static_assert(ARRAY_SIZE(scope_name) == PROMPT_NUM_SCOPES, "one name a scope");

const char *prompt_scope_name(enum prompt_scope scope)
{
	return scope_name[scope];
}

struct prompt *prompt_new(const struct prompt_config *cfg)
{
	struct prompt *p = xcalloc(1, sizeof(*p));

	p->cfg = *cfg;
	TAILQ_INIT(&p->open);
	TAILQ_INIT(&p->ready);
	return p;
}

static void free_waiters(struct waiters *head)
{
	struct prompt_waiter *w;

	while ((w = TAILQ_FIRST(head))) {
		TAILQ_REMOVE(head, w, link);
		free(w);
	}
}

void prompt_free(struct prompt *p)
{
	struct prompt_question *q;

	if (!p)
		return;
	while ((q = TAILQ_FIRST(&p->open))) {
		TAILQ_REMOVE(&p->open, q, link);
		free_waiters(&q->waiters);
		free(q);
	}
	free_waiters(&p->ready);
	free(p);
}

/* @w has its answer and is told by prompt_run(). */
static void settle(struct prompt *p, struct prompt_waiter *w, const struct decision *d)
{
	w->question = NULL;
	w->decision = *d;
	if (TAILQ_EMPTY(&p->ready))
		p->cfg.soon(p->cfg.arg);
	TAILQ_INSERT_TAIL(&p->ready, w, link);
}

static struct prompt_question *find_target(const struct prompt *p, const struct target *t)
{
	struct prompt_question *q;

	TAILQ_FOREACH (q, &p->open, link)
		if (target_equal(&q->target, t))
			return q;
	return NULL;
}

static struct prompt_question *open_question(struct prompt *p, const struct target *t, uint64_t now)
{
	struct prompt_question *q = xcalloc(1, sizeof(*q));

	q->id = ++p->last_id;
	q->deadline = now + p->cfg.timeout_ms;
	q->target = *t;
	TAILQ_INIT(&q->waiters);
	TAILQ_INSERT_TAIL(&p->open, q, link);
	p->nopen++;
	return q;
}

struct prompt_waiter *prompt_ask(struct prompt *p, const struct target *t, uint64_t now,
				 prompt_waiter_cb *cb, void *arg)
{
	const struct decision full = { .verdict = VERDICT_DENY, .code = CODE_LIMIT };
	struct prompt_waiter *w = xcalloc(1, sizeof(*w));
	struct prompt_question *q = find_target(p, t);
	bool is_new = !q;

	w->cb = cb;
	w->arg = arg;
	if (is_new && p->nopen == PROMPT_OPEN_MAX) {
		settle(p, w, &full);
		return w;
	}
	if (is_new)
		q = open_question(p, t, now);
	w->question = q;
	TAILQ_INSERT_TAIL(&q->waiters, w, link);
	q->nwaiters++;
	if (is_new)
		p->cfg.opened(p->cfg.arg, q);
	else
		p->cfg.changed(p->cfg.arg, q);
	return w;
}

/* Takes it off the list, tells the owner, gives everybody who waits @d, and frees it. */
static void close_question(struct prompt *p, struct prompt_question *q, enum prompt_end end,
			   const struct prompt_answer *answer, const struct decision *d)
{
	struct prompt_waiter *w;

	TAILQ_REMOVE(&p->open, q, link);
	p->nopen--;
	p->cfg.closed(p->cfg.arg, q, end, answer);
	while ((w = TAILQ_FIRST(&q->waiters))) {
		TAILQ_REMOVE(&q->waiters, w, link);
		settle(p, w, d);
	}
	free(q);
}

void prompt_cancel(struct prompt *p, struct prompt_waiter *w)
{
	struct prompt_question *q = w->question;

	if (!q) {
		TAILQ_REMOVE(&p->ready, w, link);
		free(w);
		return;
	}
	TAILQ_REMOVE(&q->waiters, w, link);
	free(w);
	if (--q->nwaiters == 0)
		close_question(p, q, PROMPT_WITHDRAWN, NULL, NULL);
	else
		p->cfg.changed(p->cfg.arg, q);
}

static bool is_valid(const struct prompt *p, const struct prompt_question *q,
		     const struct prompt_answer *a)
{
	char wide[GRANT_PATTERN_MAX];

	if (a->scope == PROMPT_DURATION && (a->seconds == 0 || a->seconds > PROMPT_DURATION_MAX))
		return false;
	return !a->widen || grant_widen(&q->target, p->cfg.suffixes, wide);
}

bool prompt_answer(struct prompt *p, uint64_t id, const struct prompt_answer *answer)
{
	struct prompt_question *q = prompt_find(p, id);
	struct decision d = {
		.verdict = answer->allow ? VERDICT_ALLOW : VERDICT_DENY,
		.code = answer->allow ? CODE_OK : CODE_ASKED_NO,
		.by = answer->by,
	};

	if (!q || !is_valid(p, q, answer))
		return false;
	close_question(p, q, PROMPT_ANSWERED, answer, &d);
	return true;
}

static void deny_once(struct prompt *p, struct prompt_question *q, enum prompt_end end,
		      enum code code)
{
	const struct prompt_answer no = { .scope = PROMPT_ONCE };
	const struct decision d = { .verdict = VERDICT_DENY, .code = code };

	close_question(p, q, end, &no, &d);
}

void prompt_lost(struct prompt *p, uint64_t id)
{
	struct prompt_question *q = prompt_find(p, id);

	if (q)
		deny_once(p, q, PROMPT_LOST, CODE_NOT_LISTED);
}

void prompt_run(struct prompt *p, uint64_t now)
{
	struct prompt_question *q;
	struct prompt_waiter *w;

	while ((q = TAILQ_FIRST(&p->open)) && q->deadline <= now)
		deny_once(p, q, PROMPT_TIMED_OUT, CODE_ASK_TIMEOUT);
	/* Whoever is told may ask or cancel at once; @ready is always a valid list. */
	while ((w = TAILQ_FIRST(&p->ready))) {
		TAILQ_REMOVE(&p->ready, w, link);
		w->cb(w->arg, &w->decision);
		free(w);
	}
}

uint64_t prompt_next(const struct prompt *p)
{
	const struct prompt_question *q = TAILQ_FIRST(&p->open);

	return q ? q->deadline : UINT64_MAX;
}

struct prompt_question *prompt_first(const struct prompt *p)
{
	return TAILQ_FIRST(&p->open);
}

struct prompt_question *prompt_after(const struct prompt_question *q)
{
	return TAILQ_NEXT(q, link);
}

struct prompt_question *prompt_find(const struct prompt *p, uint64_t id)
{
	struct prompt_question *q;

	TAILQ_FOREACH (q, &p->open, link)
		if (q->id == id)
			return q;
	return NULL;
}

uint64_t prompt_id(const struct prompt_question *q)
{
	return q->id;
}

const struct target *prompt_target(const struct prompt_question *q)
{
	return &q->target;
}

size_t prompt_waiting(const struct prompt_question *q)
{
	return q->nwaiters;
}

uint64_t prompt_deadline(const struct prompt_question *q)
{
	return q->deadline;
}

void prompt_set_user(struct prompt_question *q, void *user)
{
	q->user = user;
}

void *prompt_user(const struct prompt_question *q)
{
	return q->user;
}

uint32_t prompt_parse_duration(const char *text, size_t len)
{
	static const struct {
		char unit;
		uint32_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	uint32_t unit = 1;
	uint64_t n;

	for (size_t i = 0; len && i < ARRAY_SIZE(units); i++)
		if (text[len - 1] == units[i].unit)
			unit = units[i].seconds;
	if (len && (text[len - 1] < '0' || text[len - 1] > '9')) {
		if (unit == 1 && text[len - 1] != 's')
			return 0;
		len--;
	}
	if (!reader_decimal(text, len, PROMPT_DURATION_MAX, &n) || n * unit > PROMPT_DURATION_MAX)
		return 0;
	return (uint32_t)(n * unit);
}
