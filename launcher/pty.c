/*
 * Theory of operation
 *
 * The relay is a process of its own, because writing to a terminal may block for as long as the
 * user likes (Ctrl-S) and the supervisor must go on proxying; and a non-blocking mode would be
 * shared with the user's shell. The pair is made by pid 1, in the run's own /dev/pts, so that the
 * command's terminal has a name there; the master comes to the relay over a socket. It copies both
 * ways until the command's end of the pair is closed.
 * It alone holds the master. Where the user's terminal is hung up (a closed window, a lost line) it lets
 * go of it, and that is a hang-up of the command's terminal: its session is told (SIGHUP), reading finds
 * the end, and who ignores both goes on. Nobody else would tell it: the kernel sends SIGHUP to the
 * session's leader alone, and su(1) blocks that.
 * The command leads a session, so that its kernel stops it by no key: no shell there could wake it. The
 * shell outside can, so the relay takes the key for that where the command is in front by itself and has
 * made no arrangements for the signal, and tells the supervisor.
 * It restores the terminal when it ends, and so does the supervisor: either may be killed.
 */
#include "launcher/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/forked.h"
#include "base/xalloc.h"
#include "launcher/column.h"

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
#define REST_MAX_MS 500

#define DEAF_MS \
	250 /* between tries of an input that gives nothing, such as one in the background */

/* @since: when the window was made lower, 0 if it is as high as it should; @drawn: written to since */
struct lower {
	uint64_t since;
	bool drawn;
};

/* What the relay is told by signals: SIGWINCH, SIGUSR1, SIGUSR2, SIGURG. */
static volatile sig_atomic_t resized = 1, interrupted, covered, leaving;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		interrupted = 1;
	else if (sig == SIGUSR2)
		covered = 1;
	else if (sig == SIGURG)
		leaving = 1;
	else
		resized = 1;
}

