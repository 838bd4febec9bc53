/*
 * The canonical host is canonical: it parses to itself, it holds nothing but the alphabet, and
 * case and one final dot change nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/hostname.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_alphabet(const struct hostname *h)
{
	size_t label = 0;

	CHECK(h->len >= 1 && h->len <= HOSTNAME_MAX);
	for (size_t i = 0; i <= h->len; i++) {
		char c = h->s[i];

		if (c == '.' || c == '\0') {
			CHECK(i > label && i - label <= HOSTNAME_LABEL_MAX);
			CHECK(h->s[label] != '-' && h->s[i - 1] != '-');
			label = i + 1;
		} else {
			CHECK((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			      c == '_');
		}
	}
	CHECK(h->s[h->len] == '\0' && strlen(h->s) == h->len);
}

/* No resolver may take the name for an address: its last label is not all digits. */
static void check_not_numeric(const struct hostname *h)
{
	const char *dot = strrchr(h->s, '.');
	const char *last = dot ? dot + 1 : h->s;

	CHECK(last[strspn(last, "0123456789")] != '\0');
	CHECK(strncmp(last, "0x", 2) != 0 ||
	      last[2 + strspn(last + 2, "0123456789abcdef")] != '\0');
}

static void check_spelling(const struct hostname *h)
{
	char text[HOSTNAME_MAX + 2];
	struct hostname again;
	struct addr a;

	for (size_t i = 0; i < h->len; i++)
		text[i] =
			h->s[i] >= 'a' && h->s[i] <= 'z' && i % 2 ? (char)(h->s[i] - 32) : h->s[i];
	text[h->len] = '.';
	CHECK(hostname_parse(text, h->len + 1u, &again, &a) == HOSTNAME_NAME);
	CHECK(hostname_equal(h, &again));
	text[h->len] = '\0';
	CHECK(hostname_parse(text, h->len + 1u, &again, &a) == HOSTNAME_BAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hostname h, again;
	struct addr a, b;

	switch (hostname_parse(data, size, &h, &a)) {
	case HOSTNAME_BAD:
		return 0;
	case HOSTNAME_NAME:
		CHECK(a.family == AF_UNSPEC);
		check_alphabet(&h);
		check_not_numeric(&h);
		check_spelling(&h);
		CHECK(hostname_parse(h.s, h.len, &again, &b) == HOSTNAME_NAME);
		break;
	case HOSTNAME_ADDR:
		CHECK(a.family == AF_INET || a.family == AF_INET6);
		CHECK(hostname_parse(h.s, h.len, &again, &b) == HOSTNAME_ADDR);
		CHECK(addr_equal(&a, &b));
		break;
	}
	CHECK(hostname_equal(&h, &again));
	return 0;
}
