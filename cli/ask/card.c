#include "cli/ask/card.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/ttylead.h"

#define COLUMNS_MIN 40
#define COLUMNS_MAX 120 /* longer lines are hard to read */
#define INDENT	    4
#define NAME_WIDTH  11 /* of what stands before a value */
#define ROWS_LOW    16
#define ROWS_HIGH   20 /* with room for other questions */

/*
 * What is written so far. @room: columns left in this line; @cut: something had none; @kept: lines
 * that have to come yet.
 */
struct card {
	char *out;
	size_t n;
	unsigned lines, room;
	size_t kept;
	bool cut;
	const struct card_style *style;
};

enum paint { PLAIN, TAG, HOST, DIM, KEY, YES, NO, WARN };

/*
 * The host in colours of its own, also where a palette of the command's cannot be taken back (urxvt). A
 * terminal that knows palettes only takes the end of it, bright cyan and bold.
 */
static const char *const paints[] = {
	[PLAIN] = "0",	 [TAG] = "0;7",	    [HOST] = "0;38;2;255;255;255;48;2;0;90;96;1",
	[DIM] = "0;2",	 [KEY] = "0;1;4",   [YES] = "0;1;32",
	[NO] = "0;1;31", [WARN] = "0;1;33",
};

struct card_style card_style(int fd)
{
	const char *plain = getenv("NO_COLOR");
	struct card_style s = { .columns = 80 };
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col) {
		s.columns = size.ws_col;
		s.rows = size.ws_row;
	}
	if (s.columns < COLUMNS_MIN) {
		s.narrow = s.columns;
		s.columns = COLUMNS_MIN;
	}
	if (s.columns > COLUMNS_MAX)
		s.columns = COLUMNS_MAX;
	s.cursor = ttylead_obeys();
	s.colour = s.cursor && !(plain && *plain);
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
		c->cut = true;
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
	/* Whatever else stood in this line: a question holds no words but ours. */
	raw(c, c->style->cursor ? "\033[K\r\n" : "\r\n");
	c->lines++;
	c->room = c->style->columns - 1;
}

/* Between parts, where there is room for beauty. */
static void gap(struct card *c)
{
	if (!c->style->rows || c->style->rows >= ROWS_LOW)
		line(c);
}

static struct card start(const struct card_style *style, char *out)
{
	out[0] = '\0';
	return (struct card){ .out = out, .lines = 1, .room = style->columns - 1, .style = style };
}

/* Whole, however many lines that takes: of a host the end counts most. */
static void put_wrapped(struct card *c, enum paint paint, const char *text)
{
	size_t width = c->style->columns - 1 - INDENT;

	for (;;) {
		size_t n = strnlen(text, width), blank = n;

		/* Between words, where it has any. */
		while (text[n] && blank > 0 && text[blank] != ' ')
			blank--;
		if (blank > 0)
			n = blank;
		put(c, PLAIN, "%*s", INDENT, "");
		put(c, paint, "%.*s", (int)n, text);
		text += n;
		text += *text == ' ';
		if (!*text)
			return;
		line(c);
	}
}

/* Who asks stands at the end of the chain, so the front is cut. */
static void put_program(struct card *c, const char *program)
{
	static const char wants[] = " wants to reach";
	size_t n = strlen(program), room = c->room - strlen(wants) - 1;

	if (n > room)
		put(c, PLAIN, " ...%s%s", program + n - (room - 3), wants);
	else
		put(c, PLAIN, " %s%s", program, wants);
}

/* Whether @n more lines leave all of them in sight: of a card the host is at the top. */
static bool has_lines(const struct card *c, size_t n)
{
	return !c->style->rows || c->lines + n <= c->style->rows;
}

static void put_field(struct card *c, const char *name, const char *value)
{
	if (!value[0] || !has_lines(c, 1 + c->kept))
		return;
	put(c, DIM, "  %-9s", name);
	put(c, PLAIN, "%s", value);
	line(c);
}

