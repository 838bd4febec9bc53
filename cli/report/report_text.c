/*
 * report_text.c - a table for a terminal
 */
#include "cli/report/report.h"

#include <string.h>

#include "base/log.h"

#define PROGRAM_SHOWN 512

/* Of a saved log nobody knows who wrote it. */
static void put_program(const char *program, FILE *out)
{
	char shown[PROGRAM_SHOWN];

	(void)fprintf(out, "  (%s)",
		      log_escape_once(shown, sizeof(shown), program, strlen(program)));
}

void report_text(const struct report *r, FILE *out)
{
	char name[TARGET_TEXT_MAX], up[REPORT_BYTES_MAX], down[REPORT_BYTES_MAX];

	(void)fprintf(out, "%llu allowed, %llu refused, %llu not reached; %s out, %s in\n",
		      (unsigned long long)r->sums.allowed, (unsigned long long)r->sums.refused,
		      (unsigned long long)r->sums.failed, report_bytes(r->sums.bytes_up, up),
		      report_bytes(r->sums.bytes_down, down));
	if (r->n == 0)
		return;
	(void)fprintf(out, "%-8s %6s %9s %9s  %-15s %s\n", "", "count", "out", "in", "code",
		      "target");
	for (size_t i = 0; i < r->n; i++) {
		const struct tally_row *row = r->row[i];

		(void)fprintf(out, "%-8s %6llu %9s %9s  %-15s %s", report_outcome(row),
			      (unsigned long long)row->count, report_bytes(row->bytes_up, up),
			      report_bytes(row->bytes_down, down), policy_code_name(row->code),
			      report_target(row, name));
		if (row->program)
			put_program(row->program, out);
		(void)fputc('\n', out);
	}
	if (r->sums.left_out)
		(void)fprintf(out, "and %llu decisions about further targets\n",
			      (unsigned long long)r->sums.left_out);
}
