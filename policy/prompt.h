/*
 * prompt.h - the questions of one run: who waits for which, and what was answered
 *
 * Pure: no I/O and no clock of its own; the time (milliseconds, monotonic) is passed in. Targets
 * that are equal join one question however many connections wait; one answer releases them all;
 * when the last waiter goes away the question is withdrawn; at its time-out the answer is no, once.
 *
 *   prompt_ask() -> open -> prompt_answer() | time-out | last prompt_cancel() -> closed
 *
 * Whoever waits is called from prompt_run() only, never from within another call. The owner is told
 * by @soon that prompt_run() has something to deliver.
 */
#ifndef POLICY_PROMPT_H
#define POLICY_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/grant.h"
#include "policy/policy.h"
#include "policy/target.h"

#define PROMPT_OPEN_MAX	    64		   /* questions; more than a person can want to answer */
#define PROMPT_DURATION_MAX (366 * 86400u) /* seconds of "for a while" */

struct prompt;
struct suffixes;
struct prompt_question;
struct prompt_waiter;

/** enum prompt_scope - how long an answer holds */
enum prompt_scope {
	PROMPT_ONCE,	 /* those who wait now */
	PROMPT_RUN,	 /* until the end of the run */
	PROMPT_PROJECT,	 /* every run that starts in this directory */
	PROMPT_FOREVER,	 /* every run */
	PROMPT_DURATION, /* every run, for @seconds */
	PROMPT_NUM_SCOPES
};

/**
 * struct prompt_answer - what somebody said
 * @allow: yes or no
 * @scope: for how long
 * @seconds: for PROMPT_DURATION, 1..PROMPT_DURATION_MAX
 * @widen: for *.domain rather than the host itself
 * @by: who said it; printable ASCII, outlives the queue; NULL for nobody (a time-out)
 */
struct prompt_answer {
	bool allow;
	enum prompt_scope scope;
	uint32_t seconds;
	bool widen;
	const char *by;
};

/** enum prompt_end - why a question was closed */
enum prompt_end {
	PROMPT_ANSWERED,
	PROMPT_TIMED_OUT,
	PROMPT_WITHDRAWN, /* nobody waits any more */
	PROMPT_LOST,	  /* whoever was to be asked cannot be */
};

/**
 * struct prompt_config - whom a queue talks to
 * @timeout_ms: of a question
 * @suffixes: for answers that are widened; NULL: none is
 * @soon: call prompt_run() from the loop, soon
 * @opened: there is a new question
 * @changed: another number waits for it
 * @closed: it is over; it is freed when the call returns. @answer: NULL for a withdrawn one
 */
struct prompt_config {
	uint64_t timeout_ms;
	struct suffixes *suffixes;
	void (*soon)(void *arg);
	void (*opened)(void *arg, struct prompt_question *q);
	void (*changed)(void *arg, struct prompt_question *q);
	void (*closed)(void *arg, struct prompt_question *q, enum prompt_end end,
		       const struct prompt_answer *answer);
	void *arg;
};

/** typedef prompt_waiter_cb - the answer; @d is valid during the call only */
typedef void prompt_waiter_cb(void *arg, const struct decision *d);

/** prompt_new() - an empty queue; @cfg is copied. Free with prompt_free(). */
struct prompt *prompt_new(const struct prompt_config *cfg);

/** prompt_free() - nobody is told of anything any more; NULL is allowed. */
void prompt_free(struct prompt *p);

/**
 * prompt_ask() - wait for an answer about a target
 * @cb: called once from prompt_run() unless cancelled
 *
 * Return: the waiter. With PROMPT_OPEN_MAX questions open the answer is no (code "limit").
 */
struct prompt_waiter *prompt_ask(struct prompt *p, const struct target *t, uint64_t now,
				 prompt_waiter_cb *cb, void *arg);

/** prompt_cancel() - do not wait any more; @cb is not called. */
void prompt_cancel(struct prompt *p, struct prompt_waiter *w);

/**
 * prompt_answer() - answer an open question; the first answer counts
 * Return: false if there is no such question (any more), or it cannot be widened.
 */
bool prompt_answer(struct prompt *p, uint64_t id, const struct prompt_answer *answer);

/** prompt_lost() - nobody can be asked about this one: the answer is no, once. */
void prompt_lost(struct prompt *p, uint64_t id);

/** prompt_run() - let time-outs run out and tell whoever has an answer. */
void prompt_run(struct prompt *p, uint64_t now);

/** prompt_next() - when prompt_run() is due for the next time-out; UINT64_MAX for never. */
uint64_t prompt_next(const struct prompt *p);

/** prompt_first() - the oldest open question, or NULL; prompt_after(): the next one. */
struct prompt_question *prompt_first(const struct prompt *p);
struct prompt_question *prompt_after(const struct prompt_question *q);

/** prompt_find() - the open question of that number, or NULL. */
struct prompt_question *prompt_find(const struct prompt *p, uint64_t id);

/** prompt_id() - its number, unique in the queue, from 1. */
uint64_t prompt_id(const struct prompt_question *q);

/** prompt_target() - what it is about; @via is that of the first who asked. */
const struct target *prompt_target(const struct prompt_question *q);

/** prompt_waiting() - how many wait. */
size_t prompt_waiting(const struct prompt_question *q);

/** prompt_deadline() - when its time is over. */
uint64_t prompt_deadline(const struct prompt_question *q);

/** prompt_set_user() - keep something of the owner's with it; prompt_user() gives it back. */
void prompt_set_user(struct prompt_question *q, void *user);
void *prompt_user(const struct prompt_question *q);

/** prompt_scope_name() - "once", "run", "project", "forever", "duration". */
const char *prompt_scope_name(enum prompt_scope scope);

/**
 * prompt_parse_duration() - "90", "90s", "15m", "2h", "7d"
 * Return: the seconds; 0 if it is none or longer than PROMPT_DURATION_MAX.
 */
uint32_t prompt_parse_duration(const char *text, size_t len);

#endif
