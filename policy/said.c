#include "policy/said.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PORT_MAX sizeof(":65535")

/*
 * What names and addresses consist of. What the command said stands in sentences, in blocks with
 * tags, and near lines that are copied into a shell: no blank, quote or bracket of its own ends them,
 * or goes on as one of ours.
 */
static bool is_plain(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("-._:[]/%", c));
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