static void put_process(struct card *c, const struct question *q)
{
	char text[2 * QUESTION_TEXT_MAX];

	if (!q->pid || !has_lines(c, 1 + c->kept))
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
	if (!has_lines(c, 1 + c->kept))
		return;
	put(c, DIM, "  %-9s", "waiting");
	put(c, PLAIN, "%llu connection%s; ", (unsigned long long)q->waiting,
	    q->waiting == 1 ? "" : "s");
	if (c->room > 40)
		put(c, PLAIN, "no answer in time is a no");
	else
		put(c, PLAIN, "silence is no");
	if (more && c->room > 24)
		put(c, DIM, "   (%zu more question%s)", more, more == 1 ? "" : "s");
	else if (more)
		put(c, DIM, "   (+%zu)", more);
	line(c);
}

/* What will be asked next: a person may rather answer for all of them at once. */
static void put_next(struct card *c, const struct card_rest *rest)
{
	if (c->style->rows && c->style->rows < ROWS_HIGH)
		return;
	for (size_t i = 0; i < CARD_NEXT_MAX && rest->next[i] && has_lines(c, 2 + c->kept); i++) {
		const struct question *q = rest->next[i];

		put(c, DIM, "  %-9s", i ? "" : "next");
		put(c, PLAIN, "%s", q->target);
		put(c, DIM, "   %s", q->program);
		line(c);
	}
}

static void put_key(struct card *c, const char *before, char key, const char *after)
{
	put(c, PLAIN, "%s", before);
	put(c, KEY, c->style->colour ? "%c" : "[%c]", key);
	put(c, PLAIN, "%s", after);
}

/* How much of the line where one types is spelt out; less where there is no room. */
enum spelling { FULL, SHORT, TERSE };

static void put_verdicts(struct card *c, const struct question *q, const struct keys *k,
			 enum spelling how)
{
	const char *blank = how == TERSE ? "" : " ", *between = how == TERSE ? " " : "   ";

	put(c, YES, c->style->colour ? "a" : "[a]");
	put(c, PLAIN, "%s%s%s", blank, how == TERSE ? "llow" : "allow", between);
	put(c, NO, c->style->colour ? "d" : "[d]");
	put(c, PLAIN, "%s%s", blank, how == TERSE ? "eny" : "deny");
	if (!q->wide[0])
		return;
	if (how != FULL) {
		put_key(c, between, 's', how == TERSE ? "" : k->wide ? " less" : " wider");
		return;
	}
	put_key(c, "   ", 's', k->wide ? " only this host" : " wider: ");
	if (!k->wide)
		put(c, DIM, "%s", q->wide);
}

static void put_duration(struct card *c, const struct keys *k, enum spelling how)
{
	put(c, PLAIN, " for %s ", k->digits);
	put_key(c, "  ", 'm', how == FULL ? "inutes " : " ");
	put_key(c, "", 'h', how == FULL ? "ours " : " ");
	put_key(c, "", 'd', how == FULL ? "ays" : "");
}

static void put_scopes(struct card *c, const struct keys *k, enum spelling how)
{
	static const char key[] = { 'o', 'r', 'p', 'f' };
	static const char *const rest[][ARRAY_SIZE(key)] = {
		[FULL] = { "nce  this ", "un  this ", "roject  ", "orever  " },
		[SHORT] = { "nce ", "un ", "roject ", "orever" },
		[TERSE] = { " ", " ", " ", "" },
	};

	put(c, k->allow ? YES : NO, k->allow ? "allow" : "deny");
	if (k->ndigits) {
		put_duration(c, k, how);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rest[how]); i++)
		put_key(c, i ? "" : " ", key[i], rest[how][i]);
	if (how == FULL)
		put(c, DIM, "or 15m 2h 7d");
}

static void put_input(struct card *c, const struct question *q, uint64_t now, const struct keys *k,
		      enum spelling how)
{
	unsigned left = question_seconds(q, now);

