/*
 * asking.h - the questions of a run: who is asked, who waits, what is remembered
 *
 * Theory of operation stands in asking.c.
 */
#ifndef CLI_ASK_ASKING_H
#define CLI_ASK_ASKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/ask/asker.h"
#include "cli/options.h"
#include "policy/policy.h"
#include "policy/prompt.h"
#include "policy/question.h"
#include "proxy/proxy.h"

struct asking;
struct audit;
struct event_base;
struct gate;
struct layers;
struct untouched;

/**
 * struct asking_host - what asking needs of the run
 * @init: pid 1 of the sandbox as seen from here
 * @audit: where answers are recorded, or NULL
 * @policy: points to the caller's pointer, as in struct session_config
 * @gate: for its numbers
 * @terminal: who else uses the terminal
 */
struct asking_host {
	struct event_base *base;
	pid_t init;
	struct audit *audit;
	const struct policy *const *policy;
	const struct gate *gate;
	struct asker_terminal terminal;
};

/**
 * asking_new() - read what is remembered, and find out who can be asked
 * @o: the options; must outlive it
 * @cwd: where the command starts: the project; copied
 * @u: where commands may write; read only for --ask exec:
 *
 * Return: to be freed by asking_free(); NULL with @err (nobody can be asked as --ask wants it).
 */
struct asking *asking_new(const struct run_options *o, const char *cwd, const struct untouched *u,
			  struct error *err);

/** asking_free() - withdraws every question; NULL is allowed. */
void asking_free(struct asking *a);

/** enum asking_nobody - why nobody is asked, where nobody has said that it should be so */
enum asking_nobody {
	NOBODY_SAID,	   /* somebody is asked, or the options or settings say that nobody is */
	NOBODY_REDIRECTED, /* the command could write over the question */
	NOBODY_BACKGROUND, /* somebody else has the terminal */
	NOBODY_NO_TERMINAL,
};

/** asking_nobody() - as it was when the run began, which it goes by. */
enum asking_nobody asking_nobody(const struct asking *a);

/** asking_apply() - let a policy that was just read hear remembered answers, and ask. */
void asking_apply(struct asking *a, struct policy *p, const struct layers *l);

/**
 * asking_paths() - files and directories of ours that the command must not reach, and the program that asks
 * where it could; @n of them
 */
const char *const *asking_paths(const struct asking *a, size_t *n);

/** asking_sockets() - the directory of the control socket, or NULL if there is none. */
const char *asking_sockets(const struct asking *a);

/** asking_file() - the file of remembered answers, to be watched; NULL if there is no home. */
const char *asking_file(const struct asking *a);

/** asking_open() - start who is asked. Before lockdown_enter(). 0, or -1 with @err. */
int asking_open(struct asking *a, const struct asking_host *host, struct error *err);

/** asking_reload() - the policy or the file of answers has changed: some questions are moot. */
void asking_reload(struct asking *a);

/** asking_ask(), asking_cancel() - for struct session_config; @arg is the struct asking. */
void *asking_ask(void *arg, const struct proxy_question *q, proxy_ask_cb *cb, void *cb_arg);
void asking_cancel(void *arg, void *question);

/** asking_pause() - this process is about to be stopped; asking_resume() - it goes on. */
void asking_pause(struct asking *a);
void asking_resume(struct asking *a);

/* ---- for askers */

/**
 * asking_answer() - somebody has answered
 * @answer: its @by is copied
 *
 * Return: false if the question is closed already or the answer is not possible.
 */
bool asking_answer(struct asking *a, uint64_t id, const struct prompt_answer *answer);

/** asking_lost() - whoever was asked cannot answer any more: no, once. */
void asking_lost(struct asking *a, uint64_t id);

/** asking_first() - the oldest question that is being asked, other than @not; or NULL. */
const struct question *asking_first(const struct asking *a, const struct question * not );

/** asking_next() - the one after @q, or NULL. */
const struct question *asking_next(const struct asking *a, const struct question *q);

/** asking_open_count() - how many are being asked. */
size_t asking_open_count(const struct asking *a);

/** asking_command() - the run's command as text, printable ASCII. */
const char *asking_command(const struct asking *a);

/** asking_project() - where it starts, printable ASCII. */
const char *asking_project(const struct asking *a);

/** asking_gate() - the run's way out. */
const struct gate *asking_gate(const struct asking *a);

#endif
