/*
 * Theory of operation
 *
 *   proxy -> asking_ask() -> prompt.c (one question a target, many who wait)
 *              -> helper.c: which program is it?  (ANNOUNCE_MS at most)
 *              -> every asker: here is a question
 *   asker -> asking_answer() -> prompt.c -> grants (run) and memory.c (project, forever, a while)
 *              -> every asker: it is closed;  proxy: the answer, from the next turn of the loop
 *
 * The policy hears what is remembered before it says "ask" (policy_set_answers()), so this file is
 * only reached for targets about which nothing is known. Nobody to ask means that the policy is set
 * to deny, not to ask.
 */
#include "cli/ask/asking.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/askexec.h"
#include "cli/ask/control.h"
#include "cli/ask/helper.h"
#include "cli/layers/layers.h"
#include "cli/ask/mark.h"
#include "cli/ask/memory.h"
#include "cli/ask/outcome.h"
#include "cli/ask/prompt_tty.h"
#include "cli/hired.h"
#include "cli/statedir.h"
#include "cli/suffixfile.h"
#include "cli/untouched.h"
#include "launcher/pty.h"
#include "policy/suffix.h"

#define ANNOUNCE_MS 300 /* a question is not held back longer for want of a program's name */
#define ASKERS_MAX  2
#define NAMES_MAX   64 /* different names of those who answered; further ones share one */
#define PATHS_MAX   6

/* What an asker sees, and whether it has been told. */
struct item {
	struct question q;
	struct asking *asking;
	struct target target;
	bool announced;
	struct event timer;
};

struct asking {
	const struct run_options *options;
	char *cwd, *command, *project;
	struct grants *grants;
	struct suffixes *suffixes; /* for wider answers; NULL: none */
	enum ask_who who;	   /* ASK_NEVER: nobody */
	enum asking_nobody nobody;
	char *paths[PATHS_MAX];
	size_t npaths;
	char *file;
	const char *sockets;  /* one of @paths */
	struct hired program; /* of --ask exec: */
	struct prompt *prompt;
	struct asker asker[ASKERS_MAX];
	size_t naskers;
	struct helper *helper;
	struct asking_host host;
	const struct proxy_question *asked; /* only within asking_ask() */
	bool recheck;
	struct ttyturn drawing; /* what the command may write to */
	struct event run, timeout;
	char *names[NAMES_MAX];
	size_t nnames;
};

/* ---- who is asked */

/* What comes out at the other end may be shown where we ask: `2>&1 | tee log`. */
static bool is_passed_on(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/*
 * A command that holds our terminal without the relay between, or has somebody write there what it says,
 * could write over the question, and show another host than the one that is asked about. Then nobody is
 * asked unless told to.
 */
static bool command_may_draw(void)
{
	bool held = isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);

	return (held && !pty_wanted()) || is_passed_on(STDOUT_FILENO) ||
	       is_passed_on(STDERR_FILENO);
}

static bool has_terminal(void)
{
	return prompt_tty_exists() || isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) ||
	       isatty(STDERR_FILENO);
}

static enum asking_nobody why_nobody(void)
{
	if (!prompt_tty_exists())
		return NOBODY_NO_TERMINAL;
	if (!prompt_tty_possible())
		return NOBODY_BACKGROUND;
	return command_may_draw() ? NOBODY_REDIRECTED : NOBODY_SAID;
}

/* Once: what is run for each question is this file. */
static int find_program(struct asking *a, const struct untouched *u, struct error *err)
{
	const struct run_options *o = a->options;

	if (hired_named(u, o->ask_program, &a->program, err) < 0)
		return error_wrap(err, "--ask exec");
	if (a->program.exposed && !untouched_is_open(u) && !o->quiet)
		log_warn("--ask exec: %s lies where the command may write: while this run lasts it "
			 "is locked, but not what it loads from beside it, and a command of an "
			 "earlier run may have changed both; keep it elsewhere",
			 a->program.path);
	return 0;
}

