/*
 * report.h - what a run did, for people, CI jobs and programs: one writer a format
 */
#ifndef CLI_REPORT_REPORT_H
#define CLI_REPORT_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/report/tally.h"

/**
 * struct report - what the writers read
 * @command: the command of the run as text, printable ASCII; "" if unknown
 * @place: where what no file's rule decided is said to be: the settings file in use, where a rule
 *         would stand, or the saved log that is read; NULL where there is none
 * @row, @n: in the order of tally_sorted()
 */
struct report {
	const char *command;
	const char *place;
	const struct tally_row *const *row;
	size_t n;
	struct tally_sums sums;
};

/** typedef report_writer - one format */
typedef void report_writer(const struct report *r, FILE *out);

report_writer report_text, report_markdown, report_json, report_junit, report_sarif;

/** report_check() - whether @value is FORMAT or FORMAT:FILE. 0, or -1 with @err. */
int report_check(const char *value, struct error *err);

/** report_file() - the FILE of a valid @value, into which it points; NULL for none. */
const char *report_file(const char *value);

/** report_write() - in the format that (valid) @value names. */
void report_write(const char *value, const struct tally *t, const char *command, const char *place,
		  FILE *out);

struct reports;

/**
 * reports_open() - open the files of --report before anything is locked down
 * @v, @n: FORMAT or FORMAT:FILE, valid; must outlive it. Without a file it is standard error
 *
 * A file is emptied when it is written, at the end; a Markdown one is appended to, as the summary of
 * a CI job is. Return: to be freed by reports_free(); NULL with @err.
 */
struct reports *reports_open(const char *const *v, size_t n, struct error *err);

/** reports_free() - NULL is allowed. */
void reports_free(struct reports *r);

/**
 * reports_write() - all of them
 *
 * A file that is no longer where it was opened has been written all the same, and is an error: who reads
 * what stands there now reads somebody else's. 0, or -1 with @err.
 */
int reports_write(const struct reports *r, const struct tally *t, const char *command,
		  const char *place, struct error *err);

/* ---- for the writers */

/** report_outcome() - "refused", "failed" or "allowed". */
const char *report_outcome(const struct tally_row *row);

/** report_target() - "host:port", or "(no valid target)"; in @out, which is returned. */
const char *report_target(const struct tally_row *row, char out[TARGET_TEXT_MAX]);

#define REPORT_BYTES_MAX 16

/** report_bytes() - "1.9 MB", powers of 1000; "-" for nothing. */
const char *report_bytes(uint64_t n, char out[REPORT_BYTES_MAX]);

/** report_escaped() - text for XML (also in attributes) and for Markdown's HTML. */
void report_escaped(const char *text, FILE *out);

/** report_quoted() - a JSON string with its quotes. */
void report_quoted(const char *text, FILE *out);

#endif
