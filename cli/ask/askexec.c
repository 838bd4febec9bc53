#include "cli/ask/askexec.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/ask/helper.h"

#define OUTPUT_MAX 4096 /* more is no answer */

/*
 * A dialog that takes the place of another one would get the key that was meant for that: the command sees
 * each answer, and can withdraw a question. What answers sooner than a person is a script, which needs no pause.
 */
#define PAUSE_MS  700
#define PERSON_MS 300

/**
 * struct askexec - one program at a time; the other questions wait for their turn
 * @running: one does, for question @id, since @started
 * @fd: its standard input and output
 * @next: starts the next one
 */
struct askexec {
	struct asking *asking;
	struct helper *helper;
	char by[GRANT_BY_MAX];
	bool running;
	uint64_t id, started;
	int fd;
	struct event next;
};

static bool is_asked(const struct askexec *x, uint64_t id)
{
	return x->running && x->id == id;
}

static void forget(struct askexec *x)
{
	x->running = false;
	(void)close(x->fd);
}

static void start_next(struct askexec *x, unsigned ms)
{
	const struct timeval tv = { .tv_usec = (suseconds_t)ms * 1000 };

	if (!event_pending(&x->next, EV_TIMEOUT, NULL))
		(void)event_add(&x->next, &tv);
}

/* The whole question fits the socket's buffer, so this does not wait for the program. */
static bool send_question(int fd, const struct question *q)
{
	char line[QUESTION_LINE_MAX];
	size_t n = question_format(q, clock_ms(), line);

	return n && send(fd, line, n, MSG_NOSIGNAL) == (ssize_t)n && shutdown(fd, SHUT_WR) == 0;
}

/*
 * For programs that show what they are given. What the asking program calls itself comes behind the
 * host, so that nothing of its choice stands before that, and has nothing in it that a dialog takes for
 * markup: Qt's hide the rest behind "<!--".
 */
static void put_words(const struct question *q, char out[HELPER_TEXT_MAX])
{
	char program[QUESTION_TEXT_MAX];

	(void)snprintf(program, sizeof(program), "%s", q->program[0] ? q->program : "the command");
	for (char *p = program; (p = strpbrk(p, "<&"));)
		*p = '_';
	(void)snprintf(out, HELPER_TEXT_MAX, "May %s be reached by %.60s?", q->target, program);
}

static void start(struct askexec *x, const struct question *q)
{
	char words[HELPER_TEXT_MAX];
	struct error err;
	int fd;

	put_words(q, words);
	fd = helper_exec(x->helper, q->id, words, &err);
	if (fd < 0) {
		log_warn("%s: %s", x->by, err.msg);
		asking_lost(x->asking, q->id);
		return;
	}
	x->running = true;
	x->id = q->id;
	x->started = clock_ms();
	x->fd = fd;
	if (!send_question(fd, q))
		log_warn("%s: cannot pass it the question", x->by);
}

static void next_cb(evutil_socket_t fd, short what, void *arg)
{
	struct askexec *x = arg;
	const struct question *q = x->running ? NULL : asking_first(x->asking, NULL);

	(void)fd, (void)what;
	if (q)
		start(x, q);
}

static void exec_open(void *self, const struct question *q)
{
	struct askexec *x = self;

	if (!x->running && !event_pending(&x->next, EV_TIMEOUT, NULL))
		start(x, q);
}

static void exec_change(void *self, const struct question *q)
{
	(void)self, (void)q;
}

/* Also of one that waits for its turn, and of one whose program has answered: there is another to start then. */
static void exec_close(void *self, const struct question *q, const char *text)
{
	struct askexec *x = self;
	bool asked = is_asked(x, q->id);

	(void)text;
	if (asked) {
		helper_kill(x->helper, q->id);
		forget(x);
	}
	if (!x->running)
		start_next(x, asked ? PAUSE_MS : 0);
}

static void exec_free(void *self)
{
	struct askexec *x = self;

	(void)event_del(&x->next);
	if (x->running)
		forget(x);
	free(x);
}

const struct asker_ops askexec_ops = {
	.open = exec_open,
	.change = exec_change,
	.close = exec_close,
	.free = exec_free,
};

void askexec_new(struct asker *out, struct asking *asking, struct event_base *base,
		 struct helper *helper, const char *program)
{
	struct askexec *x = xcalloc(1, sizeof(*x));
	char shown[GRANT_BY_MAX - 8];

	(void)event_assign(&x->next, base, -1, 0, next_cb, x);
	x->asking = asking;
	x->helper = helper;
	(void)snprintf(x->by, sizeof(x->by), "exec:%s",
		       log_escape(shown, sizeof(shown), program, strlen(program)));
	*out = (struct asker){ .ops = &askexec_ops, .self = x };
}

/* What it wrote. Return: the length; OUTPUT_MAX for too much. */
static size_t read_output(int fd, char out[OUTPUT_MAX])
{
	size_t n = 0;

	while (n < OUTPUT_MAX) {
		ssize_t got = read(fd, out + n, OUTPUT_MAX - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return n;
}

/* Whether a program that ended so has answered, and what. */
static bool judge(int status, const char *text, size_t len, uint64_t id, struct prompt_answer *out)
{
	*out = (struct prompt_answer){ .scope = PROMPT_ONCE };
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 || len >= OUTPUT_MAX)
		return false;
	while (len && memchr(" \t\r\n", text[len - 1], 4))
		len--;
	out->allow = WEXITSTATUS(status) == 0;
	if (len == 0)
		return true;
	/* A failure with words can only be a no. */
	return question_parse_words(text, len, id, out) &&
	       (WEXITSTATUS(status) == 0 || !out->allow);
}

void askexec_exited(struct askexec *x, uint64_t id, int status)
{
	struct prompt_answer answer;
	char text[OUTPUT_MAX];
	bool ok;

	if (!is_asked(x, id))
		return;
	ok = judge(status, text, read_output(x->fd, text), id, &answer);
	forget(x);
	start_next(x, clock_ms() - x->started < PERSON_MS ? 0 : PAUSE_MS);
	answer.by = x->by;
	if (ok && asking_answer(x->asking, id, &answer))
		return;
	if (WIFEXITED(status))
		log_warn("%s: no answer (exit status %d)", x->by, WEXITSTATUS(status));
	else
		log_warn("%s: no answer (killed by signal %d)", x->by, WTERMSIG(status));
	asking_lost(x->asking, id);
}

void askexec_lost(struct askexec *x)
{
	const struct question *q;

	if (x->running)
		forget(x);
	while ((q = asking_first(x->asking, NULL)))
		asking_lost(x->asking, q->id);
}
