/*
 * terminal.h - the terminal that we were started on, of which a process has one
 *
 * An interactive command gets a terminal of its own (launcher/pty.h); ours is in raw mode then,
 * and a question on it needs terminal_pause() before and terminal_resume() after.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct pty;

/**
 * terminal_start() - if the command is to be interactive, raw mode and the relay
 * @out: for the launcher's plan; NULL if the command keeps what it was given
 *
 * Return: 0, or -1 with @err and the terminal untouched.
 */
int terminal_start(const struct pty **out, struct error *err);

/** terminal_started() - launcher_start() has returned, whatever came of it. */
void terminal_started(void);

/**
 * terminal_keep() - have a terminal that is not relayed put back when the run is over (ttykeep.h)
 * @pidfd: of pid 1
 * @modes: the command can set its modes
 *
 * Return: 0, or -1 with @err.
 */
int terminal_keep(int pidfd, bool modes, struct error *err);

/** terminal_active() - whether the command has a terminal of its own. */
bool terminal_active(void);

/**
 * terminal_shared() - whether the command reads the caller's terminal itself
 *
 * Not being of its session, it is not held back from that when somebody else is in the foreground.
 */
bool terminal_shared(void);

/** terminal_stop_typed() - whether the key for it was typed to the command since the last call. */
bool terminal_stop_typed(void);

/**
 * terminal_stop() - stop, as the key for it asks
 * @until_front: what wakes us in the background stops us again
 *
 * But for SIGTERM and SIGHUP: `kill %1` sends one before it lets a job go on, and so does a shell that
 * ends. The caller's handlers hear of them when this returns. Who leads the session does not stop: no
 * shell would wake it.
 *
 * Return: 0, or which of them came where we are still in the background. The terminal is a shell's then:
 * to set its modes would stop us once more.
 */
int terminal_stop(bool until_front);

/** terminal_relay() - the process that relays the terminal; 0 if it is not relayed. */
pid_t terminal_relay(void);

/** terminal_drain() - before terminal_pause(): show what a command that has stopped had written. */
void terminal_drain(void);

/** terminal_pause() - the user's terminal as it was, for a question; nothing is relayed. */
void terminal_pause(void);

/** terminal_resume() - relay again; what fills the screen is made to draw it anew. */
void terminal_resume(void);

/** terminal_interrupt() - when it is relayed again, the command's terminal gets its interrupt key. */
void terminal_interrupt(void);

/** terminal_finish() - pid 1 is gone: show what is left, restore the terminal. May be repeated. */
void terminal_finish(void);

#endif
