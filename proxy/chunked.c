#include "proxy/chunked.h"

#include <stdio.h>

#include "proxy/http_head.h"

/*
 * SIZE -> (BLANK ->) (EXT ->) SIZE_LF -> DATA -> DATA_CR -> DATA_LF -> SIZE ...
 * A size of zero: SIZE_LF -> TRAILER; each trailer line NAME -> VALUE -> VALUE_LF -> TRAILER;
 * an empty one: TRAILER -> END_LF -> DONE. BAD is for good.
 */
enum chunked_state {
	STATE_SIZE, /* zero, so that a zeroed decoder is a new one */
	STATE_BLANK,
	STATE_EXT,
	STATE_SIZE_LF,
	STATE_DATA,
	STATE_DATA_CR,
	STATE_DATA_LF,
	STATE_TRAILER,
	STATE_NAME,
	STATE_VALUE,
	STATE_VALUE_LF,
	STATE_END_LF,
	STATE_DONE,
	STATE_BAD,
};

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool is_control(uint8_t c)
{
	return (c < 0x20 && c != '\t') || c == 0x7f;
}

static enum chunked_state size_byte(struct chunked *c, uint8_t byte)
{
	int digit = hex_value(byte);

	if (digit >= 0) {
		/* the shifted value must stay within INT64_MAX */
		if (++c->digits > CHUNKED_SIZE_DIGITS_MAX || c->left > (uint64_t)INT64_MAX >> 4)
			return STATE_BAD;
		c->left = c->left << 4 | (unsigned)digit;
		return STATE_SIZE;
	}
	if (!c->digits)
		return STATE_BAD;
	if (byte == '\r')
		return STATE_SIZE_LF;
	if (c->lenient && (byte == ' ' || byte == '\t'))
		return STATE_BLANK;
	return byte == ';' ? STATE_EXT : STATE_BAD;
}

static enum chunked_state blank_byte(uint8_t byte)
{
	if (byte == ' ' || byte == '\t')
		return STATE_BLANK;
	if (byte == '\r')
		return STATE_SIZE_LF;
	return byte == ';' ? STATE_EXT : STATE_BAD;
}

static enum chunked_state size_end(struct chunked *c)
{
	c->digits = 0;
	c->line = 0;
	return c->left ? STATE_DATA : STATE_TRAILER;
}

/* One byte outside of chunk data. */
static enum chunked_state step(struct chunked *c, uint8_t byte)
{
	switch ((enum chunked_state)c->state) {
	case STATE_SIZE:
		return size_byte(c, byte);
	case STATE_BLANK:
		return blank_byte(byte);
	case STATE_EXT:
		if (byte == '\r')
			return STATE_SIZE_LF;
		return is_control(byte) ? STATE_BAD : STATE_EXT;
	case STATE_SIZE_LF:
		return byte == '\n' ? size_end(c) : STATE_BAD;
	case STATE_DATA_CR:
		return byte == '\r' ? STATE_DATA_LF : STATE_BAD;
	case STATE_DATA_LF:
		return byte == '\n' ? STATE_SIZE : STATE_BAD;
	case STATE_TRAILER:
		if (byte == '\r')
			return STATE_END_LF;
		return http_is_tchar(byte) ? STATE_NAME : STATE_BAD;
	case STATE_NAME:
		if (byte == ':')
			return STATE_VALUE;
		return http_is_tchar(byte) ? STATE_NAME : STATE_BAD;
	case STATE_VALUE:
		if (byte == '\r')
			return STATE_VALUE_LF;
		return is_control(byte) ? STATE_BAD : STATE_VALUE;
	case STATE_VALUE_LF:
		return byte == '\n' ? STATE_TRAILER : STATE_BAD;
	case STATE_END_LF:
		return byte == '\n' ? STATE_DONE : STATE_BAD;
	case STATE_DATA:
	case STATE_DONE:
	case STATE_BAD:
		break;
	}
	return STATE_BAD;
}

static bool within_limits(struct chunked *c)
{
	if (c->state <= STATE_SIZE_LF)
		return ++c->line <= CHUNKED_LINE_MAX;
	if (c->state >= STATE_TRAILER)
		return ++c->trailers <= CHUNKED_TRAILERS_MAX;
	return true;
}

static enum parse take_data(struct chunked *c, struct reader *r, struct http_slice *data)
{
	size_t n = r->n < c->left ? r->n : (size_t)c->left;

	data->n = n;
	(void)reader_take(r, n, &data->p);
	c->left -= n;
	if (!c->left)
		c->state = STATE_DATA_CR;
	return PARSE_OK;
}

enum parse chunked_next(struct chunked *c, struct reader *r, struct http_slice *data)
{
	uint8_t byte;

	while (c->state != STATE_BAD) {
		if (c->state == STATE_DONE) {
			*data = (struct http_slice){ r->p, 0 };
			return PARSE_OK;
		}
		if (!r->n)
			return PARSE_MORE;
		if (c->state == STATE_DATA)
			return take_data(c, r, data);
		(void)reader_u8(r, &byte);
		c->state = within_limits(c) ? (uint8_t)step(c, byte) : STATE_BAD;
	}
	return PARSE_BAD;
}

bool chunked_done(const struct chunked *c)
{
	return c->state == STATE_DONE;
}

size_t chunked_format_size(size_t n, char out[CHUNKED_SIZE_MAX])
{
	return (size_t)snprintf(out, CHUNKED_SIZE_MAX, "%zx\r\n", n);
}
