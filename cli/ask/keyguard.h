/*
 * keyguard.h - tell a person's keys from what a terminal says by itself
 *
 * A terminal answers questions that any output asks it (cursor position, colours, its title), and
 * the answers arrive as if typed; the command chooses the questions, so it would choose the keys.
 * What a person types while a question stands are single plain characters with pauses between.
 * Here an escape sequence is swallowed to its end, however many reads it takes, a read of many
 * bytes is dropped whole, and after either nothing counts until the line has been quiet.
 */
#ifndef CLI_ASK_KEYGUARD_H
#define CLI_ASK_KEYGUARD_H

#include <stddef.h>
#include <stdint.h>

#define KEYGUARD_BURST_MAX 4   /* more bytes at once are no typing */
#define KEYGUARD_QUIET_MS  300 /* after noise; a terminal's answers come together */

/** enum keyguard_state - where in a sequence (ECMA-48) the last byte has left us */
enum keyguard_state {
	KEYGUARD_PLAIN,
	KEYGUARD_ESCAPE, /* ESC was the last byte */
	KEYGUARD_CSI,	 /* until a byte of 0x40 to 0x7e */
	KEYGUARD_STRING, /* OSC, DCS, SOS, PM, APC: until BEL or ESC \ */
	KEYGUARD_STRING_ESCAPE,
	KEYGUARD_ONE, /* one more byte: SS2, SS3 */
};

/**
 * struct keyguard - all zero is fresh
 * @state: see above
 * @noise_ms: when noise was last seen, 0 for never
 */
struct keyguard {
	enum keyguard_state state;
	uint64_t noise_ms;
};

/**
 * keyguard_read() - judge the bytes of one read
 * @p, @n: the bytes
 * @now_ms: a monotonic clock in milliseconds, not 0
 * @keys: receives the keys that count, at most KEYGUARD_BURST_MAX
 *
 * Return: how many of them; 0 when the read was noise or came too soon after some.
 */
size_t keyguard_read(struct keyguard *g, const char *p, size_t n, uint64_t now_ms, char *keys);

#endif
