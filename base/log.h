/*
 * log.h - diagnostics: one line an event, key=value, on stderr
 *
 * Payload and credentials are never logged. Text that a peer chose goes through log_escape().
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/**
 * log_set_level() - lines above @level are dropped; the default is LOG_LEVEL_WARN
 *
 * Return: the level until now.
 */
enum log_level log_set_level(enum log_level level);

/** log_set_crlf() - our terminal is in raw mode: lines must end in CR LF. */
void log_set_crlf(bool on);

/**
 * log_set_line() - @open tells whether the last line on our terminal is unfinished
 * @open: kept by whoever relays the terminal; cleared here when a line of ours has ended it
 *
 * Then a line of ours starts with a line end where it has to. A terminal that others write to without
 * being asked (NULL, the default) is made to say it itself: see log_fresh_line(). At a terminal
 * ttylead() stands before each line.
 */
void log_set_line(volatile bool *open);

/**
 * log_set_patience() - wait for whoever reads stderr
 * @ms: for as long from now on, in all lines together; 0, the default, drops a line for which no room is
 *
 * To be called when nothing else is to be done any more, but for what is told at the end.
 */
void log_set_patience(unsigned ms);

/**
 * log_fresh_line() - before what is written to stderr in another way at the end of a run: begin at the left,
 * in sight, without the colours and the like that the command has left
 *
 * Nothing where stderr is no terminal. Where nobody knows the column, as many blanks as a line has are
 * written and a carriage return: they stay in an empty line, and lead out of one that is not.
 */
void log_fresh_line(void);

/**
 * log_set_around() - something of ours is on the terminal, of which lines must not become a part
 * @before: called before each line that is written, so that the line stands by itself
 * @after: called when it stands; both NULL for nothing
 */
void log_set_around(void (*before)(void *arg), void (*after)(void *arg), void *arg);

/** log_enabled() - whether a line of this level would be written. */
bool log_enabled(enum log_level level);

/** log_line() - write one line, "sbx-net: LEVEL: TEXT", printable(); a full or closed stderr is ignored. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * log_raw() - write a line to stderr as it is, without ever waiting for whoever reads it
 * @line: ends with a newline; beyond LOG_LINE_MAX bytes it is cut
 *
 * A reader that does not read must not hold the event loop. What finds no room is dropped, and the
 * next line that finds room says how many were. Also what log_line() uses.
 */
void log_raw(const char *line, size_t len);

/* What a pipe that reports room takes at once (PIPE_BUF). */
#define LOG_LINE_MAX 4096

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                          \
	do {                                                    \
		if (log_enabled(LOG_LEVEL_DEBUG))               \
			log_line(LOG_LEVEL_DEBUG, __VA_ARGS__); \
	} while (0)

/**
 * log_escape() - make untrusted bytes fit for a line or a terminal
 * @out: receives printable ASCII, every other byte as \xNN; always terminated; cut if too small
 * @size: size of @out, at least 1
 * @p: the bytes
 * @n: how many
 *
 * Return: @out.
 */
const char *log_escape(char *out, size_t size, const void *p, size_t n);

/**
 * log_escape_once() - log_escape() of text that whoever sent it should have escaped
 *
 * What is printable ASCII stays as it is: a backslash there is one of an escape.
 */
const char *log_escape_once(char *out, size_t size, const void *p, size_t n);

#endif
