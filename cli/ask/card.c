#include "cli/ask/card.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define COLUMNS_MIN 40
#define COLUMNS_MAX 120 /* longer lines are hard to read */

/* What is written so far. @room: columns left in this line. */
struct card {
	char *out;
	size_t n;
	unsigned lines, room;
	const struct card_style *style;
};

enum paint { PLAIN, TAG, HOST, DIM, KEY, YES, NO, WARN };

static const char *const paints[] = {
	[PLAIN] = "0",	 [TAG] = "0;7",	   [HOST] = "0;1;36", [DIM] = "0;2",
	[KEY] = "0;1;4", [YES] = "0;1;32", [NO] = "0;1;31",   [WARN] = "0;1;33",
};

struct card_style card_style(int fd)
{
	const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
	struct card_style s = { .columns = 80 };
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		s.columns = size.ws_col;
	if (s.columns < COLUMNS_MIN)
		s.columns = COLUMNS_MIN;
	if (s.columns > COLUMNS_MAX)
		s.columns = COLUMNS_MAX;
	s.colour = term && *term && strcmp(term, "dumb") != 0 && !(plain && *plain);
	return s;
}

static void raw(struct card *c, const char *s)
{
	size_t n = strnlen(s, CARD_MAX - 1 - c->n);

	memcpy(c->out + c->n, s, n);
	c->n += n;
	c->out[c->n] = '\0';
}

static void colour(struct card *c, enum paint paint)
{
	if (!c->style->colour)
		return;
	raw(c, "\033[");
	raw(c, paints[paint]);
	raw(c, "m");
}

/* Text in a colour, cut at the edge. Only printable ASCII comes here, so a byte is a column. */
static void __attribute__((format(printf, 3, 4)))
put(struct card *c, enum paint paint, const char *fmt, ...)
{
	char text[2 * QUESTION_TEXT_MAX];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	if (n > c->room) {
		n = c->room;
		for (size_t i = n > 3 ? n - 3 : 0; i < n; i++)
			text[i] = '.';
	}
	text[n] = '\0';
	c->room -= (unsigned)n;
	colour(c, paint);
	raw(c, text);
	if (paint != PLAIN)
		colour(c, PLAIN);
}

static void line(struct card *c)
{
	raw(c, "\r\n");
	c->lines++;
	c->room = c->style->columns - 1;
}

static struct card start(const struct card_style *style, char *out)
{
	out[0] = '\0';
	return (struct card){ .out = out, .lines = 1, .room = style->columns - 1, .style = style };
}

static void put_field(struct card *c, const char *name, const char *value)
{
	if (!value[0])
		return;
	put(c, DIM, "  %-9s", name);
	put(c, PLAIN, "%s", value);
	line(c);
}

static void put_process(struct card *c, const struct question *q)
{
	char text[2 * QUESTION_TEXT_MAX];

	if (!q->pid)
		return;
	(void)snprintf(text, sizeof(text), "%s", q->argv);
	/* The number is the shorter part, so it comes first and is never cut. */
	put(c, DIM, "  %-9s", "process");
	put(c, PLAIN, "%llu  %s", (unsigned long long)q->pid, text);
	line(c);
}

static const char *way_in(const char *via)
{
	if (strcmp(via, "capture") == 0)
		return "directly";
	if (strcmp(via, "forward") == 0)
		return "by a forwarded port";
	if (strcmp(via, "http") == 0)
		return "by HTTP";
	if (strcmp(via, "connect") == 0)
		return "by HTTP CONNECT";
	if (strncmp(via, "socks", 5) == 0)
		return "by SOCKS";
	return via;
}

static void put_state(struct card *c, const struct question *q, size_t more)
{
	put(c, DIM, "  %-9s", "waiting");
	put(c, PLAIN, "%llu connection%s; ", (unsigned long long)q->waiting,
	    q->waiting == 1 ? "" : "s");
	put(c, PLAIN, "no answer in time is a no");
	if (more)
		put(c, DIM, "   (%zu more question%s)", more, more == 1 ? "" : "s");
	line(c);
}

static void put_key(struct card *c, const char *before, char key, const char *after)
{
	put(c, PLAIN, "%s", before);
	put(c, KEY, c->style->colour ? "%c" : "[%c]", key);
	put(c, PLAIN, "%s", after);
}

static void put_verdicts(struct card *c, const struct question *q, const struct keys *k)
{
	put(c, YES, c->style->colour ? "a" : "[a]");
	put(c, PLAIN, " allow   ");
	put(c, NO, c->style->colour ? "d" : "[d]");
	put(c, PLAIN, " deny");
	if (!q->wide[0])
		return;
	put_key(c, "   ", 's', k->wide ? " only this host" : " wider: ");
	if (!k->wide)
		put(c, DIM, "%s", q->wide);
}

static void put_scopes(struct card *c, const struct keys *k)
{
	put(c, k->allow ? YES : NO, k->allow ? "allow" : "deny");
	if (k->ndigits) {
		put(c, PLAIN, " for %s ", k->digits);
		put_key(c, "  ", 'm', "inutes ");
		put_key(c, "", 'h', "ours ");
		put_key(c, "", 'd', "ays");
		return;
	}
	put_key(c, " ", 'o', "nce  this ");
	put_key(c, "", 'r', "un  this ");
	put_key(c, "", 'p', "roject  ");
	put_key(c, "", 'f', "orever  ");
	put(c, DIM, "or 15m 2h 7d");
}

static void put_input(struct card *c, const struct question *q, uint64_t now, const struct keys *k)
{
	unsigned left = question_seconds(q, now);

	put(c, left <= 10 ? WARN : DIM, "  %u s  ", left);
	if (k->wide)
		put(c, WARN, "%s ", q->wide);
	if (k->verdict)
		put_scopes(c, k);
	else
		put_verdicts(c, q, k);
	put(c, PLAIN, " > ");
}

unsigned card_format(const struct question *q, const struct card_style *style, size_t more,
		     char out[CARD_MAX])
{
	struct card c = start(style, out);

	put(&c, TAG, " sbx-net ");
	put(&c, PLAIN, " %s wants to reach", q->program[0] ? q->program : "a program");
	line(&c);
	line(&c);
	put(&c, HOST, "    %s", q->target);
	put(&c, DIM, "   %s", way_in(q->via));
	line(&c);
	if (q->mark[0]) {
		put(&c, WARN, "    ! %s", q->mark);
		line(&c);
	}
	line(&c);
	put_process(&c, q);
	put_field(&c, "command", q->command);
	put_field(&c, "project", q->project);
	put_state(&c, q, more);
	line(&c);
	return c.lines;
}

void card_input(const struct question *q, const struct card_style *style, uint64_t now,
		const struct keys *k, char out[CARD_MAX])
{
	struct card c = start(style, out);

	put_input(&c, q, now, k);
}
