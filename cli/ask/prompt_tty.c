/*
 * Theory of operation
 *
 * One question is on the screen at a time. It is drawn on /dev/tty, never on the command's standard
 * streams, and in a description of its own, so that its non-blocking mode is nobody else's.
 *
 *   idle -> (suspend whoever relays, keep the modes, read single keys) -> shown
 *        -> answer, time-out or withdrawal -> the next one, or (modes back, resume) -> idle
 *
 * The card itself, and which keys count, is cardview.c's. The interrupt key is the command's: the card
 * goes, the key is passed on to the command's terminal, and if the question is still there a second
 * later, so is the card.
 *
 * The line where one types is drawn anew every second. With a relay the screen is ours meanwhile;
 * without one the command may write at any moment: then the card is not erased but drawn again
 * below, at any key that means nothing. Of several runs at one terminal one asks at a time
 * (ttyturn.c). What was typed before the card stood is thrown away. In the background we touch
 * nothing and look once a second whether we are in front. A terminal that is hung up is given
 * back at once, so that the relay hears of it, too; its questions are left to others, and to
 * time.
 */
#include "cli/ask/prompt_tty.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/ask/cardview.h"
#include "cli/ask/ttyturn.h"

#define TICK_S 1

/**
 * struct prompt_tty
 * @question: on the screen or waiting for the foreground; NULL when idle
 * @owned: the modes are ours, @saved is what they were
 * @told: why nothing is asked
 */
struct prompt_tty {
	struct asking *asking;
	struct asker_terminal terminal;
	int fd;
	const struct question *question;
	bool owned, told;
	struct termios saved;
	struct cardview view;
	struct ttyturn turn;
	struct event key, tick, resize, arm;
};

/* For exit(3) without free(): nobody's shell should be left without echo. */
static struct prompt_tty *owner;

static void restore_at_exit(void)
{
	if (!owner)
		return;
	cardview_leave(&owner->view);
	(void)tcsetattr(owner->fd, TCSANOW, &owner->saved);
}

