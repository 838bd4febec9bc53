/*
 * report_markdown.c - a table for the summary of a CI job
 *
 * Names are canonical, but rules and commands are somebody's text: a cell is code with its bar and
 * its HTML neutralised.
 */
#include "cli/report/report.h"

#include <string.h>
#include <strings.h>

#define COMMAND_SHOWN 120

/*
 * In <code>, not in backticks: text may hold backticks, and a bar would end the cell. What begins
 * like an address is no link (GFM 6.9): a click must not lead where the command could not go.
 */
static void put_code(const char *text, FILE *out)
{
	(void)fputs("<code>", out);
	for (; *text; text++) {
		char one[2] = { *text, '\0' };

		if (*text == '@') /* looked for in what entities stand for, too */
			(void)fputs("<span>@</span>", out);
		else if (strchr("|`*_[]\\~#!:", *text) || strncasecmp(text, "www.", 4) == 0)
			(void)fprintf(out, "&#%d;", *text);
		else
			report_escaped(one, out);
	}
	(void)fputs("</code>", out);
}

/* A script in an argument would fill the page. */
static void put_command(const char *command, FILE *out)
{
	char text[COMMAND_SHOWN + 4];

	if (strlen(command) > COMMAND_SHOWN)
		(void)snprintf(text, sizeof(text), "%.*s...", COMMAND_SHOWN, command);
	else
		(void)snprintf(text, sizeof(text), "%s", command);
	put_code(text, out);
}

/* A number and its unit stay together. */
static void put_bytes(uint64_t n, FILE *out)
{
	char text[REPORT_BYTES_MAX];
	const char *unit;

	(void)report_bytes(n, text);
	unit = strchr(text, ' ');
	(void)fprintf(out, "%.*s%s%s", (int)strcspn(text, " "), text, unit ? "&nbsp;" : "",
		      unit ? unit + 1 : "");
}

static void put_rows(const struct report *r, FILE *out)
{
	char name[TARGET_TEXT_MAX];

	(void)fputs("\n| | target | times | code | rule | out | in | program |\n"
		    "|---|---|--:|---|---|--:|--:|---|\n",
		    out);
	for (size_t i = 0; i < r->n; i++) {
		const struct tally_row *row = r->row[i];

		(void)fprintf(out, "| %s%s%s | ", row->allow ? "" : "**", report_outcome(row),
			      row->allow ? "" : "**");
		put_code(report_target(row, name), out);
		(void)fprintf(out, " | %llu | %s | ", (unsigned long long)row->count,
			      policy_code_name(row->code));
		if (row->rule)
			put_code(row->rule, out);
		(void)fputs(" | ", out);
		put_bytes(row->bytes_up, out);
		(void)fputs(" | ", out);
		put_bytes(row->bytes_down, out);
		(void)fputs(" | ", out);
		if (row->program)
			put_code(row->program, out);
		(void)fputs(" |\n", out);
	}
}

static bool is_said(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r->row[i]->remedy && strcmp(r->row[i]->remedy, r->row[n]->remedy) == 0)
			return true;
	return false;
}

/* What would have allowed the rest, to be copied into a command line as it is. */
static void put_remedies(const struct report *r, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < r->n && !r->row[i]->allow; i++) {
		if (!r->row[i]->remedy || is_said(r, i))
			continue;
		(void)fputs(any ? " \\\n" : "\nTo allow what was refused:\n\n```\n", out);
		(void)fputs(r->row[i]->remedy, out);
		any = true;
	}
	if (any)
		(void)fputs("\n```\n", out);
}

void report_markdown(const struct report *r, FILE *out)
{
	(void)fputs("### Network access\n\n", out);
	if (*r->command) {
		put_command(r->command, out);
		(void)fputs(": ", out);
	}
	(void)fprintf(out, "%llu allowed, **%llu refused**, %llu not reached\n",
		      (unsigned long long)r->sums.allowed, (unsigned long long)r->sums.refused,
		      (unsigned long long)r->sums.failed);
	if (r->n)
		put_rows(r, out);
	if (r->sums.left_out)
		(void)fprintf(out, "\nand %llu decisions about further targets\n",
			      (unsigned long long)r->sums.left_out);
	put_remedies(r, out);
	(void)fputs("\n", out);
}
