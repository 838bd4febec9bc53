/*
 * ptyrelay.h - the process that copies between the user's terminal and the command's
 */
#ifndef LAUNCHER_PTYRELAY_H
#define LAUNCHER_PTYRELAY_H

#include "launcher/pty.h"

/**
 * ptyrelay_run() - be that process, from fork(2) on
 * @sock: where the master of the command's terminal comes from (pty_make())
 *
 * It is told by signals: SIGWINCH (another size), SIGUSR1 (type the interrupt key), SIGUSR2 (what the
 * command had drawn has been covered), SIGURG (look at what the page says).
 */
void ptyrelay_run(int sock, const struct pty *pty) __attribute__((noreturn));

#endif
