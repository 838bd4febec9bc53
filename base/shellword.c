#include "base/shellword.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What no shell looks at, wherever it stands; a word that begins with '=' or '~' is another matter. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "_-./:@%+,";

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

/* One byte between quotes of the kind; its length. */
static size_t quoted(char out[5], uint8_t c, bool escapes)
{
	if (!escapes && c == '\'')
		return (size_t)snprintf(out, 5, "'\\''");
	if (escapes && (c == '\'' || c == '\\'))
		return (size_t)snprintf(out, 5, "\\%c", c);
	if (escapes && (c < ' ' || c > '~'))
		return (size_t)snprintf(out, 5, "\\%03o",
					c); /* a digit may follow: \x takes any number */
	return (size_t)snprintf(out, 5, "%c", c);
}

const char *shellword(char *out, size_t size, const char *word)
{
	bool escapes = !is_printable(word);
	size_t n;

	if (*word && !word[strspn(word, plain)] && strlen(word) < size)
		return strcpy(out, word);
	n = (size_t)snprintf(out, size, escapes ? "$'" : "'");
	for (; *word; word++) {
		char byte[5];
		size_t len = quoted(byte, (uint8_t)*word, escapes);

		if (n + len + 2 > size)
			break;
		memcpy(out + n, byte, len);
		n += len;
	}
	memcpy(out + n, "'", 2);
	return out;
}
