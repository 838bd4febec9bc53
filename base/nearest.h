/*
 * nearest.h - which known word was meant by a mistyped one
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_WORD_MAX 64 /* longer words are like nothing */

/**
 * nearest_word() - the entry most like a mistyped word
 * @word: what was typed
 * @words: the candidates; NULL entries are passed over
 * @n: how many
 *
 * Counts insertions, deletions, substitutions and swaps of neighbours; a beginning of a word is
 * like it too. Return: its index, or @n when nothing is near enough to be worth naming.
 */
size_t nearest_word(const char *word, const char *const *words, size_t n);

#endif
