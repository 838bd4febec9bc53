#include "cli/prove.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/log.h"

#define REFUSED_NAME "sbx-net.invalid" /* RFC 6761 6.4: nobody's, ever */
#define HTTPS_PORT   443
#define DNS_PORT     53

/*
 * Documentation and discard addresses, then those that only a rule for that very address opens.
 * Nobody's run needs them all.
 */
static const char *const nowhere4[] = { "192.0.2.1",	"198.51.100.1", "203.0.113.1",
					"169.254.83.1", "169.254.83.2", "169.254.83.3" };
static const char *const nowhere6[] = { "2001:db8::1", "100::1", "5f00::1", "fd00:ec2::254" };

/* Whether the policy says no, without asking anybody. */
static bool is_refused(const struct policy *policy, const struct target *t)
{
	struct decision d;

	policy_decide(policy, t, &d);
	return d.verdict == VERDICT_DENY;
}

static bool choose_address(const struct policy *policy, const char *const *v, size_t n,
			   uint16_t port, struct target *out)
{
	struct addr a;

	out->via = VIA_CAPTURE;
	for (size_t i = 0; i < n; i++) {
		if (!addr_parse(v[i], strlen(v[i]), &a))
			continue;
		target_from_addr(&a, port, out);
		if (is_refused(policy, out))
			return true;
	}
	return false;
}

/*
 * The first that is captured where each port has a listener of its own, and where a refusal is a
 * reset: on the port of ssh it is an answer.
 */
static uint16_t choose_port(const struct netns_plan *net)
{
	for (size_t i = 0; i < net->nports; i++) {
		bool taken = net->ports[i] == DNS_PORT || net->ports[i] == NETNS_PROXY_PORT ||
			     net->ports[i] == PROXY_SSH_PORT;

		for (size_t k = 0; k < net->nforwards; k++)
			taken |= net->forwards[k] == net->ports[i];
		if (!taken)
			return net->ports[i];
	}
	return HTTPS_PORT;
}

/* A name that nothing but this run's proxy can know. */
static int choose_canary(struct target *out, struct error *err)
{
	char name[64];
	uint64_t nonce;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return error_set(err, errno, "cannot get random bytes");
	(void)snprintf(name, sizeof(name), "%016" PRIx64 "." REFUSED_NAME, nonce);
	if (target_from_host(name, strlen(name), HTTPS_PORT, out) != TARGET_OK)
		return error_set(err, 0, "'%s' is no name", name); /* our bug */
	return 0;
}

int prove_start(struct prove *p, const struct policy *policy, const struct netns_plan *net,
		struct error *err)
{
	struct target direct4, direct6;

	*p = (struct prove){ .active = true, .expected = PROOF_REFUSED | PROOF_CANARY };
	p->plan.port = choose_port(net);
	if (!choose_address(policy, nowhere4, ARRAY_SIZE(nowhere4), p->plan.port, &direct4) ||
	    !choose_address(policy, nowhere6, ARRAY_SIZE(nowhere6), p->plan.port, &direct6))
		return error_set(err, 0,
				 "the policy allows every address that the sandbox could be tried "
				 "with (documentation and link-local ones): allow less");
	p->plan.direct4 = direct4.addr;
	p->plan.direct6 = direct6.addr;
	p->refused.via = VIA_CONNECT;
	if (target_from_host(REFUSED_NAME, strlen(REFUSED_NAME), HTTPS_PORT, &p->refused) !=
		    TARGET_OK ||
	    !is_refused(policy, &p->refused))
		p->refused = direct4;
	if (choose_canary(&p->canary, err) < 0)
		return -1;
	(void)target_format(&p->refused, p->plan.refused);
	(void)target_format(&p->canary, p->plan.canary);
	return 0;
}

void prove_listener(struct prove *p, const struct netns_listener *l)
{
	if (l->kind == NETNS_CAPTURE && (l->port == p->plan.port || l->port == NETNS_CAPTURE_PORT))
		p->expected |= l->family == AF_INET ? PROOF_DIRECT4 : PROOF_DIRECT6;
}

bool prove_is_canary(struct prove *p, const struct target *t)
{
	if (!p->active || !target_equal(t, &p->canary))
		return false;
	p->seen |= PROOF_CANARY;
	return true;
}

void prove_event(struct prove *p, const struct proxy_event *ev)
{
	const struct target *t = ev->target;

	if (ev->kind != PROXY_EVENT_DECISION || ev->decision.verdict != VERDICT_DENY)
		p->foreign = true;
	else if (t->via == VIA_CAPTURE && addr_equal(&t->addr, &p->plan.direct4))
		p->seen |= PROOF_DIRECT4;
	else if (t->via == VIA_CAPTURE && addr_equal(&t->addr, &p->plan.direct6))
		p->seen |= PROOF_DIRECT6;
	else if (t->via == VIA_CONNECT && target_equal(t, &p->refused))
		p->seen |= PROOF_REFUSED;
	else
		p->foreign = true;
}

int prove_finish(struct prove *p, unsigned seen, struct error *err)
{
	p->active = false;
	if (!p->foreign && p->seen == p->expected && seen == p->expected)
		return 0;
	log_info("proof: expected=%x seen=%x tried=%x", p->expected, p->seen, seen);
	if (p->foreign)
		return error_set(err, 0,
				 "the sandbox does not hold: something reached the proxy that "
				 "nobody inside had tried");
	return error_set(err, 0,
			 "the sandbox does not hold: %s connection that was tried inside did not "
			 "end at this proxy%s",
			 (p->expected & ~p->seen) & (PROOF_DIRECT4 | PROOF_DIRECT6) ||
					 (seen & ~p->seen) & (PROOF_DIRECT4 | PROOF_DIRECT6)
				 ? "a direct"
				 : "a",
			 seen == p->seen ? "" : " and did not fail");
}
