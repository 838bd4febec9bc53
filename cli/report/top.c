/*
 * top.c - `sbx-net top`: the live sessions of this user, again and again
 *
 * Theory of operation: once a second every control socket is asked for its numbers, those of runs
 * and that of serve, over a new connection each time; whoever does not answer at once is left out.
 * Rates are the difference to the look before. At a terminal the table is drawn on the other screen
 * and q ends it; elsewhere, or with --once, it is printed once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/jsonout.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/ask/card.h"
#include "cli/ask/control.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/privsock.h"
#include "cli/report/topview.h"
#include "cli/stats.h"
#include "cli/terminal.h"

#define REFRESH_MS   1000
#define ANSWER_MS    300
#define ROWS_MAX     256
#define ANSWER_MAX   (512 * 1024)
#define OTHER_SCREEN "\033[?1049h\033[?25l"
#define FIRST_SCREEN "\033[?25h\033[?1049l"

/** struct top - @old, @nold: the look before, at @then */
struct top {
	bool once, json, screen;
	const char *socket; /* of serve; NULL for the usual place */
	struct termios saved;
	struct topview_row *row, *old;
	size_t n, nold;
	uint64_t then;
};

static volatile sig_atomic_t ended, resized, stopped;

static void on_signal(int sig)
{
	if (sig == SIGWINCH)
		resized = 1;
	else if (sig == SIGTSTP)
		stopped = 1;
	else
		ended = sig;
}

/* ---- asking */

static void take(struct top *t, const char *line, size_t n)
{
	struct stats s;

	if (t->n == ROWS_MAX || !stats_parse(line, n, &s))
		return;
	t->row[t->n++] = (struct topview_row){ .now = s };
}

/* The last line of an answer to @request says "ok". */
static bool is_last(const char *line, size_t n)
{
	static const char ok[] = "\"ok\":";

	return memmem(line, n, ok, sizeof(ok) - 1);
}

static void read_answer(struct top *t, int fd)
{
	uint64_t end = clock_ms() + ANSWER_MS;
	CLEANUP_FREE char *buf = xmalloc(ANSWER_MAX);
	size_t len = 0, done = 0;

	while (len < ANSWER_MAX) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_ms();
		char *newline;
		ssize_t n;

		if (now >= end || poll(&p, 1, (int)(end - now)) != 1)
			return;
		n = read(fd, buf + len, ANSWER_MAX - len);
		if (n <= 0)
			return;
		len += (size_t)n;
		while ((newline = memchr(buf + done, '\n', len - done))) {
			size_t size = (size_t)(newline - (buf + done));

			take(t, buf + done, size);
			if (is_last(buf + done, size))
				return;
			done += size + 1;
		}
	}
}

/* @fd is closed. */
static void ask(struct top *t, int fd, const char *request)
{
	if (fd >= 0 && fd_write_all(fd, request, strlen(request)) == 0)
		read_answer(t, fd);
	cleanup_close(&fd);
}

static void ask_runs(struct top *t)
{
	struct error err;
	int dir = control_dir(false, &err);
	DIR *d = dir < 0 ? NULL : fd_opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), m = strlen(CONTROL_SUFFIX);

		if (e->d_name[0] != '.' && n > m && !strcmp(e->d_name + n - m, CONTROL_SUFFIX))
			ask(t, control_connect(dir, e->d_name), "{\"op\":\"stats\"}\n");
	}
	if (d)
		(void)closedir(d);
	cleanup_close(&dir);
}

/* Return: -1 with @err if the socket that was named is not served. */
static int ask_serve(struct top *t, struct error *err)
{
	CLEANUP_FREE char *dir = t->socket ? NULL : privsock_dir(err);
	CLEANUP_FREE char *path = t->socket ? xstrdup(t->socket)
				  : dir	    ? xasprintf("%s/control.sock", dir)
					    : NULL;
	int fd = path ? privsock_connect(path, err) : -1;

	if (fd >= 0)
		ask(t, fd, "{\"op\":\"sessions\"}\n");
	return fd < 0 && t->socket ? -1 : 0;
}

/* ---- rates */

static const struct topview_row *before(const struct top *t, const struct topview_row *r)
{
	for (size_t i = 0; i < t->nold; i++)
		if (t->old[i].now.pid == r->now.pid &&
		    !strcmp(t->old[i].now.session, r->now.session))
			return &t->old[i];
	return NULL;
}

static uint64_t rate(uint64_t now, uint64_t old, uint64_t ms)
{
	return now > old && ms ? (now - old) * 1000 / ms : 0;
}

static int look(struct top *t, struct error *err)
{
	struct topview_row *was = t->old;
	uint64_t now = clock_ms(), ms = t->then ? now - t->then : 0;

	t->old = t->row;
	t->nold = t->n;
	t->row = was;
	t->n = 0;
	t->then = now;
	ask_runs(t);
	if (ask_serve(t, err) < 0)
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		struct topview_row *r = &t->row[i];
		const struct topview_row *o = before(t, r);

		if (!o)
			continue;
		r->up = rate(r->now.bytes_up, o->now.bytes_up, ms);
		r->down = rate(r->now.bytes_down, o->now.bytes_down, ms);
		r->news = r->now.refused > o->now.refused;
	}
	topview_sort(t->row, t->n);
	return 0;
}

