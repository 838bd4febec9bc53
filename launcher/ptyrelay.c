/*
 * Theory of operation
 *
 * The relay is a process of its own, because writing to a terminal may block for as long as the
 * user likes (Ctrl-S) and the supervisor must go on proxying; and a non-blocking mode would be
 * shared with the user's shell. (The shell's may be shared with us: ssh and others leave it behind.) It
 * copies both ways until the command's end of the pair is closed.
 * The master is ours alone, and does not block: a command that does not read what is typed, or pasted,
 * because nobody takes what it writes would wait for us otherwise, and we for it. What it does not take
 * yet is kept, and nothing more is read meanwhile.
 * It alone holds the master. Where the user's terminal is hung up (a closed window, a lost line) it lets
 * go of it, and that is a hang-up of the command's terminal: its session is told (SIGHUP), reading finds
 * the end, and who ignores both goes on. Nobody else would tell it: the kernel sends SIGHUP to the
 * session's leader alone, and su(1) blocks that.
 * The command leads a session, so that its kernel stops it by no key: no shell there could wake it. The
 * shell outside can, so the relay takes the key for that where the command is in front by itself and has
 * made no arrangements for the signal, and tells the supervisor.
 * It restores the terminal when it ends, and so does the supervisor: either may be killed.
 */
#include "launcher/ptyrelay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/forked.h"
#include "base/xalloc.h"
#include "launcher/column.h"
#include "launcher/ttyquiet.h"

#define CHUNK 4096 /* the size of a terminal's buffer in the kernel */

/*
 * Long enough for a program to see that the window is another. One that writes has seen it, as a
 * rule, and one that does not write on a busy machine may not have been running.
 */
#define LOWER_MS     250
#define LOWER_MAX_MS 2000

/*
 * What a command has written before it stopped, such as what takes its screen away again, takes a moment
 * to come through the kernel. Whoever waits for it to be shown does so for a time: to write may block.
 */
#define REST_MS	    20
#define REST_CHUNKS 256

/* Between tries: of an input that gives nothing, such as one in the background; of a full terminal. */
#define DEAF_MS 250
#define FULL_MS 100

/* For how long what is written is shown when the supervisor has been killed, and how often it is looked at. */
#define ORPHAN_MS 2000
#define TICK_MS	  100

/* @since: when the window was made lower, 0 if it is as high as it should; @drawn: written to since */
struct lower {
	uint64_t since;
	bool drawn;
};

/**
 * struct relay - the process
 * @master: of the command's terminal, non-blocking
 * @line: where the user's terminal stands
 * @typed, @given, @ntyped: what was typed, how much of it the command has taken, and how much there is
 * @asked: there may be answers of the user's terminal under way: the command has written ESC, ENQ or CSI
 * @deaf: the input gave nothing the last time
 */
struct relay {
	const struct pty *pty;
	int master;
	struct column line;
	struct lower lower;
	char typed[CHUNK];
	size_t given, ntyped;
	bool asked, deaf;
};

/* What the relay is told by signals: SIGWINCH, SIGUSR1, SIGUSR2; SIGURG ends a wait, no more. */
static volatile sig_atomic_t resized = 1, interrupted, covered;

/* For how many more signals of the timer it goes on without a supervisor; below 0: it has one. */
static volatile sig_atomic_t ticks = -1;
static pid_t supervisor;

/*
 * Where the supervisor has been killed, the command is, too, in a moment. What it has written is shown; but
 * a terminal that takes nothing, such as that of a lost line, keeps nobody here. The timer comes again and
 * again, lest a write(2) that begins behind one signal waits for ever. Called for SIGCONT, which the kernel
 * sends for this (PR_SET_PDEATHSIG): it wakes us where we were stopped for a question, too. The supervisor
 * sends it as well.
 */
static void look_for_supervisor(void)
{
	const struct itimerval tick = { .it_interval.tv_usec = TICK_MS * 1000,
					.it_value.tv_usec = TICK_MS * 1000 };

	if (ticks >= 0 || getppid() == supervisor)
		return;
	ticks = ORPHAN_MS / TICK_MS;
	(void)setitimer(ITIMER_REAL, &tick, NULL);
}

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		interrupted = 1;
	else if (sig == SIGUSR2)
		covered = 1;
	else if (sig == SIGWINCH)
		resized = 1;
	else if (sig == SIGCONT)
		look_for_supervisor();
	else if (sig == SIGALRM && ticks > 0)
		ticks--;
}

