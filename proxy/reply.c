#include "proxy/reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proxy/writer.h"

#define SSH_MSG_DISCONNECT			   1 /* RFC 4253 12 */
#define SSH_DISCONNECT_HOST_NOT_ALLOWED_TO_CONNECT 1 /* RFC 4253 11.1 */

static const struct {
	unsigned status;
	const char *phrase;
} phrases[] = {
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 408, "Request Timeout" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 417, "Expectation Failed" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
};

static const char *phrase_of(unsigned status)
{
	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Error";
}

unsigned reply_http_status(enum code code)
{
	switch (code) {
	case CODE_BAD_HOST:
	case CODE_BAD_PORT:
	case CODE_BAD_REQUEST:
		return 400;
	case CODE_DNS_FAILED:
	case CODE_CONNECT_FAILED:
		return 502;
	case CODE_CONNECT_TIMEOUT:
		return 504;
	case CODE_LIMIT:
		return 503;
	case CODE_OK:
	case CODE_NOT_LISTED:
	case CODE_DENIED:
	case CODE_LOOPBACK:
	case CODE_METADATA:
	case CODE_LINK_LOCAL:
	case CODE_OWN_ADDRESS:
	case CODE_PRIVATE:
	case CODE_SPECIAL:
	case CODE_ASKED_NO:
	case CODE_ASK_TIMEOUT:
	case CODE_STRICT:
	case CODE_ONLY:
	case CODE_SNI_MISMATCH:
	case CODE_NUM:
		break;
	}
	return 403;
}

/* The sentence as it stands elsewhere, but one line of printable ASCII whatever it held. */
static void escape(const char *s, char *out, size_t size)
{
	size_t n = 0;

	for (; *s && n + sizeof("\\xNN\n") <= size; s++) {
		unsigned char c = (unsigned char)*s;

		if (c >= 0x20 && c < 0x7f)
			out[n++] = *s;
		else
			n += (size_t)snprintf(out + n, size - n, "\\x%02x", c);
	}
	out[n++] = '\n';
	out[n] = '\0';
}

/* By hand: refusals are many, and printf(3) was a twelfth of what one costs outside the kernel. */
size_t reply_http(unsigned status, enum code code, const char *sentence, bool head,
		  char out[REPLY_HTTP_MAX])
{
	char body[REPLY_HTTP_MAX - 512] UNINITIALIZED;
	struct writer w = { .p = out, .size = REPLY_HTTP_MAX - 1 };

	escape(sentence, body, sizeof(body));
	writer_text(&w, "HTTP/1.1 ");
	writer_number(&w, status);
	writer_text(&w, " ");
	writer_text(&w, phrase_of(status));
	writer_text(&w, "\r\n");
	if (code != CODE_OK) {
		writer_text(&w, "Sbx-Net-Code: ");
		writer_text(&w, policy_code_name(code));
		writer_text(&w, "\r\n");
	}
	writer_text(&w, "Content-Type: text/plain\r\n"
			"X-Content-Type-Options: nosniff\r\n"
			"Content-Length: ");
	writer_number(&w, strlen(body));
	writer_text(&w, "\r\nConnection: close\r\n\r\n");
	if (!head)
		writer_text(&w, body);
	out[w.n] = '\0';
	return w.n;
}

static enum socks5_rep rep_of_errno(int err)
{
	/* the last two: the upstream proxy is not there, or refuses (parent.c, upstream.c) */
	if (err == ECONNREFUSED || err == ENOTCONN || err == ECONNABORTED)
		return SOCKS5_REFUSED;
	if (err == ENETUNREACH)
		return SOCKS5_NET_UNREACHABLE;
	if (err == EHOSTUNREACH)
		return SOCKS5_HOST_UNREACHABLE;
	if (err == ETIMEDOUT)
		return SOCKS5_TTL_EXPIRED;
	return SOCKS5_FAILURE;
}

enum socks5_rep reply_socks5_rep(enum code code, int err)
{
	switch (code) {
	case CODE_OK:
		return SOCKS5_SUCCEEDED;
	case CODE_CONNECT_FAILED:
		return rep_of_errno(err);
	case CODE_CONNECT_TIMEOUT:
		return SOCKS5_TTL_EXPIRED;
	case CODE_DNS_FAILED:
		return SOCKS5_HOST_UNREACHABLE;
	case CODE_BAD_HOST:
	case CODE_BAD_PORT:
	case CODE_BAD_REQUEST:
	case CODE_LIMIT:
	case CODE_NUM:
		return SOCKS5_FAILURE;
	case CODE_NOT_LISTED:
	case CODE_DENIED:
	case CODE_LOOPBACK:
	case CODE_METADATA:
	case CODE_LINK_LOCAL:
	case CODE_OWN_ADDRESS:
	case CODE_PRIVATE:
	case CODE_SPECIAL:
	case CODE_ASKED_NO:
	case CODE_ASK_TIMEOUT:
	case CODE_STRICT:
	case CODE_ONLY:
	case CODE_SNI_MISMATCH:
		break;
	}
	return SOCKS5_NOT_ALLOWED;
}

static uint8_t *put_u32(uint8_t *p, size_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*p++ = (uint8_t)(v >> shift);
	return p;
}

size_t reply_ssh(const char *sentence, uint8_t out[REPLY_SSH_MAX])
{
	static const char version[] = "SSH-2.0-sbx_net\r\n";
	char text[REPLY_SSH_MAX - 64];
	uint8_t *start = out + sizeof(version) - 1, *p = start + 5;
	size_t len, padding;

	escape(sentence, text, sizeof(text));
	len = strcspn(text, "\n");
	memcpy(out, version, sizeof(version) - 1);
	*p++ = SSH_MSG_DISCONNECT;
	p = put_u32(p, SSH_DISCONNECT_HOST_NOT_ALLOWED_TO_CONNECT);
	p = put_u32(p, len);
	memcpy(p, text, len);
	p = put_u32(p + len, 0); /* no language tag */
	/* Before keys are agreed on: blocks of 8 bytes, 4 bytes of padding at least, no MAC. */
	padding = 8 - (size_t)(p - start) % 8;
	padding += padding < 4 ? 8 : 0;
	memset(p, 0, padding);
	p += padding;
	(void)put_u32(start, (size_t)(p - start) - 4);
	start[4] = (uint8_t)padding;
	return (size_t)(p - out);
}
