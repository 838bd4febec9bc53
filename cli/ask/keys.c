#include "cli/ask/keys.h"

#include <string.h>

#include "base/cleanup.h"

#define BACKSPACE '\b'
#define DELETE	  '\177'

static enum keys_result verdict(struct keys *k, bool allow)
{
	k->verdict = true;
	k->allow = allow;
	return KEYS_MORE;
}

static enum keys_result done(const struct keys *k, enum prompt_scope scope, uint32_t seconds,
			     struct prompt_answer *out)
{
	out->allow = k->allow;
	out->scope = scope;
	out->seconds = seconds;
	out->widen = k->wide;
	return KEYS_DONE;
}

static enum keys_result digit(struct keys *k, char key)
{
	if (k->ndigits == KEYS_DIGITS_MAX || (k->ndigits == 0 && key == '0'))
		return KEYS_UNKNOWN;
	k->digits[k->ndigits++] = key;
	k->digits[k->ndigits] = '\0';
	return KEYS_MORE;
}

/* Behind digits only a unit makes sense. */
static enum keys_result unit(const struct keys *k, char key, struct prompt_answer *out)
{
	char text[KEYS_DIGITS_MAX + 2];
	uint32_t seconds;

	memcpy(text, k->digits, k->ndigits);
	text[k->ndigits] = key;
	seconds = prompt_parse_duration(text, k->ndigits + 1);
	if (!seconds || (key >= '0' && key <= '9'))
		return KEYS_UNKNOWN;
	return done(k, PROMPT_DURATION, seconds, out);
}

static enum keys_result back(struct keys *k)
{
	if (k->ndigits)
		k->digits[--k->ndigits] = '\0';
	else if (k->verdict)
		k->verdict = false;
	else
		k->wide = false;
	return KEYS_MORE;
}

static enum keys_result scope(struct keys *k, char key, struct prompt_answer *out)
{
	static const struct {
		char key;
		enum prompt_scope scope;
	} scopes[] = { { 'o', PROMPT_ONCE },
		       { 'r', PROMPT_RUN },
		       { 'p', PROMPT_PROJECT },
		       { 'f', PROMPT_FOREVER } };

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (key == scopes[i].key)
			return done(k, scopes[i].scope, 0, out);
	if (key == 'a' || key == 'd')
		return verdict(k, key == 'a');
	return KEYS_UNKNOWN;
}

static enum keys_result feed(struct keys *k, char key, bool can_widen, struct prompt_answer *out)
{
	if (key == BACKSPACE || key == DELETE)
		return back(k);
	if (k->verdict && key >= '0' && key <= '9')
		return digit(k, key);
	if (k->ndigits)
		return unit(k, key, out);
	if (key == 's' && can_widen) {
		k->wide = !k->wide;
		return KEYS_MORE;
	}
	if (k->verdict)
		return scope(k, key, out);
	if (key == 'a' || key == 'd')
		return verdict(k, key == 'a');
	return KEYS_UNKNOWN;
}

enum keys_result keys_feed(struct keys *k, char key, bool can_widen, struct prompt_answer *out)
{
	enum keys_result result = feed(k, key, can_widen, out);

	k->unknown = result == KEYS_UNKNOWN;
	return result;
}
