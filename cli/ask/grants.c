/*
 * grants.c - `sbx-net grants list` and `sbx-net grants revoke`: answers that outlive a run
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/ask/memory.h"
#include "launcher/launcher.h"

#define EXIT_NONE 1 /* nothing was there to revoke */

static int usage(void)
{
	fprintf(stderr, "sbx-net: usage: sbx-net grants list, sbx-net grants revoke PATTERN..., "
			"sbx-net grants revoke --all\n");
	return OPTIONS_EXIT_USAGE;
}

static int fail(const struct error *err)
{
	fprintf(stderr, "sbx-net: %s\n", err->msg);
	return LAUNCHER_EXIT_SETUP;
}

static const char *day(int64_t when, char out[32])
{
	time_t t = (time_t)when;
	struct tm tm;

	if (!localtime_r(&t, &tm) || strftime(out, 32, "%Y-%m-%d %H:%M", &tm) == 0)
		(void)snprintf(out, 32, "?");
	return out;
}

static bool print_one(void *arg, const struct grant *g)
{
	char when[32], until[32], project[GRANT_PROJECT_MAX];
	unsigned *n = arg;

	if (grant_is_over(g, memory_now()))
		return false;
	(*n)++;
	printf("%-5s %s  answered %s by %s", g->allow ? "allow" : "deny", g->pattern,
	       day(g->when, when), g->by);
	if (g->until)
		printf(", until %s", day(g->until, until));
	if (g->scope == GRANT_PROJECT)
		printf(", in %s",
		       log_escape(project, sizeof(project), g->project, strlen(g->project)));
	printf("\n");
	return false;
}

static int list(void)
{
	struct error err;
	unsigned n = 0;

	if (memory_each(print_one, &n, &err) < 0)
		return fail(&err);
	if (n == 0)
		printf("nothing is remembered\n");
	return fflush(stdout) == 0 ? 0 : LAUNCHER_EXIT_SETUP;
}

/* As in a rule, a name without a port means every port of it. */
static bool is_pattern(const char *name, const char *pattern)
{
	size_t len = strlen(name);

	if (len == 0 || strncmp(name, pattern, len) != 0)
		return false;
	return !pattern[len] ||
	       (pattern[len] == ':' && (name[len - 1] == ']' || !strchr(name, ':')));
}

/* argv of PATTERNs; none is all. */
static bool is_named(void *arg, const struct grant *g)
{
	char **names = arg;

	if (!*names)
		return true;
	for (; *names; names++)
		if (is_pattern(*names, g->pattern))
			return true;
	return false;
}

static int forget(char **names)
{
	struct error err;
	long n = memory_forget(is_named, names, &err);

	if (n < 0)
		return fail(&err);
	if (n == 0) {
		fprintf(stderr,
			"sbx-net: nothing revoked: no answer is remembered%s; 'sbx-net grants "
			"list' "
			"shows what is\n",
			*names ? " for that" : "");
		return EXIT_NONE;
	}
	printf("%ld answer%s revoked\n", n, n == 1 ? "" : "s");
	return 0;
}

static int grants(const struct run_options *o)
{
	char **word = o->command;

	if (o->ncommand == 1 && !o->all && strcmp(word[0], "list") == 0)
		return list();
	/* Patterns, or all: not neither, and not both. */
	if (o->ncommand < 1 || strcmp(word[0], "revoke") != 0 || (o->ncommand == 1) != o->all)
		return usage();
	return forget(word + 1);
}

int grants_main(int argc, char **argv)
{
	return command_plain("grants", grants, argc, argv);
}
