/*
 * ttyfirst.h - the modes that a terminal had before the first of several runs relayed it
 *
 * Two runs of one process group may relay the same terminal at a time (xargs -o -P 2, make -j 2): the
 * second finds it in the raw mode of the first, and would leave it so.
 */
#ifndef CLI_TTYFIRST_H
#define CLI_TTYFIRST_H

#include <termios.h>

/**
 * ttyfirst_begin() - this run relays a terminal from now on, until it ends
 * @tty: a descriptor of it
 * @modes: as they are; become those that the first such run of our process group has found
 *
 * While files may be opened. Without the directory of control.h they stay as they are.
 */
void ttyfirst_begin(int tty, struct termios *modes);

#endif
