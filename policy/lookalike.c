#include "policy/lookalike.h"

#include <string.h>

#include "base/cleanup.h"

#define LONG_ENOUGH 8 /* below that one letter makes another honest name too often */

static const char *const known[] = {
	"amazon.com",	       "apple.com",   "cloudflare.com", "facebook.com",	  "github.com",
	"gitlab.com",	       "google.com",  "googleapis.com", "huggingface.co", "microsoft.com",
	"microsoftonline.com", "mozilla.org", "openai.com",	"anthropic.com",  "paypal.com",
	"wikipedia.org",       "kernel.org",  "gnu.org",
};

/* The last two labels. */
static const char *base_of(const char *name)
{
	const char *base = name;
	unsigned dots = 0;

	for (const char *p = name + strlen(name); p > name; p--) {
		if (p[-1] == '.' && ++dots == 2) {
			base = p;
			break;
		}
	}
	return base;
}

/* What the eye sees of a name. */
static void skeleton(const char *name, char out[HOSTNAME_MAX + 1])
{
	size_t n = 0;

	for (const char *p = name; *p && n < HOSTNAME_MAX; p++) {
		char c = *p;

		if (c == '-')
			continue;
		if (c == '0')
			c = 'o';
		else if (c == '1' || c == 'i')
			c = 'l';
		else if ((c == 'r' && p[1] == 'n') || (c == 'v' && p[1] == 'v'))
			c = *p++ == 'r' ? 'm' : 'w';
		out[n++] = c;
	}
	out[n] = '\0';
}

/* One insertion, deletion, substitution or swap of neighbours apart. */
static bool one_apart(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), i = 0;

	if (n < m)
		return one_apart(b, a);
	while (i < m && a[i] == b[i])
		i++;
	if (n == m + 1)
		return strcmp(a + i + 1, b + i) == 0;
	if (n != m || i == n)
		return false;
	if (strcmp(a + i + 1, b + i + 1) == 0)
		return true;
	return a[i] == b[i + 1] && a[i + 1] == b[i] && strcmp(a + i + 2, b + i + 2) == 0;
}

bool lookalike_of(const char *name, const char *other)
{
	const char *a = base_of(name), *b = base_of(other);
	char x[HOSTNAME_MAX + 1], y[HOSTNAME_MAX + 1];

	if (strcmp(a, b) == 0 || !strchr(a, '.') || !strchr(b, '.'))
		return false;
	skeleton(a, x);
	skeleton(b, y);
	return strcmp(x, y) == 0 || (strlen(b) >= LONG_ENOUGH && one_apart(a, b));
}

const char *lookalike_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (lookalike_of(name, known[i]))
			return known[i];
	return NULL;
}

bool lookalike_is_foreign(const struct hostname *h)
{
	return strncmp(h->s, "xn--", 4) == 0 || strstr(h->s, ".xn--");
}
