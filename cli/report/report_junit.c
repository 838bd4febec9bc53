/*
 * report_junit.c - JUnit XML: a target is a case, a refused one has failed
 */
#include "cli/report/report.h"

static void put_case(const struct tally_row *row, FILE *out)
{
	char name[TARGET_TEXT_MAX];

	(void)fputs("  <testcase classname=\"sbx-net\" name=\"", out);
	report_escaped(report_target(row, name), out);
	(void)fprintf(out, " (%s)\"", policy_code_name(row->code));
	if (row->allow && row->code == CODE_OK) {
		(void)fputs("/>\n", out);
		return;
	}
	(void)fprintf(out, ">\n    <%s type=\"%s\" message=\"", row->allow ? "error" : "failure",
		      policy_code_name(row->code));
	report_escaped(row->text, out);
	(void)fprintf(out, "\">%llu time%s", (unsigned long long)row->count,
		      row->count == 1 ? "" : "s");
	if (row->program) {
		(void)fputs(", first by ", out);
		report_escaped(row->program, out);
	}
	(void)fprintf(out, "</%s>\n  </testcase>\n", row->allow ? "error" : "failure");
}

/* A case of its own, so that the rest does not look like all. */
static void put_left_out(uint64_t n, FILE *out)
{
	if (n)
		(void)fprintf(out,
			      "  <testcase classname=\"sbx-net\" name=\"further targets\">\n"
			      "    <skipped message=\"%llu decisions about further targets are in "
			      "the sums only\"/>\n  </testcase>\n",
			      (unsigned long long)n);
}

void report_junit(const struct report *r, FILE *out)
{
	size_t failures = 0, errors = 0;

	for (size_t i = 0; i < r->n; i++) {
		failures += !r->row[i]->allow;
		errors += r->row[i]->allow && r->row[i]->code != CODE_OK;
	}
	(void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
	(void)fprintf(out,
		      "<testsuite name=\"sbx-net\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
		      "skipped=\"%d\">\n",
		      r->n + (r->sums.left_out > 0), failures, errors, r->sums.left_out > 0);
	if (*r->command) {
		(void)fputs("  <properties><property name=\"command\" value=\"", out);
		report_escaped(r->command, out);
		(void)fputs("\"/></properties>\n", out);
	}
	for (size_t i = 0; i < r->n; i++)
		put_case(r->row[i], out);
	put_left_out(r->sums.left_out, out);
	(void)fputs("</testsuite>\n</testsuites>\n", out);
}
