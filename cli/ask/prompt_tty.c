/*
 * Theory of operation
 *
 * One question is on the screen at a time. It is drawn on /dev/tty, never on the command's standard
 * streams, and in a description of its own, so that its non-blocking mode is nobody else's.
 *
 *   idle -> (suspend whoever relays, keep the modes, read single keys) -> shown
 *        -> answer, time-out or withdrawal -> the next one, or (modes back, resume) -> idle
 *
 * Whoever is typing when a question comes up has not read it. So keys count ("armed") only when none
 * has been typed for ARM_MS since the card stood; those before are thrown away, and the last line
 * shows no keys meanwhile. The interrupt key is the command's: the card goes, the key is passed on to
 * the command's terminal, and if the question is still there a second later, so is the card.
 *
 * The line where one types is drawn anew every second. With a relay the screen is ours meanwhile;
 * without one the command may write at any moment: then the card is not erased but drawn again below,
 * at any key that means nothing. What was typed before the card stood is thrown away. In the background we touch nothing
 * and look once a second whether we are in front.
 */
#include "cli/ask/prompt_tty.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/ask/card.h"
#include "cli/ask/keyguard.h"
#include "cli/ask/keys.h"

#define TICK_S 1
#define ARM_MS 700 /* longer than the pauses within words */

/*
 * Whatever the command left: no colours, the usual letters, no insertion, the cursor visible; and no
 * region in which the card would scroll by itself (which homes the cursor, so that is kept).
 */
#define RESET "\033[0m\033(B\017\033[4l\033[?25h\0337\033[?69l\033[r\0338"

/**
 * struct prompt_tty
 * @question: on the screen or waiting for the foreground; NULL when idle
 * @owned: the modes are ours, @saved is what they were
 * @lines: of the card on the screen
 * @armed: keys count
 */
struct prompt_tty {
	struct asking *asking;
	struct asker_terminal terminal;
	int fd;
	const struct question *question;
	bool owned;
	struct termios saved;
	struct keyguard guard;
	struct keys keys;
	unsigned lines;
	bool armed;
	struct event key, tick, resize, arm;
};

/* For exit(3) without free(): nobody's shell should be left without echo. */
static const struct prompt_tty *owner;

static void restore_at_exit(void)
{
	if (owner)
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

bool prompt_tty_possible(void)
{
	CLEANUP_CLOSE int fd = open_tty();

	return fd >= 0 && in_foreground(fd);
}

/* A terminal that takes nothing just now (Ctrl-S) must not hold up the proxy. */
static void put(const struct prompt_tty *t, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t w = write(t->fd, text, n);

		if (w <= 0)
			return;
		text += w;
		n -= (size_t)w;
	}
}

/* Only where nobody else writes is the card still where it was drawn. */
static bool is_alone(const struct prompt_tty *t)
{
	return t->terminal.suspend;
}

static void erase(struct prompt_tty *t, const struct card_style *style)
{
	char move[32];

	if (t->lines && style->colour && is_alone(t)) {
		(void)snprintf(move, sizeof(move), "\r\033[%uA\033[J", t->lines - 1);
		put(t, t->lines > 1 ? move : "\r\033[J");
	} else if (t->lines) {
		put(t, "\r\n");
	}
	t->lines = 0;
}

/* From now on a while without keys, before any counts. */
static void disarm(struct prompt_tty *t)
{
	const struct timeval quiet = { .tv_usec = ARM_MS * 1000 };

	t->armed = false;
	t->keys = (struct keys){ .verdict = false };
	(void)event_add(&t->arm, &quiet);
}

static void put_input(const struct prompt_tty *t, const struct card_style *style)
{
	char text[CARD_MAX];

	if (t->armed)
		card_input(t->question, style, asking_now(), &t->keys, text);
	else
		card_wait(t->question, style, asking_now(), text);
	put(t, text);
}

/*
 * What the command has on the screen where the card comes could be read as part of it, so all of that
 * goes. @fresh: what was typed until now was meant for something else, and goes too.
 */
static void draw(struct prompt_tty *t, bool fresh)
{
	const struct card_style style = card_style(t->fd);
	char text[CARD_MAX];
	bool first = t->lines == 0;

	erase(t, &style);
	if (style.colour && (first || !is_alone(t)))
		put(t, RESET);
	if (first)
		put(t, "\r\n");
	if (style.colour)
		put(t, "\033[J");
	t->lines = card_format(t->question, &style, asking_open_count(t->asking) - 1, text);
	put(t, text);
	if (fresh) {
		(void)tcflush(t->fd, TCIFLUSH);
		disarm(t);
	}
	put_input(t, &style);
}

/* A key was typed, or a second is over: the last line is enough. */
static void draw_input(struct prompt_tty *t)
{
	const struct card_style style = card_style(t->fd);

	put(t, style.colour ? "\033[0m\r\033[K" : "\r\n");
	put_input(t, &style);
}

/* A line of the log takes the card's place, and the card stands beneath it. */
static void before_line(void *arg)
{
	struct prompt_tty *t = arg;
	const struct card_style style = card_style(t->fd);

	erase(t, &style);
}

static void after_line(void *arg)
{
	struct prompt_tty *t = arg;

	if (t->question && in_foreground(t->fd))
		draw(t, false);
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
	if (tcsetattr(t->fd, TCSANOW, &mine) < 0)
		return false;
	t->owned = true;
	owner = t;
	if (isatty(STDERR_FILENO))
		log_set_around(before_line, after_line, t);
	return true;
}

