/*
 * report_sarif.c - SARIF 2.1.0: a result for each refused target, at the rule that refused it
 */
#include "cli/report/report.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "cli/layers/layers.h"

static void put_rules(FILE *out)
{
	for (int c = 0; c < CODE_NUM; c++)
		(void)fprintf(out,
			      "%s{\"id\":\"%s\",\"shortDescription\":{\"text\":\"a connection's "
			      "outcome: %s\"}}",
			      c ? "," : "", policy_code_name((enum code)c),
			      policy_code_name((enum code)c));
}

/* A path as a URI reference (RFC 3986, 2.1): whoever uploads it cuts the checkout's file:// off. */
static void put_uri(const char *path, FILE *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789/-._~";

	(void)fputs(path[0] == '/' ? "\"file://" : "\"", out);
	for (; *path; path++)
		(void)fprintf(out, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
	(void)fputc('"', out);
}

/*
 * Code scanning refuses a result without a place. A rule of a file has one; for what no file names
 * it is the line of a saved log, or the settings file in use, where a rule for it would stand. A
 * run without any has the project's, which is to be made then.
 */
static void put_place(const struct report *r, const struct tally_row *row, FILE *out)
{
	const char *other = r->place ? r->place : LAYERS_PROJECT_FILE;
	bool in_file = row->file && row->file[0] && row->line;
	unsigned line = in_file ? row->line : row->at ? row->at : 1;

	(void)fputs(",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":", out);
	put_uri(in_file ? row->file : other, out);
	(void)fprintf(out, "},\"region\":{\"startLine\":%u}}}]", line);
}

/* Two targets at one line are two alerts, and the same ones in the next run: the key is fixed. */
static void put_fingerprint(const struct tally_row *row, FILE *out)
{
	static const struct hash_key fixed;
	char target[TARGET_TEXT_MAX];
	CLEANUP_FREE char *text =
		xasprintf("%s %s", policy_code_name(row->code), report_target(row, target));

	(void)fprintf(out, ",\"partialFingerprints\":{\"primaryLocationLineHash\":\"%016llx\"}",
		      (unsigned long long)hash_bytes(&fixed, text, strlen(text)));
}

static void put_result(const struct report *r, const struct tally_row *row, FILE *out)
{
	(void)fprintf(
		out, "{\"ruleId\":\"%s\",\"ruleIndex\":%d,\"level\":\"%s\",\"message\":{\"text\":",
		policy_code_name(row->code), (int)row->code, row->allow ? "warning" : "error");
	report_quoted(row->text, out);
	(void)fprintf(out, "},\"occurrenceCount\":%llu", (unsigned long long)row->count);
	put_place(r, row, out);
	put_fingerprint(row, out);
	(void)fputs("}", out);
}

/* What is not among the results is told by the tool itself. */
static void put_left_out(uint64_t n, FILE *out)
{
	if (n)
		(void)fprintf(out,
			      ",\"invocations\":[{\"executionSuccessful\":true,"
			      "\"toolExecutionNotifications\":[{\"level\":\"warning\",\"message\":"
			      "{\"text\":\"%llu decisions about further targets are in no "
			      "result\"}}]}]",
			      (unsigned long long)n);
}

void report_sarif(const struct report *r, FILE *out)
{
	const char *comma = "\n";

	(void)fputs("{\"$schema\":\"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/"
		    "schemas/"
		    "sarif-schema-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":{"
		    "\"driver\":{\"name\":\"sbx-net\","
		    "\"version\":\"" SBX_VERSION "\",\"rules\":[",
		    out);
	put_rules(out);
	(void)fputs("]}},\"results\":[", out);
	for (size_t i = 0; i < r->n; i++) {
		if (r->row[i]->code == CODE_OK)
			continue;
		(void)fputs(comma, out);
		put_result(r, r->row[i], out);
		comma = ",\n";
	}
	(void)fputs("\n]", out);
	put_left_out(r->sums.left_out, out);
	(void)fputs("}]}\n", out);
}
