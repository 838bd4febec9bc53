/*
 * helper.h - a small process for what the supervisor may not do itself any more
 *
 * Once locked down the supervisor can neither start a program nor look into another process. This
 * one is forked before that. It knows two things: who holds the other end of a connection, and how
 * to start the one program of --ask exec:PROGRAM. Theory of operation stands in helper.c.
 */
#ifndef CLI_ASK_HELPER_H
#define CLI_ASK_HELPER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/ask/who.h"

struct event_base;
struct helper;
struct hired;

#define HELPER_TEXT_MAX 384

/**
 * struct helper_config - what it may do and whom it tells
 * @program: of --ask exec:PROGRAM, or NULL; must outlive the helper
 * @init: pid 1 of the only sandbox that it looks into, as seen from here; 0: helper_who_wait() says
 *        which, for a process with many
 * @who: an answer to helper_who(); @w->pid is 0 if nobody was found
 * @exited: a program has ended, with its wait status
 * @lost: the helper is gone: nothing more will come
 */
struct helper_config {
	const struct hired *program;
	pid_t init;
	void (*who)(void *arg, uint64_t id, const struct who *w);
	void (*exited)(void *arg, uint64_t id, int status);
	void (*lost)(void *arg);
	void *arg;
};

/**
 * helper_start() - fork it
 * @base: where answers are waited for, or NULL for helper_who_wait()
 *
 * Must be called while single-threaded, and before lockdown_enter().
 *
 * Return: to be freed by helper_free(); NULL with @err.
 */
struct helper *helper_start(struct event_base *base, const struct helper_config *cfg,
			    struct error *err);

/** helper_free() - end it and every program that it started; NULL is allowed. */
void helper_free(struct helper *h);

/** helper_who() - ask who holds a socket. 0, or -1. */
int helper_who(struct helper *h, uint64_t id, const struct who_socket *socket);

/**
 * enum helper_look - what came of a look
 * @HELPER_LOOKED: it is over; nobody may have been found
 * @HELPER_LATE: it was ended, for there is too much to look at
 * @HELPER_NOT_LOOKED: the helper was not heard of
 */
enum helper_look { HELPER_LOOKED, HELPER_LATE, HELPER_NOT_LOOKED };

/**
 * helper_who_wait() - the same, and wait for the answer
 * @h: one that was started without a base, which is asked in no other way
 * @init: as of struct helper_config; counts where that is 0
 * @ms: how long the look may take; on a busy machine the answer takes a little longer
 * @out: its pid is 0 if nobody was found
 */
enum helper_look helper_who_wait(struct helper *h, pid_t init, const struct who_socket *socket,
				 unsigned ms, struct who *out);

/**
 * helper_exec() - start the program
 * @id: for helper_kill() and @exited
 * @text: its only argument, a question in words
 *
 * Return: a stream socket (non-blocking, CLOEXEC) which is its standard input and output, owned by
 * the caller; -1 with @err.
 */
int helper_exec(struct helper *h, uint64_t id, const char *text, struct error *err);

/** helper_kill() - end a program that is not needed any more; @exited is called as ever. */
void helper_kill(struct helper *h, uint64_t id);

#endif