/* ---- showing */

static void print_json(const struct top *t)
{
	for (size_t i = 0; i < t->n; i++) {
		char line[STATS_LINE_MAX];
		struct jsonout j;

		jsonout_begin(&j, line, sizeof(line));
		stats_put(&j, &t->row[i].now);
		(void)fwrite(line, 1, jsonout_end(&j), stdout);
	}
}

static struct winsize screen_size(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) < 0 || !ws.ws_row || !ws.ws_col)
		ws = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	return ws;
}

/* In one write: nothing flickers. */
static void draw(const struct top *t)
{
	struct card_style style = card_style(STDOUT_FILENO);
	const struct winsize size = screen_size();
	const struct topview view = { .columns = size.ws_col,
				      .lines =
					      size.ws_row - 1u, /* ours is the last, behind a gap */
				      .colour = style.colour,
				      .rates = true };
	CLEANUP_FREE char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	topview_print(&view, t->row, t->n, out);
	if (fclose(out) != 0)
		return;
	(void)fputs("\033[H", stdout);
	for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
		printf("%.*s\033[K\r\n", (int)(end - p), p);
	(void)fputs("\033[J\r\n\033[7m q \033[0m ends this", stdout);
	(void)fflush(stdout);
}

static void enter(struct top *t)
{
	struct termios mine = t->saved;

	mine.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
	mine.c_cc[VMIN] = 0;
	mine.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &mine);
	(void)fputs(OTHER_SCREEN, stdout);
	t->screen = true;
}

static void leave(struct top *t)
{
	if (!t->screen)
		return;
	(void)fputs(FIRST_SCREEN, stdout);
	(void)fflush(stdout);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
	t->screen = false;
}

/* ^Z: the shell gets its terminal as it was. */
static void stop(struct top *t)
{
	int sig;

	stopped = 0;
	leave(t);
	sig = terminal_stop(true);
	if (sig)
		ended = sig;
	else
		enter(t);
}

static void read_keys(void)
{
	char buf[64];
	ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

	if (n > 0 && memchr(buf, 'q', (size_t)n))
		ended = SIGINT;
	else if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		ended = SIGHUP; /* the terminal has gone: poll() said that there is something */
}

/* Signals come in here and nowhere else: none is lost between a look at its flag and the wait. */
static void wait_for_key(struct top *t)
{
	uint64_t end = t->then + REFRESH_MS;

	while (!ended) {
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
		uint64_t now = clock_ms(), left = end > now ? end - now : 0;
		struct timespec ts = { .tv_sec = (time_t)(left / 1000),
				       .tv_nsec = (long)(left % 1000) * 1000000 };
		sigset_t none;

		if (!left)
			return;
		(void)sigemptyset(&none);
		if (ppoll(&p, 1, &ts, &none) > 0)
			read_keys();
		if (stopped)
			stop(t);
		else if (!resized)
			continue;
		resized = 0;
		if (!ended)
			draw(t);
	}
}

static int watch(struct top *t, struct error *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t waiting;
	int rc;

	(void)sigemptyset(&waiting);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		(void)sigaddset(&waiting, signals[i]);
		(void)sigaction(signals[i], &sa, NULL);
	}
	(void)sigprocmask(SIG_BLOCK, &waiting, NULL);
	rc = look(t, err);
	if (rc == 0)
		enter(t);
	while (rc == 0 && !ended) {
		draw(t);
		wait_for_key(t);
		if (!ended)
			rc = look(t, err);
	}
	leave(t);
	return rc;
}

static int show(struct top *t, struct error *err)
{
	const struct topview plain = { .rates = false };

	if (!t->once && !t->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	    tcgetattr(STDIN_FILENO, &t->saved) == 0)
		return watch(t, err);
	if (look(t, err) < 0)
		return -1;
	if (t->json)
		print_json(t);
	else
		topview_print(&plain, t->row, t->n, stdout);
	return 0;
}

static int top(const struct run_options *o)
{
	struct top t = { .once = o->once, .json = o->json, .socket = o->socket };
	struct error err;
	int status = 0;

	if (o->ncommand > 0) {
		fprintf(stderr, "sbx-net: usage: sbx-net top [--once] [--json] [--socket PATH]\n");
		return OPTIONS_EXIT_USAGE;
	}
	t.row = xcalloc(ROWS_MAX, sizeof(*t.row));
	t.old = xcalloc(ROWS_MAX, sizeof(*t.old));
	if (show(&t, &err) < 0) {
		fprintf(stderr, "sbx-net: %s\n", err.msg);
		status = 1;
	}
	free(t.row);
	free(t.old);
	if (fflush(stdout) != 0 || ferror(stdout))
		status = 1;
	return status;
}

int top_main(int argc, char **argv)
{
	return command_plain("top", top, argc, argv);
}
