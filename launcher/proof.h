/*
 * proof.h - try the ways out of a finished sandbox before the command gets it
 *
 * Theory of operation stands in proof.c.
 */
#ifndef LAUNCHER_PROOF_H
#define LAUNCHER_PROOF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/target.h"

#define PROOF_TIMEOUT_MS 10000 /* for an answer of the proxy, and for a connection to get away */

/* What has been seen of a proof; those who tried and those who were tried compare. */
#define PROOF_DIRECT4 (1u << 0) /* a direct connection that was captured */
#define PROOF_DIRECT6 (1u << 1)
#define PROOF_REFUSED (1u << 2) /* the proxy refused the target that it must refuse */
#define PROOF_CANARY  (1u << 3) /* the proxy answered its own name */

/**
 * struct proof_plan - what is to be tried, chosen by whoever knows the policy
 * @refused: "host:port" that the proxy must refuse
 * @canary: "host:port" that the proxy answers itself
 * @direct4, @direct6: addresses outside that no policy of this run opens
 * @port: a TCP port there; captured if there is capture
 */
struct proof_plan {
	char refused[TARGET_TEXT_MAX];
	char canary[TARGET_TEXT_MAX];
	struct addr direct4, direct6;
	uint16_t port;
};

/**
 * struct proof - a plan, the bait that is laid for it outside, and what the sandbox is to be
 * @plan: what to try
 * @tcp, @udp: sockets on the host's loopback which nothing inside may reach; -1: none
 * @tcp_port, @udp_port: their ports, 0: none
 * @abstract: an abstract unix socket of the host that nothing inside may reach; -1: none
 * @name, @name_len: its name
 * @capture: direct connections must end at us; else there must be no route
 * @allow_unix: unix sockets are allowed, the host's abstract ones are not
 * @allow_ptrace: tracing is allowed, but not of what is outside of its domain
 * @scoped: Landlock holds signals back
 */
struct proof {
	const struct proof_plan *plan;
	int tcp, udp, abstract;
	uint16_t tcp_port, udp_port;
	struct sockaddr_un name;
	socklen_t name_len;
	bool capture, allow_unix, allow_ptrace, scoped;
};

struct launcher_plan;

/**
 * proof_open() - lay the bait, outside
 * @plan: the run's; @plan->proof may be NULL: then there is none, and nothing to be tried
 *
 * Return: 0; -1 with @err. Release with proof_close() also after a failure.
 */
int proof_open(struct proof *p, const struct launcher_plan *plan, struct error *err);

/** proof_close() - take it away; what is closed already does not matter. */
void proof_close(struct proof *p);

/**
 * proof_run() - try everything; to be called in the finished sandbox
 * @seen: receives PROOF_ bits: what was tried and ended as it must
 *
 * Blocks until the proxy has answered. Return: 0 when nothing got out and the proxy did its part;
 * -1 with @err, which names every surprise that fits.
 */
int proof_run(const struct proof *p, unsigned *seen, struct error *err);

#endif
