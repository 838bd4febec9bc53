/*
 * report_sarif.c - SARIF 2.1.0: a result for each refused target, at the rule that refused it
 */
#include "cli/report/report.h"

#include "policy/refusal.h"

static void put_rules(FILE *out)
{
	for (int c = 0; c < CODE_NUM; c++)
		(void)fprintf(out, "%s{\"id\":\"%s\"}", c ? "," : "",
			      policy_code_name((enum code)c));
}

/* A rule of a file has a place; one of the command line has none. */
static void put_place(const struct tally_row *row, FILE *out)
{
	if (!row->file || row->line == 0)
		return;
	(void)fputs(",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":", out);
	report_quoted(row->file, out);
	(void)fprintf(out, "},\"region\":{\"startLine\":%u}}}]", row->line);
}

static void put_result(const struct tally_row *row, FILE *out)
{
	char text[REFUSAL_MAX];

	(void)fprintf(
		out, "{\"ruleId\":\"%s\",\"ruleIndex\":%d,\"level\":\"%s\",\"message\":{\"text\":",
		policy_code_name(row->code), (int)row->code, row->allow ? "warning" : "error");
	report_quoted(report_sentence(row, text), out);
	(void)fprintf(out, "},\"occurrenceCount\":%llu", (unsigned long long)row->count);
	put_place(row, out);
	(void)fputs("}", out);
}

void report_sarif(const struct report *r, FILE *out)
{
	const char *comma = "\n";

	(void)fputs("{\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"sbx-net\","
		    "\"version\":\"" SBX_VERSION "\",\"rules\":[",
		    out);
	put_rules(out);
	(void)fputs("]}},\"results\":[", out);
	for (size_t i = 0; i < r->n; i++) {
		if (r->row[i]->code == CODE_OK)
			continue;
		(void)fputs(comma, out);
		put_result(r->row[i], out);
		comma = ",\n";
	}
	(void)fputs("\n]}]}\n", out);
}
