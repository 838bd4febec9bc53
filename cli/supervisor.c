/*
 * supervisor.c - the event loop over one confined command
 *
 * Theory of operation: the command is held by the launcher until everything that serves it stands
 * and its sandbox has been tried. supervisor_run() dispatches one loop with the proxy's events and
 * five sources of its own:
 *
 *   status   the launcher's pipe: the sandbox holds, and the command is released; then exec worked;
 *            or why not (the run ends with 125, 126 or 127)
 *   pidfd    pid 1 has ended, and with it everything in the namespace: the run is over
 *   signals  passed on to the command, whose terminal signals do not reach it (own session); one that
 *            comes again and is to end the run ends it, and so does one while it is stopped
 *   stopped  the command, at a terminal of its own, has stopped itself: so do we, for our shell
 *   timer    --timeout: SIGTERM, and SIGKILL after a grace period; the status is 124
 *
 * When the command has ended, bytes that it had sent may still be on their way through the proxy,
 * so the loop goes on until that has been passed on (drain.h). A signal ends the wait, as --timeout does.
 */
#include "cli/supervisor.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/forked.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/drain.h"
#include "cli/terminal.h"
#include "launcher/launcher.h"
#include "proxy/proxy.h"

#define GRACE_S	     2 /* between SIGTERM and SIGKILL of --timeout */
/*
 * A SIGTERM that comes again has not been obeyed (an interactive shell ignores it): the run is killed.
 * So it is for SIGHUP, if it comes again soon, since servers are made to read their settings by it.
 * SIGINT and SIGQUIT never do that: a Python kernel is interrupted, and a Java server shows its threads,
 * as often as one likes. What comes at once is one for the process and one for its group (timeout(1)),
 * or a service manager's SIGTERM with its SIGHUP.
 */
#define AGAIN_MIN_MS 500
#define AGAIN_HUP_MS (10 * 1000)

#define DRAIN_LATE_MS 1000 /* where --timeout has ended the run */

static const int forwarded[] = { SIGINT,  SIGTERM,  SIGQUIT, SIGUSR1,
				 SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP };

struct supervisor {
	const struct supervisor_config *cfg;
	struct error *err;
	struct event status, pidfd, timer, stopped;
	struct drain drain;
	struct event signal[ARRAY_SIZE(forwarded)];
	struct event hangup;
	int hangup_fd;
	uint64_t told_term, told_hup; /* when such a signal came first; 0: never */
	bool timed_out, proven, started, failed;
	int exit_code;
};

/* The last moment at which nothing of the command has run. */
static void let_go(struct supervisor *s)
{
	const struct supervisor_config *cfg = s->cfg;

	if (s->proven)
		return;
	s->proven = true;
	if (cfg->proven(cfg->arg, s->err) == 0 && launcher_release(cfg->launcher, s->err) == 0)
		return;
	s->failed = true;
	(void)event_base_loopbreak(cfg->base);
}

static void status_cb(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;

	(void)fd, (void)what;
	switch (launcher_status(s->cfg->launcher, &s->exit_code, s->err)) {
	case LAUNCHER_PENDING:
		return;
	case LAUNCHER_PROVEN:
		let_go(s);
		return;
	case LAUNCHER_RUNNING:
		s->started = true;
		break;
	case LAUNCHER_FAILED:
		s->failed = true;
		(void)event_base_loopbreak(s->cfg->base);
		break;
	}
	(void)event_del(&s->status);
}

static void say(const struct supervisor *s, const char *sentence)
{
	CLEANUP_FREE char *text = xasprintf("sbx-net: %s\n", sentence);

	if (!s->cfg->quiet)
		log_raw(text, strlen(text));
}

static void say_cut(const struct supervisor *s, size_t cut)
{
	char text[DRAIN_TEXT_MAX];

	if (cut)
		say(s, drain_text(cut, text));
}

static void drained_cb(void *arg, size_t cut)
{
	struct supervisor *s = arg;

	say_cut(s, cut);
	(void)event_base_loopbreak(s->cfg->base);
}

/* The command has ended, and what it had sent is still being waited for. Return: whether it was. */
static bool stop_draining(struct supervisor *s)
{
	if (!drain_is_on(&s->drain))
		return false;
	drained_cb(s, drain_stop(&s->drain));
	return true;
}

