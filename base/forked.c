#include "base/forked.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/closefds.h"

void forked_default_signals(void)
{
	const struct sigaction sa = { .sa_handler = SIG_DFL };

	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &sa, NULL); /* two are libc's, and two nobody's */
}

void forked_limits_are_errors(void)
{
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGXCPU, SIG_IGN);
}

void forked_ignored(sigset_t *out)
{
	static const int kept[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2 };
	struct sigaction sa;

	(void)sigemptyset(out);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (sigaction(kept[i], NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			(void)sigaddset(out, kept[i]);
}

void forked_ignore(const sigset_t *ignored)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(ignored, sig) == 1)
			(void)signal(sig, SIG_IGN);
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
pid_t forked_with_socket(int *sock, struct error *err)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "cannot make a socket pair");
	pid = fork();
	if (pid < 0)
		(void)error_set(err, errno, "cannot fork");
	(void)close(pair[pid == 0 ? 0 : 1]);
	if (pid < 0)
		(void)close(pair[0]);
	else
		*sock = pair[pid == 0 ? 1 : 0];
	return pid;
}

int forked_helper(const int *keep, size_t n, const int *ignored, size_t nignored, struct error *err)
{
	if (closefds_except(keep, n, err))
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot stop being dumpable");
	forked_default_signals();
	forked_limits_are_errors();
	for (size_t i = 0; i < nignored; i++)
		(void)signal(ignored[i], SIG_IGN);
	unblock();
	return 0;
}
