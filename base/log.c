#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/ttylead.h"

#define COLUMNS_MAX 1024 /* of a terminal that is asked for its column; wider ones are not */

static enum log_level threshold = LOG_LEVEL_WARN;
static bool crlf;
static char eol[] = "\r\n";
static volatile bool *line_open;
static unsigned patience_ms;

static const char *const level_name[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};
_Static_assert(ARRAY_SIZE(level_name) == LOG_LEVEL_DEBUG + 1, "a name for each level");

enum log_level log_set_level(enum log_level level)
{
	enum log_level was = threshold;

	threshold = level;
	return was;
}

bool log_enabled(enum log_level level)
{
	return level <= threshold;
}

void log_set_crlf(bool on)
{
	crlf = on;
}

void log_set_line(volatile bool *open)
{
	line_open = open;
}

void log_set_patience(unsigned ms)
{
	patience_ms = ms;
}

static struct {
	void (*before)(void *arg);
	void (*after)(void *arg);
	void *arg;
} around;

void log_set_around(void (*before)(void *arg), void (*after)(void *arg), void *arg)
{
	around.before = before;
	around.after = after;
	around.arg = arg;
}

/* Out of a line that may be unfinished, whatever the column: as many blanks as a line has. */
static size_t put_blanks(char *out)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) < 0 || ws.ws_col == 0 || ws.ws_col > COLUMNS_MAX)
		return 0;
	memset(out, ' ', ws.ws_col);
	out[ws.ws_col] = '\r';
	return ws.ws_col + 1U;
}

/* What leads to the start of a line, and into sight; empty where it is no terminal. */
static struct iovec lead(void)
{
	static char text[TTYLEAD_MAX + COLUMNS_MAX + 1];
	const char *here = ttylead(STDERR_FILENO);
	size_t n = strlen(here);

	memcpy(text, here, n);
	if (n && !line_open)
		n += put_blanks(text + n);
	else if (n && !*line_open)
		text[n++] = '\r'; /* over what a terminal may show of @here */
	else if (n) {
		if (crlf)
			text[n++] = '\r';
		text[n++] = '\n';
	}
	return (struct iovec){ text, n };
}

static bool has_room(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	uint64_t begun = patience_ms ? clock_ms() : 0, took;
	int found = poll(&p, 1, (int)patience_ms);

	took = patience_ms ? clock_ms() - begun : 0;
	patience_ms = took < patience_ms ? patience_ms - (unsigned)took : 0;
	return found == 1 && p.revents & POLLOUT;
}

/* One write, so that lines of several processes do not mix. Return: whether there was room. */
static bool put(const char *line, size_t len)
{
	bool ends = crlf && len > 0 && line[len - 1] == '\n', done;
	struct iovec v[] = { { .iov_len = 0 },
			     { (char *)(uintptr_t)line, ends ? len - 1 : len },
			     { eol, ends ? strlen(eol) : 0 } };

	if (!has_room())
		return false;
	if (around.before)
		around.before(around.arg);
	v[0] = lead();
	done = writev(STDERR_FILENO, v, (int)ARRAY_SIZE(v)) >= 0;
	if (done && line_open)
		*line_open = false;
	if (around.after)
		around.after(around.arg);
	return done;
}

void log_fresh_line(void)
{
	static char plain[] = "\033[0m"; /* a command may end in letters that nobody sees */
	struct iovec v[] = { lead(), { plain, ttylead_obeys() ? strlen(plain) : 0 } };

	if (v[0].iov_len && has_room() && writev(STDERR_FILENO, v, (int)ARRAY_SIZE(v)) > 0 &&
	    line_open)
		*line_open = false;
}

void log_raw(const char *line, size_t len)
{
	static unsigned long dropped;
	char cut[LOG_LINE_MAX], note[96];

	if (len > sizeof(cut)) {
		memcpy(cut, line, sizeof(cut) - 1);
		cut[sizeof(cut) - 1] = '\n';
		line = cut;
		len = sizeof(cut);
	}
	if (dropped) {
		int n = snprintf(note, sizeof(note),
				 "sbx-net: %lu lines were dropped: stderr was not read\n", dropped);

		if (n > 0 && put(note, (size_t)n))
			dropped = 0;
	}
	if (dropped || !put(line, len))
		dropped++;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[2048], raw[2048];
	va_list ap;
	int head, body;
	size_t len;

	if (!log_enabled(level))
		return;
	head = snprintf(line, sizeof(line), "sbx-net: %s: ", level_name[level]);
	va_start(ap, fmt);
	body = vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	if (head < 0 || body < 0)
		return;
	/* with room for the line's end in the place of the text's */
	(void)printable(line + head, sizeof(line) - (size_t)head, raw);
	len = strlen(line);
	line[len++] = '\n';
	log_raw(line, len);
}

const char *log_escape(char *out, size_t size, const void *p, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *s = p;
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] >= 0x20 && s[i] < 0x7f && s[i] != '\\') {
			if (o + 1 >= size)
				break;
			out[o++] = (char)s[i];
		} else {
			if (o + 4 >= size)
				break;
			out[o++] = '\\';
			out[o++] = 'x';
			out[o++] = hex[s[i] >> 4];
			out[o++] = hex[s[i] & 15];
		}
	}
	out[o] = '\0';
	return out;
}

const char *log_escape_once(char *out, size_t size, const void *p, size_t n)
{
	const uint8_t *s = p;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < 0x20 || s[i] > 0x7e)
			return log_escape(out, size, p, n);
	}
	if (n >= size)
		n = size - 1;
	memcpy(out, p, n);
	out[n] = '\0';
	return out;
}
