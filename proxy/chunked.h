/*
 * chunked.h - the chunked transfer coding (RFC 9112 7.1), decoded strictly and encoded
 *
 * A size is 1 to CHUNKED_SIZE_DIGITS_MAX hex digits, then at once CRLF or ';'; in a response blanks may stand
 * before either, with which old servers pad (RFC 9112 7.1.1, RFC 9110 5.6.3). Extensions are
 * dropped, trailers too, both bounded. The decoder is a stream: it keeps its state and consumes.
 */
#ifndef PROXY_CHUNKED_H
#define PROXY_CHUNKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "proxy/http_head.h"
#include "proxy/limits.h"

/**
 * struct chunked - a decoder; all zero, but for @lenient, before the first byte of a body
 * @state: of chunked.c
 * @digits: hex digits of the size so far
 * @line: bytes of the current size line
 * @trailers: bytes of trailers so far
 * @lenient: blanks behind a size are no error
 * @left: bytes of the current chunk that are still to come
 */
struct chunked {
	uint8_t state;
	uint8_t digits;
	uint16_t line;
	uint16_t trailers;
	bool lenient;
	uint64_t left;
};

/**
 * chunked_next() - consume until there is body data, the end, or nothing left
 * @c: the decoder
 * @r: consumed as far as it was understood, also on MORE
 * @data: on OK the next body bytes, in place; @data->n is 0 at the end of the body
 *
 * Call it again while it says OK with data. After the end, @r stands behind the body.
 *
 * Return: PARSE_OK, PARSE_MORE (all of @r is consumed), or PARSE_BAD (for good).
 */
enum parse chunked_next(struct chunked *c, struct reader *r, struct http_slice *data);

/** chunked_done() - whether the end of the body has been seen. */
bool chunked_done(const struct chunked *c);

#define CHUNKED_SIZE_MAX 19	     /* 16 digits, CRLF, zero byte */
#define CHUNKED_DATA_END "\r\n"	     /* behind the data of each chunk */
#define CHUNKED_LAST	 "0\r\n\r\n" /* ends the body */

/**
 * chunked_format_size() - the size line of a chunk of @n bytes, n > 0, into @out
 *
 * Return: its length. Send it, the @n bytes, CHUNKED_DATA_END; at the end CHUNKED_LAST.
 */
size_t chunked_format_size(size_t n, char out[CHUNKED_SIZE_MAX]);

#endif
