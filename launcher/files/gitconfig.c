#include "launcher/files/gitconfig.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define SECTION_MAX 64
#define BLANKS	    " \t\r\v\f"

/* As git reads it: a carriage return before a line's end is none, and a zero byte ends a value. */
static void tidy(char *text, size_t n)
{
	char *out = text;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n')
			continue;
		*out++ = text[i] ? text[i] : '\n';
	}
	*out = '\0';
}

/* Takes the next line out of *@p, joined with those that a backslash continues; no comments. */
static char *next_line(char **p)
{
	char *start = *p, *out = start, *in = start;
	bool quoted = false;

	if (!*start)
		return NULL;
	while (*in && *in != '\n') {
		if (in[0] == '\\' && in[1] == '\n') {
			in += 2;
			continue;
		}
		if (!quoted && (*in == '#' || *in == ';')) {
			in += strcspn(in, "\n");
			break;
		}
		if (*in == '"')
			quoted = !quoted;
		if (in[0] == '\\' && in[1])
			*out++ = *in++;
		*out++ = *in++;
	}
	*p = *in ? in + 1 : in;
	*out = '\0';
	return start;
}

/* "[name]" and "[name "sub"]"; "[name.sub]" is the old form. Return: what comes behind. */
static char *read_section(char *line, char section[static SECTION_MAX])
{
	size_t n = strcspn(line + 1, BLANKS ".\"]");
	char *p = line + 1 + n;
	bool quoted = false;

	section[0] = '\0';
	if (n >= SECTION_MAX)
		return strchr(p, '\0');
	memcpy(section, line + 1, n);
	section[n] = '\0';
	for (; *p && (quoted || *p != ']'); p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '"')
			quoted = !quoted;
	}
	return *p ? p + 1 : p;
}

/* Unquotes in place: blanks at the end go, escapes are what they stand for. */
static char *read_value(char *p)
{
	char *start = p + strspn(p, BLANKS), *out = start, *end = start;
	bool quoted = false;

	for (char *in = start; *in; in++) {
		if (*in == '"') {
			quoted = !quoted;
			end = out;
			continue;
		}
		if (*in == '\\' && in[1]) {
			in++;
			*out = *in == 'n' ? '\n' : *in == 't' ? '\t' : *in == 'b' ? '\b' : *in;
		} else {
			*out = *in;
		}
		out++;
		if (quoted || !strchr(BLANKS, out[-1]))
			end = out;
	}
	*end = '\0';
	return start;
}

void gitconfig_parse(char *text, size_t n, gitconfig_use *use, void *arg)
{
	char section[SECTION_MAX] = "";
	char *line;

	tidy(text, n);
	if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
		text += 3;
	while ((line = next_line(&text))) {
		char *p = line + strspn(line, BLANKS), *key, *end;

		while (*p == '[') { /* there may be several on a line */
			p = read_section(p, section);
			p += strspn(p, BLANKS);
		}
		key = p;
		p += strcspn(p, BLANKS "=");
		end = p;
		p += strspn(p, BLANKS);
		if (end == key)
			continue;
		if (*p == '=') {
			*end = '\0';
			use(arg, section, key, read_value(p + 1));
		} else if (isalpha((unsigned char)*key)) { /* a switch without a value */
			*end = '\0';
			use(arg, section, key, "true");
		}
	}
}
