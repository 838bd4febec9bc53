/*
 * forwards.h - ports of the sandbox's loopback that lead to a fixed target outside
 *
 * From --forward, and from each allowed loopback address with a port: an allowed 127.0.0.1:3000
 * opens port 3000 inside and leads to the host's. What --publish wants is looked at here, too: a port
 * of ours inside can be neither forwarded nor published.
 */
#ifndef CLI_FORWARDS_H
#define CLI_FORWARDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/options.h"
#include "policy/policy.h"
#include "policy/target.h"

#define FORWARDS_MAX 128

/**
 * struct forwards - parallel arrays: @port[i] inside leads to @target[i]
 */
struct forwards {
	uint16_t port[FORWARDS_MAX];
	struct target target[FORWARDS_MAX];
	size_t n;
};

/**
 * forwards_build() - collect them; --forward wins over an allowed loopback port
 * @tell: log of those that will be refused, and of entries that open none: whoever sends options over a socket is not told here
 *
 * Return: 0, or -1 with @err (a port that is taken, inside or by another option, or too many).
 */
int forwards_build(struct forwards *f, const struct run_options *o, const struct policy *p,
		   bool tell, struct error *err);

#endif
