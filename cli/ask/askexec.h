/*
 * askexec.h - ask a program: the question on its standard input, the answer on its standard output
 *
 * The program of --ask exec:PROGRAM gets the question in words as its argument and as a line of
 * JSON on its standard input. An exit status of 0 and no output is yes, once; 1 is no; with an exit
 * status of 0 the output may say more (question_parse_words()). Anything else is no, once.
 * One question after another, with a pause between two that a person answers.
 */
#ifndef CLI_ASK_ASKEXEC_H
#define CLI_ASK_ASKEXEC_H

#include <stdint.h>

#include "cli/ask/asker.h"

struct askexec;
struct helper;

extern const struct asker_ops askexec_ops;

/** askexec_new() - @helper must outlive it; @program: as typed. */
void askexec_new(struct asker *out, struct asking *asking, struct event_base *base,
		 struct helper *helper, const char *program);

/** askexec_exited() - the helper tells that a program has ended. */
void askexec_exited(struct askexec *x, uint64_t id, int status);

/** askexec_lost() - the helper has gone. */
void askexec_lost(struct askexec *x);

#endif
