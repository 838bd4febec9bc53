#include "policy/jsonlines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

struct index {
	unsigned *v;
	size_t n, room;
};

static void note(struct index *ix, unsigned line)
{
	ix->v = xgrow(ix->v, &ix->room, ix->n + 1, 64, sizeof(*ix->v));
	ix->v[ix->n++] = line;
}

/* Behind the closing quote of a string that starts at @i. */
static size_t skip_string(const char *text, size_t len, size_t i)
{
	for (i++; i < len && text[i] != '"'; i++) {
		if (text[i] == '\\')
			i++;
	}
	return i < len ? i + 1 : len;
}

/* Whether the string that ended before @i is a member's name. */
static bool is_name(const char *text, size_t len, size_t i)
{
	while (i < len && strchr(" \t\r\n", text[i]))
		i++;
	return i < len && text[i] == ':';
}

size_t jsonlines_index(const char *text, size_t len, unsigned **out)
{
	struct index ix = { 0 };
	unsigned line = 1;
	size_t i = 0;

	while (i < len) {
		size_t end;

		switch (text[i]) {
		case '\n':
			line++;
			i++;
			break;
		case ' ':
		case '\t':
		case '\r':
		case ',':
		case ':':
		case ']':
		case '}':
			i++;
			break;
		case '"':
			end = skip_string(text, len, i);
			if (!is_name(text, len, end))
				note(&ix, line);
			i = end;
			break;
		case '{':
		case '[':
			note(&ix, line);
			i++;
			break;
		default: /* a number, true, false or null */
			note(&ix, line);
			do
				i++;
			while (i < len && !strchr(" \t\r\n,]}", text[i]));
			break;
		}
	}
	*out = ix.v;
	return ix.n;
}
