/*
 * netns.h - inside the empty network namespace: lo, AnyIP routes, and the listeners
 *
 * Called by pid 1 of the sandbox, which still has CAP_NET_ADMIN and CAP_NET_BIND_SERVICE over its
 * new namespace. The sockets are made here and used by the proxy outside.
 */
#ifndef NETNS_NETNS_H
#define NETNS_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define NETNS_PROXY_PORT    3128 /* where the proxy listens inside, on 127.0.0.1 and ::1 */
#define NETNS_CAPTURE_PORT  3129 /* where captured connections of every port arrive (tproxy.h) */
#define NETNS_LISTENERS_MAX 512

/** enum netns_kind - what a listener is for; the bridge carries it beside the descriptor */
enum netns_kind {
	NETNS_PROXY,   /* 127.0.0.1:3128 and [::1]:3128 */
	NETNS_CAPTURE, /* transparent, every port; or 0.0.0.0:port and [::]:port */
	NETNS_DNS_UDP, /* port 53 */
	NETNS_DNS_TCP,
	NETNS_FORWARD, /* a port on the loopback that leads to a fixed target */
	NETNS_PUBLISH, /* a socket made inside for a connection from the host to a server inside */
};

/**
 * struct netns_listener - one descriptor and what it is
 * @kind: see above
 * @family: AF_INET or AF_INET6
 * @port: the port it listens on
 * @index: for NETNS_FORWARD: index of the forward in the plan
 * @fd: the socket
 */
struct netns_listener {
	uint8_t kind;
	uint8_t family;
	uint16_t port;
	uint16_t index;
	int fd;
};

/**
 * struct netns_plan - what to set up
 * @bare: without a capability over the namespace: lo is up already, nothing but listeners is made,
 *        and neither capture nor forwards of privileged ports are to be asked for
 * @capture: make every address local, capture every TCP port, and listen for DNS
 * @ports, @nports: TCP ports to capture where the kernel has no nft_tproxy; connections to other
 *                  ports are then refused
 * @no_tproxy: do as such a kernel (tests)
 * @forwards, @nforwards: ports of the sandbox's loopback that lead to fixed targets
 */
struct netns_plan {
	bool bare;
	bool capture;
	bool no_tproxy;
	const uint16_t *ports;
	size_t nports;
	const uint16_t *forwards;
	size_t nforwards;
};

/**
 * netns_setup() - bring lo up (rtnetlink), add the AnyIP routes, make the listeners
 * @out: receives the listeners (NETNS_LISTENERS_MAX at most), which the caller owns
 * @n: how many
 *
 * A kernel without IPv6 is served over IPv4 alone. Return: 0, or -1 with @err.
 */
int netns_setup(const struct netns_plan *plan, struct netns_listener *out, size_t *n,
		struct error *err);

/** netns_most() - how many listeners netns_setup() makes for a plan at most. */
size_t netns_most(const struct netns_plan *plan);

/**
 * netns_check() - whether these are listeners as netns_setup() makes them for a plan, each at most once
 *
 * For who is given them by a namespace that is not its own. Return: 0, or -1 with @err.
 */
int netns_check(const struct netns_plan *plan, const struct netns_listener *v, size_t n,
		struct error *err);

#endif
