/*
 * pty.h - a terminal of the command's own, relayed to the user's
 *
 * The command has a session of its own, so the user's terminal cannot be its controlling terminal;
 * without one there is no job control, no /dev/tty and no window size. So an interactive command
 * gets a pseudo-terminal, and a small process copies between the two. When the user's is hung up,
 * the command's is.
 */
#ifndef LAUNCHER_PTY_H
#define LAUNCHER_PTY_H

#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"

/**
 * struct pty_page - what the relay and the supervisor tell each other; each field has one writer at a time
 * @open: whether what the command has written ends in an unfinished line: the relay keeps it, and whoever
 *        ends that line clears it. Stays readable for the life of the process
 * @stop: set by the relay before it sends SIGTSTP to its parent: the key for it was typed to a command
 *        that would be stopped by it, if a shell could wake it; whoever heeds it clears it
 * @rest: the supervisor wants what is written to be shown, and nothing typed to be read, until it clears it
 * @rested: the relay has done so
 */
struct pty_page {
	volatile bool open, stop, rest, rested;
};

/**
 * struct pty - the command's terminal and the process that relays it
 * @sock: to the relay, for the master that pid 1 makes; -1 after pty_started()
 * @supervisor: whose child the relay is
 * @relay: the process; 0 if there is none
 * @saved: the user's terminal as it was, and as the command's shall begin
 * @size: its window
 */
struct pty {
	int sock;
	pid_t supervisor, relay;
	struct termios saved;
	struct winsize size;
	struct pty_page *page;
};

/** pty_wanted() - whether 0 and 1 are a terminal whose foreground we are. */
bool pty_wanted(void);

/**
 * pty_start() - put the user's terminal into raw mode and fork the relay
 * @was: its modes, which it gets back at the end, and with which the command's begins
 *
 * Return: 0; -1 with @err, the user's terminal untouched.
 */
int pty_start(struct pty *out, const struct termios *was, struct error *err);

/**
 * pty_make() - make the pair, in the command's own /dev/pts, and send the master to the relay
 * @slave: the command's end (CLOEXEC), which the caller owns
 *
 * Called by pid 1 once its mounts stand. Return: 0, or -1 with @err.
 */
int pty_make(const struct pty *p, int *slave, struct error *err);

/** pty_started() - launcher_start() has returned: nobody will send another master. */
void pty_started(struct pty *p);

/** pty_drain() - before pty_pause(): have shown what the command, which has stopped, had written. */
void pty_drain(const struct pty *p);

/** pty_pause() - give the user's terminal back for a question; nothing is relayed meanwhile. */
void pty_pause(struct pty *p);

/**
 * pty_resume() - relay again
 *
 * Where single keys are read, so that the screen may be filled, the command's terminal is a row
 * lower for a moment: programs draw anew what a question has covered only when the size changes.
 */
void pty_resume(const struct pty *p);

/** pty_interrupt() - type the interrupt key of the command's terminal there, once relayed again. */
void pty_interrupt(const struct pty *p);

/**
 * pty_finish() - wait until all output has been relayed, and restore the user's terminal
 *
 * To be called when pid 1 has been reaped: nobody has the slave open then.
 */
void pty_finish(struct pty *p);

#endif