/* Whether whom the options name exists. */
static int choose(struct asking *a, const struct untouched *u, struct error *err)
{
	const struct run_options *o = a->options;

	a->who = o->ask;
	if (o->ask == ASK_AUTO) {
		a->nobody = why_nobody();
		a->who = a->nobody == NOBODY_SAID ? ASK_TTY : ASK_NEVER;
	}
	if (o->strict)
		a->who = ASK_NEVER;
	for (size_t i = 0; i < o->rules.n; i++)
		if (o->rules.v[i].id == OPT_ONLY)
			a->who = ASK_NEVER;
	if (a->who == ASK_EXEC && find_program(a, u, err) < 0)
		return -1;
	if (a->who == ASK_TTY && !prompt_tty_possible())
		return error_set(err, 0,
				 "no terminal to ask at: run in the foreground of one, or say "
				 "--ask control or --ask never");
	return 0;
}

static char *escaped(const char *text)
{
	char out[QUESTION_TEXT_MAX];

	return xstrdup(log_escape(out, sizeof(out), text, strlen(text)));
}

static bool has_path(const struct asking *a, const char *path)
{
	for (size_t i = 0; i < a->npaths; i++)
		if (strcmp(a->paths[i], path) == 0)
			return true;
	return false;
}

static void add_path(struct asking *a, char *path)
{
	if (path && !has_path(a, path) && access(path, F_OK) == 0)
		a->paths[a->npaths++] = path;
	else
		free(path);
}

/* Where the user's other runs have theirs, which may have been started with other variables. */
static void add_usual_paths(struct asking *a)
{
	const char *home = statedir_home();
	const struct passwd *pw;

	if (home)
		add_path(a, xasprintf("%s/.local/state/sbx-net", home));
	pw = getpwuid(geteuid());
	if (pw && pw->pw_dir[0] == '/')
		add_path(a, xasprintf("%s/.local/state/sbx-net", pw->pw_dir));
	add_path(a, xasprintf("/run/user/%u/sbx-net-runs", (unsigned)geteuid()));
}

/* Where answers and sockets are: nothing of the command may lead there. */
static void prepare_paths(struct asking *a, bool draws)
{
	CLEANUP_CLOSE int dir = -1, sockets = -1, relayed = -1;
	struct error err;

	a->file = memory_path(&err);
	if (draws || a->who != ASK_NEVER || pty_wanted())
		dir = statedir_open(true, &err);
	if (a->who != ASK_NEVER) {
		if (dir < 0)
			log_warn("answers cannot be saved: %s", err.msg);
		sockets = control_dir(true, &err);
	}
	if (sockets < 0 && pty_wanted())
		relayed = control_dir(true, &err); /* ttyfirst.c */
	add_path(a, statedir_path(&err));
	add_path(a, control_path(&err));
	if (sockets >= 0)
		a->sockets = a->paths[a->npaths - 1];
	add_usual_paths(a);
	if (a->program.exposed)
		add_path(a, xstrdup(a->program.path));
}

struct asking *asking_new(const struct run_options *o, const char *cwd, const struct untouched *u,
			  struct error *err)
{
	struct asking *a = xcalloc(1, sizeof(*a));
	char command[QUESTION_TEXT_MAX];
	bool draws = command_may_draw() && has_terminal();

	a->options = o;
	a->drawing.fd = -1;
	a->cwd = xstrdup(cwd);
	a->command = xstrdup(options_command_text(o, command, sizeof(command)));
	a->project = escaped(cwd);
	a->grants = grants_new(memory_now);
	if (choose(a, u, err) < 0 || memory_load(a->grants, cwd, err) < 0) {
		asking_free(a);
		return NULL;
	}
	prepare_paths(a, draws);
	if (draws)
		prompt_tty_draws(&a->drawing);
	if (a->who != ASK_NEVER)
		a->suffixes = suffixfile_read();
	return a;
}

enum asking_nobody asking_nobody(const struct asking *a)
{
	return a->nobody;
}

void asking_free(struct asking *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->naskers; i++)
		a->asker[i].ops->free(a->asker[i].self);
	if (a->prompt) {
		struct prompt_question *q = prompt_first(a->prompt);

		for (; q; q = prompt_after(q)) {
			struct item *item = prompt_user(q);

			(void)event_del(&item->timer);
			free(item);
		}
		(void)event_del(&a->run);
		(void)event_del(&a->timeout);
	}
	prompt_free(a->prompt);
	helper_free(a->helper);
	hired_clear(&a->program);
	suffixes_free(a->suffixes);
	grants_free(a->grants);
	for (size_t i = 0; i < a->npaths; i++)
		free(a->paths[i]);
	for (size_t i = 0; i < a->nnames; i++)
		free(a->names[i]);
	ttyturn_close(&a->drawing);
	free(a->file);
	free(a->project);
	free(a->command);
	free(a->cwd);
	free(a);
}

