#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/ttyfirst.h"
#include "launcher/pty.h"
#include "launcher/ttykeep.h"
#include "launcher/ttyquiet.h"

static struct pty pty;
static bool active;
static pid_t keeper; /* of a terminal that is not relayed */
static bool held;    /* standard input is a terminal, which is not relayed */
static bool shared;  /* standard error is a terminal, too: the one that is relayed */

int terminal_start(const struct pty **out, struct error *err)
{
	struct termios modes;

	*out = NULL;
	held = !pty_wanted() && isatty(STDIN_FILENO);
	if (!pty_wanted())
		return 0;
	if (tcgetattr(STDIN_FILENO, &modes) < 0)
		return error_set(err, errno, "cannot read the terminal's settings");
	ttyfirst_begin(STDIN_FILENO, &modes);
	if (pty_start(&pty, &modes, err) < 0)
		return -1;
	active = true;
	shared = isatty(STDERR_FILENO);
	log_set_crlf(shared);
	log_set_line(shared ? &pty.page->open : NULL);
	*out = &pty;
	return 0;
}

void terminal_started(void)
{
	if (active)
		pty_started(&pty);
}

int terminal_keep(int pidfd, bool modes, struct error *err)
{
	if (active)
		return 0;
	keeper = ttykeep_start(pidfd, modes, err);
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

bool terminal_stop_typed(void)
{
	bool typed = active && pty.page->stop;

	if (typed)
		pty.page->stop = false;
	return typed;
}

/* Or nobody can tell. */
static bool in_foreground(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	return group < 0 || group == getpgrp();
}

/*
 * A process group whose members have no parent in another group of their session, as one that leads the
 * session, has no shell to wake it (below ssh -t, in a container): the kernel stops none by the key.
 */
static bool is_orphaned(void)
{
	return getpgrp() == getsid(0);
}

int terminal_stop(bool until_front)
{
	static const int ends[] = { SIGTERM, SIGHUP };
	sigset_t set, was, came;
	int sig = 0;

	if (is_orphaned())
		return 0;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		(void)sigaddset(&set, ends[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &was);
	if ((held || active) && in_foreground())
		ttyquiet_discard(
			STDIN_FILENO); /* what the terminal has answered is not for the shell */
	do {
		(void)raise(SIGSTOP);
		(void)sigemptyset(&came);
		(void)sigpending(&came);
		for (size_t i = 0; sig == 0 && i < ARRAY_SIZE(ends); i++)
			if (sigismember(&came, ends[i]) == 1)
				sig = ends[i];
	} while (until_front && sig == 0 && !in_foreground());
	(void)sigprocmask(SIG_SETMASK, &was, NULL);
	return in_foreground() ? 0 : sig;
}

pid_t terminal_relay(void)
{
	return active ? pty.relay : 0;
}

void terminal_drain(void)
{
	if (active)
		pty_drain(&pty);
}

void terminal_pause(void)
{
	if (!active)
		return;
	pty_pause(&pty);
	pty.page->open = false; /* a question begins with a line end, and leaves none unfinished */
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
