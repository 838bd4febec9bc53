/*
 * gitopts.h - options that git keeps for the rest of an operation, and passes to programs
 *
 * Texts may hold zero bytes; what is not known to be harmless is not.
 */
#ifndef LAUNCHER_FILES_GITOPTS_H
#define LAUNCHER_FILES_GITOPTS_H

#include <stdbool.h>
#include <stddef.h>

/** gitopts_is_strategy() - whether it is the name of one of git's own merge strategies, or empty. */
bool gitopts_is_strategy(const char *text, size_t n);

/** gitopts_merges() - whether it holds nothing but harmless options of those strategies. */
bool gitopts_merges(const char *text, size_t n);

/** gitopts_applies() - whether it holds nothing but harmless options of git apply. */
bool gitopts_applies(const char *text, size_t n);

/** gitopts_is_quoted() - whether it holds nothing but words that a shell takes as they are. */
bool gitopts_is_quoted(const char *text, size_t n);

/** gitopts_is_value() - whether it is a word that is no option: a number, yes or no, the name of a key. */
bool gitopts_is_value(const char *text, size_t n);

/** gitopts_is_number() - whether it holds nothing but digits and blanks. */
bool gitopts_is_number(const char *text, size_t n);

/** gitopts_are_objects() - whether it holds nothing but names of objects, in hexadecimal, and blanks. */
bool gitopts_are_objects(const char *text, size_t n);

#endif
