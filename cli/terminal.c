#include "cli/terminal.h"

#include <stddef.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/pty.h"
#include "launcher/ttykeep.h"

static struct pty pty;
static bool active;
static pid_t keeper; /* of a terminal that is not relayed */
static bool held;    /* standard input is a terminal, which is not relayed */
static bool shared;  /* standard error is a terminal, too: the one that is relayed */

int terminal_start(const struct pty **out, struct error *err)
{
	*out = NULL;
	held = !pty_wanted() && isatty(STDIN_FILENO);
	if (!pty_wanted())
		return 0;
	if (pty_start(&pty, err) < 0)
		return -1;
	active = true;
	shared = isatty(STDERR_FILENO);
	log_set_crlf(shared);
	log_set_line(shared ? pty.open : NULL);
	*out = &pty;
	return 0;
}

void terminal_started(void)
{
	if (active)
		pty_started(&pty);
}

int terminal_keep(int pidfd, struct error *err)
{
	if (active)
		return 0;
	keeper = ttykeep_start(pidfd, err);
	return keeper < 0 ? -1 : 0;
}

bool terminal_active(void)
{
	return active;
}

bool terminal_shared(void)
{
	return held;
}

bool terminal_foreground(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	return group < 0 || group == getpgrp();
}

void terminal_pause(void)
{
	if (!active)
		return;
	pty_pause(&pty);
	*pty.open = false; /* a question begins with a line end, and leaves none unfinished */
	log_set_crlf(false);
}

void terminal_resume(void)
{
	if (!active)
		return;
	log_set_crlf(shared);
	pty_resume(&pty);
}

void terminal_interrupt(void)
{
	if (active)
		pty_interrupt(&pty);
}

void terminal_finish(void)
{
	ttykeep_finish(keeper);
	keeper = 0;
	if (!active)
		return;
	active = false;
	pty_finish(&pty);
	log_set_crlf(false);
}
