/*
 * approvals.c - `sbx-net approvals`: the questions of runs, live, answered in two keys
 *
 * Theory of operation: the client connects to every control socket (or to that of --session) and
 * subscribes. At a terminal it shows the oldest question as the run's own terminal would, and
 * answers; otherwise, and with --follow when nothing is open, it prints what happens. It reads and
 * writes without libevent: a handful of sockets and a keyboard in one poll(2).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/ask/cardview.h"
#include "cli/ask/ttyturn.h"
#include "cli/commands.h"
#include "cli/ask/control.h"
#include "cli/terminal.h"
#include "launcher/launcher.h"
#include "policy/question.h"

#define RUNS_MAX      32
#define QUESTIONS_MAX 64
#define BUFFER_MAX    (2 * QUESTION_LINE_MAX)
#define RESCAN_MS     1000
#define EXIT_NO_RUN   1

/* A run that we are connected to. */
struct run {
	int fd;
	char name[64];
	size_t len;
	char buf[BUFFER_MAX];
};

/* An open question of a run. */
struct open {
	struct run *run;
	struct question q;
};

struct approvals {
	bool follow, tty, raw;
	const char *session;
	struct run *run[RUNS_MAX];
	size_t nruns;
	struct open open[QUESTIONS_MAX];
	size_t nopen;
	struct cardview view;
	struct termios saved;
	struct ttyturn turn;
	bool told; /* that no question is shown */
	bool mine; /* it is our turn, so keys come to us */
};

static volatile sig_atomic_t ended, resized, stopped;

static void on_end(int sig)
{
	ended = sig;
}

static void on_winch(int sig)
{
	(void)sig;
	resized = 1;
}

static void on_stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* ---- the screen */

static void raw_mode(struct approvals *a, bool on)
{
	struct termios mine = a->saved;

	if (!a->tty || a->raw == on)
		return;
	if (!on)
		cardview_leave(&a->view);
	mine.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
	mine.c_cc[VMIN] = 1;
	mine.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, on ? &mine : &a->saved);
	a->raw = on;
}

static struct card_rest rest_of(const struct approvals *a)
{
	struct card_rest rest = { .n = a->nopen ? a->nopen - 1 : 0 };

	for (size_t i = 0; i < rest.n && i < ARRAY_SIZE(rest.next); i++)
		rest.next[i] = &a->open[i + 1].q;
	return rest;
}

static void draw(struct approvals *a, bool fresh)
{
	const struct card_rest rest = rest_of(a);

	if (a->mine && a->nopen)
		cardview_draw(&a->view, &a->open[0].q, &rest, fresh);
}

static void tick(struct approvals *a)
{
	const struct card_rest rest = rest_of(a);

	if (a->mine && a->nopen)
		cardview_tick(&a->view, &a->open[0].q, &rest);
}

/* The command of a run in the background, say, could put another host in the place of ours. */
static bool is_drawn(struct approvals *a)
{
	bool drawn = ttyturn_is_drawn(&a->turn);

	if (drawn && !a->told)
		fprintf(stderr, "sbx-net: the command of a run may write to this terminal, over a "
				"question: none is shown here until it has ended\n");
	a->told = drawn;
	return drawn;
}

/* Keys are read here for as long as we run, so no run asks at this terminal; but one may by now. */
static void take_turn(struct approvals *a)
{
	pid_t front = tcgetpgrp(STDIN_FILENO); /* -1: of no terminal that we belong to */
	bool had = a->mine;

	a->mine = a->tty && (front < 0 || front == getpgrp()) && !is_drawn(a) &&
		  ttyturn_take(&a->turn);
	if (a->mine && !had)
		draw(a, true);
	else if (had && !a->mine)
		cardview_erase(&a->view);
}

static void leave_turn(struct approvals *a)
{
	a->mine = false;
	ttyturn_leave(&a->turn);
}

/* A line above the card. */
static void __attribute__((format(printf, 2, 3))) say(struct approvals *a, const char *fmt, ...)
{
	va_list ap;

	cardview_erase(&a->view);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)fputs(a->tty ? "\r\n" : "\n", stdout);
	(void)fflush(stdout);
}

/* ---- questions */

static void remove_open(struct approvals *a, size_t i)
{
	memmove(&a->open[i], &a->open[i + 1], (a->nopen - i - 1) * sizeof(a->open[0]));
	a->nopen--;
	if (i == 0)
		a->view.keys = (struct keys){ .verdict = false };
	if (a->nopen == 0)
		a->view.deaf = false; /* 'q' always counts then */
}

static size_t find_open(const struct approvals *a, const struct run *r, uint64_t id)
{
	size_t i = 0;

	while (i < a->nopen && (a->open[i].run != r || a->open[i].q.id != id))
		i++;
	return i;
}