	put(c, left <= 10 ? WARN : DIM, how == FULL ? "  %u s  " : " %us ", left);
	if (k->unknown) /* what stands behind it are the keys that there are */
		put(c, WARN,
		    how == FULL	   ? "that key means nothing here; "
		    : how == SHORT ? "no such key; "
				   : "? ");
	if (k->wide) /* the card has the name */
		put(c, WARN, "%s ", how == TERSE ? "WIDER" : q->wide);
	if (k->verdict)
		put_scopes(c, k, how);
	else
		put_verdicts(c, q, k, how);
	put(c, PLAIN, " > ");
}

static void put_target(struct card *c, const struct question *q)
{
	const char *way = way_in(q->via);
	char mark[QUESTION_TEXT_MAX + 2];

	put_wrapped(c, HOST, q->target);
	if (c->room < strlen(way) + 3)
		line(c);
	put(c, DIM, "%*s%s", c->room == c->style->columns - 1 ? INDENT : 3, "", way);
	line(c);
	if (!q->mark[0])
		return;
	(void)snprintf(mark, sizeof(mark), "! %s", q->mark);
	put_wrapped(c, WARN, mark);
	line(c);
}

static bool has_room_for(const struct card_style *style, const struct question *q, bool wide)
{
	const struct keys k = { .wide = wide };
	char text[CARD_MAX];
	struct card probe = start(style, text);

	put_input(&probe, q, 0, &k, wide ? SHORT : FULL);
	return !probe.cut;
}

/* Lines for what 's' stands for, where the line for the keys has no room for it. */
static size_t wider_lines(const struct card_style *style, const struct question *q)
{
	size_t width = style->columns - 1 - INDENT, n = strlen(q->wide);

	if (!n || (has_room_for(style, q, false) && has_room_for(style, q, true)))
		return 0;
	return n <= style->columns - 1 - NAME_WIDTH ? 1 : 1 + (n + width - 1) / width;
}

static void put_wider(struct card *c, const struct question *q)
{
	if (!wider_lines(c->style, q))
		return;
	put(c, DIM, "  %-9s", "wider");
	if (strlen(q->wide) <= c->room) {
		put(c, PLAIN, "%s", q->wide);
	} else {
		line(c);
		put_wrapped(c, PLAIN, q->wide);
	}
	line(c);
}

unsigned card_format(const struct question *q, const struct card_style *style,
		     const struct card_rest *rest, char out[CARD_MAX])
{
	struct card c = start(style, out);

	c.kept = wider_lines(style, q);
	put(&c, TAG, " sbx-net ");
	put_program(&c, q->program[0] ? q->program : "a program");
	line(&c);
	gap(&c);
	put_target(&c, q);
	gap(&c);
	put_process(&c, q);
	put_field(&c, "command", q->command);
	put_field(&c, "project", q->project);
	put_state(&c, q, rest->n);
	put_next(&c, rest);
	put_wider(&c, q);
	gap(&c);
	return c.lines;
}

void card_input(const struct question *q, const struct card_style *style, uint64_t now,
		const struct keys *k, char out[CARD_MAX])
{
	for (int how = FULL; how <= TERSE; how++) {
		struct card c = start(style, out);

		put_input(&c, q, now, k, (enum spelling)how);
		if (!c.cut)
			return;
	}
}

void card_wait(const struct question *q, const struct card_style *style, uint64_t now,
	       char out[CARD_MAX])
{
	struct card c = start(style, out);

	put(&c, DIM, "  %u s  ", question_seconds(q, now));
	put(&c, DIM, "%s",
	    c.room > 50 ? "... keys count once none is typed for a moment" : "... wait");
}

void card_small(const struct question *q, const struct card_style *style, uint64_t now,
		char out[CARD_MAX])
{
	struct card_style real = *style;
	struct card c;

	if (real.narrow)
		real.columns = real.narrow;
	c = start(&real, out);
	put(&c, WARN, "%us enlarge: too small a window to ask", question_seconds(q, now));
}
