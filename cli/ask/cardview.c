#include "cli/ask/cardview.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ttylead.h"

/*
 * No colours, the usual letters, no insertion, the cursor visible; nothing protected, neither from now
 * on nor from being erased (xterm keeps what stands behind SPA until DECSCA has been used); and no
 * region in which the card would scroll by itself (which homes the cursor, so that is kept).
 */
#define RESET                                                      \
	"\033[0m\033(B\017\033[4l\033[?25h\033W\033[1\"q\033[0\"q" \
	"\0337\033[?69l\033[r\0338"

/*
 * The screen as the card is drawn: in xterm's window for text, not for Tektronix (left by ESC ETX), not
 * held back (synchronized output: kitty waits for seconds), from left to right in the order it is sent
 * (VTE: BDSM, SCP, ?2501), in the Linux console's own default colours. And no locked keyboard (KAM).
 */
#define SHOWN "\033\003\033[?2026l\033[8h\033[0 k\033[?2501l\033[37;40m\033[8]\033[2l"

/*
 * A palette in which the card has the colour of what is behind it, and a card of the command's has not:
 * back to the terminal's own (OSC 104, 105, 110, 111; ESC ] R on the Linux console). Erased next, like
 * NO_STRINGS. The line may be of double width (DECDWL); ED makes those below single.
 */
#define COLOURS "\033]R\033\\\033]104\033\\\033]105\033\\\033]110\033\\\033]111\033\\\r\033#5"

/*
 * The same for the terminal around GNU screen, or around tmux with allow-passthrough: both hand on what a
 * command puts into a DCS, and know nothing of it.
 */
#define AROUND(esc)                                                                        \
	esc "[?2026l" esc "[8h" esc "[0 k" esc "[?2501l" esc "]104\007" esc "]105\007" esc \
	    "]110\007" esc "]111\007"
#define AROUND_SCREEN "\033P" AROUND("\033") "\033\\"
#define AROUND_TMUX   "\033Ptmux;" AROUND("\033\033") "\033\\"

/*
 * Keys as a terminal sends them, whatever the command wants to hear of them (kitty's protocol: event
 * types, escape codes for all keys); and as before.
 */
#define PLAIN_KEYS     "\033[>u"
#define KEYS_AS_BEFORE "\033[<u"

/*
 * Pictures would cover the card (kitty's protocol: delete what is shown), and a link that is open (OSC
 * 8) would lead from it. A terminal that does not know strings of this kind prints them, so what is
 * erased next is the line where they stand.
 */
#define NO_STRINGS "\033_Ga=d\033\\\033]8;;\033\\\r"

/*
 * A terminal that takes nothing just now (Ctrl-S, a slow line) must not hold up a proxy. Without its
 * beginning, where the host is, a card is none, so nothing more of it is sent.
 */
void cardview_put(struct cardview *v, const char *text)
{
	size_t n = strlen(text);

	while (n && !v->lost) {
		ssize_t w = write(v->out, text, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) {
			v->lost = true;
			return;
		}
		text += w;
		n -= (size_t)w;
	}
}

static const char *around(void)
{
	const char *term = getenv("TERM");

	if (getenv("TMUX") || (term && strncmp(term, "tmux", 4) == 0))
		return AROUND_TMUX;
	if (getenv("STY") || (term && strncmp(term, "screen", 6) == 0))
		return AROUND_SCREEN;
	return "";
}

void cardview_erase(struct cardview *v)
{
	char move[32];

	v->lost = false;
	if (v->lines && v->shared)
		cardview_put(v, ttylead(v->out));
	if (v->lines && !v->shared && card_style(v->out).cursor) {
		(void)snprintf(move, sizeof(move), "\r\033[%uA\033[J", v->lines - 1);
		cardview_put(v, v->lines > 1 ? move : "\r\033[J");
	} else if (v->lines) {
		cardview_put(v, "\r\n");
	}
	v->lines = 0;
}

void cardview_clear(struct cardview *v)
{
	cardview_put(v, !v->shared && card_style(v->out).cursor ? "\033[H\033[J" : "\r\n");
	v->lines = 0;
}

void cardview_leave(struct cardview *v)
{
	if (v->keys_plain)
		cardview_put(v, KEYS_AS_BEFORE);
	v->keys_plain = false;
}

void cardview_deafen(struct cardview *v)
{
	v->deaf = true;
	v->quiet_ms = clock_ms();
	v->keys = (struct keys){ .verdict = false };
}

