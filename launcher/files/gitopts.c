/*
 * Theory of operation
 *
 * git runs "git-merge-STRATEGY", and many a program of git's has a name like that: git-merge-file
 * writes a file that its arguments name. A strategy in the form of a script hands its options on to
 * git read-tree, which has one that names a file to be written, as git apply has. So names and
 * options are those of the lists; the value of one has no blank, no quote and no backslash in it here.
 */
#include "launcher/files/gitopts.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

#define DIGITS	 "0123456789"
#define BLANKS	 " \t\r\n\v\f"
#define WORD_MAX 1024

static const char *const strategies[] = {
	"ort",	   "recursive", "recursive-ours", "recursive-theirs",
	"resolve", "octopus",	"ours",		  "subtree",
};

/* Those that end in "=" have a value. */
static const char *const merge_options[] = {
	"ours",
	"theirs",
	"subtree",
	"subtree=",
	"patience",
	"histogram",
	"diff-algorithm=",
	"renormalize",
	"no-renormalize",
	"no-renames",
	"find-renames",
	"find-renames=",
	"rename-threshold=",
	"ignore-space-change",
	"ignore-all-space",
	"ignore-space-at-eol",
	"ignore-cr-at-eol",
};

static const char *const apply_options[] = {
	"whitespace=",
	"ignore-space-change",
	"ignore-whitespace",
	"directory=",
	"exclude=",
	"include=",
	"reject",
};

bool gitopts_is_strategy(const char *text, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
		if (strlen(strategies[i]) == n && memcmp(strategies[i], text, n) == 0)
			return true;
	return n == 0;
}

static bool is_in(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++) {
		size_t m = strlen(list[i]);

		if (list[i][m - 1] == '=' ? strncmp(word, list[i], m) == 0
					  : strcmp(word, list[i]) == 0)
			return true;
	}
	return false;
}

static bool is_merge_option(const char *word)
{
	return is_in(merge_options, ARRAY_SIZE(merge_options),
		     strncmp(word, "--", 2) == 0 ? word + 2 : word);
}

/* -C and -p take a number. */
static bool is_apply_option(const char *word)
{
	if (word[0] == '-' && (word[1] == 'C' || word[1] == 'p'))
		return word[2 + strspn(word + 2, DIGITS)] == '\0';
	return strncmp(word, "--", 2) == 0 &&
	       is_in(apply_options, ARRAY_SIZE(apply_options), word + 2);
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-=_./,:+@%*", c));
}

/* Whether each word is one of @is; words are between blanks and simple quotes. */
static bool are_all(const char *text, size_t n, bool (*is)(const char *word))
{
	char word[WORD_MAX];
	size_t m = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && is_word_char(text[i]) && m < sizeof(word) - 1) {
			word[m++] = text[i];
			continue;
		}
		if (i < n && (!text[i] || !strchr(BLANKS "'", text[i])))
			return false;
		word[m] = '\0';
		if (m > 0 && !is(word))
			return false;
		m = 0;
	}
	return true;
}

bool gitopts_merges(const char *text, size_t n)
{
	return are_all(text, n, is_merge_option);
}

bool gitopts_applies(const char *text, size_t n)
{
	return are_all(text, n, is_apply_option);
}

bool gitopts_is_quoted(const char *text, size_t n)
{
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\'')
			quoted = !quoted;
		else if (!quoted && text[i] == '\\' && i + 1 < n &&
			 (text[i + 1] == '\'' || text[i + 1] == '!'))
			i++;
		else if (!text[i] || (!quoted && !strchr(BLANKS, text[i])))
			return false;
	}
	return !quoted;
}

static bool is_made_of(const char *text, size_t n, const char *chars)
{
	for (size_t i = 0; i < n; i++)
		if (!text[i] || !strchr(chars, text[i]))
			return false;
	return true;
}

bool gitopts_is_value(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_word_char(text[i]))
			return false;
	return n == 0 || text[0] != '-';
}

bool gitopts_is_number(const char *text, size_t n)
{
	return is_made_of(text, n, DIGITS BLANKS);
}

bool gitopts_are_objects(const char *text, size_t n)
{
	return is_made_of(text, n, DIGITS "abcdef" BLANKS);
}
