/*
 * ttylead.h - what leads out of what somebody else has left unfinished on a terminal
 *
 * Whatever follows the beginning of a control string (ECMA-48: DCS, OSC, APC, PM, SOS) is part of it up
 * to its end, and is not shown. A command may leave one begun; lines of ours must be seen all the same.
 */
#ifndef BASE_TTYLEAD_H
#define BASE_TTYLEAD_H

#include <stdbool.h>

#define TTYLEAD_MAX 64 /* bytes, with the NUL */

/** ttylead_obeys() - whether TERM names a terminal that obeys control sequences. */
bool ttylead_obeys(void);

/**
 * ttylead() - to be written to @fd before a line of ours
 *
 * "" where @fd is no terminal. A terminal that TERM calls dumb, or that has no name, gets the end of a
 * string alone: whoever set TERM so need not have told the terminal. One that does not know that end
 * may show it, so a carriage return or a line end should follow.
 */
const char *ttylead(int fd);

#endif
