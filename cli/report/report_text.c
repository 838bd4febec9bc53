/*
 * report_text.c - a table for a terminal
 */
#include "cli/report/report.h"

void report_text(const struct report *r, FILE *out)
{
	char name[TARGET_TEXT_MAX];

	(void)fprintf(out,
		      "%llu allowed, %llu refused, %llu not reached; %llu bytes out, %llu in\n",
		      (unsigned long long)r->sums.allowed, (unsigned long long)r->sums.refused,
		      (unsigned long long)r->sums.failed, (unsigned long long)r->sums.bytes_up,
		      (unsigned long long)r->sums.bytes_down);
	if (r->n == 0)
		return;
	(void)fprintf(out, "%-8s %6s %12s %12s  %-16s %s\n", "", "count", "bytes out", "bytes in",
		      "code", "target");
	for (size_t i = 0; i < r->n; i++) {
		const struct tally_row *row = r->row[i];

		(void)fprintf(out, "%-8s %6llu %12llu %12llu  %-16s %s\n", report_outcome(row),
			      (unsigned long long)row->count, (unsigned long long)row->bytes_up,
			      (unsigned long long)row->bytes_down, policy_code_name(row->code),
			      report_target(row, name));
	}
	if (r->sums.left_out)
		(void)fprintf(out, "and %llu decisions about further targets\n",
			      (unsigned long long)r->sums.left_out);
}
