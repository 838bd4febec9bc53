/*
 * report_json.c - one JSON document
 */
#include "cli/report/report.h"

#include <inttypes.h>

static void put_text(const char *key, const char *value, FILE *out)
{
	(void)fprintf(out, ",\"%s\":", key);
	if (value)
		report_quoted(value, out);
	else
		(void)fputs("null", out);
}

static void put_row(const struct tally_row *row, FILE *out)
{
	(void)fprintf(out, "{\"outcome\":\"%s\",\"code\":\"%s\"", report_outcome(row),
		      policy_code_name(row->code));
	put_text("host", row->target.host.s, out);
	(void)fprintf(out, ",\"port\":%u,\"via\":\"%s\",\"count\":%" PRIu64,
		      (unsigned)row->target.port, target_via_name(row->target.via), row->count);
	put_text("rule", row->rule, out);
	put_text("origin", row->file, out);
	(void)fprintf(out, ",\"line\":%u", row->line);
	put_text("by", row->by, out);
	put_text("program", row->program, out);
	(void)fprintf(out,
		      ",\"bytes_up\":%" PRIu64 ",\"bytes_down\":%" PRIu64 ",\"first\":%" PRId64
		      ",\"last\":%" PRId64,
		      row->bytes_up, row->bytes_down, row->first, row->last);
	put_text("text", row->text, out);
	(void)fputs("}", out);
}

void report_json(const struct report *r, FILE *out)
{
	const struct tally_sums *s = &r->sums;

	(void)fputs("{\"tool\":\"sbx-net\",\"version\":\"" SBX_VERSION "\"", out);
	put_text("command", r->command, out);
	(void)fprintf(out,
		      ",\"allowed\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"failed\":%" PRIu64
		      ",\"bytes_up\":%" PRIu64 ",\"bytes_down\":%" PRIu64 ",\"left_out\":%" PRIu64
		      ",\"targets\":[",
		      s->allowed, s->refused, s->failed, s->bytes_up, s->bytes_down, s->left_out);
	for (size_t i = 0; i < r->n; i++) {
		(void)fputs(i ? ",\n" : "\n", out);
		put_row(r->row[i], out);
	}
	(void)fputs("\n]}\n", out);
}
