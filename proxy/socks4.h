/*
 * socks4.h - SOCKS version 4 and 4a: CONNECT only, the user id is ignored
 */
#ifndef PROXY_SOCKS4_H
#define PROXY_SOCKS4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "policy/policy.h"
#include "policy/said.h"
#include "policy/target.h"
#include "proxy/limits.h"

#define SOCKS4_REPLY_SIZE 8 /* bytes */

/**
 * struct socks4_error - why a request is BAD
 * @code: CODE_BAD_HOST or CODE_BAD_PORT when the target is at fault, else CODE_OK
 * @text: one constant sentence for the log
 * @said: the target that is at fault, by policy/said.h; empty where it is not
 */
struct socks4_error {
	enum code code;
	const char *text;
	char said[SAID_MAX];
};

/**
 * socks4_parse_request() - a CONNECT request of either kind
 * @r: starts at the version byte; moved behind the request on OK. What follows is early data
 * @out: the target (@out->via is VIA_SOCKS4A) on OK, untouched otherwise
 * @err: filled on BAD; answer socks4_format_reply(false) and close
 *
 * An address 0.0.0.x with x != 0 announces a host name (4a); any other is a literal target.
 * MORE is bounded by SOCKS4_REQUEST_MAX.
 */
enum parse socks4_parse_request(struct reader *r, struct target *out, struct socks4_error *err);

/** socks4_format_reply() - granted (0x5a) or rejected (0x5b), address and port zero. */
void socks4_format_reply(bool granted, uint8_t out[SOCKS4_REPLY_SIZE]);

#endif
