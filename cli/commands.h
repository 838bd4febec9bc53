/*
 * commands.h - the commands of sbx-net
 *
 * Each is a main function of its own: argv[0] is the command's name, the return value is the exit
 * status.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

/** run_main() - `sbx-net run`: run a command confined; its exit status is ours. */
int run_main(int argc, char **argv);

#endif
