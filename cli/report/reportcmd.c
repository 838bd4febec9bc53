/*
 * reportcmd.c - `sbx-net report [FORMAT] FILE`: a report from a saved audit log
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/report/report.h"
#include "cli/report/savedaudit.h"
#include "launcher/launcher.h"

static int usage(void)
{
	fprintf(stderr, "sbx-net: usage: sbx-net report [text|markdown|json|junit|sarif] FILE\n");
	return OPTIONS_EXIT_USAGE;
}

static int fail(const struct error *err)
{
	fprintf(stderr, "sbx-net: %s\n", err->msg);
	return LAUNCHER_EXIT_SETUP;
}

static int report(const char *format, const char *name)
{
	FILE *in = fopen(name, "re");
	struct tally *t;
	struct error err;
	long bad;

	if (!in) {
		(void)error_set(&err, errno, "cannot read '%s'", name);
		return fail(&err);
	}
	t = tally_new();
	bad = savedaudit_read(in, name, t, &err);
	(void)fclose(in);
	if (bad > 0)
		fprintf(stderr, "sbx-net: %s: %ld line%s no JSON object%s\n", name, bad,
			bad == 1 ? " is" : "s are", bad == 1 ? "" : "s");
	if (bad >= 0)
		report_write(format, t, "", name, stdout);
	tally_free(t);
	if (bad < 0)
		return fail(&err);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	perror("sbx-net: cannot write");
	return LAUNCHER_EXIT_SETUP;
}

int report_main(int argc, char **argv)
{
	const char *format = argc == 3 ? argv[1] : "text";
	struct error err;

	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		command_help(stdout, command_find("report"));
		return 0;
	}
	if (argc < 2 || argc > 3 || strchr(format, ':') || report_check(format, &err) < 0)
		return usage();
	return report(format, argv[argc - 1]);
}
