/*
 * reader.h - the one place that moves a pointer over untrusted bytes
 *
 * A parser copies the reader, reads from the copy and commits it at the end, so that a parser
 * which needs more input has changed nothing.
 */
#ifndef BASE_READER_H
#define BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** enum parse - what a parser says: done, needs more bytes, or will never be right. */
enum parse {
	PARSE_OK,
	PARSE_MORE,
	PARSE_BAD,
};

/**
 * struct reader - the bytes still to be read
 * @p: the next byte
 * @n: how many are left
 */
struct reader {
	const uint8_t *p;
	size_t n;
};

/** reader_init() - a reader over @n bytes at @p, which must outlive it. */
static inline struct reader reader_init(const void *p, size_t n)
{
	return (struct reader){ .p = p, .n = n };
}

/** reader_u8() - the next byte into @out; false (and nothing moved) if there is none. */
bool reader_u8(struct reader *r, uint8_t *out);

/** reader_u16be() - two bytes in network order; false if there are fewer. */
bool reader_u16be(struct reader *r, uint16_t *out);

/** reader_u32be() - four bytes in network order; false if there are fewer. */
bool reader_u32be(struct reader *r, uint32_t *out);

/** reader_take() - @n bytes, in place, into @out; false if there are fewer. */
bool reader_take(struct reader *r, size_t n, const uint8_t **out);

/**
 * reader_until() - the bytes before the next @stop byte, and past it
 * @r: moved behind the @stop byte
 * @stop: the byte that ends the run; it is consumed and not part of @out
 * @out: start of the run
 * @len: its length, 0 possible
 *
 * Return: false (and nothing moved) if there is no such byte.
 */
bool reader_until(struct reader *r, uint8_t stop, const uint8_t **out, size_t *len);

/**
 * reader_decimal() - parse all of (@p, @n) as a decimal number without sign, blank or leading zero
 * @max: the largest value accepted
 *
 * Return: false on anything else, an empty string and overflow included.
 */
bool reader_decimal(const void *p, size_t n, uint64_t max, uint64_t *out);

#endif
