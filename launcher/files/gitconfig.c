/*
 * Theory of operation
 *
 * The file is read a character at a time, in the order in which git reads it, and what git would not take
 * ends it: a reader that passes over what it does not know passes over what git obeys. What differs between
 * versions is told (GITCONFIG_ODD): up to 2.44 each blank in a value is a space. git counts only these as
 * blanks: space, tab, line feed and carriage return.
 */
#include "launcher/files/gitconfig.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define MARK "\xef\xbb\xbf" /* a byte order mark */

/**
 * struct source - a file that is read
 * @text, @n: its contents; what has been read is written over with names and values
 * @section, @sub: what the reader is in; @sub may be NULL
 * @full: both, as one name, in room for all of the file
 * @odd: something is told as GITCONFIG_ODD
 */
struct source {
	char *text;
	size_t n, at;
	char *full;
	const char *section, *sub;
	bool end, odd;
};

/* The next character; "\r\n" is one, and so is the end of the file: that of a line. */
static char next(struct source *s)
{
	char c;

	if (s->at == s->n) {
		s->end = true;
		return '\n';
	}
	c = s->text[s->at++];
	if (c == '\r' && s->at < s->n && s->text[s->at] == '\n')
		c = s->text[s->at++];
	s->odd |= ((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
	return c;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

/* Behind the blank in [section "sub"]; it is appended at @out. Return: where that ends, NULL if it is none. */
static char *read_sub(struct source *s, char c, char *out)
{
	while (is_blank(c)) {
		if (c == '\n')
			return NULL;
		c = next(s);
	}
	if (c != '"')
		return NULL;
	*out++ = '.';
	while ((c = next(s)) != '"') {
		if (c == '\\')
			c = next(s);
		if (c == '\n' || c == '\0')
			return NULL;
		*out++ = c;
	}
	return next(s) == ']' ? out : NULL;
}

/* Behind "[". The first dot, spelt or not, ends the section. */
static bool read_section(struct source *s)
{
	char *out = s->full, *dot, c;

	while ((c = next(s)) != ']' && out) {
		if (is_blank(c)) {
			out = read_sub(s, c, out);
			break;
		}
		if (s->end || !(is_name(c) || c == '.'))
			return false;
		*out++ = c;
	}
	if (!out || out == s->full)
		return false;
	*out = '\0';
	dot = strchr(s->full, '.');
	if (dot)
		*dot = '\0';
	s->section = s->full;
	s->sub = dot ? dot + 1 : NULL;
	return true;
}

/* What a backslash and @c stand for. Return: whether there is such a thing. */
static bool unescape(char c, char *out)
{
	static const char from[] = "tbn\\\"", to[] = "\t\b\n\\\"";
	const char *p = c ? strchr(from, c) : NULL;

	if (!p)
		return false;
	*out = to[p - from];
	return true;
}

/**
 * struct value - one that is written over its own text
 * @out: its end so far, with blanks; @end: without those at its end
 * @tab: there are blanks behind @end that are no spaces
 */
struct value {
	char *start, *out, *end;
	bool tab;
};

static void put(struct source *s, struct value *v, char c, bool quoted)
{
	if (is_blank(c) && !quoted) {
		if (v->out == v->start)
			return;
		v->tab |= c != ' ';
		*v->out++ = c;
		return;
	}
	s->odd |= v->tab;
	*v->out++ = c;
	v->end = v->out;
}

/* Up to the end of the line. Quotes and what is escaped count as the end of blanks, too. */
static bool read_value(struct source *s, struct value *v)
{
	bool quoted = false;
	char c;

	while ((c = next(s)) != '\n') {
		if (c == '\0')
			return false;
		if (!quoted && (c == ';' || c == '#'))
			break;
		if (c == '"') {
			quoted = !quoted;
			s->odd |= v->tab;
			v->end = v->out;
		} else if (c != '\\') {
			put(s, v, c, quoted);
		} else if ((c = next(s)) != '\n') {
			if (!unescape(c, &c))
				return false;
			put(s, v, c, true);
		} else {
			s->odd |= v->tab;
			v->end = v->out;
		}
	}
	while (c != '\n' && c)
		c = next(s);
	*v->end = '\0';
	return !quoted && c;
}

/* Behind the first letter of a key, which is the last character that was read. */
static bool read_variable(struct source *s, gitconfig_use *use, void *arg)
{
	struct gitconfig_variable var = { s->section, s->sub, s->text + s->at - 1, "true" };
	char *end, c;

	do
		c = next(s);
	while (!s->end && is_name(c));
	end = s->end ? s->text + s->n : s->text + s->at - 1;
	if (c == '\n' && !s->end && end > var.key && end[-1] == '\r')
		end--;
	while (c == ' ' || c == '\t')
		c = next(s);
	if (c == '=') {
		char *start = s->text + s->at;
		struct value v = { start, start, start, false };

		if (!read_value(s, &v))
			return false;
		var.value = start;
	} else if (c != '\n') {
		return false;
	}
	*end = '\0';
	use(arg, &var);
	return true;
}

static bool skip_comment(struct source *s)
{
	char c;

	do
		c = next(s);
	while (c != '\n' && c);
	return c;
}

/* Return: whether to go on. */
static bool read_next(struct source *s, gitconfig_use *use, void *arg)
{
	char c = next(s);

	if (is_blank(c))
		return true;
	if (c == '#' || c == ';')
		return skip_comment(s);
	if (c == '[')
		return read_section(s);
	return is_letter(c) && read_variable(s, use, arg);
}

/* A zero byte ends a name in git, and is read on behind; whoever writes one does not write for people. */
enum gitconfig gitconfig_parse(const char *text, size_t n, gitconfig_use *use, void *arg)
{
	CLEANUP_FREE char *copy = xcalloc(1, n + 1), *full = xcalloc(1, n + 1);
	struct source s = { .text = copy, .n = n, .full = full, .section = "" };

	memcpy(copy, text, n);
	if (n >= strlen(MARK) && memcmp(text, MARK, strlen(MARK)) == 0)
		s.at = strlen(MARK);
	while (!s.end)
		if (!read_next(&s, use, arg))
			return GITCONFIG_BAD;
	return s.odd ? GITCONFIG_ODD : GITCONFIG_OK;
}

bool gitconfig_is(const struct gitconfig_variable *var, const char *section, const char *key)
{
	return !var->sub && strcasecmp(var->section, section) == 0 &&
	       strcasecmp(var->key, key) == 0;
}