static void copy_size(int from, int to)
{
	struct winsize size;

	if (ioctl(from, TIOCGWINSZ, &size) == 0)
		(void)ioctl(to, TIOCSWINSZ, &size);
}

/* The user's terminal's line: the supervisor may have ended it since. */
static void note(struct relay *r, const char *p, size_t n)
{
	r->line.open = r->pty->page->open;
	column_feed(&r->line, p, n);
	r->pty->page->open = r->line.open;
}

/* Whether a process does nothing by itself about a signal. */
static bool has_default(pid_t pid, int sig)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/status", (int)pid);
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	unsigned long long mask, handled = 0;
	char line[256];
	int found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SigIgn: %llx", &mask) == 1 ||
		    sscanf(line, "SigCgt: %llx", &mask) == 1) {
			handled |= mask;
			found++;
		}
	}
	return found == 2 && !(handled >> (sig - 1) & 1);
}

/* Whether (@p, @n), which was typed, is to stop the whole run. */
static bool is_stop(int master, const char *p, size_t n)
{
	struct termios t;
	pid_t leader;

	return getpgrp() != getsid(0) && tcgetattr(master, &t) == 0 && t.c_lflag & ISIG &&
	       t.c_cc[VSUSP] != _POSIX_VDISABLE && memchr(p, t.c_cc[VSUSP], n) &&
	       ioctl(master, TIOCGSID, &leader) == 0 && tcgetpgrp(master) == leader &&
	       has_default(leader, SIGTSTP);
}

/* Gives the command what has been typed, as far as it takes it. */
static void hand_over(struct relay *r)
{
	ssize_t n = write(r->master, r->typed + r->given, r->ntyped - r->given);

	if (n > 0)
		r->given += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		r->given = r->ntyped; /* nobody is there to take it */
	if (r->given == r->ntyped)
		r->given = r->ntyped = 0;
}

/* What is typed, when all before it is the command's. What was typed with the key for a stop is lost. */
static void type_on(struct relay *r)
{
	ssize_t n = read(STDIN_FILENO, r->typed, sizeof(r->typed));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		r->deaf = true;
		return;
	}
	if (getppid() == supervisor && is_stop(r->master, r->typed, (size_t)n)) {
		r->pty->page->stop = true;
		r->deaf = kill(supervisor, SIGTSTP) < 0;
		return;
	}
	r->ntyped = (size_t)n;
	hand_over(r);
}

/* Waits for the terminal also where another program has made it non-blocking. Return: 0, or -1 with errno. */
static int show(const char *p, size_t n)
{
	while (n > 0) {
		struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
		ssize_t w = write(STDOUT_FILENO, p, n);

		if (w < 0 && ticks == 0)
			return -1;
		if (w < 0 && errno == EAGAIN)
			(void)poll(&out, 1, -1);
		else if (w < 0 && errno != EINTR)
			return -1;
		if (w > 0) {
			p += w;
			n -= (size_t)w;
		}
	}
	return 0;
}

/* Copies what the command has written. Return: false at the end, or when nobody is on the other side. */
static bool copy(struct relay *r)
{
	char buf[CHUNK];
	ssize_t n = read(r->master, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0)
		r->asked |= memchr(buf, 0x1b, (size_t)n) || memchr(buf, 0x05, (size_t)n) ||
			    memchr(buf, 0x9b, (size_t)n);
	if (n > 0)
		note(r, buf, (size_t)n); /* before: it may be read as soon as it is seen */
	return n > 0 && show(buf, (size_t)n) == 0;
}

/* As if typed: what it does is the command's terminal's to know. A full one is told by the kernel. */
static void type_interrupt(int master)
{
	struct termios t;

	if (tcgetattr(master, &t) == 0 && t.c_cc[VINTR] != _POSIX_VDISABLE &&
	    write(master, &t.c_cc[VINTR], 1) != 1 && t.c_lflag & ISIG)
		(void)ioctl(master, TIOCSIG, SIGINT);
}

/* Only what reads single keys may fill the screen; others need not see a size that is not so. */
static bool make_lower(int master)
{
	struct termios t;
	struct winsize size;

	if (tcgetattr(master, &t) < 0 || t.c_lflag & ICANON ||
	    ioctl(master, TIOCGWINSZ, &size) < 0 || size.ws_row < 2)
		return false;
	size.ws_row--;
	return ioctl(master, TIOCSWINSZ, &size) == 0;
}

/* How long it stays lower from now on; -1 if it is not. */
static int left(const struct lower *l)
{
	uint64_t due = l->since + (l->drawn ? LOWER_MS : LOWER_MAX_MS), now = clock_ms();

	if (!l->since)
		return -1;
	return due > now ? (int)(due - now) : 0;
}

