/*
 * jsonout.h - write one JSON object on one line, without a heap
 *
 * Text from strangers (host names, argv) cannot forge a line: every byte outside printable ASCII is
 * escaped. Keys are words of ours and written as they stand. Members come in the order of the calls,
 * so that the order of keys is stable.
 */
#ifndef BASE_JSONOUT_H
#define BASE_JSONOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct jsonout - an object under way
 * @buf, @size: the caller's buffer
 * @len: bytes written
 * @full: it did not fit; the object is not to be used
 * @first: no member yet at this level
 */
struct jsonout {
	char *buf;
	size_t size, len;
	bool full, first;
};

/** jsonout_begin() - "{" into (@buf, @size). */
void jsonout_begin(struct jsonout *j, char *buf, size_t size);

/** jsonout_end() - "}" and a newline. Return: the length of the line, or 0 if it did not fit. */
size_t jsonout_end(struct jsonout *j);

/** jsonout_strn() - "key":"value"; (@s, @n) is treated as bytes, U+00xx escapes outside ASCII. */
void jsonout_strn(struct jsonout *j, const char *key, const char *s, size_t n);

/** jsonout_str() - the same for a terminated string; NULL gives null. */
void jsonout_str(struct jsonout *j, const char *key, const char *s);

/** jsonout_uint() - "key":123 */
void jsonout_uint(struct jsonout *j, const char *key, uint64_t v);

/** jsonout_bool() - "key":true */
void jsonout_bool(struct jsonout *j, const char *key, bool v);

/** jsonout_array() - "key":[ ; elements follow with a NULL key; closed by jsonout_close(). */
void jsonout_array(struct jsonout *j, const char *key);

/** jsonout_object() - "key":{ ; closed by jsonout_close_object(). */
void jsonout_object(struct jsonout *j, const char *key);

/** jsonout_close() - "]" */
void jsonout_close(struct jsonout *j);

/** jsonout_close_object() - "}" */
void jsonout_close_object(struct jsonout *j);

#endif