bool pty_wanted(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	       tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void copy_size(int from, int to)
{
	struct winsize size;

	if (ioctl(from, TIOCGWINSZ, &size) == 0)
		(void)ioctl(to, TIOCSWINSZ, &size);
}

static int set_raw(const struct termios *saved)
{
	struct termios raw = *saved;

	cfmakeraw(&raw);
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* The user's terminal's line: the supervisor may have ended it since. */
static void note(struct column *c, volatile bool *open, const char *p, size_t n)
{
	c->open = *open;
	column_feed(c, p, n);
	*open = c->open;
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

/* What is typed. Return: as copy(). The rest of what was typed with the key is lost, as usual. */
static bool type_on(int master, volatile bool *stop, pid_t supervisor)
{
	char buf[CHUNK];
	ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0 && getppid() == supervisor && is_stop(master, buf, (size_t)n)) {
		*stop = true;
		return kill(supervisor, SIGTSTP) == 0;
	}
	return n > 0 && fd_write_all(master, buf, (size_t)n) == 0;
}

/* Copies what the command has written. Return: false at the end, or when nobody is on the other side. */
static bool copy(int master, struct column *line, volatile bool *open)
{
	char buf[CHUNK];
	ssize_t n = read(master, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0)
		note(line, open, buf, (size_t)n); /* before: it may be read as soon as it is seen */
	return n > 0 && fd_write_all(STDOUT_FILENO, buf, (size_t)n) == 0;
}

/* As if typed: what it does is the command's terminal's to know. */
static void type_interrupt(int master)
{
	struct termios t;

	if (tcgetattr(master, &t) == 0 && t.c_cc[VINTR] != _POSIX_VDISABLE)
		(void)fd_write_all(master, &t.c_cc[VINTR], 1);
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
static void obey(int master, struct lower *l)
{
	if (interrupted) {
		interrupted = 0;
		type_interrupt(master);
	}
	if (resized || left(l) == 0) {
		resized = 0;
		l->since = 0;
		copy_size(STDIN_FILENO, master);
	}
	if (covered) {
		covered = 0;
		*l = (struct lower){ .since = make_lower(master) ? clock_ms() : 0 };
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

/* Shows what has been written, and stops. */
static void leave(int master, struct column *line, volatile bool *open)
{
	struct pollfd p = { .fd = master, .events = POLLIN };

	leaving = 0;
	for (int i = 0; i < REST_CHUNKS && poll(&p, 1, REST_MS) == 1 && p.revents & POLLIN; i++) {
		if (!copy(master, line, open))
			break;
	}
	(void)raise(SIGSTOP);
}

static void relay_loop(int master, const struct pty *pty, pid_t supervisor)
{
	struct column line = { .open = false };
	struct lower lower = { .since = 0 };
	struct pollfd p[] = {
		{ .fd = master, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};

	for (;;) {
		int n;

		obey(master, &lower);
		if (leaving)
			leave(master, &line, pty->open);
		n = wait_for(p, ARRAY_SIZE(p), sooner(left(&lower), p[1].events ? -1 : DEAF_MS));
		if (n <= 0 || !p[1].events)
			p[1].events = POLLIN;
		if (n <= 0)
			continue;
		if (p[1].revents & (POLLHUP | POLLERR | POLLNVAL))
			return;
		/* No end: in the background it is an error to read, and a shell may have set its modes. */
		if (p[1].revents && !type_on(master, pty->stop, supervisor))
			p[1].events = 0;
		/* What was written before the hang-up is read first; then read(2) says EIO. */
		if (p[0].revents && !copy(master, &line, pty->open))
			return;
		lower.drawn |= p[0].revents != 0;
	}
}

/* Should: know the two terminals only. Mustn't: die of what the user types; that goes through. */
static void run_relay(int sock, const struct pty *pty) __attribute__((noreturn));

static void run_relay(int sock, const struct pty *pty)
{
	static const int ignored[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2 };
	static const int told[] = { SIGWINCH, SIGUSR1, SIGUSR2, SIGURG };
	const struct sigaction act = { .sa_handler = on_signal };
	pid_t supervisor = getppid();
	sigset_t blocked;
	int master = -1;
	size_t n = 0;
	char byte;

	if (forked_helper(&sock, 1, ignored, ARRAY_SIZE(ignored), NULL))
		_exit(1);
	(void)sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		(void)sigaddset(&blocked, told[i]);
	(void)sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		(void)sigaction(told[i], &act, NULL);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fd_recv(sock, &byte, 1, &master, 1, &n) == 1 && n == 1) {
		(void)close(sock);
		relay_loop(master, pty, supervisor);
	}
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &pty->saved);
	_exit(0);
}

int pty_start(struct pty *out, struct error *err)
{
	struct pty p = { .sock = -1 };
	int pair[2];

	if (tcgetattr(STDIN_FILENO, &p.saved) < 0 || ioctl(STDIN_FILENO, TIOCGWINSZ, &p.size) < 0)
		return error_set(err, errno, "cannot read the terminal's settings");
	p.open = mmap(NULL, 2 * sizeof(*p.open), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (p.open == MAP_FAILED)
		return error_set(err, errno, "cannot share a page with the relay of the terminal");
	p.stop = p.open + 1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "cannot make a socket pair");
	p.sock = pair[0];
	if (set_raw(&p.saved) < 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return error_set(err, errno, "cannot set the terminal to raw mode");
	}
	p.relay = fork();
	if (p.relay == 0)
		run_relay(pair[1], &p);
	(void)close(pair[1]);
	if (p.relay < 0) {
		(void)error_set(err, errno, "cannot fork");
		(void)close(pair[0]);
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &p.saved);
		return -1;
	}
	*out = p;
	return 0;
}

/*
 * Should: make the terminal where the command will look its name up.
 * Mustn't: keep the master; whoever holds it types for the user.
 */
int pty_make(const struct pty *p, int *slave, struct error *err)
{
	CLEANUP_CLOSE int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	CLEANUP_CLOSE int fd = -1;

	if (master < 0 || unlockpt(master) < 0)
		return error_set(err, errno, "cannot make a terminal for the command");
	fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || tcsetattr(fd, TCSANOW, &p->saved) < 0 || ioctl(fd, TIOCSWINSZ, &p->size) < 0)
		return error_set(err, errno, "cannot set up the command's terminal");
	if (fd_send(p->sock, "m", 1, &master, 1) < 0)
		return error_set(err, errno, "cannot hand over the command's terminal");
	*slave = take_fd(&fd);
	return 0;
}

void pty_started(struct pty *p)
{
	cleanup_close(&p->sock);
	p->sock = -1;
}

void pty_drain(const struct pty *p)
{
	const struct timespec step = { .tv_nsec = 1000 * 1000 };
	siginfo_t info = { .si_pid = 0 };

	if (p->relay == 0)
		return;
	(void)kill(p->relay, SIGURG);
	for (int i = 0; i < REST_MAX_MS && info.si_pid == 0; i++) {
		/* pty_pause() wants to see it, too */
		if (waitid(P_PID, (id_t)p->relay, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) <
		    0)
			return;
		(void)nanosleep(&step, NULL);
	}
}

void pty_pause(struct pty *p)
{
	int status = 0;

	if (p->relay == 0)
		return;
	(void)kill(p->relay, SIGSTOP);
	while (waitpid(p->relay, &status, WUNTRACED) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(status))
		p->relay = 0; /* it has ended, and its number may be another's from now on */
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &p->saved);
}

void pty_resume(const struct pty *p)
{
	if (p->relay == 0)
		return;
	(void)set_raw(&p->saved);
	(void)kill(p->relay, SIGUSR2);
	(void)kill(p->relay, SIGCONT);
}

void pty_interrupt(const struct pty *p)
{
	if (p->relay)
		(void)kill(p->relay, SIGUSR1);
}

void pty_finish(struct pty *p)
{
	pid_t front;

	if (p->relay == 0)
		return;
	pty_started(p);
	(void)kill(p->relay, SIGCONT);
	while (waitpid(p->relay, NULL, 0) < 0 && errno == EINTR)
		;
	p->relay = 0;
	/* In the background the shell has its own modes, and to set any would stop us for good. */
	front = tcgetpgrp(STDIN_FILENO);
	if (front < 0 || front == getpgrp())
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &p->saved);
}
