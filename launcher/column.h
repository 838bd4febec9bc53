/*
 * column.h - whether a line of a terminal is unfinished, from the bytes that are written to it
 */
#ifndef LAUNCHER_COLUMN_H
#define LAUNCHER_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

/* Where in an escape sequence a terminal is (ECMA-48). */
enum column_state {
	COLUMN_TEXT,
	COLUMN_ESCAPE,	   /* ESC -> TEXT, SEQUENCE or STRING */
	COLUMN_SEQUENCE,   /* ESC [ -> TEXT at the final byte */
	COLUMN_STRING,	   /* ESC ] and its kind -> TEXT at BEL, or STRING_END */
	COLUMN_STRING_END, /* ESC in a string -> TEXT */
};

/**
 * struct column - a value; all zero is the start of a line
 * @open: what is written next would be glued to text
 * @left: the cursor is at the left, whatever stands in the line
 * @plain: the sequence has no parameter so far
 */
struct column {
	enum column_state state;
	bool open, left, plain;
};

/**
 * column_feed() - these bytes have been written
 *
 * Knows line ends, carriage returns, and sequences that clear a line or go home; others count as if
 * they did not move. Bytes by one or together give the same.
 */
void column_feed(struct column *c, const char *p, size_t n);

#endif