static void give_modes(struct prompt_tty *t)
{
	if (!t->owned)
		return;
	t->owned = false;
	owner = NULL;
	log_set_around(NULL, NULL, NULL);
	(void)event_del(&t->key);
	(void)event_del(&t->arm);
	/* In the background the shell has put its own modes back. */
	if (in_foreground(t->fd))
		(void)tcsetattr(t->fd, TCSANOW, &t->saved);
	if (t->terminal.resume)
		t->terminal.resume(t->terminal.arg);
}

/* Shows the question, as soon as we are in front. */
static void show(struct prompt_tty *t)
{
	if (!in_foreground(t->fd) || (!t->owned && !take_modes(t)))
		return;
	draw(t, true);
	(void)event_add(&t->key, NULL);
}

static void begin(struct prompt_tty *t, const struct question *q)
{
	const struct timeval second = { .tv_sec = TICK_S };

	t->question = q;
	t->keys = (struct keys){ .verdict = false };
	t->lines = 0;
	(void)event_add(&t->tick, &second);
	show(t);
}

static void end(struct prompt_tty *t, const char *text)
{
	const struct card_style style = card_style(t->fd);

	t->question = NULL;
	(void)event_del(&t->tick);
	if (!t->owned)
		return;
	erase(t, &style);
	put(t, "sbx-net: ");
	put(t, text);
	put(t, "\r\n");
}

static void tty_open(void *self, const struct question *q)
{
	struct prompt_tty *t = self;

	if (!t->question)
		begin(t, q);
	else if (t->owned && is_alone(t))
		draw(t, false);
}

static void tty_change(void *self, const struct question *q)
{
	struct prompt_tty *t = self;

	if (q == t->question && t->owned && is_alone(t))
		draw(t, false);
}

static void tty_close(void *self, const struct question *q, const char *text)
{
	struct prompt_tty *t = self;
	const struct question *next;

	if (q != t->question)
		return;
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
		put(t, "\r\n");
	t->lines = 0;
	give_modes(t);
}

static void tty_resume(void *self)
{
	struct prompt_tty *t = self;

	if (t->question)
		show(t);
}

static void answer(struct prompt_tty *t, struct prompt_answer *a)
{
	a->by = "tty";
	(void)asking_answer(t->asking, t->question->id, a);
}

/* Each key of one read. After an answer the rest is thrown away with the flush of the next card. */
static void feed(struct prompt_tty *t, const char *p, size_t n)
{
	struct prompt_answer a = { .allow = false };

	for (size_t i = 0; i < n; i++) {
		switch (keys_feed(&t->keys, p[i], t->question->wide[0], &a)) {
		case KEYS_UNKNOWN:
			draw(t, false);
			break;
		case KEYS_MORE:
			draw_input(t);
			break;
		case KEYS_DONE:
			answer(t, &a);
			return;
		}
	}
}

static void arm_cb(evutil_socket_t fd, short what, void *arg)
{
	struct prompt_tty *t = arg;
	int waiting = 0;

	(void)fd, (void)what;
	if (!t->question || !t->owned)
		return;
	/* A key that came in the same turn, and time that went by in the background, are not quiet. */
	if (!in_foreground(t->fd) || (ioctl(t->fd, FIONREAD, &waiting) == 0 && waiting > 0)) {
		disarm(t);
		return;
	}
	t->armed = true;
	draw_input(t);
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
	const struct card_style style = card_style(t->fd);

	erase(t, &style);
	t->terminal.interrupt(t->terminal.arg);
	give_modes(t);
	(void)event_add(&t->tick, &second);
}

static void key_cb(evutil_socket_t fd, short what, void *arg)
{
	struct prompt_tty *t = arg;
	char buf[64], keys[KEYGUARD_BURST_MAX];
	size_t count;
	ssize_t n;

	(void)what;
	if (!t->question || !in_foreground(fd)) {
		(void)event_del(&t->key);
		return;
	}
	n = read(fd, buf, sizeof(buf));
	if (n > 0 && is_interrupt(t, buf, (size_t)n)) {
		interrupt(t);
		return;
	}
	count = n > 0 ? keyguard_read(&t->guard, buf, (size_t)n, keyguard_now(), keys) : 0;
	if (n > 0 && !t->armed)
		disarm(t);
	else if (count)
		feed(t, keys, count);
	else if (n > 0)
		t->keys = (struct keys){ .verdict = false }; /* half an answer is none */
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		(void)event_del(&t->key); /* the terminal has gone: time will answer */
}

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
	struct prompt_tty *t = arg;

	(void)fd, (void)what;
	if (!t->question)
		return;
	if (!t->owned || !event_pending(&t->key, EV_READ, NULL))
		show(t);
	else if (in_foreground(t->fd) && card_style(t->fd).colour)
		draw_input(t);
}

static void resize_cb(evutil_socket_t sig, short what, void *arg)
{
	struct prompt_tty *t = arg;

	(void)sig, (void)what;
	if (!t->question || !t->owned)
		return;
	/* Lines may have wrapped: where the card begins is not known any more. */
	put(t, is_alone(t) && card_style(t->fd).colour ? "\033[H\033[J" : "\r\n");
	t->lines = 0;
	draw(t, false);
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
	(void)event_assign(&t->key, base, fd, EV_READ | EV_PERSIST, key_cb, t);
	(void)event_assign(&t->tick, base, -1, EV_PERSIST, tick_cb, t);
	(void)event_assign(&t->arm, base, -1, 0, arm_cb, t);
	(void)evsignal_assign(&t->resize, base, SIGWINCH, resize_cb, t);
	(void)event_add(&t->resize, NULL);
	(void)atexit(restore_at_exit);
	*out = (struct asker){ .ops = &tty_ops, .self = t };
	return 0;
}
