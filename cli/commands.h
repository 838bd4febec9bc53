/*
 * commands.h - the commands of sbx-net, one table of them
 *
 * Each is a main function of its own: argv[0] is the command's name, the return value is the exit
 * status.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stddef.h>
#include <stdio.h>

#include "cli/options.h"

/** run_main() - `sbx-net run`: run a command confined; its exit status is ours. */
int run_main(int argc, char **argv);

/** connect_main() - `sbx-net connect HOST PORT`: stdin and stdout to a target, inside a run. */
int connect_main(int argc, char **argv);

/** serve_main() - `sbx-net serve`: a proxy for sandboxes that others have made. */
int serve_main(int argc, char **argv);

/** bridge_main() - `sbx-net bridge`: join somebody else's empty namespace to a proxy. */
int bridge_main(int argc, char **argv);

/** why_main() - `sbx-net why HOST[:PORT]`: the verdict, the rule, the file and line. */
int why_main(int argc, char **argv);

/** check_main() - `sbx-net check [FILE]...`: load and lint the policy. */
int check_main(int argc, char **argv);

/** approvals_main() - `sbx-net approvals`: answer the questions of runs. */
int approvals_main(int argc, char **argv);

/** top_main() - `sbx-net top`: what the live sessions do. */
int top_main(int argc, char **argv);

/** grants_main() - `sbx-net grants list|revoke`: what was answered for later runs. */
int grants_main(int argc, char **argv);

/** audit_main() - `sbx-net audit verify FILE`: whether the hash chain of an audit log holds. */
int audit_main(int argc, char **argv);

/** policy_main() - `sbx-net policy diff A B`: what one settings file says and another does not. */
int policy_main(int argc, char **argv);

/** report_main() - `sbx-net report [FORMAT] FILE`: a report from a saved audit log. */
int report_main(int argc, char **argv);

/** import_main() - `sbx-net import claude|srt|codex FILE`: its policy as our settings file. */
int import_main(int argc, char **argv);

/** env_main() - `sbx-net env`: the variables that the command would get. */
int env_main(int argc, char **argv);

/** doctor_main() - `sbx-net doctor`: what this host lets a sandbox be made of, and the remedies. */
int doctor_main(int argc, char **argv);

/**
 * struct command - one command
 * @name: how it is typed
 * @bit: its bit in enum option_commands; 0 when it takes no options of the table
 * @synopsis: what may follow the name
 * @help: one sentence without a final stop
 * @main: does it
 */
struct command {
	const char *name;
	unsigned bit;
	const char *synopsis;
	const char *help;
	int (*main)(int argc, char **argv);
};

extern const struct command command_table[];
extern const size_t command_count;

/** command_find() - the command of that name, or NULL. */
const struct command *command_find(const char *name);

/**
 * command_options() - parse the options of a command, and answer --help and mistakes
 * @o: initialised; the caller clears it in any case
 * @name: the command's name as in the table
 *
 * Return: -1 to go on; otherwise the exit status, everything having been said.
 */
int command_options(struct run_options *o, const char *name, int argc, char **argv);

/**
 * command_plain() - the whole of a command that only reads its options
 * @run: what it does; its exit status
 * Return: the exit status.
 */
int command_plain(const char *name, int (*run)(const struct run_options *o), int argc, char **argv);

/** command_help() - `help COMMAND`: usage, sentence and options. */
void command_help(FILE *out, const struct command *c);

/** commands_help() - `--help`: usage and the list of commands. */
void commands_help(FILE *out);

/**
 * commands_main() - what the first word asks for
 *
 * Return: the exit status of the process.
 */
int commands_main(int argc, char **argv);

#endif
