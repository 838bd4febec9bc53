#include "base/jsonout.h"

#include <string.h>

#include "base/decimal.h"

static void raw(struct jsonout *j, const char *s, size_t n)
{
	if (j->full || j->size - j->len < n) {
		j->full = true;
		return;
	}
	memcpy(j->buf + j->len, s, n);
	j->len += n;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void quoted(struct jsonout *j, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";

	raw(j, "\"", 1);
	for (size_t i = 0, plain; i < n; i++) {
		unsigned char c;

		for (plain = i; i < n && is_plain((unsigned char)s[i]); i++)
			;
		raw(j, s + plain, i - plain);
		if (i == n)
			break;
		c = (unsigned char)s[i];
		if (c == '"' || c == '\\') {
			const char esc[2] = { '\\', (char)c };

			raw(j, esc, sizeof(esc));
		} else {
			const char esc[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

			raw(j, esc, sizeof(esc));
		}
	}
	raw(j, "\"", 1);
}

/* The comma and the name before a value. A name is a word of ours: nothing in it needs a mark. */
static void member(struct jsonout *j, const char *key)
{
	size_t n = key ? strlen(key) : 0;
	bool comma = !j->first;
	char *p;

	j->first = false;
	if (j->full || j->size - j->len < n + 4) {
		j->full = true;
		return;
	}
	p = j->buf + j->len;
	if (comma)
		*p++ = ',';
	if (key) {
		*p++ = '"';
		p = mempcpy(p, key, n);
		*p++ = '"';
		*p++ = ':';
	}
	j->len = (size_t)(p - j->buf);
}

void jsonout_begin(struct jsonout *j, char *buf, size_t size)
{
	*j = (struct jsonout){ .buf = buf, .size = size, .first = true };
	raw(j, "{", 1);
}

size_t jsonout_end(struct jsonout *j)
{
	raw(j, "}\n", 2);
	return j->full ? 0 : j->len;
}

void jsonout_strn(struct jsonout *j, const char *key, const char *s, size_t n)
{
	member(j, key);
	quoted(j, s, n);
}

void jsonout_str(struct jsonout *j, const char *key, const char *s)
{
	member(j, key);
	if (s)
		quoted(j, s, strlen(s));
	else
		raw(j, "null", 4);
}

void jsonout_uint(struct jsonout *j, const char *key, uint64_t v)
{
	char digits[DECIMAL_MAX];

	member(j, key);
	raw(j, digits, decimal_format(v, digits));
}

void jsonout_bool(struct jsonout *j, const char *key, bool v)
{
	member(j, key);
	raw(j, v ? "true" : "false", v ? 4 : 5);
}

void jsonout_array(struct jsonout *j, const char *key)
{
	member(j, key);
	raw(j, "[", 1);
	j->first = true;
}

void jsonout_object(struct jsonout *j, const char *key)
{
	member(j, key);
	raw(j, "{", 1);
	j->first = true;
}

void jsonout_close(struct jsonout *j)
{
	raw(j, "]", 1);
	j->first = false;
}

void jsonout_close_object(struct jsonout *j)
{
	raw(j, "}", 1);
	j->first = false;
}
