/*
 * socks5.h - SOCKS version 5 (RFC 1928): no authentication, CONNECT only
 */
#ifndef PROXY_SOCKS5_H
#define PROXY_SOCKS5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "policy/policy.h"
#include "policy/said.h"
#include "policy/target.h"
#include "proxy/limits.h"

/** enum socks5_rep - the reply field (RFC 1928 section 6) */
enum socks5_rep {
	SOCKS5_SUCCEEDED = 0x00,
	SOCKS5_FAILURE = 0x01,
	SOCKS5_NOT_ALLOWED = 0x02,
	SOCKS5_NET_UNREACHABLE = 0x03,
	SOCKS5_HOST_UNREACHABLE = 0x04,
	SOCKS5_REFUSED = 0x05,
	SOCKS5_TTL_EXPIRED = 0x06,
	SOCKS5_BAD_COMMAND = 0x07,
	SOCKS5_BAD_ADDRESS = 0x08,
};

#define SOCKS5_METHOD_SIZE 2  /* bytes of the answer to a greeting */
#define SOCKS5_REPLY_SIZE  10 /* bytes of the answer to a request */

/**
 * socks5_parse_greeting() - version and offered methods
 * @r: moved behind the greeting on OK, bytes of a request may follow at once
 * @acceptable: whether "no authentication" (0x00) is among the methods
 *
 * Answer with socks5_format_method() in either case, and close if it is not acceptable.
 */
enum parse socks5_parse_greeting(struct reader *r, bool *acceptable);

/** socks5_format_method() - 05 00, or 05 FF when nothing acceptable was offered. */
void socks5_format_method(bool acceptable, uint8_t out[SOCKS5_METHOD_SIZE]);

/**
 * struct socks5_error - why a request is BAD
 * @rep: what to answer before the connection is closed
 * @code: CODE_BAD_HOST or CODE_BAD_PORT when the target is at fault, else CODE_OK
 * @text: one constant sentence for the log
 * @said: the target that is at fault, by policy/said.h; empty where it is not
 */
struct socks5_error {
	enum socks5_rep rep;
	enum code code;
	const char *text;
	char said[SAID_MAX];
};

/**
 * socks5_parse_request() - a CONNECT request
 * @r: moved behind the request on OK; what follows is early data
 * @out: the target (@out->via is VIA_SOCKS5) on OK, untouched otherwise
 * @err: filled on BAD
 *
 * A name that spells an address is that address. MORE is bounded by SOCKS5_REQUEST_MAX.
 */
enum parse socks5_parse_request(struct reader *r, struct target *out, struct socks5_error *err);

/** socks5_format_reply() - @rep with the bound address 0.0.0.0:0 (ours is nobody's business). */
void socks5_format_reply(enum socks5_rep rep, uint8_t out[SOCKS5_REPLY_SIZE]);

#endif
