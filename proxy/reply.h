/*
 * reply.h - what a client is told, the same on every way in
 */
#ifndef PROXY_REPLY_H
#define PROXY_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "policy/refusal.h"
#include "proxy/socks5.h"

/* The answer to an allowed CONNECT: one empty line, no fields. */
#define REPLY_CONNECTED "HTTP/1.1 200 Connection established\r\n\r\n"

/* An escaped byte has four characters; the head has less than 512. */
#define REPLY_HTTP_MAX (512 + 4 * REFUSAL_MAX)

/**
 * reply_http_status() - the status for a code
 *
 * 403 for refusals, 400 for bad-host and bad-port, 503 for limit, 502 for dns-failed and
 * connect-failed, 504 for connect-timeout.
 */
unsigned reply_http_status(enum code code);

/**
 * reply_http() - a whole response that ends the connection
 * @status: 400..599
 * @code: named in Sbx-Net-Code; CODE_OK leaves that field out
 * @sentence: the body; what is not printable ASCII is escaped, and a newline is added
 * @head: the request was HEAD: the body is left out, Content-Length stays
 * @out: receives the bytes; always terminated
 *
 * Return: how many bytes to send.
 */
size_t reply_http(unsigned status, enum code code, const char *sentence, bool head,
		  char out[REPLY_HTTP_MAX]);

/* Version, and one packet of at most so many bytes of padding. */
#define REPLY_SSH_MAX (64 + 4 * REFUSAL_MAX)

/**
 * reply_ssh() - to an ssh client that was captured: our version and a disconnect with the sentence
 * @out: receives the bytes, without a final zero byte
 *
 * RFC 4253 4.2, 6 and 11.1. The client shows it: "Received disconnect from ADDRESS: 1: SENTENCE".
 * Return: how many bytes to send.
 */
size_t reply_ssh(const char *sentence, uint8_t out[REPLY_SSH_MAX]);

/**
 * reply_socks5_rep() - the reply field for a code
 * @err: errno of a failed connect for CODE_CONNECT_FAILED, else 0
 *
 * Policy 02; connect-failed 05 (ECONNREFUSED, or an upstream proxy that fails), 03 (ENETUNREACH),
 * 04 (EHOSTUNREACH) or 01; connect-timeout 06; dns-failed 04; bad-host, bad-port and limit 01.
 */
enum socks5_rep reply_socks5_rep(enum code code, int err);

#endif
