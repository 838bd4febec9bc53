#include "policy/hostname.h"

#include <string.h>

#include "base/cleanup.h"

/*
 * What each byte becomes: lower case, or 0 where it has no place in a name. Own table: tolower()
 * follows the locale (a Turkish I would not match).
 */
static const char canonical[256] = {
	['-'] = '-', ['.'] = '.', ['_'] = '_', ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3',
	['4'] = '4', ['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8', ['9'] = '9', ['A'] = 'a',
	['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h',
	['I'] = 'i', ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o',
	['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v',
	['W'] = 'w', ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c',
	['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j',
	['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q',
	['r'] = 'r', ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x',
	['y'] = 'y', ['z'] = 'z',
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static size_t digits(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && is_digit(s[i]))
		i++;
	return i;
}

/*
 * Would any parser take this last label for a number? inet_aton(3) reads decimal, octal and
 * 0x hex (an empty one too, as the URL standard does); "1e3" is a number to script languages.
 */
static bool is_number(const char *s, size_t n)
{
	size_t i = digits(s, n);

	if (i == n)
		return true;
	if (i == 1 && s[0] == '0' && s[1] == 'x') {
		for (i = 2; i < n && is_hex(s[i]); i++)
			;
		return i == n;
	}
	return i > 0 && i + 1 < n && s[i] == 'e' && digits(s + i + 1, n - i - 1) == n - i - 1;
}

/* A label is 1..63 bytes and neither begins nor ends with a hyphen (RFC 952, RFC 1123 2.1). */
static bool label_ok(const char *s, size_t n)
{
	return n >= 1 && n <= HOSTNAME_LABEL_MAX && s[0] != '-' && s[n - 1] != '-';
}

static bool parse_name(const char *s, size_t n, struct hostname *out)
{
	size_t label = 0; /* where the current label starts */

	if (n && s[n - 1] == '.')
		n--;
	if (n == 0 || n > HOSTNAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		out->s[i] = canonical[(unsigned char)s[i]];
		if (!out->s[i])
			return false;
		if (out->s[i] == '.') {
			if (!label_ok(out->s + label, i - label))
				return false;
			label = i + 1;
		}
	}
	memset(out->s + n, 0, sizeof(out->s) - n);
	out->len = (uint8_t)n;
	return label_ok(out->s + label, n - label) && !is_number(out->s + label, n - label);
}

static bool parse_literal(const char *s, size_t n, struct addr *out)
{
	if (n && s[0] == '[')
		return n > 2 && s[n - 1] == ']' && memchr(s, ':', n) &&
		       addr_parse(s + 1, n - 2, out);
	return addr_parse(s, n, out);
}

enum hostname_kind hostname_parse(const void *p, size_t n, struct hostname *out, struct addr *addr)
{
	struct addr literal = { .family = AF_UNSPEC };
	enum hostname_kind kind = HOSTNAME_NAME;
	struct hostname h;

	if (n == 0)
		return HOSTNAME_BAD;
	if (parse_literal(p, n, &literal)) {
		memset(&h, 0, sizeof(h));
		h.len = (uint8_t)strlen(addr_format(&literal, h.s));
		kind = HOSTNAME_ADDR;
	} else if (!parse_name(p, n, &h)) {
		return HOSTNAME_BAD;
	}
	*out = h;
	*addr = literal;
	return kind;
}

bool hostname_equal(const struct hostname *a, const struct hostname *b)
{
	return a->len == b->len && !memcmp(a->s, b->s, a->len);
}

bool hostname_text_is_under(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n >= m && !strcmp(name + n - m, suffix) && (n == m || name[n - m - 1] == '.');
}

bool hostname_is_under(const struct hostname *h, const char *suffix)
{
	return hostname_text_is_under(h->s, suffix);
}

bool hostname_is_local(const struct hostname *h)
{
	/* RFC 6761 6.3, and what /etc/hosts of the distributions calls 127.0.0.1 and ::1 */
	static const char *const suffixes[] = {
		"localhost",  "localhost.localdomain",	 "localhost4",	  "localhost4.localdomain4",
		"localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback",
		"loopback",
	};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (hostname_is_under(h, suffixes[i]))
			return true;
	return false;
}

bool hostname_is_metadata(const struct hostname *h)
{
	static const char *const suffixes[] = {
		"metadata",
		"metadata.google.internal",
		"metadata.goog",
		"instance-data",
		"instance-data.ec2.internal",
		"metadata.azure.internal",
		"metadata.tencentyun.com",
	};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (hostname_is_under(h, suffixes[i]))
			return true;
	return false;
}
