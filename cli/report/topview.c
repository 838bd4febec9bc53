#include "cli/report/topview.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_BYTES 2048

/* Below that the command gets a line of its own; below the other one not all numbers have room. */
#define COLUMNS_WIDE 100
#define COLUMNS_ALL  70

#define BOLD "\033[1m"
#define DIM  "\033[2m"
#define RED  "\033[31m"
#define OFF  "\033[0m"

#define INDENT "           "

enum column {
	COLUMN_SESSION,
	COLUMN_AGE,
	COLUMN_CONNS,
	COLUMN_ALLOWED,
	COLUMN_REFUSED,
	COLUMN_FAILED,
	COLUMN_OUT,
	COLUMN_IN,
	COLUMN_COMMAND,
	COLUMN_NUM
};

/* "1.2k", four significant places at most, powers of 1000 */
static const char *short_number(uint64_t v, char out[16])
{
	static const char unit[] = " kMGTPE";
	double d = (double)v;
	size_t i = 0;

	while (d >= 999.5 && i < sizeof(unit) - 2) {
		d /= 1000;
		i++;
	}
	if (i == 0)
		(void)snprintf(out, 16, "%u", (unsigned)v);
	else
		(void)snprintf(out, 16, "%.*f%c", d < 9.95 ? 1 : 0, d, unit[i]);
	return out;
}

static const char *age(uint64_t s, char out[16])
{
	if (s < 100)
		(void)snprintf(out, 16, "%us", (unsigned)s);
	else if (s < 100 * 60)
		(void)snprintf(out, 16, "%um", (unsigned)(s / 60));
	else if (s < 100 * 3600)
		(void)snprintf(out, 16, "%uh", (unsigned)(s / 3600));
	else
		(void)snprintf(out, 16, "%ud", (unsigned)(s / 86400 % 100000));
	return out;
}

static int busiest(const void *a, const void *b)
{
	const struct topview_row *x = a, *y = b;

	if (x->up + x->down != y->up + y->down)
		return x->up + x->down > y->up + y->down ? -1 : 1;
	if (x->now.connections != y->now.connections)
		return x->now.connections > y->now.connections ? -1 : 1;
	if (x->now.seconds != y->now.seconds)
		return x->now.seconds < y->now.seconds ? -1 : 1;
	return strcmp(x->now.session, y->now.session);
}

void topview_sort(struct topview_row *row, size_t n)
{
	qsort(row, n, sizeof(*row), busiest);
}

static bool is_below(const struct topview *v, unsigned columns)
{
	return v->columns && v->columns < columns;
}

/* One line, cut to the terminal, in one colour. */
static void __attribute__((format(printf, 4, 5)))
put_line(const struct topview *v, FILE *out, const char *colour, const char *fmt, ...)
{
	size_t room = v->columns && v->columns < LINE_BYTES ? v->columns + 1 : LINE_BYTES;
	char text[LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, room, fmt, ap);
	va_end(ap);
	if (v->colour && *colour)
		(void)fprintf(out, "%s%s%s\n", colour, text, OFF);
	else
		(void)fprintf(out, "%s\n", text);
}

static void put_sum(const struct topview *v, const struct topview_row *row, size_t n, FILE *out)
{
	uint64_t connections = 0, refused = 0, questions = 0;

	for (size_t i = 0; i < n; i++) {
		connections += row[i].now.connections;
		refused += row[i].now.refused;
		questions += row[i].now.questions;
	}
	put_line(v, out, BOLD,
		 "%s%zu session%s, %llu connection%s, %llu refused, %llu question%s open",
		 is_below(v, COLUMNS_ALL) ? "" : "sbx-net: ", n, n == 1 ? "" : "s",
		 (unsigned long long)connections, connections == 1 ? "" : "s",
		 (unsigned long long)refused, (unsigned long long)questions,
		 questions == 1 ? "" : "s");
}

