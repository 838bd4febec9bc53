#include "policy/said.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PORT_MAX sizeof(":65535")

/* Angle brackets could imitate the tags of a --violations block; no host name has them. */
static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '\\' && c != '<' && c != '>';
}

/* Escapes into the first @size bytes. What was cut ends in dots. Return: the length. */
static size_t put(char *out, size_t size, const uint8_t *p, size_t n)
{
	static const char cut[] = "...";
	const uint8_t *at = n ? memrchr(p, '@', n) : NULL;
	size_t len = 0, i;

	for (i = at ? (size_t)(at + 1 - p) : 0; i < n; i++) {
		size_t room = size - len;

		if ((is_plain(p[i]) ? 1 : strlen("\\xNN")) >= room)
			break;
		len += (size_t)snprintf(out + len, room, is_plain(p[i]) ? "%c" : "\\x%02x", p[i]);
	}
	out[len] = '\0';
	if (i < n)
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
