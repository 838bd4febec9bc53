#include "base/forked.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/closefds.h"

void forked_default_signals(void)
{
	const struct sigaction sa = { .sa_handler = SIG_DFL };

	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &sa, NULL); /* two are libc's, and two nobody's */
}

static void unblock(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void forked_fresh_signals(void)
{
	forked_default_signals();
	unblock();
}

/* What was sent while it was blocked must find the last word about it. */
int forked_helper(const int *keep, size_t n, const int *ignored, size_t nignored, struct error *err)
{
	if (closefds_except(keep, n, err))
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot stop being dumpable");
	forked_default_signals();
	for (size_t i = 0; i < nignored; i++)
		(void)signal(ignored[i], SIG_IGN);
	unblock();
	return 0;
}