/* The columns of a session, as far as there is room; what stands last may be cut. */
static void put_columns(const struct topview *v, FILE *out, const char *colour,
			const char *const text[COLUMN_NUM])
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof(line), "%-10.10s %5s %6s %8s %8s", text[COLUMN_SESSION],
			 text[COLUMN_AGE], text[COLUMN_CONNS], text[COLUMN_ALLOWED],
			 text[COLUMN_REFUSED]);

	if (!is_below(v, COLUMNS_ALL))
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %7s", text[COLUMN_FAILED]);
	n += snprintf(line + n, sizeof(line) - (size_t)n, " %8s %8s", text[COLUMN_OUT],
		      text[COLUMN_IN]);
	if (!is_below(v, COLUMNS_WIDE))
		(void)snprintf(line + n, sizeof(line) - (size_t)n, "  %s", text[COLUMN_COMMAND]);
	put_line(v, out, colour, "%s", line);
}

/* Of a session of serve that does not say what it runs. */
static const char *attached_by(const struct stats *s, char out[64])
{
	if (s->pid == 0)
		return "(a session of serve)";
	(void)snprintf(out, 64, "(a session of serve, attached by process %llu)",
		       (unsigned long long)s->pid);
	return out;
}

/* Return: how many lines. */
static unsigned put_row(const struct topview *v, const struct topview_row *r, FILE *out)
{
	const struct stats *s = &r->now;
	char old[16], up[16], down[16], allowed[16], refused[16], failed[16], conns[16], who[64];

	const char *const text[] = {
		[COLUMN_SESSION] = s->session,
		[COLUMN_AGE] = age(s->seconds, old),
		[COLUMN_CONNS] = short_number(s->connections, conns),
		[COLUMN_ALLOWED] = short_number(s->allowed, allowed),
		[COLUMN_REFUSED] = short_number(s->refused, refused),
		[COLUMN_FAILED] = short_number(s->failed, failed),
		[COLUMN_OUT] = short_number(v->rates ? r->up : s->bytes_up, up),
		[COLUMN_IN] = short_number(v->rates ? r->down : s->bytes_down, down),
		[COLUMN_COMMAND] = *s->command ? s->command : attached_by(s, who),
	};
	unsigned lines = 1;

	put_columns(v, out, r->news ? RED : "", text);
	if (is_below(v, COLUMNS_WIDE)) {
		put_line(v, out, "", INDENT "%s", text[COLUMN_COMMAND]);
		lines++;
	}
	if (!*s->last)
		return lines;
	put_line(v, out, DIM, INDENT "refused last: %s", s->last);
	return lines + 1;
}

void topview_print(const struct topview *view, const struct topview_row *row, size_t n, FILE *out)
{
	static const char *const sums[] = { "SESSION", "AGE", "CONNS", "ALLOWED", "REFUSED",
					    "FAILED",  "OUT", "IN",    "COMMAND" };
	static const char *const rates[] = { "SESSION", "AGE",	 "CONNS", "ALLOWED", "REFUSED",
					     "FAILED",	"OUT/s", "IN/s",  "COMMAND" };
	/* short: a narrow terminal cuts what is longer */
	static const char *const none[] = {
		"no run that asks, and no session of a serve",
		"a run that asks nobody: --ask control has it shown",
		"of a serve --dir DIR: top --socket DIR/control.sock",
	};
	unsigned lines = 4; /* the head, and one kept free for what is left out */

	put_sum(view, row, n, out);
	put_line(view, out, "", "%s", "");
	if (n == 0) {
		for (size_t i = 0; i < ARRAY_SIZE(none); i++)
			put_line(view, out, DIM, "%s", none[i]);
		return;
	}
	put_columns(view, out, DIM, view->rates ? rates : sums);
	for (size_t i = 0; i < n; i++) {
		if (view->lines && lines + 3 > view->lines) {
			put_line(view, out, DIM, "and %zu more", n - i);
			return;
		}
		lines += put_row(view, &row[i], out);
	}
}
