#include "base/reader.h"

#include <string.h>

bool reader_take(struct reader *r, size_t n, const uint8_t **out)
{
	if (r->n < n)
		return false;
	*out = r->p;
	r->p += n;
	r->n -= n;
	return true;
}

bool reader_u8(struct reader *r, uint8_t *out)
{
	const uint8_t *p;

	if (!reader_take(r, 1, &p))
		return false;
	*out = p[0];
	return true;
}

bool reader_u16be(struct reader *r, uint16_t *out)
{
	const uint8_t *p;

	if (!reader_take(r, 2, &p))
		return false;
	*out = (uint16_t)((unsigned)p[0] << 8 | p[1]);
	return true;
}

bool reader_u32be(struct reader *r, uint32_t *out)
{
	const uint8_t *p;

	if (!reader_take(r, 4, &p))
		return false;
	*out = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	return true;
}

bool reader_until(struct reader *r, uint8_t stop, const uint8_t **out, size_t *len)
{
	const uint8_t *end = r->n ? memchr(r->p, stop, r->n) : NULL;

	if (!end)
		return false;
	*len = (size_t)(end - r->p);
	(void)reader_take(r, *len, out);
	r->p++;
	r->n--;
	return true;
}

bool reader_decimal(const void *p, size_t n, uint64_t max, uint64_t *out)
{
	const uint8_t *s = p;
	uint64_t v = 0;

	if (n == 0 || (n > 1 && s[0] == '0'))
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned)s[i] - '0';

		if (digit > 9 || v > (max - digit) / 10 || digit > max)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}
