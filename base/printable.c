#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* A block of code points. */
struct block {
	uint32_t first, last;
};

/* Controls (C1), and of Unicode's general category Cf what is not seen or turns what is seen around. */
static const struct block hidden[] = {
	{ 0x80, 0x9f },	      { 0xad, 0xad },	  { 0x61c, 0x61c },	{ 0x180e, 0x180e },
	{ 0x200b, 0x200f },   { 0x2028, 0x202e }, { 0x2060, 0x206f },	{ 0xd800, 0xdfff },
	{ 0xfeff, 0xfeff },   { 0xfff9, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

static bool is_shown(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return false;
	return c <= 0x10ffff;
}

/* Length of the character at @s if it is UTF-8 that is shown (RFC 3629), or 0. */
static size_t shown(const uint8_t *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c = s[0] & (0xffu >> (n + 1));

	if (s[0] >= 0x20 && s[0] < 0x7f)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) /* the end of the text, too */
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c >= least[n] && is_shown(c) ? n : 0;
}

char *printable(char *out, size_t size, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *p = (const uint8_t *)s;
	size_t o = 0;

	while (*p) {
		size_t n = shown(p);

		if (o + (n ? n : 4) >= size)
			break;
		for (size_t i = 0; i < n; i++)
			out[o++] = (char)p[i];
		if (!n) {
			out[o++] = '\\';
			out[o++] = 'x';
			out[o++] = hex[*p >> 4];
			out[o++] = hex[*p & 15];
		}
		p += n ? n : 1;
	}
	out[o] = '\0';
	return out;
}
