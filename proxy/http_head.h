/*
 * http_head.h - what requests and responses share: the end of a head, and its fields
 *
 * A head is first scanned for its end, byte for byte and each byte once however it is cut, and
 * refused at the first byte that no head may have. Only a complete head is taken apart.
 */
#ifndef PROXY_HTTP_HEAD_H
#define PROXY_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "policy/policy.h"
#include "policy/said.h"
#include "proxy/limits.h"

/** struct http_slice - bytes inside the head's buffer, not terminated; valid as long as that */
struct http_slice {
	const uint8_t *p;
	size_t n;
};

/**
 * struct http_error - why a head is BAD, ready for reply_http()
 * @status: 400, 413, 414, 417, 431, 501, 505; 502 for a response
 * @code: CODE_BAD_HOST or CODE_BAD_PORT when the target is at fault, else CODE_OK
 * @text: one constant sentence, without anything the peer sent
 * @said: the target that is at fault, by policy/said.h; empty where it is not
 */
struct http_error {
	unsigned status;
	enum code code;
	const char *text;
	char said[SAID_MAX];
};

/** enum http_framing - how a body ends (RFC 9112 6.3) */
enum http_framing {
	HTTP_BODY_NONE,
	HTTP_BODY_LENGTH,
	HTTP_BODY_CHUNKED,
	HTTP_BODY_UNTIL_CLOSE, /* responses only */
};

/**
 * struct http_scan - how far a head has been looked at; all zero before its first byte
 * @off: bytes scanned
 * @lines: line ends seen
 * @column: bytes since the last line end
 * @cr: the last byte was CR
 * @skipped: an empty line preceded the head (0 or 2 bytes of it)
 *
 * It belongs to one head: set it to zero again when the head has been consumed.
 */
struct http_scan {
	uint32_t off; /* heads are far shorter than that */
	unsigned lines;
	uint32_t column;
	bool cr;
	uint8_t skipped;
};

/** enum http_head_kind - whose rules hold */
enum http_head_kind {
	HTTP_HEAD_REQUEST,
	HTTP_HEAD_RESPONSE,
};

/**
 * http_head_scan() - look for the empty line that ends the head
 * @s: state between calls
 * @p, @n: everything that has come since the head's first byte
 * @kind: selects the limits
 * @err: filled on BAD (414 or 431 beyond a limit, 400 or 502 otherwise)
 *
 * Return: PARSE_OK when the head is the first @s->off bytes (its empty line included).
 */
enum parse http_head_scan(struct http_scan *s, const void *p, size_t n, enum http_head_kind kind,
			  struct http_error *err);

/**
 * struct http_field - one header line
 * @name: a token
 * @value: without surrounding blanks; no CR, LF, NUL or other control but tab
 * @hop: for this hop only (RFC 9110 7.6.1), or named by Connection, or ours to state
 *       (framing, Host, Expect): not forwarded as it stands
 */
struct http_field {
	struct http_slice name;
	struct http_slice value;
	bool hop;
};

/**
 * struct http_fields - the header lines of one head, in their order
 * @n: how many of @v are filled
 */
struct http_fields {
	size_t n;
	struct http_field v[HTTP_RESPONSE_FIELDS_MAX];
};

/**
 * struct http_framing_fields - what the fields say about body and connection
 * @host: value of the only Host
 * @hosts, @lengths, @codings: how many Host, Content-Length and Transfer-Encoding lines
 * @length: the Content-Length
 * @close, @keep_alive, @upgrade: tokens of Connection
 * @upgrades: how many Upgrade lines
 * @websocket: Upgrade is exactly one line with exactly "websocket"
 * @expects: how many Expect lines
 * @expect_continue: the value of each was "100-continue"
 * @max_forwards: value of Max-Forwards, -1 without one, -2 when malformed or repeated
 */
struct http_framing_fields {
	struct http_slice host;
	unsigned hosts, lengths, codings;
	uint64_t length;
	bool close, keep_alive, upgrade;
	unsigned upgrades;
	bool websocket;
	unsigned expects;
	bool expect_continue;
	int64_t max_forwards;
};

/**
 * http_head_fields() - take the header lines of a head that http_head_scan() passed apart
 * @r: behind the first line; up to and including the final empty line
 * @kind: a response may repeat an identical Content-Length and have blanks before a colon, which
 *        are removed (RFC 9112 5.1); a request may not
 * @fields, @info, @err: outputs
 *
 * Return: PARSE_OK or PARSE_BAD.
 */
enum parse http_head_fields(struct reader *r, enum http_head_kind kind, struct http_fields *fields,
			    struct http_framing_fields *info, struct http_error *err);

/** http_slice_is() - equal to @text, letter case ignored (ASCII only, whatever the locale). */
bool http_slice_is(struct http_slice s, const char *text);

/** http_is_tchar() - a byte of a token (RFC 9110 5.6.2). */
bool http_is_tchar(uint8_t c);

#endif