const char *const *asking_paths(const struct asking *a, size_t *n)
{
	*n = a->npaths;
	return (const char *const *)a->paths;
}

const char *asking_sockets(const struct asking *a)
{
	return a->sockets;
}

const char *asking_file(const struct asking *a)
{
	return a->file;
}

/* What unknown hosts get. A file that says "deny" means it, unless --ask was typed. */
void asking_apply(struct asking *a, struct policy *p, const struct layers *l)
{
	enum verdict unknown;
	bool set = layers_unknown(l, &unknown);

	if (!set)
		unknown = a->options->ask == ASK_NEVER ? VERDICT_DENY : VERDICT_ASK;
	else if (unknown == VERDICT_DENY && a->options->ask != ASK_AUTO &&
		 a->options->ask != ASK_NEVER && !layers_managed_unknown(l))
		unknown = VERDICT_ASK;
	/* Where the managed file alone may allow, no answer may. */
	if (layers_managed_only(l) && unknown == VERDICT_ASK)
		unknown = VERDICT_DENY;
	/* Nothing but --learn allows what nobody has listed, and the managed file may forbid that. */
	if (a->options->learn && !layers_managed_only(l) && !layers_managed_unknown(l))
		unknown = VERDICT_ALLOW;
	if (unknown == VERDICT_ASK && a->who == ASK_NEVER)
		unknown = VERDICT_DENY;
	policy_set_unknown(p, unknown);
	policy_set_answers(p, layers_managed_only(l) ? NULL : a->grants);
}

/* ---- the life of a question */

static void fill(struct asking *a, struct item *item, const struct prompt_question *pq)
{
	const struct target *t = prompt_target(pq);
	struct question *q = &item->q;

	item->asking = a;
	item->target = *t;
	q->id = prompt_id(pq);
	(void)target_format(t, q->target);
	(void)snprintf(q->via, sizeof(q->via), "%s", target_via_name(t->via));
	if (!grant_widen(t, a->suffixes, q->wide))
		q->wide[0] = '\0';
	mark_target(*a->host.policy, t, q->mark);
	(void)snprintf(q->command, sizeof(q->command), "%s", a->command);
	(void)snprintf(q->project, sizeof(q->project), "%s", a->project);
	q->deadline = prompt_deadline(pq);
	q->waiting = 1;
}

static void announce(struct item *item)
{
	struct asking *a = item->asking;
	uint64_t id = item->q.id;

	(void)event_del(&item->timer);
	item->announced = true;
	/* An asker may give up at once, and the question with it. */
	for (size_t i = 0; i < a->naskers && prompt_find(a->prompt, id); i++)
		a->asker[i].ops->open(a->asker[i].self, &item->q);
}

static void announce_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	announce(arg);
}

static void arm(struct asking *a)
{
	uint64_t next = prompt_next(a->prompt), now = clock_ms();
	struct timeval tv;

	(void)event_del(&a->timeout);
	if (next == UINT64_MAX)
		return;
	next = next > now ? next - now : 0;
	tv = (struct timeval){ .tv_sec = (time_t)(next / 1000),
			       .tv_usec = (suseconds_t)(next % 1000 * 1000) };
	(void)event_add(&a->timeout, &tv);
}

static void opened(void *arg, struct prompt_question *pq)
{
	const struct timeval wait = { .tv_usec = ANNOUNCE_MS * 1000 };
	const struct timeval now = { .tv_sec = 0 };
	struct item *item = xcalloc(1, sizeof(*item));
	struct asking *a = arg;
	const struct who_socket socket = { .addr = a->asked->client,
					   .port = a->asked->client_port };
	bool looking;

	fill(a, item, pq);
	prompt_set_user(pq, item);
	(void)event_assign(&item->timer, a->host.base, -1, 0, announce_cb, item);
	looking = a->helper && helper_who(a->helper, item->q.id, &socket) == 0;
	(void)event_add(&item->timer, looking ? &wait : &now);
	arm(a);
}

static void tell_change(struct asking *a, const struct item *item)
{
	for (size_t i = 0; item->announced && i < a->naskers; i++)
		a->asker[i].ops->change(a->asker[i].self, &item->q);
}

