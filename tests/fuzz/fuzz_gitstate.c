/* No line that git would run is left, all others are, in their order; and no path is overlooked. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/files/gitopts.h"
#include "launcher/files/gitstate.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned told;

static void say(void *arg, const char *at, const char *what, const char *which, const char *done)
{
	(void)arg;
	CHECK(at && *what && which && *done);
	told++;
}

static char *copy(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);

	CHECK(text);
	if (size)
		memcpy(text, data, size);
	return text;
}

/* As git's sequencer.c reads it: blanks, the word or its letter, and a blank or the end. */
static int runs(const char *p, const char *eol)
{
	while (p < eol && (*p == ' ' || *p == '\t'))
		p++;
	if (eol - p >= 4 && memcmp(p, "exec", 4) == 0)
		p += 4;
	else if (p < eol && *p == 'x')
		p++;
	else
		return 0;
	return p == eol || *p == ' ' || *p == '\t' || *p == '\r';
}

static size_t count(const char *text, size_t n)
{
	size_t found = 0;

	for (const char *p = text, *end = text + n, *eol; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		found += (size_t)runs(p, eol);
	}
	return found;
}

static int is_within(const char *part, size_t m, const char *whole, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n && k < m; i++)
		k += whole[i] == part[k];
	return k == m;
}

/* Whether a word is that, or begins with it; in the value of an option it is none. */
static int never_starts(const char *text, const char *never)
{
	for (const char *p = text; (p = strstr(p, never)); p++)
		if (p == text || strchr(" \t\r\n\v\f'", p[-1]) || strlen(never) == 1)
			return 1;
	return 0;
}

/* What a list lets through has no zero byte, and nothing in it that a shell or git takes for more. */
static void check_options(const char *text, size_t n)
{
	static const char *const never[] = { "index-output", "build-fake-ancestor", "$", "`",
					     "\\" };

	CHECK(!gitopts_is_strategy(text, n) || n == 0 || !memchr(text, '/', n));
	if (gitopts_merges(text, n) || gitopts_applies(text, n))
		for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
			CHECK(strlen(text) == n && !never_starts(text, never[i]));
	if (gitopts_is_quoted(text, n))
		CHECK(strlen(text) == n && (!strpbrk(text, "$`;") || strchr(text, '\'')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gitvisit_known g = { .tree = -1 };
	const struct gitvisit v = { .task = GITVISIT_SWEEP, .say = say };
	char *text = copy(data, size), *same = copy(data, size);
	const char *first = memchr(same, '\t', size);
	unsigned taken = 0, again = 0;
	size_t n, before = told;

	n = gitstate_filter(&g, &v, "todo", "runs:", text, size, &taken);
	CHECK(n <= size && told - before == taken && (taken > 0) == (n < size));
	CHECK(taken >= count(same, size) && count(text, n) == 0);
	CHECK(is_within(text, n, same, size));
	CHECK(gitstate_filter(&g, &v, "todo", "runs:", text, n, &again) == n && again == 0);
	check_options(same, size);
	CHECK((gitstate_elsewhere(same, size, -1) != NULL) == (first != NULL));
	free(text);
	free(same);
	return 0;
}
