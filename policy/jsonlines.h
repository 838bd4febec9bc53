/*
 * jsonlines.h - where each value of a JSON text stands
 *
 * The JSON library keeps no positions, and a refusal should name the line of the rule behind it.
 * This walks a text that the library has accepted and numbers the lines of its values in document
 * order: a value comes before its members, members in the order of the text.
 */
#ifndef POLICY_JSONLINES_H
#define POLICY_JSONLINES_H

#include <stddef.h>

/**
 * jsonlines_index() - lines of all values
 * @text, @len: valid JSON
 * @out: receives an array of line numbers from 1, which the caller frees
 *
 * Return: how many values there are.
 */
size_t jsonlines_index(const char *text, size_t len, unsigned **out);

#endif
