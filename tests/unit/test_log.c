/* Lines on a stderr that nobody reads. */
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"

/* A pipe in the place of stderr; blocking at the end that is written to, as a caller's is. */
struct pipe_stderr {
	int saved, in;
};

static void begin(struct pipe_stderr *p)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_set_nonblock(ends[0]), 0);
	p->saved = dup(STDERR_FILENO);
	p->in = ends[0];
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(close(ends[1]), 0);
}

static void end(struct pipe_stderr *p)
{
	assert_int_equal(dup2(p->saved, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(close(p->saved), 0);
	assert_int_equal(close(p->in), 0);
}

/* All that can be read now, as text. */
static size_t drain(const struct pipe_stderr *p, char *out, size_t size)
{
	size_t have = 0;
	ssize_t n;

	while (have < size - 1 && (n = read(p->in, out + have, size - 1 - have)) > 0)
		have += (size_t)n;
	out[have] = '\0';
	return have;
}

static void test_lines_are_written_whole(void **state)
{
	struct pipe_stderr p;
	char text[256];

	(void)state;
	begin(&p);
	log_warn("a=%d", 1);
	log_raw("as it is\n", 9);
	(void)drain(&p, text, sizeof(text));
	end(&p);
	assert_string_equal(text, "sbx-net: warning: a=1\nas it is\n");
}

/* Without room a line is dropped, not waited for; the count is told once there is room again. */
static void test_a_full_pipe_does_not_hold_us(void **state)
{
	static char text[1 << 21];
	struct pipe_stderr p;
	unsigned told = 0;

	(void)state;
	begin(&p);
	for (unsigned i = 0; i < 4096; i++)
		log_warn("line %u %0512d", i, 0);
	assert_true(drain(&p, text, sizeof(text)) > 0);
	assert_null(strstr(text, "line 4095 "));
	for (const char *s = text; (s = strchr(s, '\n')); s++)
		told++;
	log_warn("after");
	(void)drain(&p, text, sizeof(text));
	end(&p);
	assert_true(told > 0 && told < 4096);
	assert_non_null(strstr(text, " lines were dropped: stderr was not read\n"));
	assert_non_null(strstr(text, "after\n"));
}

/* What a terminal of four columns gets for a line of ours. */
static void line_at_terminal(const char *term, volatile bool *open, char *out, size_t size)
{
	const struct winsize ws = { .ws_col = 4, .ws_row = 10 };
	int master, slave, saved = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &ws), 0);
	assert_int_equal(dup2(slave, STDERR_FILENO), STDERR_FILENO);
	(void)setenv("TERM", term, 1);
	log_set_line(open);
	log_raw("line\n", 5);
	log_set_line(NULL);
	n = read(master, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(close(saved) | close(master) | close(slave), 0);
}

/* A string that somebody has left unfinished ends before a line of ours; also one whose last is ESC. */
static void test_a_terminal_is_led_out_of_strings(void **state)
{
	static const struct {
		const char *term, *lead;
	} row[] = {
		{ "xterm", "\033\\\033\\\033<\033[4i\033[0$}\033[?64h" },
		{ "dumb", "\033\\\033\\" },
		{ "", "\033\\\033\\" },
	};
	volatile bool open;
	char want[256], got[256];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		line_at_terminal(row[i].term, NULL, got, sizeof(got));
		(void)snprintf(want, sizeof(want), "%s    \rline\r\n", row[i].lead);
		assert_string_equal(got, want);
		open = false;
		line_at_terminal(row[i].term, &open, got, sizeof(got));
		(void)snprintf(want, sizeof(want), "%s\rline\r\n", row[i].lead);
		assert_string_equal(got, want);
		open = true;
		line_at_terminal(row[i].term, &open, got, sizeof(got));
		(void)snprintf(want, sizeof(want), "%s\r\nline\r\n", row[i].lead);
		assert_string_equal(got, want);
		assert_false(open);
	}
}

static void test_a_line_too_long_is_cut(void **state)
{
	static char line[LOG_LINE_MAX * 2], text[LOG_LINE_MAX * 2];
	struct pipe_stderr p;

	(void)state;
	memset(line, 'x', sizeof(line));
	begin(&p);
	log_raw(line, sizeof(line));
	assert_int_equal(drain(&p, text, sizeof(text)), LOG_LINE_MAX);
	end(&p);
	assert_int_equal(text[LOG_LINE_MAX - 1], '\n');
}

static void test_escape_once_leaves_escapes(void **state)
{
	char out[16];

	(void)state;
	assert_string_equal(log_escape_once(out, sizeof(out), "a\\x0ab", 6), "a\\x0ab");
	assert_string_equal(log_escape_once(out, sizeof(out), "a\nb", 3), "a\\x0ab");
	assert_string_equal(log_escape_once(out, sizeof(out),
					    "\x9b"
					    "1m",
					    3),
			    "\\x9b1m");
	assert_string_equal(log_escape_once(out, sizeof(out), "a\0b", 3), "a\\x00b");
	assert_string_equal(log_escape_once(out, 4, "abcdef", 6), "abc");
	assert_string_equal(log_escape_once(out, sizeof(out), "", 0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escape_once_leaves_escapes),
		cmocka_unit_test(test_lines_are_written_whole),
		cmocka_unit_test(test_a_full_pipe_does_not_hold_us),
		cmocka_unit_test(test_a_line_too_long_is_cut),
		cmocka_unit_test(test_a_terminal_is_led_out_of_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