static void pidfd_cb(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;

	(void)fd, (void)what;
	/* The pipe may tell why it never ran only now, with the end of pid 1. */
	if (!s->started && !s->failed)
		status_cb(-1, 0, s);
	if (s->failed)
		return;
	(void)event_del(&s->pidfd);
	s->exit_code = launcher_wait(s->cfg->launcher);
	if (s->timed_out)
		s->exit_code = LAUNCHER_EXIT_TIMEOUT;
	drain_start(&s->drain, s->cfg->base, s->cfg->session, s->timed_out ? DRAIN_LATE_MS : 0,
		    drained_cb, s);
}

static void say_timeout(const struct supervisor *s)
{
	CLEANUP_FREE char *text =
		xasprintf("the run has ended after %u s (--timeout)", s->cfg->timeout);

	say(s, text);
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	struct timeval grace = { .tv_sec = GRACE_S };

	(void)fd, (void)what;
	if (stop_draining(s))
		return;
	if (s->timed_out) {
		launcher_kill(s->cfg->launcher);
		return;
	}
	s->timed_out = true;
	say_timeout(s);
	launcher_signal(s->cfg->launcher, SIGTERM);
	(void)event_add(&s->timer, &grace);
}

static void kill_run(const struct supervisor *s, int sig, const char *when)
{
	CLEANUP_FREE char *text = xasprintf("the run has been killed: SIG%s came %s",
					    sig == SIGHUP ? "HUP" : "TERM", when);

	launcher_kill(s->cfg->launcher);
	say(s, text);
}

/*
 * Without us no command runs on: nobody serves the proxy, nor shows its output. Nor could one stop by the
 * signal for it, with no shell in its session; and one that reads the terminal itself would take what is
 * typed to our shell. So all of it stops, whatever it thinks of SIGTSTP, and comes back, where it has the
 * terminal, in the foreground only. Where it is to end before that, it is not asked to do so by itself:
 * nothing of ours may touch the terminal meanwhile. Where it has not been stopped, we do not stop either:
 * so the shell does not take the terminal back, and nothing is typed to it yet. A command that stops by
 * itself has done so for its shell, which is ours; what else it has started goes on as without us.
 */
static void stop(struct supervisor *s, bool by_itself)
{
	bool freeze = terminal_stop_typed() || terminal_shared() || !by_itself;
	int sig;

	if (freeze && !launcher_freeze(s->cfg->launcher)) {
		launcher_thaw(s->cfg->launcher);
		say(s, "the run goes on: its processes could not be stopped");
		return;
	}
	asking_pause(s->cfg->asking);
	terminal_drain();
	terminal_pause();
	sig = terminal_stop(freeze || terminal_active()); /* our shell waits for us to stop, too */
	if (sig) {
		kill_run(s, sig, "while it was stopped");
	} else {
		terminal_resume();
		asking_resume(s->cfg->asking);
	}
	if (freeze)
		launcher_thaw(s->cfg->launcher);
	if (by_itself)
		launcher_signal(s->cfg->launcher, SIGCONT);
	(void)launcher_take_stops(s->cfg->launcher); /* what it thought of SIGTSTP is over by now */
}

static void stopped_cb(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	int any = launcher_take_stops(s->cfg->launcher);

	(void)fd, (void)what;
	if (any > 0)
		stop(s, true);
	else if (any < 0)
		(void)event_del(&s->stopped);
}

/* Whether @sig, which a process has sent, shall end what its like has not ended. */
static bool is_insisted(struct supervisor *s, int sig)
{
	uint64_t *told = sig == SIGHUP ? &s->told_hup : &s->told_term;
	uint64_t now = clock_ms(), since = now - *told;

	if (*told && since >= AGAIN_MIN_MS && (sig != SIGHUP || since <= AGAIN_HUP_MS))
		return true;
	if (!*told || since > AGAIN_HUP_MS)
		*told = now;
	return false;
}

static void pass_or_kill(struct supervisor *s, int sig)
{
	if (is_insisted(s, sig))
		kill_run(s, sig, "a second time");
	else
		launcher_signal(s->cfg->launcher, sig);
}

