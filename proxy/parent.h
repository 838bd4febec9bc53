/*
 * parent.h - one connection to a target by way of the proxy that we ourselves must use
 *
 * The parent is looked up, dialled and spoken to (upstream.h). Its address is not vetted: who
 * started us named it. Not one byte beyond its answer is taken from the socket.
 */
#ifndef PROXY_PARENT_H
#define PROXY_PARENT_H

#include <stdbool.h>

#include "policy/policy.h"
#include "proxy/upstream.h"

struct event_base;
struct parent;
struct resolver;
struct resolver_share;
struct tls;
struct share;
struct tls_trust;

/**
 * typedef parent_cb - it is over; the callee calls parent_free()
 * @fd: a connection to the target (to the parent itself for @bare), which the callee owns, or -1
 * @tls: what the bytes must go through, the callee's too; NULL for plain ones
 * @code: when @fd is -1: CODE_CONNECT_FAILED, CODE_CONNECT_TIMEOUT
 * @error: and an errno that describes it, or 0
 */
typedef void parent_cb(void *arg, int fd, struct tls *tls, enum code code, int error);

/**
 * struct parent_plan
 * @share: of the connection, or NULL
 * @up: copied, since a reload may replace it
 * @target: must outlive the attempt
 * @trust: for a parent that speaks TLS; the attempt becomes one of its owners
 * @tls_ms, @talk_ms: for TLS, and then for what is said
 * @bare: only connect to the parent: a request in absolute-form follows
 */
struct parent_plan {
	struct event_base *base;
	struct resolver *resolver;
	struct share *share;
	const struct upstream *up;
	struct tls_trust *trust;
	const struct target *target;
	unsigned tls_ms, talk_ms;
	bool bare;
};

/** parent_new() - nothing happens before parent_start(). The caller owns it. */
struct parent *parent_new(const struct parent_plan *plan, parent_cb *cb, void *arg);

/** parent_start() - may call back before it returns, and then as its last act. */
void parent_start(struct parent *p);

/** parent_free() - everything is given up; NULL is allowed. */
void parent_free(struct parent *p);

#endif
