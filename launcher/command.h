/*
 * command.h - the last process before the command: confines itself and becomes it
 */
#ifndef LAUNCHER_COMMAND_H
#define LAUNCHER_COMMAND_H

#include "launcher/init.h"

/**
 * command_run() - become the command; entered with every signal blocked, no capabilities and
 * no_new_privs
 *
 * Whatever fails is reported on the status pipe before the process ends.
 */
void command_run(const struct init *in) __attribute__((noreturn));

#endif