static void signal_cb(evutil_socket_t sig, short what, void *arg)
{
	struct supervisor *s = arg;

	(void)what;
	/* A terminal of the command's own tells it by itself, and not before it has the new size. */
	if (sig == SIGWINCH && terminal_active())
		return;
	if ((sig == SIGINT || sig == SIGTERM || sig == SIGQUIT) && stop_draining(s))
		return;
	if (sig == SIGTSTP)
		stop(s, false);
	else if (sig == SIGTERM)
		pass_or_kill(s, SIGTERM);
	else
		launcher_signal(s->cfg->launcher, (int)sig);
}

/*
 * One that the kernel sends says that the terminal is gone, which is said once more where a shell has
 * said so before: it is passed on and not counted.
 */
static void hangup_cb(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	struct signalfd_siginfo info;

	(void)what;
	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (stop_draining(s))
			return;
		if (info.ssi_code == SI_KERNEL)
			launcher_signal(s->cfg->launcher, SIGHUP);
		else
			pass_or_kill(s, SIGHUP);
	}
}

static int watch_hangup(struct supervisor *s, const sigset_t *ignored)
{
	sigset_t set;

	if (sigismember(ignored, SIGHUP) == 1)
		return 0;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGHUP);
	s->hangup_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->hangup_fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_set(s->err, errno, "cannot watch for signals");
	(void)event_assign(&s->hangup, s->cfg->base, s->hangup_fd, EV_READ | EV_PERSIST, hangup_cb,
			   s);
	if (event_add(&s->hangup, NULL) < 0)
		return error_set(s->err, errno, "cannot watch for signals");
	return 0;
}

/* What is not watched is never heard of: the run would not end, or a signal would end us alone. */
static int watch(struct supervisor *s)
{
	const struct supervisor_config *cfg = s->cfg;
	struct timeval timeout = { .tv_sec = (time_t)cfg->timeout };
	sigset_t ignored;

	forked_ignored(&ignored);
	(void)event_assign(&s->status, cfg->base, launcher_status_fd(cfg->launcher),
			   EV_READ | EV_PERSIST, status_cb, s);
	(void)event_assign(&s->pidfd, cfg->base, launcher_pidfd(cfg->launcher),
			   EV_READ | EV_PERSIST, pidfd_cb, s);
	(void)event_assign(&s->stopped, cfg->base, launcher_stopped_fd(cfg->launcher),
			   EV_READ | EV_PERSIST, stopped_cb, s);
	(void)event_assign(&s->timer, cfg->base, -1, 0, timer_cb, s);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		(void)evsignal_assign(&s->signal[i], cfg->base, forwarded[i], signal_cb, s);
	if (event_add(&s->status, NULL) < 0 || event_add(&s->pidfd, NULL) < 0 ||
	    event_add(&s->stopped, NULL) < 0 ||
	    (cfg->timeout && event_add(&s->timer, &timeout) < 0))
		return error_set(s->err, errno, "cannot watch the sandbox");
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		if (sigismember(&ignored, forwarded[i]) != 1 && event_add(&s->signal[i], NULL) < 0)
			return error_set(s->err, errno, "cannot watch for signals");
	return watch_hangup(s, &ignored);
}

static void unwatch(struct supervisor *s)
{
	(void)event_del(&s->status);
	(void)event_del(&s->pidfd);
	(void)event_del(&s->timer);
	(void)drain_stop(&s->drain);
	(void)event_del(&s->stopped);
	if (event_initialized(&s->hangup))
		(void)event_del(&s->hangup);
	if (s->hangup_fd >= 0)
		(void)close(s->hangup_fd);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		(void)event_del(&s->signal[i]);
}

int supervisor_run(const struct supervisor_config *cfg, struct error *err)
{
	struct supervisor s = {
		.cfg = cfg, .err = err, .exit_code = LAUNCHER_EXIT_SETUP, .hangup_fd = -1
	};

	if (watch(&s) < 0) {
		s.failed = true;
	} else if (event_base_dispatch(cfg->base) < 0) {
		s.failed = true;
		(void)error_set(err, 0, "the event loop failed");
	}
	unwatch(&s);
	return s.exit_code;
}
