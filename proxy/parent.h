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

/**
 * typedef parent_cb - it is over; the callee calls parent_free()
 * @fd: a connection to the target (to the parent itself for @bare), which the callee owns, or -1
 * @code: when @fd is -1: CODE_CONNECT_FAILED, CODE_CONNECT_TIMEOUT
 * @error: and an errno that describes it, or 0
 */
typedef void parent_cb(void *arg, int fd, enum code code, int error);

/**
 * struct parent_plan
 * @up, @target: must outlive the attempt
 * @timeout_ms: for what is said once it is connected
 * @bare: only connect to the parent: a request in absolute-form follows
 */
struct parent_plan {
	struct event_base *base;
	struct resolver *resolver;
	const struct upstream *up;
	const struct target *target;
	unsigned timeout_ms;
	bool bare;
};

/** parent_new() - nothing happens before parent_start(). The caller owns it. */
struct parent *parent_new(const struct parent_plan *plan, parent_cb *cb, void *arg);

/** parent_start() - may call back before it returns, and then as its last act. */
void parent_start(struct parent *p);

/** parent_free() - everything is given up; NULL is allowed. */
void parent_free(struct parent *p);

#endif