static void question_opened(struct approvals *a, struct run *r, const struct question *q)
{
	size_t i = find_open(a, r, q->id);

	if (i == QUESTIONS_MAX)
		return;
	a->open[i] = (struct open){ .run = r, .q = *q };
	if (i < a->nopen)
		return;
	a->nopen++;
	if (!a->tty)
		printf("%s %llu %s (%s; %s)\n", r->name, (unsigned long long)q->id, q->target,
		       q->program[0] ? q->program : "a program", q->command);
	draw(a, a->nopen == 1);
}

/* Another number waits, or it is known by now who asks. */
static void question_changed(struct approvals *a, struct question *q, const struct question *now)
{
	q->waiting = now->waiting;
	q->pid = now->pid;
	memcpy(q->program, now->program, sizeof(q->program));
	memcpy(q->argv, now->argv, sizeof(q->argv));
	draw(a, false);
}

static void question_closed(struct approvals *a, struct run *r, uint64_t id, const char *text)
{
	size_t i = find_open(a, r, id);

	if (i == a->nopen)
		return;
	say(a, "%s", text);
	remove_open(a, i);
	draw(a, i == 0);
}

static void handle(struct approvals *a, struct run *r, const char *line, size_t n)
{
	char text[QUESTION_TEXT_MAX];
	struct question q;
	size_t i;

	switch (question_parse_event(line, n, clock_ms(), &q, text)) {
	case QUESTION_EV_OPEN:
		question_opened(a, r, &q);
		break;
	case QUESTION_EV_CHANGED:
		i = find_open(a, r, q.id);
		if (i == a->nopen)
			break;
		question_changed(a, &a->open[i].q, &q);
		break;
	case QUESTION_EV_CLOSED:
		question_closed(a, r, q.id, text);
		break;
	case QUESTION_EV_REPLY:
		if (text[0])
			say(a, "%s", text);
		draw(a, false);
		break;
	case QUESTION_EV_HELLO:
	case QUESTION_EV_OTHER:
		break;
	}
}

/* ---- runs */

static bool has_run(const struct approvals *a, const char *name)
{
	for (size_t i = 0; i < a->nruns; i++)
		if (strcmp(a->run[i]->name, name) == 0)
			return true;
	return false;
}

static void join(struct approvals *a, int dir, const char *file, size_t len)
{
	static const char subscribe[] = "{\"op\":\"subscribe\"}\n";
	struct run *r;
	int fd;

	if (a->nruns == RUNS_MAX || len >= sizeof(r->name))
		return;
	fd = control_connect(dir, file);
	if (fd < 0)
		return;
	r = xcalloc(1, sizeof(*r));
	r->fd = fd;
	memcpy(r->name, file, len);
	if (fd_write_all(fd, subscribe, sizeof(subscribe) - 1) < 0) {
		(void)close(fd);
		free(r);
		return;
	}
	a->run[a->nruns++] = r;
}

/* Connects to what is new in the directory. */
static void scan(struct approvals *a)
{
	struct error err;
	int dir = control_dir(false, &err);
	DIR *d = dir < 0 ? NULL : fd_opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), m = strlen(CONTROL_SUFFIX);
		CLEANUP_FREE char *name = NULL;

		if (e->d_name[0] == '.' || n <= m || strcmp(e->d_name + n - m, CONTROL_SUFFIX) != 0)
			continue;
		name = xstrndup(e->d_name, n - m);
		if (!has_run(a, name) && (!a->session || strcmp(a->session, name) == 0))
			join(a, dir, e->d_name, n - m);
	}
	if (d)
		(void)closedir(d);
	cleanup_close(&dir);
}

static void part(struct approvals *a, size_t i)
{
	struct run *r = a->run[i];
	bool shown = a->nopen && a->open[0].run == r;

	for (size_t k = a->nopen; k-- > 0;)
		if (a->open[k].run == r)
			remove_open(a, k);
	if (shown)
		say(a, "the run is over");
	(void)close(r->fd);
	free(r);
	a->run[i] = a->run[--a->nruns];
	draw(a, shown);
}

static bool receive(struct approvals *a, struct run *r)
{
	ssize_t n = read(r->fd, r->buf + r->len, sizeof(r->buf) - r->len);
	char *line = r->buf, *end;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	r->len += (size_t)n;
	while ((end = memchr(line, '\n', r->len - (size_t)(line - r->buf)))) {
		handle(a, r, line, (size_t)(end - line));
		line = end + 1;
	}
	r->len -= (size_t)(line - r->buf);
	memmove(r->buf, line, r->len);
	return r->len < sizeof(r->buf);
}

/* ---- answering */

static void answer(struct approvals *a, const struct prompt_answer *answer)
{
	const struct open *o = &a->open[0];
	char scope[32], line[256];

	(void)snprintf(scope, sizeof(scope), "%s", prompt_scope_name(answer->scope));
	if (answer->scope == PROMPT_DURATION)
		(void)snprintf(scope, sizeof(scope), "%us", answer->seconds);
	(void)snprintf(line, sizeof(line),
		       "{\"op\":\"answer\",\"id\":%llu,\"verdict\":\"%s\",\"scope\":\"%s\","
		       "\"wide\":%s,\"by\":\"approvals\"}\n",
		       (unsigned long long)o->q.id, answer->allow ? "allow" : "deny", scope,
		       answer->widen ? "true" : "false");
	a->view.keys = (struct keys){ .verdict = false };
	(void)fd_write_all(o->run->fd, line, strlen(line));
}

