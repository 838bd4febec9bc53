#include "base/ttylead.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Twice: within a string tmux takes an ESC together with the byte behind it, and one may be last there. */
#define END "\033\\\033\\"

/*
 * The modes in which output goes elsewhere, or is read in other ways: VT52, a printer (MC), the status
 * line (DECSASD), another page (DECPCCM).
 */
#define HERE END "\033<\033[4i\033[0$}\033[?64h"

static_assert(sizeof(HERE) <= TTYLEAD_MAX, "the longer of the two has room");

bool ttylead_obeys(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0;
}

const char *ttylead(int fd)
{
	if (!isatty(fd))
		return "";
	return ttylead_obeys() ? HERE : END;
}
