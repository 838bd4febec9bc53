/*
 * commands.c - the table of commands: dispatch, help, and the words for what was mistyped
 */
#include "cli/commands.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/shellword.h"
#include "cli/completions.h"
#include "cli/statedir.h"
#include "launcher/files/grantpath.h"
#include "launcher/launcher.h"

#define WORD_SHOWN 128 /* how much of a mistyped word a message repeats */

const struct command command_table[] = {
	{ "run", FOR_RUN, "[OPTION]... [--] COMMAND [ARG]...",
	  "run COMMAND confined; its exit status is ours", run_main },
	{ "serve", FOR_SERVE, "[OPTION]...",
	  "a proxy for other sandboxes: proxy.sock and control.sock", serve_main },
	{ "bridge", FOR_BRIDGE, "--socket PATH [OPTION]... [--] COMMAND [ARG]...",
	  "inside somebody else's empty network namespace: join it to a proxy", bridge_main },
	{ "why", FOR_WHY, "[OPTION]... HOST[:PORT]",
	  "the verdict for a host, and the rule, file and line behind it", why_main },
	{ "check", FOR_CHECK, "[OPTION]... [FILE]...",
	  "lint the policy: 0 clean, 1 warnings with --strict, 2 errors", check_main },
	{ "approvals", FOR_APPROVALS, "[--follow] [--session ID]",
	  "answer the questions of runs from another terminal", approvals_main },
	{ "top", FOR_TOP, "[--once] [--json] [--socket PATH]",
	  "live sessions: connections, bytes a second, what was refused", top_main },
	{ "grants", FOR_GRANTS, "list | revoke PATTERN|--all",
	  "what was answered for later runs, and how to take it back", grants_main },
	{ "audit", FOR_AUDIT, "verify [--last HASH] FILE",
	  "whether the hash chain of an audit log holds (--audit-chain)", audit_main },
	{ "policy", 0, "diff FILE FILE", "what one settings file says and another does not",
	  policy_main },
	{ "report", 0, "[text|markdown|json|junit|sarif] FILE",
	  "what a run reached and was refused, from its audit log", report_main },
	{ "import", 0, "claude|srt|codex FILE",
	  "print another program's policy file as a settings file of ours", import_main },
	{ "env", FOR_ENV, "[OPTION]...", "the variables that the command would get", env_main },
	{ "doctor", FOR_DOCTOR, "[--json]",
	  "what a sandbox needs of this host, what is missing, and the remedy", doctor_main },
	{ "connect", 0, "HOST PORT",
	  "inside a run: stdin and stdout to HOST:PORT (ssh ProxyCommand)", connect_main },
};
const size_t command_count = ARRAY_SIZE(command_table);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(command_table[i].name, name) == 0)
			return &command_table[i];
	return NULL;
}

void command_help(FILE *out, const struct command *c)
{
	fprintf(out, "Usage: sbx-net %s %s\n%s\n", c->name, c->synopsis, c->help);
	options_print(out, c->bit);
}

void commands_help(FILE *out)
{
	fprintf(out, "Usage: sbx-net COMMAND ...\n"
		     "Per-host egress for a sandboxed command.\n\nCommands:\n");
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, "  %-12s%s\n", command_table[i].name, command_table[i].help);
	fprintf(out, "  %-12s%s\n\n%s", "help", "what a command does and its options",
		"sbx-net help COMMAND, sbx-net --version\n");
}

/* What was printed must have arrived: a script may be reading it. */
static int finish(FILE *out)
{
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	perror("sbx-net: cannot write");
	return LAUNCHER_EXIT_SETUP;
}

static int usage(const struct error *err)
{
	fprintf(stderr, "sbx-net: %s\n", err->msg);
	return OPTIONS_EXIT_USAGE;
}

int command_options(struct run_options *o, const char *name, int argc, char **argv)
{
	const struct command *c = command_find(name);
	struct error err;

	if (!c)
		return LAUNCHER_EXIT_SETUP; /* not in the table: our bug, and nothing is run */
	switch (options_parse(o, c->bit, argc, argv, &err)) {
	case OPTIONS_OK:
		return -1;
	case OPTIONS_HELP:
		command_help(stdout, c);
		return finish(stdout);
	case OPTIONS_USAGE:
		break;
	}
	return usage(&err);
}

int command_plain(const char *name, int (*run)(const struct run_options *o), int argc, char **argv)
{
	struct run_options o;
	int status;

	run_options_init(&o);
	status = command_options(&o, name, argc, argv);
	if (status < 0)
		status = run(&o);
	run_options_clear(&o);
	return status;
}

/* A first word that is no command: a mistyped one, an option, or a program to be run. */
static int unknown_command(const char *word)
{
	const char *names[18] = { "help" };
	char shown[WORD_SHOWN], typed[WORD_SHOWN];
	struct error err;
	size_t near;

	static_assert(ARRAY_SIZE(command_table) < ARRAY_SIZE(names), "room for every command");
	for (size_t i = 0; i < command_count; i++)
		names[i + 1] = command_table[i].name;
	log_escape(shown, sizeof(shown), word, strlen(word));
	(void)shellword(typed, sizeof(typed), word);
	near = nearest_word(word, names, ARRAY_SIZE(names));
	if (near < ARRAY_SIZE(names))
		error_set(&err, 0, "unknown command '%s'; did you mean 'sbx-net %s'?", shown,
			  names[near]);
	else if (word[0] == '-')
		error_set(&err, 0, "'%s' comes behind a command: sbx-net run %s ...", shown, typed);
	else
		error_set(&err, 0, "unknown command '%s'; to run it confined: sbx-net run -- %s",
			  shown, typed);
	return usage(&err);
}

static int help_main(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		commands_help(stdout);
		return finish(stdout);
	}
	c = command_find(argv[1]);
	if (!c && strcmp(argv[1], "help") == 0) {
		commands_help(stdout);
		return finish(stdout);
	}
	if (!c)
		return unknown_command(argv[1]);
	command_help(stdout, c);
	return finish(stdout);
}

/* For the build: contrib/completions are made by the program they complete. */
static int completions_main(int argc, char **argv)
{
	struct error err;

	if (argc < 2 || completions_print(stdout, argv[1])) {
		error_set(&err, 0, "--completions needs bash, zsh or fish");
		return usage(&err);
	}
	return finish(stdout);
}

static bool wants_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Files of ours are opened by the same judgement of links as grants. */
static bool trusts_links(int dir)
{
	return grantpath_trusts(dir, statedir_home());
}

int commands_main(int argc, char **argv)
{
	const struct command *c;
	struct error err;

	guard_judge_by(trusts_links);
	if (argc < 2) {
		error_set(&err, 0,
			  "no command; try: sbx-net run --allow example.com -- "
			  "curl https://example.com, or sbx-net --help");
		return usage(&err);
	}
	argc--;
	argv++;
	c = command_find(argv[0]);
	if (c && argc == 2 && wants_help(argv[1])) {
		command_help(stdout, c);
		return finish(stdout);
	}
	if (c)
		return c->main(argc, argv);
	if (strcmp(argv[0], "help") == 0 || wants_help(argv[0]))
		return help_main(argc, argv);
	if (strcmp(argv[0], "--completions") == 0)
		return completions_main(argc, argv);
	if (strcmp(argv[0], "--version") != 0 && strcmp(argv[0], "-V") != 0 &&
	    strcmp(argv[0], "version") != 0)
		return unknown_command(argv[0]);
	printf("sbx-net %s\n", SBX_VERSION);
	return finish(stdout);
}