static void put_input(struct cardview *v, const struct question *q, const struct card_style *style)
{
	char text[CARD_MAX];

	if (v->small)
		card_small(q, style, clock_ms(), text);
	else if (v->deaf)
		card_wait(q, style, clock_ms(), text);
	else
		card_input(q, style, clock_ms(), &v->keys, text);
	cardview_put(v, text);
}

/*
 * What a command has on the screen where the card comes could be read as part of it, so all of that
 * goes.
 */
void cardview_draw(struct cardview *v, const struct question *q, const struct card_rest *rest,
		   bool fresh)
{
	const struct card_style style = card_style(v->out);
	char text[CARD_MAX];
	bool first = v->lines == 0, hidden = v->small || v->lost;

	cardview_erase(v);
	if (first || v->shared)
		cardview_put(v, ttylead(v->out));
	if (style.cursor && (first || v->shared)) {
		cardview_put(v, SHOWN RESET);
		cardview_put(v, around());
	}
	if (style.cursor && !v->keys_plain)
		cardview_put(v, PLAIN_KEYS);
	v->keys_plain = style.cursor && !v->lost;
	if (first)
		cardview_put(v, "\r\n");
	if (style.cursor)
		cardview_put(v, first || v->shared ? NO_STRINGS COLOURS "\033[J" : "\033[J");
	v->lines = card_format(q, &style, rest, text);
	v->small = style.narrow || (style.rows && v->lines > style.rows);
	if (v->small) {
		v->lines = 1;
		v->keys = (struct keys){ .verdict = false };
	} else {
		cardview_put(v, text);
	}
	/* Keys typed while the host was not in sight are about what nobody saw, however late read. */
	if (fresh || (hidden && !v->small)) {
		(void)tcflush(v->in, TCIFLUSH);
		cardview_deafen(v);
	}
	put_input(v, q, &style);
	if (v->lost) {
		v->lines = 0;
		cardview_deafen(v);
	}
}

/* A key was typed, or a second is over: the last line is enough. */
static void draw_input(struct cardview *v, const struct question *q)
{
	const struct card_style style = card_style(v->out);

	if (v->shared)
		cardview_put(v, ttylead(v->out));
	cardview_put(v, style.cursor ? "\033[0m\r\033[K" : "\r\n");
	put_input(v, q, &style);
}

void cardview_tick(struct cardview *v, const struct question *q, const struct card_rest *rest)
{
	if (clock_ms() - v->unknown_ms > CARDVIEW_UNKNOWN_MS)
		v->keys.unknown = false;
	if (v->lost)
		cardview_draw(v, q, rest, true);
	else if (v->lines && card_style(v->out).cursor)
		draw_input(v, q);
}

int cardview_wait(const struct cardview *v)
{
	uint64_t now = clock_ms(), due = v->quiet_ms + CARDVIEW_QUIET_MS;

	if (!v->deaf)
		return -1;
	return due > now ? (int)(due - now) : 0;
}

void cardview_listen(struct cardview *v, const struct question *q)
{
	int waiting = 0;

	if (cardview_wait(v) != 0)
		return;
	/* A key that came in the same turn is not quiet. */
	if (v->lost || (ioctl(v->in, FIONREAD, &waiting) == 0 && waiting > 0)) {
		cardview_deafen(v);
		return;
	}
	v->deaf = false;
	draw_input(v, q);
}

enum cardview_said cardview_keys(struct cardview *v, const struct question *q,
				 const struct card_rest *rest, const char *p, size_t n,
				 struct prompt_answer *out)
{
	char keys[KEYGUARD_BURST_MAX];
	size_t count = keyguard_read(&v->guard, p, n, clock_ms(), keys);

	if (v->deaf || v->lost) {
		cardview_deafen(v);
		return CARDVIEW_NOTHING;
	}
	if (count == 0) {
		v->keys = (struct keys){ .unknown = true }; /* half an answer is none */
		v->unknown_ms = clock_ms();
	}
	if (count == 0 && q && v->lines)
		draw_input(v, q);
	for (size_t i = 0; i < count; i++) {
		if (keys[i] == 'q' && v->quits)
			return CARDVIEW_QUIT;
		if (!q || v->small || v->lost)
			continue;
		switch (keys_feed(&v->keys, keys[i], q->wide[0], out)) {
		case KEYS_UNKNOWN:
			v->unknown_ms = clock_ms();
			cardview_draw(v, q, rest, false);
			break;
		case KEYS_MORE:
			draw_input(v, q);
			break;
		case KEYS_DONE:
			return CARDVIEW_ANSWER;
		}
	}
	return CARDVIEW_NOTHING;
}
