/*
 * prove.h - the supervisor's half of the proof: what is tried, and what of it arrived here
 *
 * launcher/proof.c is the other half. While the proof lasts nobody but the probe is in the sandbox,
 * so whatever its session does belongs to the proof, and to no audit log, report or learnt policy.
 */
#ifndef CLI_PROVE_H
#define CLI_PROVE_H

#include <stdbool.h>

#include "base/error.h"
#include "launcher/proof.h"
#include "netns/netns.h"
#include "policy/policy.h"
#include "proxy/proxy.h"

/**
 * struct prove - a proof under way; zeroed: none
 * @active: from prove_start() to prove_finish()
 * @expected: PROOF_ bits of what must arrive
 * @seen: of what has
 * @foreign: something else arrived, too
 */
struct prove {
	bool active;
	struct proof_plan plan;
	struct target refused, canary;
	unsigned expected, seen;
	bool foreign;
};

/**
 * prove_start() - choose what is tried
 * @policy: what is to be refused is what it refuses, whoever may be asked
 * @net: the sandbox's namespace
 *
 * Return: 0; -1 with @err if the policy leaves nothing that it surely refuses.
 */
int prove_start(struct prove *p, const struct policy *policy, const struct netns_plan *net,
		struct error *err);

/** prove_listener() - a listener that the sandbox sent: which direct connections must arrive. */
void prove_listener(struct prove *p, const struct netns_listener *l);

/** prove_is_canary() - whether the proxy is to answer this one itself. */
bool prove_is_canary(struct prove *p, const struct target *t);

/** prove_event() - what the proxy tells while the proof lasts. */
void prove_event(struct prove *p, const struct proxy_event *ev);

/**
 * prove_finish() - compare: the probe says what it did (@seen), we know what arrived
 *
 * Return: 0, or -1 with @err.
 */
int prove_finish(struct prove *p, unsigned seen, struct error *err);

#endif
