/*
 * asker.h - the one interface between the questions of a run and whoever can be asked
 *
 * An asker is told of questions and gives answers by asking_answer(). There may be several; the
 * first answer counts, and the others are told that the question is closed.
 */
#ifndef CLI_ASK_ASKER_H
#define CLI_ASK_ASKER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/question.h"

struct asking;
struct event_base;

/**
 * struct asker_ops - what an asker does
 * @open: there is a question; @q is valid until @close
 * @change: another number waits for it, or it is known by now who asks
 * @close: it is over; @text: "allowed example.com:443 once (tty)"
 * @pause, @resume: this process is about to be stopped, and goes on; or NULL
 * @free: end
 */
struct asker_ops {
	void (*open)(void *self, const struct question *q);
	void (*change)(void *self, const struct question *q);
	void (*close)(void *self, const struct question *q, const char *text);
	void (*pause)(void *self);
	void (*resume)(void *self);
	void (*free)(void *self);
};

/** struct asker - one who can be asked; @self is NULL for none */
struct asker {
	const struct asker_ops *ops;
	void *self;
};

/**
 * struct asker_terminal - whoever else uses the terminal
 * @suspend: leave it alone until @resume; NULL if nobody else does
 * @interrupt: its interrupt key was typed at a question; it is told once it may go on. NULL: the
 *             terminal itself does what that key does
 * @insisted: it is asked at, whatever others may write there
 */
struct asker_terminal {
	void (*suspend)(void *arg);
	void (*resume)(void *arg);
	void (*interrupt)(void *arg);
	void *arg;
	bool insisted;
};

#endif