static void changed(void *arg, struct prompt_question *pq)
{
	struct item *item = prompt_user(pq);

	item->q.waiting = prompt_waiting(pq);
	tell_change(arg, item);
}

static void who_cb(void *arg, uint64_t id, const struct who *w)
{
	struct asking *a = arg;
	struct prompt_question *pq = prompt_find(a->prompt, id);
	struct item *item = pq ? prompt_user(pq) : NULL;

	if (!item || (item->announced && !w->pid))
		return;
	item->q.pid = (uint64_t)w->pid;
	(void)snprintf(item->q.program, sizeof(item->q.program), "%s", w->chain);
	(void)snprintf(item->q.argv, sizeof(item->q.argv), "%s", w->argv);
	if (item->announced) /* on a busy machine it takes longer */
		tell_change(a, item);
	else
		announce(item);
}

/* ---- the end of a question */

static void closed(void *arg, struct prompt_question *pq, enum prompt_end end,
		   const struct prompt_answer *answer)
{
	struct item *item = prompt_user(pq);
	struct asking *a = arg;
	struct prompt_answer held = { .scope = PROMPT_ONCE };
	char text[QUESTION_TEXT_MAX];

	(void)event_del(&item->timer);
	if (answer)
		held = *answer;
	if (end == PROMPT_ANSWERED)
		held.scope = outcome_remember(a->grants, a->cwd, &item->q, answer);
	a->recheck |= end == PROMPT_ANSWERED && held.scope != PROMPT_ONCE;
	outcome_record(a->host.audit, &item->target, &item->q, end, answer ? &held : NULL);
	outcome_text(&item->q, end, &held, text);
	log_info("question=%llu %s", (unsigned long long)item->q.id, text);
	for (size_t i = 0; item->announced && i < a->naskers; i++)
		a->asker[i].ops->close(a->asker[i].self, &item->q, text);
	free(item);
	arm(a);
}

/* Questions that the policy or an answer to another one has settled. */
static void recheck(struct asking *a)
{
	struct prompt_question *q = prompt_first(a->prompt), *next;

	a->recheck = false;
	for (; q; q = next) {
		struct prompt_answer answer = { .scope = PROMPT_ONCE };
		struct decision d;

		next = prompt_after(q);
		policy_decide(*a->host.policy, prompt_target(q), &d);
		if (d.verdict == VERDICT_ASK)
			continue;
		answer.allow = d.verdict == VERDICT_ALLOW;
		answer.by = d.by ? d.by : "policy";
		(void)asking_answer(a, prompt_id(q), &answer);
	}
}

static void run_cb(evutil_socket_t fd, short what, void *arg)
{
	struct asking *a = arg;

	(void)fd, (void)what;
	if (a->recheck)
		recheck(a);
	prompt_run(a->prompt, clock_ms());
	arm(a);
}

static void soon(void *arg)
{
	struct asking *a = arg;

	event_active(&a->run, EV_TIMEOUT, 0);
}

/* ---- from outside */

static void helper_lost(void *arg)
{
	struct asking *a = arg;

	log_warn("our helper process has gone");
	for (size_t i = 0; i < a->naskers; i++)
		if (a->asker[i].ops == &askexec_ops)
			askexec_lost(a->asker[i].self);
}

static void exited(void *arg, uint64_t id, int status)
{
	struct asking *a = arg;

	for (size_t i = 0; i < a->naskers; i++)
		if (a->asker[i].ops == &askexec_ops)
			askexec_exited(a->asker[i].self, id, status);
}

static int open_askers(struct asking *a, struct error *err)
{
	struct asker_terminal terminal = a->host.terminal;
	struct asker *next = a->asker;
	struct error unused;

	switch (a->who) {
	case ASK_TTY:
		terminal.insisted = a->options->ask == ASK_TTY;
		if (prompt_tty_new(next, a, a->host.base, &terminal, err) < 0)
			return -1;
		a->naskers++;
		/* Another terminal may answer too; it is no matter if not. */
		if (control_new(next + 1, a, a->host.base, false, &unused) == 0)
			a->naskers++;
		else
			log_info("no control socket: %s", unused.msg);
		return 0;
	case ASK_CONTROL:
		if (control_new(next, a, a->host.base, true, err) < 0)
			return -1;
		a->naskers++;
		return 0;
	case ASK_EXEC:
		askexec_new(next, a, a->host.base, a->helper, a->options->ask_program);
		a->naskers++;
		return 0;
	case ASK_AUTO:
	case ASK_NEVER:
		break;
	}
	return 0;
}

