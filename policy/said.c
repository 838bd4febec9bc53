#include "policy/said.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define PORT_MAX sizeof(":65535")

/* Escapes into the first @size bytes. What was cut ends in dots. Return: the length. */
static size_t put(char *out, size_t size, const uint8_t *p, size_t n)
{
	static const char cut[] = "...";
	const uint8_t *at = n ? memrchr(p, '@', n) : NULL;
	size_t len, want = 0;

	if (at) {
		n -= (size_t)(at + 1 - p);
		p = at + 1;
	}
	len = strlen(log_escape(out, size, n ? p : (const uint8_t *)"", n));
	for (size_t i = 0; i < n; i++)
		want += p[i] >= 0x20 && p[i] < 0x7f && p[i] != '\\' ? 1 : strlen("\\xNN");
	if (len < want)
		memcpy(out + len - strlen(cut), cut, strlen(cut));
	return len;
}

void said_text(char out[SAID_MAX], const void *p, size_t n)
{
	(void)put(out, SAID_MAX, p, n);
}

void said_host(char out[SAID_MAX], const void *p, size_t n, uint16_t port)
{
	size_t len = put(out, SAID_MAX - PORT_MAX, p, n);

	(void)snprintf(out + len, SAID_MAX - len, ":%u", port);
}

void said_addr(char out[SAID_MAX], const struct addr *a, uint16_t port)
{
	char text[ADDR_TEXT_MAX];

	(void)snprintf(out, SAID_MAX, a->family == AF_INET6 ? "[%s]:%u" : "%s:%u",
		       addr_format(a, text), port);
}