/* What we were told of. */
static void obey(struct relay *r)
{
	struct lower *l = &r->lower;

	if (interrupted) {
		interrupted = 0;
		type_interrupt(r->master);
	}
	if (resized || left(l) == 0) {
		resized = 0;
		l->since = 0;
		copy_size(STDIN_FILENO, r->master);
	}
	if (covered) {
		covered = 0;
		*l = (struct lower){ .since = make_lower(r->master) ? clock_ms() : 0 };
	}
}

/* The nearer of two limits, of which -1 is none. */
static int sooner(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* Signals come in here only, so that none comes between a look at what it says and the wait. */
static int wait_for(struct pollfd *p, nfds_t n, int ms)
{
	const struct timespec limit = { .tv_sec = ms / 1000,
					.tv_nsec = (long)(ms % 1000) * 1000000 };
	sigset_t none;

	(void)sigemptyset(&none);
	return ppoll(p, n, ms < 0 ? NULL : &limit, &none);
}

/* Shows what has been written, once; what is typed waits until the supervisor wants it read again. */
static void rest(struct relay *r)
{
	struct pollfd p = { .fd = r->master, .events = POLLIN };

	for (int i = 0; i < REST_CHUNKS && poll(&p, 1, REST_MS) == 1 && p.revents & POLLIN; i++) {
		if (!copy(r))
			break;
	}
	r->pty->page->rested = true;
}

/* Does what is to be done for the two terminals. Return: false when that was all. */
static bool serve(struct relay *r, short master, short input)
{
	if (input & (POLLHUP | POLLERR | POLLNVAL))
		return false;
	if (r->ntyped)
		hand_over(r);
	/* No end: in the background it is an error to read, and a shell may have set its modes. */
	else if (input)
		type_on(r);
	/* What was written before the hang-up is read first; then read(2) says EIO. */
	if (master & ~POLLOUT && !copy(r))
		return false;
	r->lower.drawn |= (master & ~POLLOUT) != 0;
	return true;
}

static void relay_loop(struct relay *r)
{
	struct pollfd p[] = { { .fd = r->master }, { .fd = STDIN_FILENO } };

	while (ticks != 0) {
		const struct pty_page *page = r->pty->page;
		int ms = r->ntyped ? FULL_MS : r->deaf ? DEAF_MS : -1, n;

		obey(r);
		if (page->rest && !page->rested)
			rest(r);
		p[0].events = (short)(POLLIN | (r->ntyped ? POLLOUT : 0));
		p[1].events = r->deaf || r->ntyped || page->rest ? 0 : POLLIN;
		n = wait_for(p, ARRAY_SIZE(p), sooner(left(&r->lower), ms));
		r->deaf = r->deaf && n > 0;
		if (n <= 0)
			p[0].revents = p[1].revents = 0;
		if (!serve(r, p[0].revents, p[1].revents))
			return;
	}
}

/* Should: know the two terminals only. Mustn't: die of what the user types; that goes through. */
void ptyrelay_run(int sock, const struct pty *pty)
{
	static const int ignored[] = { SIGINT,	SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN,
				       SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2 };
	static const int told[] = { SIGWINCH, SIGUSR1, SIGUSR2, SIGURG };
	static const int at_once[] = { SIGCONT, SIGHUP, SIGALRM };
	const struct sigaction act = { .sa_handler = on_signal };
	struct relay r = { .pty = pty, .master = -1 };
	sigset_t blocked;
	size_t n = 0;
	char byte;

	supervisor = pty->supervisor;
	if (forked_helper(&sock, 1, ignored, ARRAY_SIZE(ignored), NULL))
		_exit(1);
	(void)sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		(void)sigaddset(&blocked, told[i]);
	(void)sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		(void)sigaction(told[i], &act, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(at_once); i++)
		(void)sigaction(at_once[i], &act, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	look_for_supervisor();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fd_recv(sock, &byte, 1, &r.master, 1, &n) == 1 && n == 1 &&
	    fcntl(r.master, F_SETFL, O_RDWR | O_NONBLOCK) == 0) {
		(void)close(sock);
		relay_loop(&r);
	}
	if (r.asked && ticks < 0 && tcdrain(STDOUT_FILENO) == 0 &&
	    tcgetpgrp(STDIN_FILENO) == getpgrp())
		ttyquiet_discard(STDIN_FILENO);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &pty->saved) < 0)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &pty->saved); /* EINTR: it takes nothing */
	_exit(0);
}
