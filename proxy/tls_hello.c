#include "proxy/tls_hello.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define RECORD_HANDSHAKE   0x16
#define RECORD_HEADER_SIZE 5
#define RECORD_MAX	   (1u << 14) /* RFC 8446 5.1 */
#define CLIENT_HELLO	   0x01
#define MESSAGE_HEADER	   4
#define SESSION_ID_MAX	   32
#define EXT_SERVER_NAME	   0x0000
#define EXT_ECH		   0xfe0d /* RFC 9849 */
#define NAME_TYPE_HOST	   0x00

/* What of a record header is there must be right; MORE until all five bytes are. */
static enum parse record_header(const uint8_t *p, size_t n, size_t *len)
{
	if (n >= 1 && p[0] != RECORD_HANDSHAKE)
		return PARSE_BAD;
	if (n >= 2 && p[1] != 0x03)
		return PARSE_BAD;
	if (n < RECORD_HEADER_SIZE)
		return PARSE_MORE;
	*len = (size_t)p[3] << 8 | p[4];
	return *len && *len <= RECORD_MAX ? PARSE_OK : PARSE_BAD;
}

/*
 * Copy the first @want handshake bytes out of their records, which are in @r. Return: false if they
 * are not there, for these are other bytes than those that were scanned.
 */
static bool gather(struct reader r, size_t want, uint8_t *out)
{
	while (want) {
		const uint8_t *head, *body;
		size_t part;

		if (!reader_take(&r, RECORD_HEADER_SIZE, &head))
			return false;
		part = (size_t)head[3] << 8 | head[4];
		if (part > want)
			part = want;
		if (!part || !reader_take(&r, part, &body))
			return false;
		memcpy(out, body, part);
		out += part;
		want -= part;
	}
	return true;
}

static enum parse learn_size(struct tls_hello_scan *s, struct reader r, size_t have)
{
	uint8_t head[MESSAGE_HEADER];

	if (s->want || !have)
		return PARSE_OK;
	if (!gather(r, have < MESSAGE_HEADER ? have : MESSAGE_HEADER, head) ||
	    head[0] != CLIENT_HELLO)
		return PARSE_BAD;
	if (have < MESSAGE_HEADER)
		return PARSE_OK;
	s->want = MESSAGE_HEADER + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
	return s->want <= TLS_HELLO_MAX ? PARSE_OK : PARSE_BAD;
}

/* Walk the records that have come since the last call. OK: the whole message is there. */
static enum parse scan_records(struct tls_hello_scan *s, const uint8_t *p, size_t n)
{
	if (n < s->off)
		return PARSE_BAD;
	for (;;) {
		size_t len, here;
		enum parse result = record_header(p + s->off, n - s->off, &len);

		if (result != PARSE_OK)
			return result;
		here = n - s->off - RECORD_HEADER_SIZE;
		if (here > len)
			here = len;
		if (learn_size(s, reader_init(p, n), s->have + here) != PARSE_OK)
			return PARSE_BAD;
		/* nothing may share the last record with a ClientHello (RFC 8446 5.1) */
		if (s->want && s->have + len > s->want)
			return PARSE_BAD;
		if (s->want && s->have + here == s->want)
			return PARSE_OK;
		if (here < len)
			return PARSE_MORE;
		s->have += len;
		s->off += RECORD_HEADER_SIZE + len;
	}
}

/* @width bytes of length, then so many bytes, as a reader of their own */
static bool take_vector(struct reader *r, unsigned width, struct reader *out)
{
	const uint8_t *p;
	uint16_t len16;
	uint8_t len8;
	size_t len;

	if (width == 1) {
		if (!reader_u8(r, &len8))
			return false;
		len = len8;
	} else {
		if (!reader_u16be(r, &len16))
			return false;
		len = len16;
	}
	if (!reader_take(r, len, &p))
		return false;
	*out = reader_init(p, len);
	return true;
}

/* The list of RFC 6066 may hold several names; nobody sends two, and we would check only one. */
static bool parse_server_name(struct reader ext, struct tls_hello *out)
{
	struct reader list, name;
	struct addr addr;
	uint8_t type;

	if (!take_vector(&ext, 2, &list) || ext.n)
		return false;
	if (!reader_u8(&list, &type) || type != NAME_TYPE_HOST || !take_vector(&list, 2, &name) ||
	    list.n)
		return false;
	switch (hostname_parse(name.p, name.n, &out->name, &addr)) {
	case HOSTNAME_BAD:
		return false;
	case HOSTNAME_NAME:
		out->kind = TLS_HELLO_NAME;
		break;
	case HOSTNAME_ADDR:
		out->kind = TLS_HELLO_LITERAL;
		break;
	}
	out->exact = name.n == out->name.len && memcmp(name.p, out->name.s, name.n) == 0;
	return true;
}

static bool parse_extensions(struct reader r, struct tls_hello *out)
{
	struct reader ext;
	uint16_t type;

	while (r.n) {
		if (!reader_u16be(&r, &type) || !take_vector(&r, 2, &ext))
			return false;
		if (type == EXT_ECH)
			out->ech = true;
		if (type != EXT_SERVER_NAME)
			continue;
		if (out->kind != TLS_HELLO_NONE || !parse_server_name(ext, out))
			return false;
	}
	return true;
}

/* RFC 8446 4.1.2; the extensions may be absent, but what is there must be used up */
static bool parse_message(struct reader r, struct tls_hello *out)
{
	struct reader session, suites, compressions, extensions;
	const uint8_t *ignored;

	if (!reader_take(&r, MESSAGE_HEADER + 2 + 32, &ignored) || !take_vector(&r, 1, &session) ||
	    session.n > SESSION_ID_MAX || !take_vector(&r, 2, &suites) || suites.n < 2 ||
	    suites.n % 2 || !take_vector(&r, 1, &compressions) || !compressions.n)
		return false;
	if (!r.n)
		return true;
	return take_vector(&r, 2, &extensions) && !r.n && parse_extensions(extensions, out);
}

enum parse tls_hello_parse(struct tls_hello_scan *scan, const void *p, size_t n,
			   struct tls_hello *out)
{
	size_t seen = n < TLS_HELLO_MAX ? n : TLS_HELLO_MAX;
	struct tls_hello hello = { .kind = TLS_HELLO_NONE };
	CLEANUP_FREE uint8_t *message = NULL;
	enum parse result = scan_records(scan, p, seen);

	if (result == PARSE_MORE && seen == TLS_HELLO_MAX)
		return PARSE_BAD;
	if (result != PARSE_OK)
		return result;
	message = xmalloc(scan->want);
	if (!gather(reader_init(p, seen), scan->want, message) ||
	    !parse_message(reader_init(message, scan->want), &hello))
		return PARSE_BAD;
	*out = hello;
	return PARSE_OK;
}

size_t tls_hello_size(const struct tls_hello_scan *scan)
{
	return scan->off + RECORD_HEADER_SIZE + (scan->want - scan->have);
}
