/*
 * card.h - a question as a terminal shows it
 */
#ifndef CLI_CARD_H
#define CLI_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/keys.h"
#include "policy/question.h"

#define CARD_MAX 16384

/**
 * struct card_style - the terminal
 * @columns: its width
 * @colour: it knows colours
 */
struct card_style {
	unsigned columns;
	bool colour;
};

/** card_style() - of the terminal @fd: its size, TERM and NO_COLOR. */
struct card_style card_style(int fd);

/**
 * card_format() - the question, and below it the line where one types
 * @more: how many other questions are open
 * @out: lines that end in "\r\n", but for the last
 *
 * No line is wider than the terminal. Return: how many lines, the last included.
 */
unsigned card_format(const struct question *q, const struct card_style *style, size_t more,
		     uint64_t now, const struct keys *k, char out[CARD_MAX]);

/** card_input() - the last line alone. */
void card_input(const struct question *q, const struct card_style *style, const struct keys *k,
		char out[CARD_MAX]);

#endif
