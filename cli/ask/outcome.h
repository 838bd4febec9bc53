/*
 * outcome.h - how a question ended: in words, in memory, in the audit log
 */
#ifndef CLI_ASK_OUTCOME_H
#define CLI_ASK_OUTCOME_H

#include "policy/grant.h"
#include "policy/prompt.h"
#include "policy/question.h"
#include "policy/target.h"

struct audit;

/** outcome_text() - "allowed example.com:443 once (tty)"; @answer is NULL for %PROMPT_WITHDRAWN. */
void outcome_text(const struct question *q, enum prompt_end end, const struct prompt_answer *answer,
		  char out[QUESTION_TEXT_MAX]);

/**
 * outcome_remember() - for as long as was answered: in @grants, and in the file if it outlives the run
 * @cwd: the project
 *
 * What cannot be saved holds for the run, and a warning says so. Return: for how long it holds.
 */
enum prompt_scope outcome_remember(struct grants *grants, const char *cwd, const struct question *q,
				   const struct prompt_answer *answer);

/** outcome_record() - a line in the audit log; nothing if @audit or @answer is NULL. */
void outcome_record(struct audit *audit, const struct target *t, const struct question *q,
		    enum prompt_end end, const struct prompt_answer *answer);

#endif