static void typed(struct approvals *a)
{
	const struct question *q = a->nopen ? &a->open[0].q : NULL;
	const struct card_rest rest = rest_of(a);
	struct prompt_answer out = { .allow = false };
	char buf[64];
	ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

	if (n == 0)
		ended = SIGHUP;
	if (n <= 0)
		return;
	switch (cardview_keys(&a->view, q, &rest, buf, (size_t)n, &out)) {
	case CARDVIEW_NOTHING:
		break;
	case CARDVIEW_QUIT:
		ended = SIGINT;
		break;
	case CARDVIEW_ANSWER:
		answer(a, &out);
		break;
	}
}

/* ---- the loop */

/* A new card has thrown away what was typed before it; who waited for it would see nothing else. */
static bool is_typed(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Until something happens, the next look at the directory, or the time when keys count. */
static int patience(const struct approvals *a)
{
	int quiet = cardview_wait(&a->view);

	return quiet >= 0 && quiet < RESCAN_MS ? quiet : RESCAN_MS;
}

static void turn(struct approvals *a)
{
	struct pollfd p[RUNS_MAX + 1];
	struct run *of[RUNS_MAX];
	size_t n = a->nruns;

	for (size_t i = 0; i < n; i++) {
		of[i] = a->run[i];
		p[i] = (struct pollfd){ .fd = of[i]->fd, .events = POLLIN };
	}
	p[n] = (struct pollfd){ .fd = a->mine ? STDIN_FILENO : -1, .events = POLLIN };
	if (poll(p, n + 1, patience(a)) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		if (!p[i].revents || receive(a, of[i]))
			continue;
		while (a->run[k] != of[i])
			k++;
		part(a, k);
	}
	if (p[n].revents && is_typed())
		typed(a);
	else if (a->mine && a->nopen)
		cardview_listen(&a->view, &a->open[0].q);
}

/* Ctrl-Z: whoever gets the terminal meanwhile gets it as it was; what was typed there is no answer. */
static void stop(struct approvals *a)
{
	cardview_erase(&a->view);
	raw_mode(a, false);
	leave_turn(a);
	stopped = 0;
	if (terminal_stop(true))
		return; /* it is the end: on_end() has been called */
	raw_mode(a, true);
	take_turn(a);
}

static void obey_signals(struct approvals *a)
{
	if (stopped)
		stop(a);
	if (resized && a->view.lines) {
		cardview_clear(&a->view);
		draw(a, false);
	}
	resized = 0;
}

static int loop(struct approvals *a)
{
	bool found = false;

	while (!ended) {
		take_turn(a);
		if (a->follow || !found)
			scan(a);
		if (a->nruns == 0 && !a->follow)
			break;
		if (!found && a->tty)
			say(a, "%zu run%s; q ends this", a->nruns, a->nruns == 1 ? "" : "s");
		found = true;
		turn(a);
		obey_signals(a);
		tick(a);
	}
	if (!found)
		fprintf(stderr, "sbx-net: no run asks anything%s\n",
			a->session ? " under that session" : "");
	return found || a->follow ? 0 : EXIT_NO_RUN;
}

static void start(struct approvals *a)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_end };

	a->tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
		 tcgetattr(STDIN_FILENO, &a->saved) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		(void)sigaction(ends[i], &sa, NULL);
	sa.sa_handler = on_winch;
	(void)sigaction(SIGWINCH, &sa, NULL);
	sa.sa_handler = on_stop;
	(void)sigaction(SIGTSTP, &sa, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	raw_mode(a, true);
	a->turn.fd = -1;
	if (a->tty) {
		ttyturn_open(&a->turn);
		ttyturn_at(&a->turn, STDIN_FILENO);
	}
}

static int approvals(const struct run_options *o)
{
	struct approvals *a;
	int status;

	if (o->ncommand > 0) {
		fprintf(stderr, "sbx-net: usage: sbx-net approvals [--follow] [--session ID]\n");
		return OPTIONS_EXIT_USAGE;
	}
	a = xcalloc(1, sizeof(*a));
	a->follow = o->follow;
	a->session = o->asking_run;
	start(a);
	a->view = (struct cardview){ .in = STDIN_FILENO, .out = STDOUT_FILENO, .quits = true };
	status = loop(a);
	cardview_erase(&a->view);
	raw_mode(a, false);
	leave_turn(a);
	ttyturn_close(&a->turn);
	while (a->nruns)
		part(a, 0);
	free(a);
	return status;
}

int approvals_main(int argc, char **argv)
{
	return command_plain("approvals", approvals, argc, argv);
}
