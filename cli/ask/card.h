/*
 * card.h - a question as a terminal shows it
 */
#ifndef CLI_ASK_CARD_H
#define CLI_ASK_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/ask/keys.h"
#include "policy/question.h"

#define CARD_MAX 16384

/**
 * struct card_style - the terminal
 * @columns: its width, as far as a card uses it
 * @rows: its height, or 0; a low one gets no empty lines
 * @narrow: its width if that is less than a card needs, or else 0
 * @cursor: it obeys control sequences: the cursor moves, and what is there can be erased
 * @colour: colours are wanted, too
 */
struct card_style {
	unsigned columns, rows, narrow;
	bool cursor, colour;
};

#define CARD_NEXT_MAX 3

/**
 * struct card_rest - the other questions that are open
 * @n: how many
 * @next: those that come first; NULL from the first one on that is not to be named
 */
struct card_rest {
	size_t n;
	const struct question *next[CARD_NEXT_MAX];
};

/** card_style() - of the terminal @fd: its size, TERM and NO_COLOR. */
struct card_style card_style(int fd);

/**
 * card_format() - the question, to be followed by card_input()
 * @rest: named where the terminal is high enough
 * @out: lines that end in "\r\n"
 *
 * No line is wider than the terminal. Return: how many lines, that of card_input() included.
 */
unsigned card_format(const struct question *q, const struct card_style *style,
		     const struct card_rest *rest, char out[CARD_MAX]);

/**
 * card_input() - the line where one types, with the seconds that are left, without its end
 *
 * It spells out the keys that mean something; behind one that means nothing it says that, too.
 */
void card_input(const struct question *q, const struct card_style *style, uint64_t now,
		const struct keys *k, char out[CARD_MAX]);

/** card_wait() - that line while keys do not count yet. */
void card_wait(const struct question *q, const struct card_style *style, uint64_t now,
	       char out[CARD_MAX]);

/** card_small() - that line where the terminal is too small for the host to be seen. */
void card_small(const struct question *q, const struct card_style *style, uint64_t now,
		char out[CARD_MAX]);

#endif