static int open_tty(void)
{
	return open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static bool in_foreground(int fd)
{
	return tcgetpgrp(fd) == getpgrp();
}

bool prompt_tty_exists(void)
{
	CLEANUP_CLOSE int fd = open_tty();

	return fd >= 0;
}

void prompt_tty_draws(struct ttyturn *out)
{
	CLEANUP_CLOSE int fd = open_tty();
	const int at[] = { fd, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };

	ttyturn_open(out);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		ttyturn_draw(out, at[i]);
}

bool prompt_tty_possible(void)
{
	CLEANUP_CLOSE int fd = open_tty();

	return fd >= 0 && in_foreground(fd);
}

/* For good: whose end is not told apart from being in the background by anything else. */
static bool is_hung_up(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* Only where nobody else writes is the card still where it was drawn. */
static bool is_alone(const struct prompt_tty *t)
{
	return !t->view.shared;
}

/* Whether the card is on the screen, and its keys come to us. */
static bool is_up(const struct prompt_tty *t)
{
	return t->owned && event_pending(&t->key, EV_READ, NULL);
}

/* Keys are to count when none has been typed for long enough. */
static void arm(struct prompt_tty *t)
{
	int ms = cardview_wait(&t->view);
	const struct timeval wait = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 + 1000 };

	if (ms >= 0)
		(void)event_add(&t->arm, &wait);
}

/* The questions that wait for their turn; @ended is none of them any more, or NULL. */
static struct card_rest rest_of(const struct prompt_tty *t, const struct question *ended)
{
	struct card_rest rest = { .n = 0 };

	for (const struct question *q = asking_first(t->asking, NULL); q;
	     q = asking_next(t->asking, q)) {
		if (q == t->question || q == ended)
			continue;
		if (rest.n < ARRAY_SIZE(rest.next))
			rest.next[rest.n] = q;
		rest.n++;
	}
	return rest;
}

/* @ended: as in rest_of(); @fresh: what was typed until now was meant for something else, and goes. */
static void draw(struct prompt_tty *t, const struct question *ended, bool fresh)
{
	const struct card_rest rest = rest_of(t, ended);

	cardview_draw(&t->view, t->question, &rest, fresh);
	arm(t);
}

/* A line of the log takes the card's place, and the card stands beneath it. */
static void before_line(void *arg)
{
	struct prompt_tty *t = arg;

	cardview_erase(&t->view);
}

static void after_line(void *arg)
{
	struct prompt_tty *t = arg;

	if (t->question && is_up(t) && in_foreground(t->fd))
		draw(t, NULL, false);
}

static bool take_modes(struct prompt_tty *t)
{
	struct termios mine;

	if (t->terminal.suspend)
		t->terminal.suspend(t->terminal.arg);
	if (tcgetattr(t->fd, &t->saved) < 0)
		return false;
	mine = t->saved;
	mine.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
	mine.c_cc[VMIN] = 1;
	mine.c_cc[VTIME] = 0;
	if (t->terminal.interrupt)
		mine.c_cc[VINTR] = _POSIX_VDISABLE; /* comes to us as a key */
	/* Stopped by Ctrl-S it would not take the end of the card, nor what puts its keys back. */
	if (t->terminal.suspend)
		mine.c_iflag &= (tcflag_t)~IXON;
	if (tcsetattr(t->fd, TCSANOW, &mine) < 0)
		return false;
	t->owned = true;
	owner = t;
	if (isatty(STDERR_FILENO))
		log_set_around(before_line, after_line, t);
	return true;
}

/* Whoever relays the terminal reads all keys, also while it does not ask. */
static void keep_turn(const struct prompt_tty *t)
{
	if (t->terminal.suspend && in_foreground(t->fd))
		(void)ttyturn_take(&t->turn);
}

static void give_modes(struct prompt_tty *t)
{
	if (!t->terminal.suspend)
		ttyturn_leave(&t->turn);
	if (!t->owned)
		return;
	t->owned = false;
	owner = NULL;
	log_set_around(NULL, NULL, NULL);
	(void)event_del(&t->key);
	(void)event_del(&t->arm);
	/* In the background the shell has put its own modes back. */
	if (in_foreground(t->fd)) {
		cardview_leave(&t->view);
		(void)tcsetattr(t->fd, TCSANOW, &t->saved);
	}
	if (t->terminal.resume)
		t->terminal.resume(t->terminal.arg);
}

/* A command of another run, in the background say, could put another host in the place of ours. */
static bool is_drawn(struct prompt_tty *t)
{
	bool drawn = !t->terminal.insisted && ttyturn_is_drawn(&t->turn);

	if (drawn && !t->told)
		log_warn("the command of another run may write to this terminal, over a question: "
			 "none is shown until that run has ended ('sbx-net approvals' answers in "
			 "another terminal, --ask tty asks here all the same)");
	t->told |= drawn;
	return drawn;
}

/* Shows the question, as soon as we are in front, and no other run asks or may draw here. */
static void show(struct prompt_tty *t)
{
	if (!in_foreground(t->fd) || is_drawn(t) || !ttyturn_take(&t->turn) ||
	    (!t->owned && !take_modes(t)))
		return;
	draw(t, NULL, true);
	(void)event_add(&t->key, NULL);
}

static void begin(struct prompt_tty *t, const struct question *q)
{
	const struct timeval second = { .tv_sec = TICK_S };

	t->question = q;
	t->view.keys = (struct keys){ .verdict = false };
	t->view.lines = 0;
	(void)event_add(&t->tick, &second);
	show(t);
}

static void end(struct prompt_tty *t, const char *text)
{
	t->question = NULL;
	(void)event_del(&t->tick);
	if (!t->owned)
		return;
	cardview_erase(&t->view);
	cardview_put(&t->view, "sbx-net: ");
	cardview_put(&t->view, text);
	cardview_put(&t->view, "\r\n");
}

static void tty_open(void *self, const struct question *q)
{
	struct prompt_tty *t = self;

	if (!t->question)
		begin(t, q);
	else if (is_up(t) && is_alone(t))
		draw(t, NULL, false);
}

static void tty_change(void *self, const struct question *q)
{
	struct prompt_tty *t = self;

	if (q == t->question && is_up(t) && is_alone(t))
		draw(t, NULL, false);
}

static void tty_close(void *self, const struct question *q, const char *text)
{
	struct prompt_tty *t = self;
	const struct question *next;

	if (q != t->question) {
		if (t->question && is_up(t) && is_alone(t))
			draw(t, q, false);
		return;
	}
	end(t, text);
	next = asking_first(t->asking, q);
	if (next)
		begin(t, next);
	else
		give_modes(t);
}

/* Our job is about to be stopped: the shell gets its terminal as it was. */
static void tty_pause(void *self)
{
	struct prompt_tty *t = self;

	if (t->owned)
		cardview_put(&t->view, "\r\n");
	t->view.lines = 0;
	give_modes(t);
	ttyturn_leave(&t->turn);
}

static void tty_resume(void *self)
{
	struct prompt_tty *t = self;

	keep_turn(t);
	if (t->question)
		show(t);
}

static void answer(struct prompt_tty *t, struct prompt_answer *a)
{
	a->by = "tty";
	(void)asking_answer(t->asking, t->question->id, a);
}

static void arm_cb(evutil_socket_t fd, short what, void *arg)
{
	struct prompt_tty *t = arg;

	(void)fd, (void)what;
	if (!t->question || !t->owned)
		return;
	if (is_up(t) && in_foreground(t->fd))
		cardview_listen(&t->view, t->question);
	else
		cardview_deafen(&t->view); /* time that goes by in the background is not quiet */
	arm(t);
}

/* Whether the interrupt key of the terminal, as it was, is among what was typed. */
static bool is_interrupt(const struct prompt_tty *t, const char *p, size_t n)
{
	return t->terminal.interrupt && t->saved.c_lflag & ISIG &&
	       t->saved.c_cc[VINTR] != _POSIX_VDISABLE && memchr(p, t->saved.c_cc[VINTR], n);
}

/* A client that dies of it takes its question along; any other is asked about again. */
static void interrupt(struct prompt_tty *t)
{
	const struct timeval second = { .tv_sec = TICK_S };

	cardview_erase(&t->view);
	t->terminal.interrupt(t->terminal.arg);
	give_modes(t);
	(void)event_add(&t->tick, &second);
}

/* After an answer the rest of what was read is thrown away with the flush of the next card. */
static void judge(struct prompt_tty *t, const char *p, size_t n)
{
	const struct card_rest rest = rest_of(t, NULL);
	struct prompt_answer a = { .allow = false };

	switch (cardview_keys(&t->view, t->question, &rest, p, n, &a)) {
	case CARDVIEW_NOTHING:
	case CARDVIEW_QUIT: /* never: the command is what ends this */
		arm(t);
		break;
	case CARDVIEW_ANSWER:
		answer(t, &a);
		break;
	}
}

/* In the background: who is in front may ask, and the card is drawn anew before a key counts again. */
static void step_back(struct prompt_tty *t)
{
	(void)event_del(&t->key);
	t->view.lines = 0; /* whoever is in front has written since */
	ttyturn_leave(&t->turn);
}

/* Somebody may write over the card from now on: it goes, and what was typed is nobody's. */
static void step_aside(struct prompt_tty *t)
{
	cardview_erase(&t->view);
	(void)tcflush(t->fd, TCIFLUSH);
	give_modes(t);
}

static void key_cb(evutil_socket_t fd, short what, void *arg)
{
	struct prompt_tty *t = arg;
	char buf[64];
	ssize_t n;

	(void)what;
	if (is_hung_up(fd)) {
		give_modes(t);
		return;
	}
	if (!t->question || !in_foreground(fd)) {
		step_back(t);
		return;
	}
	if (is_drawn(t)) {
		step_aside(t);
		return;
	}
	n = read(fd, buf, sizeof(buf));
	if (n > 0 && is_interrupt(t, buf, (size_t)n))
		interrupt(t);
	else if (n > 0)
		judge(t, buf, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		(void)event_del(&t->key); /* the terminal has gone: time will answer */
}

static void tick(struct prompt_tty *t)
{
	const struct card_rest rest = rest_of(t, NULL);

	cardview_tick(&t->view, t->question, &rest);
	arm(t);
}

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
	struct prompt_tty *t = arg;

	(void)fd, (void)what;
	if (!t->question)
		return;
	if (is_hung_up(t->fd)) {
		give_modes(t);
		(void)event_del(&t->tick);
		return;
	}
	if (!in_foreground(t->fd))
		step_back(t);
	else if (!is_up(t))
		show(t);
	else if (is_drawn(t))
		step_aside(t);
	else
		tick(t);
}

static void resize_cb(evutil_socket_t sig, short what, void *arg)
{
	struct prompt_tty *t = arg;

	(void)sig, (void)what;
	if (!t->question || !is_up(t))
		return;
	cardview_clear(&t->view);
	draw(t, NULL, false);
}

static void tty_free(void *self)
{
	struct prompt_tty *t = self;

	if (t->question)
		end(t, "the run is over");
	give_modes(t);
	(void)event_del(&t->key);
	(void)event_del(&t->tick);
	(void)event_del(&t->arm);
	(void)event_del(&t->resize);
	ttyturn_close(&t->turn);
	(void)close(t->fd);
	free(t);
}

static const struct asker_ops tty_ops = {
	.open = tty_open,
	.change = tty_change,
	.close = tty_close,
	.pause = tty_pause,
	.resume = tty_resume,
	.free = tty_free,
};

int prompt_tty_new(struct asker *out, struct asking *asking, struct event_base *base,
		   const struct asker_terminal *terminal, struct error *err)
{
	struct prompt_tty *t;
	int fd = open_tty();

	if (fd < 0)
		return error_set(err, errno, "no terminal to ask at (--ask tty)");
	t = xcalloc(1, sizeof(*t));
	*t = (struct prompt_tty){ .asking = asking, .terminal = *terminal, .fd = fd };
	t->view = (struct cardview){ .in = fd, .out = fd, .shared = !terminal->suspend };
	ttyturn_open(&t->turn);
	ttyturn_at(&t->turn, fd);
	keep_turn(t);
	(void)event_assign(&t->key, base, fd, EV_READ | EV_PERSIST, key_cb, t);
	(void)event_assign(&t->tick, base, -1, EV_PERSIST, tick_cb, t);
	(void)event_assign(&t->arm, base, -1, 0, arm_cb, t);
	(void)evsignal_assign(&t->resize, base, SIGWINCH, resize_cb, t);
	(void)event_add(&t->resize, NULL);
	(void)atexit(restore_at_exit);
	*out = (struct asker){ .ops = &tty_ops, .self = t };
	return 0;
}
