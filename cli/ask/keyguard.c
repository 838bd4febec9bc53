#include "cli/ask/keyguard.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#define BEL	  0x07
#define BACKSPACE 0x08
#define ESC	  0x1b
#define DELETE	  0x7f

static enum keyguard_state after_escape(unsigned char c)
{
	switch (c) {
	case '[':
		return KEYGUARD_CSI;
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
		return KEYGUARD_STRING;
	case 'N':
	case 'O':
		return KEYGUARD_ONE;
	case ESC:
		return KEYGUARD_ESCAPE;
	default:
		return c < 0x30 ? KEYGUARD_ESCAPE
				: KEYGUARD_PLAIN; /* intermediates, then a final */
	}
}

/* The single-byte forms of the introducers (C1, ECMA-48 5.3). */
static enum keyguard_state after_c1(unsigned char c)
{
	if (c == 0x9b)
		return KEYGUARD_CSI;
	if (c == 0x9d || c == 0x90 || c == 0x98 || c == 0x9e || c == 0x9f)
		return KEYGUARD_STRING;
	return KEYGUARD_PLAIN;
}

static enum keyguard_state step(enum keyguard_state state, unsigned char c)
{
	switch (state) {
	case KEYGUARD_PLAIN:
		return c == ESC ? KEYGUARD_ESCAPE : after_c1(c);
	case KEYGUARD_ESCAPE:
		return after_escape(c);
	case KEYGUARD_CSI:
		if (c == ESC)
			return KEYGUARD_ESCAPE;
		return c >= 0x40 && c <= 0x7e ? KEYGUARD_PLAIN : KEYGUARD_CSI;
	case KEYGUARD_STRING:
		if (c == BEL || c == 0x9c)
			return KEYGUARD_PLAIN;
		return c == ESC ? KEYGUARD_STRING_ESCAPE : KEYGUARD_STRING;
	case KEYGUARD_STRING_ESCAPE:
		return c == '\\' ? KEYGUARD_PLAIN : KEYGUARD_STRING;
	case KEYGUARD_ONE:
		return KEYGUARD_PLAIN;
	}
	return KEYGUARD_PLAIN;
}

static bool is_key(unsigned char c)
{
	return (c > ' ' && c < DELETE) || c == BACKSPACE || c == DELETE;
}

size_t keyguard_read(struct keyguard *g, const char *p, size_t n, uint64_t now_ms, char *keys)
{
	bool noise = n > KEYGUARD_BURST_MAX;

	/* A lone Esc or a cut answer must not swallow keys for ever: quiet ends a sequence too. */
	if (g->noise_ms && now_ms - g->noise_ms >= KEYGUARD_QUIET_MS)
		g->state = KEYGUARD_PLAIN;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (g->state != KEYGUARD_PLAIN || !is_key(c))
			noise = true;
		g->state = step(g->state, c);
	}
	if (noise || (g->noise_ms && now_ms - g->noise_ms < KEYGUARD_QUIET_MS)) {
		g->noise_ms = now_ms;
		return 0;
	}
	memcpy(keys, p, n);
	return n;
}
