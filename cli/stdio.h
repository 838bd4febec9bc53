/*
 * stdio.h - what the command may do with the standard descriptors that it inherits
 */
#ifndef CLI_STDIO_H
#define CLI_STDIO_H

#include <stdbool.h>

#include "base/error.h"

/**
 * stdio_check() - whether 0, 1 and 2 lead nowhere
 *
 * A socket keeps the network namespace that it was made in: one of the network can be led to any
 * address of the host's, a unix socket without a peer, or for datagrams, to any other of the host's.
 * They are refused, as is what is neither file, pipe nor device. Connected unix sockets are as good
 * as pipes. Return: 0, or -1 with @err.
 */
int stdio_check(struct error *err);

/**
 * stdio_restrict() - narrow 0, 1 and 2 before the command inherits them
 * @relayed: the command gets a terminal of its own, so ours is out of its reach
 *
 * A directory there would open the host's tree to relative paths, whatever is mounted over it
 * inside: it is refused, as is what stdio_check() refuses. A terminal that is not relayed is one of
 * another session to the command, so that reading from it stops nobody: as output it is opened anew for
 * writing only, and as input it becomes /dev/null while we are in the background. One that is another
 * user's, as after su, can be so only if it is our session's; otherwise it is refused as output.
 *
 * Return: 0, or -1 with @err.
 */
int stdio_restrict(bool relayed, struct error *err);

/**
 * stdio_terminal_of_others() - whether a terminal at 1 or 2 may be what other programs read
 *
 * That is one that is not at 0 as well, and we in its foreground: `run X &`, `echo | run X`. To be called
 * before stdio_restrict(), where the terminal is not relayed.
 */
bool stdio_terminal_of_others(void);

/**
 * stdio_put_back() - the flags of 0, 1 and 2 as stdio_restrict() has left them
 *
 * They are the caller's as well: what is not expected to be non-blocking loses what it writes.
 */
void stdio_put_back(void);

#endif
