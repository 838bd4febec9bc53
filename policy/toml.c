#include "policy/toml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

/**
 * struct toml - one parse
 * @p, @end: what is left
 * @key, @nkey: segments of the current key, each a string in @keys
 * @table: segments that the last [header] gave
 * @depth: values in values
 */
struct toml {
	const char *p, *end, *file;
	unsigned line;
	const char *key[TOML_DEPTH_MAX];
	size_t nkey, table;
	char keys[TOML_KEY_MAX];
	size_t keys_n;
	unsigned depth;
	toml_cb *cb;
	void *arg;
	struct error *err;
};

static int value(struct toml *t, bool element);

static int fail(struct toml *t, const char *what)
{
	return error_set(t->err, 0, "%s:%u: %s", t->file, t->line, what);
}

static bool at(const struct toml *t, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(t->end - t->p) >= n && memcmp(t->p, s, n) == 0;
}

static bool accept(struct toml *t, char c)
{
	if (t->p == t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

static void blanks(struct toml *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
}

/* A line's end, "\n" or "\r\n". */
static bool newline(struct toml *t)
{
	if (at(t, "\r\n"))
		t->p++;
	if (!accept(t, '\n'))
		return false;
	t->line++;
	return true;
}

static int comment(struct toml *t)
{
	if (!accept(t, '#'))
		return 0;
	while (t->p < t->end && *t->p != '\n' && !at(t, "\r\n")) {
		unsigned char c = (unsigned char)*t->p;

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return fail(t, "a comment holds a control character");
		t->p++;
	}
	return 0;
}

/* Blanks, comments and line ends. */
static int space(struct toml *t)
{
	do {
		blanks(t);
		if (comment(t) < 0)
			return -1;
	} while (newline(t));
	return 0;
}

static int rest_of_line(struct toml *t)
{
	blanks(t);
	if (comment(t) < 0)
		return -1;
	return newline(t) || t->p == t->end ? 0 : fail(t, "something stands behind the value");
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* A code point as UTF-8. Return: how many bytes, 0 if it is none (or NUL, which no text holds). */
static size_t utf8(uint32_t c, char out[4])
{
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* Behind the backslash. Return: bytes written, 0 for none of the known escapes. */
static size_t escape(struct toml *t, char out[4])
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	const char *known;
	uint32_t code = 0;
	size_t digits;

	if (t->p == t->end)
		return 0;
	known = *t->p ? strchr(from, *t->p) : NULL;
	if (known) {
		t->p++;
		out[0] = to[known - from];
		return 1;
	}
	digits = *t->p == 'u' ? 4 : *t->p == 'U' ? 8 : 0;
	if (!digits || (size_t)(t->end - t->p) <= digits)
		return 0;
	t->p++;
	for (size_t i = 0; i < digits; i++, t->p++) {
		if (hex(*t->p) < 0)
			return 0;
		code = code << 4 | (uint32_t)hex(*t->p);
	}
	return utf8(code, out);
}

/* A backslash at the end of a line of a """string""" swallows it and the blanks behind it. */
static bool swallowed_line(struct toml *t)
{
	struct toml copy = *t;

	blanks(&copy);
	if (!newline(&copy))
		return false;
	do
		blanks(&copy);
	while (newline(&copy));
	t->p = copy.p;
	t->line = copy.line;
	return true;
}

/* Behind the opening quotes. @out has room for what is left of the text. */
static int string_body(struct toml *t, char quote, bool multi, char *out)
{
	const char closing[] = { quote, quote, quote, '\0' };
	size_t n = 0;

	if (multi)
		(void)newline(t);
	while (t->p < t->end) {
		unsigned char c = (unsigned char)*t->p;

		if (multi ? at(t, closing) : c == (unsigned char)quote) {
			t->p += multi ? 3 : 1;
			/* up to two more quotes belong to the text */
			for (int i = 0; multi && i < 2 && accept(t, quote); i++)
				out[n++] = quote;
			out[n] = '\0';
			return 0;
		}
		if (multi && newline(t)) {
			out[n++] = '\n';
			continue;
		}
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return fail(t, "a string holds a control character");
		t->p++;
		if (c != '\\' || quote != '"') {
			out[n++] = (char)c;
		} else if (!multi || !swallowed_line(t)) {
			size_t k = escape(t, out + n);

			if (!k)
				return fail(t, "a string holds an unknown escape");
			n += k;
		}
	}
	return fail(t, "a string has no end");
}

/* At a quote. The caller frees @out. */
static int string(struct toml *t, bool may_be_multi, char **out)
{
	char quote = *t->p;
	const char triple[] = { quote, quote, quote, '\0' };
	bool multi = at(t, triple);

	if (multi && !may_be_multi)
		return fail(t, "a key is no string of several lines");
	t->p += multi ? 3 : 1;
	*out = xmalloc((size_t)(t->end - t->p) + 1);
	return string_body(t, quote, multi, *out);
}

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static int push(struct toml *t, const char *p, size_t n)
{
	if (t->nkey == TOML_DEPTH_MAX || n + 1 > sizeof(t->keys) - t->keys_n)
		return fail(t, "a key is too long");
	memcpy(t->keys + t->keys_n, p, n);
	t->keys[t->keys_n + n] = '\0';
	t->key[t->nkey++] = t->keys + t->keys_n;
	t->keys_n += n + 1;
	return 0;
}

static void pop_to(struct toml *t, size_t n)
{
	t->nkey = n;
	t->keys_n = n ? (size_t)(t->key[n - 1] - t->keys) + strlen(t->key[n - 1]) + 1 : 0;
}

static int key_segment(struct toml *t)
{
	CLEANUP_FREE char *quoted = NULL;
	const char *start = t->p;

	if (t->p < t->end && (*t->p == '"' || *t->p == '\'')) {
		if (string(t, false, &quoted) < 0)
			return -1;
		return push(t, quoted, strlen(quoted));
	}
	while (t->p < t->end && is_bare(*t->p))
		t->p++;
	if (t->p == start)
		return fail(t, "here should be a key");
	return push(t, start, (size_t)(t->p - start));
}

/* a.b."c d" */
static int key(struct toml *t)
{
	do {
		blanks(t);
		if (key_segment(t) < 0)
			return -1;
		blanks(t);
	} while (accept(t, '.'));
	return 0;
}

static int hand_over(struct toml *t, enum toml_kind kind, bool element, const char *text)
{
	const struct toml_item item = { .key = t->key,
					.nkey = t->nkey,
					.kind = kind,
					.element = element,
					.text = text,
					.line = t->line };

	return t->cb(t->arg, &item, t->err);
}

static int array(struct toml *t, bool element)
{
	if (hand_over(t, TOML_ARRAY, element, NULL) < 0)
		return -1;
	t->p++;
	for (;;) {
		if (space(t) < 0)
			return -1;
		if (accept(t, ']'))
			return 0;
		if (value(t, true) < 0 || space(t) < 0)
			return -1;
		if (accept(t, ']'))
			return 0;
		if (!accept(t, ','))
			return fail(t, "an array lacks a comma or its end");
	}
}

static int pair(struct toml *t)
{
	size_t before = t->nkey;

	if (key(t) < 0)
		return -1;
	if (!accept(t, '='))
		return fail(t, "a key lacks its '='");
	blanks(t);
	if (value(t, false) < 0)
		return -1;
	pop_to(t, before);
	return 0;
}

static int inline_table(struct toml *t, bool element)
{
	if (hand_over(t, TOML_TABLE, element, NULL) < 0)
		return -1;
	t->p++;
	blanks(t);
	if (accept(t, '}'))
		return 0;
	for (;;) {
		if (pair(t) < 0)
			return -1;
		blanks(t);
		if (accept(t, '}'))
			return 0;
		if (!accept(t, ','))
			return fail(t, "an inline table lacks a comma or its end");
		blanks(t);
	}
}

/* true, false, or a number or date, of which only the letters are looked at. */
static int word(struct toml *t, bool element)
{
	static const char letters[] = "+-_.:abcdefinotxABCDEFTZ0123456789";
	const char *start = t->p;
	size_t n;

	while (t->p < t->end && *t->p && strchr(letters, *t->p))
		t->p++;
	n = (size_t)(t->p - start);
	if (at(t, "rue") && n == 1 && *start == 't') {
		t->p += 3;
		n = 4;
	} else if (at(t, "lse") && n == 2 && memcmp(start, "fa", 2) == 0) {
		t->p += 3;
		n = 5;
	}
	if (t->p < t->end && is_bare(*t->p))
		return fail(t, "a value that is none");
	if (n == 4 && memcmp(start, "true", 4) == 0)
		return hand_over(t, TOML_TRUE, element, NULL);
	if (n == 5 && memcmp(start, "false", 5) == 0)
		return hand_over(t, TOML_FALSE, element, NULL);
	if (n == 0 || (!memchr("+-", *start, 2) && (*start < '0' || *start > '9') &&
		       !(n == 3 && (memcmp(start, "inf", 3) == 0 || memcmp(start, "nan", 3) == 0))))
		return fail(t, "a value that is none");
	return hand_over(t, TOML_OTHER, element, NULL);
}

static int value(struct toml *t, bool element)
{
	CLEANUP_FREE char *text = NULL;
	int rc;

	if (t->p == t->end)
		return fail(t, "a key lacks its value");
	if (*t->p == '"' || *t->p == '\'') {
		if (string(t, true, &text) < 0)
			return -1;
		return hand_over(t, TOML_STRING, element, text);
	}
	if (*t->p != '[' && *t->p != '{')
		return word(t, element);
	if (++t->depth > TOML_DEPTH_MAX)
		return fail(t, "values are nested too deeply");
	rc = *t->p == '[' ? array(t, element) : inline_table(t, element);
	t->depth--;
	return rc;
}

/* [a.b] or [[a.b]] */
static int header(struct toml *t)
{
	bool many = at(t, "[[");

	t->p += many ? 2 : 1;
	pop_to(t, 0);
	if (key(t) < 0)
		return -1;
	if (!accept(t, ']') || (many && !accept(t, ']')))
		return fail(t, "a header lacks its end");
	t->table = t->nkey;
	return hand_over(t, TOML_TABLE, many, NULL);
}

int toml_parse(const char *text, size_t len, const char *file, toml_cb *cb, void *arg,
	       struct error *err)
{
	struct toml t = { .p = text,
			  .end = text + len,
			  .file = file,
			  .line = 1,
			  .cb = cb,
			  .arg = arg,
			  .err = err };

	if (len > TOML_FILE_MAX)
		return fail(&t, "the file is too long");
	if (at(&t, "\xef\xbb\xbf"))
		t.p += 3;
	for (;;) {
		if (space(&t) < 0)
			return -1;
		if (t.p == t.end)
			return 0;
		if ((*t.p == '[' ? header(&t) : pair(&t)) < 0 || rest_of_line(&t) < 0)
			return -1;
	}
}
