/*
 * Theory of operation
 *
 * The pair is made by pid 1, in the run's own /dev/pts, so that the command's terminal has a name there;
 * the master goes to the relay (ptyrelay.c) over a socket, and nobody else keeps it.
 * The relay restores the user's terminal when it ends, and so does the supervisor: either may be killed.
 */
#include "launcher/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "launcher/ptyrelay.h"

/* What is written before a stop is shown by the relay first (ptyrelay.c); how long that is waited for. */
#define REST_MAX_MS 500

bool pty_wanted(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	       tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static int set_raw(const struct termios *saved)
{
	struct termios raw = *saved;

	cfmakeraw(&raw);
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

int pty_start(struct pty *out, const struct termios *was, struct error *err)
{
	struct pty p = { .sock = -1, .supervisor = getpid(), .saved = *was };
	int pair[2];

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &p.size) < 0)
		return error_set(err, errno, "cannot read the size of the terminal");
	p.page = mmap(NULL, sizeof(*p.page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (p.page == MAP_FAILED)
		return error_set(err, errno, "cannot share a page with the relay of the terminal");
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
		ptyrelay_run(pair[1], &p);
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
	p->page->rested = false;
	p->page->rest = true;
	(void)kill(p->relay, SIGURG);
	for (int i = 0; i < REST_MAX_MS && !p->page->rested && info.si_pid == 0; i++) {
		/* pty_pause() wants to see it, too */
		if (waitid(P_PID, (id_t)p->relay, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
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
	p->page->rest = false; /* also where it was too slow to hear of it */
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
