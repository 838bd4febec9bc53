/*
 * capture.h - programs that know no proxy: the name server inside, and what its addresses stand for
 */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/error.h"
#include "netns/netns.h"
#include "policy/policy.h"
#include "proxy/proxy.h"

struct capture;
struct event_base;
struct resolver;

/* Captured where the kernel has no nft_tproxy, besides the ports that the policy names. */
#define CAPTURE_PORTS_MAX 200

/**
 * capture_ports() - the ports to capture without nft_tproxy: the policy's and well-known ones
 * Return: how many were written to @out, each once.
 */
size_t capture_ports(const struct policy *p, uint16_t out[CAPTURE_PORTS_MAX]);

/**
 * capture_new() - a name server without sockets
 * @policy: points to the caller's pointer, as in struct session_config
 * @event: told of each name that is refused, with via "dns" and port 0
 */
struct capture *capture_new(struct event_base *base, const struct policy *const *policy,
			    proxy_event_cb *event, void *arg);

/** typedef capture_may - whether the records of an allowed name may be asked for outside */
typedef bool capture_may(void *arg, const struct target *t, const struct decision *d);

/**
 * capture_forward() - ask @r for records of the types that the policy forwards
 * @r: must outlive the capture
 * @may: has the last word; @arg is capture_new()'s. Each name that it admits is told as a decision.
 */
void capture_forward(struct capture *c, struct resolver *r, capture_may *may);

/** capture_self() - this machine's own name, which means the sandbox inside; NULL if it has none. */
const struct hostname *capture_self(const struct capture *c);

/** capture_bound() - see stub_set_connections() and, for @part, stub_set_part(). */
void capture_bound(struct capture *c, size_t connections, unsigned part);

/** capture_free() - NULL is allowed. */
void capture_free(struct capture *c);

/**
 * capture_listen() - answer on a socket of kind NETNS_DNS_UDP or NETNS_DNS_TCP
 * @fd: taken over in any case
 */
int capture_listen(struct capture *c, enum netns_kind kind, int fd, struct error *err);

/** capture_settle() - tell now of refused names that were held back for a moment. */
void capture_settle(struct capture *c);

/**
 * capture_name() - the name that an address inside stands for; see proxy_name_cb
 *
 * The one it was given as an answer, or else one that the hosts file of the machine gives it: a denied
 * one, or, where no rule allows or denies the address itself, one that is allowed, or the first.
 */
bool capture_name(struct capture *c, const struct addr *dialled, uint16_t port,
		  struct hostname *out);

/**
 * capture_same() - whether a client in a captured tunnel to @t may ask the server for @asked
 *
 * The hosts file gives both one address, so that the address does not tell which was meant, and the
 * policy allows @asked on that port, too.
 */
bool capture_same(const struct capture *c, const struct target *t, const struct hostname *asked);

#endif
