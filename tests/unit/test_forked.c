#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/forked.h"

static void on_signal(int sig)
{
	(void)sig;
	_exit(99);
}

static bool is(int sig, void (*handler)(int))
{
	struct sigaction sa;

	return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == handler;
}

static bool is_blocked(int sig)
{
	sigset_t set;

	return sigprocmask(SIG_SETMASK, NULL, &set) == 0 && sigismember(&set, sig) == 1;
}

/* As a supervisor is when it forks: all blocked, some handled, some ignored by its caller. */
static void spoil(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)signal(SIGTERM, on_signal);
	(void)signal(SIGUSR1, on_signal);
	(void)signal(SIGRTMIN, on_signal);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_IGN);
}

/* In a child: cmocka has descriptors and handlers of its own. */
static void in_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		spoil();
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int all_default(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && (sig < 32 || sig >= SIGRTMIN) &&
		    !is(sig, SIG_DFL))
			return sig;
	return 0;
}

static int defaults(void)
{
	forked_default_signals();
	return is_blocked(SIGTERM) && is_blocked(SIGRTMIN) ? all_default() : 98;
}

static int fresh(void)
{
	forked_fresh_signals();
	return is_blocked(SIGTERM) || is_blocked(SIGRTMIN) ? 98 : all_default();
}

static void test_default_signals_leaves_the_mask(void **state)
{
	(void)state;
	in_child(defaults);
}

static void test_fresh_signals_blocks_nothing(void **state)
{
	(void)state;
	in_child(fresh);
}

static int helper(void)
{
	static const int ignored[] = { SIGINT, SIGTERM };
	int kept = dup2(0, 700), closed = dup2(0, 701);

	(void)raise(SIGTERM); /* it waits, and must meet neither the old handler nor the default */
	if (forked_helper(&kept, 1, ignored, 2, NULL))
		return 1;
	if (fcntl(kept, F_GETFD) < 0 || fcntl(closed, F_GETFD) >= 0 || fcntl(2, F_GETFD) < 0)
		return 2;
	if (!is(SIGINT, SIG_IGN) || !is(SIGTERM, SIG_IGN) || !is(SIGUSR1, SIG_DFL) ||
	    !is(SIGPIPE, SIG_DFL) || !is(SIGCHLD, SIG_DFL))
		return 3;
	if (is_blocked(SIGTERM) || is_blocked(SIGCHLD))
		return 4;
	return prctl(PR_GET_DUMPABLE) == 0 ? 0 : 5;
}

static void test_helper_keeps_what_it_is_given(void **state)
{
	(void)state;
	in_child(helper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_signals_leaves_the_mask),
		cmocka_unit_test(test_fresh_signals_blocks_nothing),
		cmocka_unit_test(test_helper_keeps_what_it_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
