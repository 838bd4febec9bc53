/*
 * cardview.h - a question on a terminal: where its card stands, and which keys are an answer
 *
 * Whoever is typing when a question comes up has not read it. So keys count only once none has been
 * typed for CARDVIEW_QUIET_MS since the card stood; those before are thrown away, and the last line
 * shows no keys meanwhile. The caller owns the terminal's modes, and watches the time.
 */
#ifndef CLI_ASK_CARDVIEW_H
#define CLI_ASK_CARDVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/ask/card.h"
#include "cli/ask/keyguard.h"
#include "cli/ask/keys.h"
#include "policy/question.h"

#define CARDVIEW_QUIET_MS 700 /* longer than the pauses within words */
#define CARDVIEW_UNKNOWN_MS \
	1500 /* so long it is said that a key means nothing, and longer by a tick */

/**
 * struct cardview - all zero but for @in and @out is a terminal without a card
 * @in: where keys come from; @out: where the card goes. Both are the same terminal
 * @keys_plain: the terminal has been told to send keys as letters, see cardview_leave()
 * @shared: others write there, too: the card is not erased but drawn again below
 * @deaf: no key counts yet
 * @small: the terminal is too small for the card, and no key counts
 * @lost: the terminal has not taken all of it: no key counts until it has been drawn again
 * @quits: 'q' ends the program that shows it
 * @quiet_ms: while @deaf: since when no key was typed
 * @unknown_ms: when a key was typed that means nothing
 * @lines: of the card on the screen; 0 for none
 */
struct cardview {
	int in, out;
	bool shared, deaf, small, lost, keys_plain, quits;
	uint64_t quiet_ms, unknown_ms;
	struct keyguard guard;
	struct keys keys;
	unsigned lines;
};

/** enum cardview_said - what a key was */
enum cardview_said {
	CARDVIEW_NOTHING,
	CARDVIEW_ANSWER, /* @out is one; what comes behind it is not looked at */
	CARDVIEW_QUIT,	 /* 'q', where @quits */
};

/** cardview_put() - text as it is; what the terminal does not take now is lost, see @lost. */
void cardview_put(struct cardview *v, const char *text);

/** cardview_erase() - take the card away. */
void cardview_erase(struct cardview *v);

/** cardview_leave() - the terminal is somebody else's again: what its keys send is what it was. */
void cardview_leave(struct cardview *v);

/** cardview_clear() - lines may have wrapped: where the card begins is not known any more. */
void cardview_clear(struct cardview *v);

/**
 * cardview_draw() - the card, in place of the one before
 * @q: the question; @rest: the others that are open
 * @fresh: what was typed until now was meant for something else, and goes
 */
void cardview_draw(struct cardview *v, const struct question *q, const struct card_rest *rest,
		   bool fresh);

/**
 * cardview_tick() - time has passed: the last line anew, where that leaves no other behind
 *
 * All of it where the terminal had not taken all.
 */
void cardview_tick(struct cardview *v, const struct question *q, const struct card_rest *rest);

/**
 * cardview_wait() - when cardview_listen() is due
 *
 * Return: milliseconds from now; -1 when keys count already.
 */
int cardview_wait(const struct cardview *v);

/** cardview_listen() - let keys count, if none has been typed for long enough. */
void cardview_listen(struct cardview *v, const struct question *q);

/** cardview_deafen() - from now on a while without keys, before any counts. */
void cardview_deafen(struct cardview *v);

/**
 * cardview_keys() - judge the bytes of one read, and show what they did
 * @q, @rest: as in cardview_draw(); @q is NULL if no question is open
 * @out: filled on CARDVIEW_ANSWER, @out->by untouched
 */
enum cardview_said cardview_keys(struct cardview *v, const struct question *q,
				 const struct card_rest *rest, const char *p, size_t n,
				 struct prompt_answer *out);

#endif
