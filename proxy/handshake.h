/*
 * handshake.h - inside proxy/: from the first byte of a client to the target it wants
 */
#ifndef PROXY_HANDSHAKE_H
#define PROXY_HANDSHAKE_H

#include "proxy/conn.h"

/** handshake_run() - in CONN_HEAD: read, parse, answer a greeting, judge a complete request. */
void handshake_run(struct conn *c);

/**
 * handshake_refuses_early() - judge what came behind a SOCKS4 request before its answer
 * Return: true if that was the end of the connection.
 */
bool handshake_refuses_early(struct conn *c);

/** handshake_timeout() - the head took too long, or no further request came. */
void handshake_timeout(struct conn *c);

/** handshake_captured() - what a captured client dialled: the name behind the address, if any. */
bool handshake_captured(const struct session *s, int fd, struct target *out);

/** handshake_raw() - a captured or forwarded client: the target is known without a word. */
void handshake_raw(struct conn *c, enum listener_kind kind, const struct target *fixed);

#endif
