#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/prove.h"

static const uint16_t ports[] = { 53, 443, 80 };
static const struct netns_plan net = { .capture = true, .ports = ports, .nports = 3 };
static const struct netns_listener capture4 = { .kind = NETNS_CAPTURE,
						.family = AF_INET,
						.port = NETNS_CAPTURE_PORT };
static const struct netns_listener capture6 = { .kind = NETNS_CAPTURE,
						.family = AF_INET6,
						.port = NETNS_CAPTURE_PORT };

#define ALL (PROOF_REFUSED | PROOF_CANARY | PROOF_DIRECT4 | PROOF_DIRECT6)

static struct policy *policy_of(const char *const *allow, size_t n)
{
	struct policy *p = policy_new();
	struct error err;

	for (size_t i = 0; i < n; i++)
		if (policy_add(p, LIST_ALLOW, allow[i], "--allow", 0, NULL, &err))
			fail_msg("%s", err.msg);
	return p;
}

static void start(struct prove *p, const struct policy *policy)
{
	struct error err;

	if (prove_start(p, policy, &net, &err))
		fail_msg("%s", err.msg);
	prove_listener(p, &capture4);
	prove_listener(p, &capture6);
}

static void tell(struct prove *p, const struct target *t, enum verdict verdict)
{
	const struct proxy_event ev = { .kind = PROXY_EVENT_DECISION,
					.target = t,
					.decision = { .verdict = verdict } };

	prove_event(p, &ev);
}

static struct target captured(const struct addr *a, const struct prove *p)
{
	struct target t = { .via = VIA_CAPTURE };

	target_from_addr(a, p->plan.port, &t);
	return t;
}

/* What a probe does; @but: PROOF_ bits that are left out. */
static void arrive(struct prove *p, unsigned but)
{
	const struct target four = captured(&p->plan.direct4, p);
	const struct target six = captured(&p->plan.direct6, p);

	if (!(but & PROOF_CANARY))
		assert_true(prove_is_canary(p, &p->canary));
	if (!(but & PROOF_REFUSED))
		tell(p, &p->refused, VERDICT_DENY);
	if (!(but & PROOF_DIRECT4))
		tell(p, &four, VERDICT_DENY);
	if (!(but & PROOF_DIRECT6))
		tell(p, &six, VERDICT_DENY);
}

static void test_finish_compares_both_sides(void **state)
{
	struct policy *policy = policy_of(NULL, 0);
	struct prove p;
	struct error err;

	(void)state;
	start(&p, policy);
	arrive(&p, 0);
	assert_int_equal(prove_finish(&p, ALL, &err), 0);
	assert_false(p.active);
	for (unsigned bit = 1; bit <= PROOF_CANARY; bit <<= 1) {
		start(&p, policy);
		arrive(&p, bit); /* tried, and it went elsewhere */
		assert_int_equal(prove_finish(&p, ALL, &err), -1);
		start(&p, policy);
		arrive(&p, bit); /* not even tried */
		assert_int_equal(prove_finish(&p, ALL & ~bit, &err), -1);
		start(&p, policy);
		arrive(&p, 0);
		assert_int_equal(prove_finish(&p, ALL & ~bit, &err), -1);
	}
	policy_free(policy);
}

static void test_finish_without_ipv6(void **state)
{
	struct policy *policy = policy_of(NULL, 0);
	struct prove p;
	struct error err;

	(void)state;
	assert_int_equal(prove_start(&p, policy, &net, &err), 0);
	prove_listener(&p, &capture4);
	arrive(&p, PROOF_DIRECT6);
	assert_int_equal(prove_finish(&p, ALL & ~PROOF_DIRECT6, &err), 0);
	policy_free(policy);
}

static void test_event_foreign(void **state)
{
	struct policy *policy = policy_of(NULL, 0);
	struct target other = { .via = VIA_CONNECT };
	struct prove p;
	struct error err;

	(void)state;
	assert_int_equal(target_from_host("example.com", 11, 443, &other), TARGET_OK);
	start(&p, policy);
	arrive(&p, 0);
	tell(&p, &other, VERDICT_DENY);
	assert_int_equal(prove_finish(&p, ALL, &err), -1);
	start(&p, policy);
	arrive(&p, PROOF_REFUSED);
	tell(&p, &p.refused, VERDICT_ALLOW);
	assert_int_equal(prove_finish(&p, ALL, &err), -1);
	policy_free(policy);
}

static void test_canary_is_the_runs_own_and_ends_with_the_proof(void **state)
{
	struct policy *policy = policy_of(NULL, 0);
	struct prove one, two;
	struct error err;

	(void)state;
	start(&one, policy);
	start(&two, policy);
	assert_false(target_equal(&one.canary, &two.canary));
	assert_false(prove_is_canary(&one, &two.canary));
	assert_true(prove_is_canary(&one, &one.canary));
	(void)prove_finish(&one, ALL, &err);
	assert_false(prove_is_canary(&one, &one.canary));
	policy_free(policy);
}

static void test_start_chooses_what_the_policy_refuses(void **state)
{
	static const char *const some[] = { "*", "192.0.2.0/24", "2001:db8::/32" };
	static const char *const all[] = { "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24",
					   "169.254.83.1", "169.254.83.2",    "169.254.83.3" };
	struct policy *policy = policy_of(some, ARRAY_SIZE(some));
	struct target four, six;
	struct decision d;
	struct prove p;
	struct error err;

	(void)state;
	start(&p, policy);
	four = captured(&p.plan.direct4, &p);
	six = captured(&p.plan.direct6, &p);
	policy_decide(policy, &four, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	policy_decide(policy, &six, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	policy_decide(policy, &p.refused, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	policy_free(policy);

	policy = policy_of(NULL, 0);
	start(&p, policy);
	assert_false(target_is_literal(&p.refused));
	policy_set_unknown(policy, VERDICT_ASK); /* nobody is to be asked about the proof */
	start(&p, policy);
	assert_true(target_is_literal(&p.refused));
	policy_free(policy);

	policy = policy_of(all, ARRAY_SIZE(all));
	assert_int_equal(prove_start(&p, policy, &net, &err), -1);
	assert_non_null(strstr(err.msg, "allow less"));
	policy_free(policy);
}

static void test_start_chooses_a_port_that_is_captured(void **state)
{
	static const uint16_t forwards[] = { 443 };
	const struct netns_plan forwarded = {
		.capture = true, .ports = ports, .nports = 3, .forwards = forwards, .nforwards = 1
	};
	struct policy *policy = policy_of(NULL, 0);
	struct prove p;
	struct error err;

	(void)state;
	assert_int_equal(prove_start(&p, policy, &net, &err), 0);
	assert_int_equal(p.plan.port, 443);
	assert_int_equal(prove_start(&p, policy, &forwarded, &err), 0);
	assert_int_equal(p.plan.port, 80);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finish_compares_both_sides),
		cmocka_unit_test(test_finish_without_ipv6),
		cmocka_unit_test(test_event_foreign),
		cmocka_unit_test(test_canary_is_the_runs_own_and_ends_with_the_proof),
		cmocka_unit_test(test_start_chooses_what_the_policy_refuses),
		cmocka_unit_test(test_start_chooses_a_port_that_is_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
