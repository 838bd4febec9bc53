/*
 * keys.h - an answer in two keys: a verdict, then for how long
 *
 *	a allow, d deny		then	o once, r this run, p this project, f forever,
 *					or digits and m, h or d for a while
 *	s before the second	wider or not (*.domain)
 *	Backspace	back to the verdict
 */
#ifndef CLI_ASK_KEYS_H
#define CLI_ASK_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/prompt.h"

#define KEYS_DIGITS_MAX 5

/**
 * struct keys - what has been typed so far; all zero is nothing
 * @verdict: the first key was seen; @allow: which
 * @wide: s was typed
 * @unknown: the last key meant nothing
 * @digits, @ndigits: of a duration
 */
struct keys {
	bool verdict, allow, wide, unknown;
	char digits[KEYS_DIGITS_MAX + 1];
	size_t ndigits;
};

/** enum keys_result - what a key did */
enum keys_result {
	KEYS_UNKNOWN, /* it means nothing here */
	KEYS_MORE,    /* something changed; more is needed */
	KEYS_DONE,    /* @out is an answer */
};

/**
 * keys_feed() - one key
 * @can_widen: the question can be widened
 * @out: filled on KEYS_DONE, @out->by untouched
 */
enum keys_result keys_feed(struct keys *k, char key, bool can_widen, struct prompt_answer *out);

#endif