int asking_open(struct asking *a, const struct asking_host *host, struct error *err)
{
	const struct helper_config helper = {
		.program = a->program.path ? &a->program : NULL,
		.init = host->init,
		.who = who_cb,
		.exited = exited,
		.lost = helper_lost,
		.arg = a,
	};
	const struct prompt_config cfg = {
		.timeout_ms = (uint64_t)a->options->ask_timeout * 1000,
		.suffixes = a->suffixes,
		.soon = soon,
		.opened = opened,
		.changed = changed,
		.closed = closed,
		.arg = a,
	};

	a->host = *host;
	if (a->who == ASK_NEVER)
		return 0;
	a->prompt = prompt_new(&cfg);
	(void)event_assign(&a->run, host->base, -1, 0, run_cb, a);
	(void)event_assign(&a->timeout, host->base, -1, 0, run_cb, a);
	a->helper = helper_start(host->base, &helper, err);
	if (!a->helper)
		return -1;
	return open_askers(a, err);
}

void asking_reload(struct asking *a)
{
	struct error err;

	grants_drop_saved(a->grants);
	if (memory_load(a->grants, a->cwd, &err) < 0)
		log_warn("remembered answers: %s", err.msg);
	if (a->prompt)
		recheck(a);
}

void *asking_ask(void *arg, const struct proxy_question *q, proxy_ask_cb *cb, void *cb_arg)
{
	struct prompt_waiter *w;
	struct asking *a = arg;

	if (!a->prompt)
		return NULL;
	a->asked = q;
	w = prompt_ask(a->prompt, q->target, clock_ms(), cb, cb_arg);
	a->asked = NULL;
	return w;
}

void asking_cancel(void *arg, void *question)
{
	struct asking *a = arg;

	prompt_cancel(a->prompt, question);
}

void asking_pause(struct asking *a)
{
	for (size_t i = 0; i < a->naskers; i++)
		if (a->asker[i].ops->pause)
			a->asker[i].ops->pause(a->asker[i].self);
}

void asking_resume(struct asking *a)
{
	for (size_t i = 0; i < a->naskers; i++)
		if (a->asker[i].ops->resume)
			a->asker[i].ops->resume(a->asker[i].self);
}

/* The same text for as long as we live: decisions and grants point to it. */
static const char *keep_name(struct asking *a, const char *by)
{
	for (size_t i = 0; i < a->nnames; i++)
		if (strcmp(a->names[i], by) == 0)
			return a->names[i];
	if (a->nnames == NAMES_MAX)
		return "somebody";
	a->names[a->nnames] = xstrdup(by);
	return a->names[a->nnames++];
}

bool asking_answer(struct asking *a, uint64_t id, const struct prompt_answer *answer)
{
	struct prompt_answer kept = *answer;

	kept.by = keep_name(a, answer->by);
	return prompt_answer(a->prompt, id, &kept);
}

void asking_lost(struct asking *a, uint64_t id)
{
	prompt_lost(a->prompt, id);
}

static const struct question *announced_from(struct prompt_question *pq,
					     const struct question * not )
{
	for (; pq; pq = prompt_after(pq)) {
		const struct item *item = prompt_user(pq);

		if (item->announced && &item->q != not )
			return &item->q;
	}
	return NULL;
}

const struct question *asking_first(const struct asking *a, const struct question * not )
{
	return announced_from(prompt_first(a->prompt), not );
}

const struct question *asking_next(const struct asking *a, const struct question *q)
{
	struct prompt_question *pq = prompt_find(a->prompt, q->id);

	return pq ? announced_from(prompt_after(pq), NULL) : NULL;
}

size_t asking_open_count(const struct asking *a)
{
	size_t n = 0;

	for (const struct question *q = asking_first(a, NULL); q; q = asking_next(a, q))
		n++;
	return n;
}

const char *asking_command(const struct asking *a)
{
	return a->command;
}

const char *asking_project(const struct asking *a)
{
	return a->project;
}

const struct gate *asking_gate(const struct asking *a)
{
	return a->host.gate;
}
