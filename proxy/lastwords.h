/*
 * lastwords.h - inside proxy/: the answer after which a connection ends
 */
#ifndef PROXY_LASTWORDS_H
#define PROXY_LASTWORDS_H

#include <stddef.h>

#include "policy/policy.h"
#include "proxy/conn.h"

/** lastwords_say() - send a final reply, and close when the client has it. */
void lastwords_say(struct conn *c, const void *p, size_t n, const char *why);

/** lastwords_run() - in CONN_REPLY: what can be done now. */
void lastwords_run(struct conn *c);

/** lastwords_refuse() - tell the refusal, answer it in the client's protocol and close. */
void lastwords_refuse(struct conn *c, const struct decision *d);

/** lastwords_fail() - the target is allowed and cannot be reached; @error: errno or 0. */
void lastwords_fail(struct conn *c, enum code code, int error);

#endif
