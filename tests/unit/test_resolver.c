/*
 * test_resolver.c - the resolver against a scripted server on the loopback
 *
 * Each D- number is a row of the test vectors (DNS section).
 */
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "dns/resolver.h"

#include "tests/support/fakedns.h"

#define RESULTS_MAX 512

/** struct world - one resolver, one server, what was called back */
struct world {
	struct event_base *base;
	struct fakedns dns;
	struct resolver *resolver;
	char hosts[64];
	fakedns_script *next;
	int step;
	unsigned types; /* asked so far: 1 for A, 2 for AAAA, 4 for any other */
};

/** struct result - what one query was told */
struct result {
	struct world *world;
	struct resolver_query *query;
	int calls, more, last_calls;
	enum resolver_status status;
	size_t n, first_n;
	struct addr addrs[RESULTS_MAX];
	struct resolver_query *cancel;
	bool stop;
};

static struct hostname host(const char *text)
{
	struct hostname h;
	struct addr a;

	assert_int_equal(hostname_parse(text, strlen(text), &h, &a), HOSTNAME_NAME);
	return h;
}

static void script(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	struct world *w = arg;

	w->types |= q->type == FAKEDNS_A ? 1 : q->type == FAKEDNS_AAAA ? 2 : 4;
	w->next(w, q, out);
}

static void write_hosts(struct world *w, const char *text)
{
	FILE *f = fopen(w->hosts, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int setup_with(void **state, unsigned timeout_ms, size_t asks)
{
	struct world *w = calloc(1, sizeof(*w));
	const char *servers[] = { NULL, NULL };
	struct resolver_config cfg = { .servers = servers };
	struct error err = { 0 };
	int fd;

	assert_non_null(w);
	(void)snprintf(w->hosts, sizeof(w->hosts), "/tmp/test-hosts-XXXXXX");
	fd = mkstemp(w->hosts);
	assert_true(fd >= 0);
	(void)close(fd);
	w->base = event_base_new();
	fakedns_start(&w->dns, w->base, script, w);
	servers[0] = w->dns.server;
	cfg.hosts_file = w->hosts;
	cfg.timeout_ms = timeout_ms;
	cfg.asks = asks;
	w->resolver = resolver_new(w->base, &cfg, &err);
	assert_non_null(w->resolver);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, 0, 0);
}

/* For servers that never answer. */
static int setup_impatient(void **state)
{
	return setup_with(state, 500, 0);
}

/* Eight lookups fill it. */
static int setup_few(void **state)
{
	return setup_with(state, 0, 16);
}

static int setup_some(void **state)
{
	return setup_with(state, 0, 64);
}

static int setup_few_impatient(void **state)
{
	return setup_with(state, 500, 16);
}

static int teardown(void **state)
{
	struct world *w = *state;

	resolver_free(w->resolver);
	fakedns_stop(&w->dns);
	event_base_free(w->base);
	(void)unlink(w->hosts);
	free(w);
	return 0;
}

static void on_result(void *arg, enum resolver_status status, const struct addr *addrs, size_t n)
{
	struct result *res = arg;

	res->calls++;
	res->status = status;
	if (res->calls == 1)
		res->first_n = n;
	for (size_t i = 0; i < n && res->n < RESULTS_MAX; i++)
		res->addrs[res->n++] = addrs[i];
	if (res->cancel) {
		resolver_cancel(res->cancel);
		res->cancel = NULL;
	}
	if (status == RESOLVER_MORE) {
		res->more++;
		return;
	}
	res->last_calls++;
	if (res->stop)
		event_base_loopbreak(res->world->base);
}

static void start_for(struct world *w, struct resolver_share *share, struct result *res,
		      const char *name)
{
	struct hostname h = host(name);

	memset(res, 0, sizeof(*res));
	res->world = w;
	res->stop = true;
	res->query = resolver_start(w->resolver, share, &h, on_result, res);
	assert_int_equal(res->calls, 0); /* never before it returns */
}

static void start(struct world *w, struct result *res, const char *name)
{
	start_for(w, NULL, res, name);
}

/* A bound, so that a lost callback fails the test instead of hanging it. */
static void run(struct world *w)
{
	struct timeval tv = { .tv_sec = RESOLVER_TIMEOUT_MS / 1000 + 20 };

	event_base_loopexit(w->base, &tv);
	(void)event_base_dispatch(w->base);
}

static void lookup(struct world *w, struct result *res, const char *name)
{
	start(w, res, name);
	run(w);
	assert_int_equal(res->last_calls, 1);
}

static bool has(const struct result *res, const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	for (size_t i = 0; i < res->n; i++) {
		if (addr_equal(&res->addrs[i], &a))
			return true;
	}
	return false;
}

/* --- scripts --- */

static void both(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_addr(out, q->name, 60, q->type == FAKEDNS_A ? "192.0.2.1" : "2001:db8::1");
}

static void a_only(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	if (q->type == FAKEDNS_A)
		fakedns_addr(out, q->name, 60, "192.0.2.1");
}

static void aaaa_servfail(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	a_only(arg, q, out);
	if (q->type == FAKEDNS_AAAA)
		fakedns_begin(out, q->id, 2, q->name, q->type);
}

static void servfail(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 2, q->name, q->type);
}

static void nxdomain(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 3, q->name, q->type);
}

static void silent(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	(void)q;
	out->len = 0;
}

static void a_then_silence(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	if (q->type == FAKEDNS_A)
		both(arg, q, out);
}

static void loopback_six(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	if (q->type == FAKEDNS_A) {
		fakedns_addr(out, q->name, 60, "192.0.2.1");
	} else {
		fakedns_addr(out, q->name, 60, "::1");
		fakedns_addr(out, q->name, 60, "::ffff:127.0.0.1");
	}
}

static void rebinding(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	struct world *w = arg;

	fakedns_begin(out, q->id, 0, q->name, q->type);
	if (q->type == FAKEDNS_A)
		fakedns_addr(out, q->name, 0, w->step++ ? "127.0.0.1" : "192.0.2.1");
}

static void chain(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_cname(out, q->name, 60, "b.example");
	fakedns_cname(out, "b.example", 60, "c.example");
	if (q->type == FAKEDNS_A)
		fakedns_addr(out, "c.example", 60, "192.0.2.7");
}

static void long_chain(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	char from[256], to[64];

	(void)arg;
	fakedns_begin(out, q->id, q->tcp ? 0 : 0x200, q->name, q->type);
	if (!q->tcp)
		return;
	(void)snprintf(from, sizeof(from), "%s", q->name);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(to, sizeof(to), "c%d.example", i);
		fakedns_cname(out, from, 60, to);
		(void)snprintf(from, sizeof(from), "%s", to);
	}
	if (q->type == FAKEDNS_A)
		fakedns_addr(out, from, 60, "192.0.2.8");
}

static void cname_loop(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_cname(out, q->name, 60, "b.example");
	fakedns_cname(out, "b.example", 60, q->name);
}

static void wrong_id_then_right(void *arg, const struct fakedns_question *q,
				struct fakedns_msg *out)
{
	struct world *w = arg;

	fakedns_begin(out, (uint16_t)(q->id ^ (w->step ? 0 : 0x5555)), 0, q->name, q->type);
	fakedns_addr(out, q->name, 60,
		     q->type == FAKEDNS_AAAA ? "2001:db8::1"
		     : w->step		     ? "192.0.2.1"
					     : "192.0.2.66");
	if (w->dns.questions >= 2)
		w->step = 1;
}

static void other_question(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	struct world *w = arg;

	if (w->dns.questions <= 2) {
		fakedns_begin(out, q->id, 0, "other.example", q->type);
		fakedns_addr(out, "other.example", 60,
			     q->type == FAKEDNS_A ? "192.0.2.66" : "2001:db8::66");
		return;
	}
	both(arg, q, out);
}

/* The right question, but the records belong to somebody else, and poison rides along. */
static void other_owner(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_addr(out, "other.example", 60,
		     q->type == FAKEDNS_A ? "192.0.2.66" : "2001:db8::66");
}

static void unlinked_chain(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_cname(out, "x.example", 60, "y.example");
	if (q->type == FAKEDNS_A)
		fakedns_addr(out, "y.example", 60, "192.0.2.66");
}

static void additional_poison(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	both(arg, q, out);
	fakedns_addr(out, q->name, 60, q->type == FAKEDNS_A ? "192.0.2.66" : "2001:db8::66");
	out->p[7] = 1;	/* ANCOUNT: the first only */
	out->p[11] = 1; /* ARCOUNT: the second */
}

static void truncated(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	if (q->tcp) {
		both(arg, q, out);
		return;
	}
	fakedns_begin(out, q->id, 0x200, q->name, q->type);
}

static void many(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	char text[32];

	(void)arg;
	fakedns_begin(out, q->id, q->tcp ? 0 : 0x200, q->name, q->type);
	for (int i = 0; q->tcp && i < 500; i++) {
		if (q->type == FAKEDNS_A)
			(void)snprintf(text, sizeof(text), "192.0.%d.%d", i / 250, i % 250 + 1);
		else
			(void)snprintf(text, sizeof(text), "2001:db8::%x", i + 1);
		fakedns_addr(out, q->name, 60, text);
	}
}

/* 64 KiB of answer whose records all parse */
static void huge(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, q->tcp ? 0 : 0x200, q->name, q->type);
	while (q->tcp && out->len + 64 < FAKEDNS_MSG_MAX)
		fakedns_addr(out, q->name, 60, q->type == FAKEDNS_A ? "192.0.2.9" : "2001:db8::9");
}

static void garbage(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_bytes(out, "\xc0\xff\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01", 16);
	out->p[7] = 1;
}

/* A name that points at itself: a decoder that follows it never ends. */
static void pointer_loop(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	uint8_t rr[16] = { 0xc0, 0, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1 };

	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	rr[1] = (uint8_t)out->len;
	fakedns_bytes(out, rr, sizeof(rr));
	out->p[7] = 1;
}

static void wrong_length(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	(void)arg;
	fakedns_begin(out, q->id, 0, q->name, q->type);
	fakedns_rr(out, q->name, q->type, 60, "\x7f\0\0\1\1", 5);
}

/* --- tests --- */

static void test_lookup_reports_both_families(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = both;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 2);
	assert_true(has(&res, "192.0.2.1") && has(&res, "2001:db8::1"));
	assert_int_equal(w->dns.questions, 2);
	assert_int_equal(w->types, 1 | 2); /* D-024: nothing else is ever asked */
}

static void test_lookup_reports_first_family_as_it_comes(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = a_then_silence;
	lookup(w, &res, "a.example");
	assert_int_equal(res.more, 1);
	assert_int_equal(res.first_n, 1);
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 1);
}

static void test_lookup_is_done_when_only_one_family_fails(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = aaaa_servfail;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 1);
	assert_true(has(&res, "192.0.2.1"));
}

static void test_lookup_names_each_failure(void **state)
{
	static const struct {
		fakedns_script *script;
		enum resolver_status status;
	} rows[] = {
		{ nxdomain, RESOLVER_NOTFOUND },
		{ servfail, RESOLVER_FAILED },
		{ garbage, RESOLVER_FAILED },	   /* D-020 */
		{ pointer_loop, RESOLVER_FAILED }, /* D-020 */
	};
	struct world *w = *state;
	struct result res;
	char name[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(name, sizeof(name), "fail%zu.example", i);
		w->next = rows[i].script;
		lookup(w, &res, name);
		assert_int_equal(res.status, rows[i].status);
		assert_int_equal(res.n, 0);
		assert_int_equal(res.calls, 1);
	}
}

static void test_lookup_ignores_records_of_wrong_length(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = wrong_length;
	lookup(w, &res, "a.example");
	assert_int_not_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 0);
}

static void test_lookup_times_out(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = silent;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_TIMEOUT);
	assert_int_equal(res.n, 0);
}

/* c-ares goes on after our time-out; what it then finds belongs to nobody. */
static void test_lookup_ignores_answers_after_its_time(void **state)
{
	struct world *w = *state;
	struct result res, next;
	unsigned asked;

	w->next = silent;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_TIMEOUT);
	asked = w->dns.questions;
	w->next = both;
	for (int i = 0; i < 1000 && w->dns.questions < asked + 2; i++)
		(void)event_base_loop(w->base, EVLOOP_ONCE);
	lookup(w, &next, "b.example");
	assert_int_equal(next.status, RESOLVER_DONE);
	assert_int_equal(res.calls, 1);
}

/* D-004: the IPv6 addresses arrive as they are, for the vetting to refuse */
static void test_lookup_hides_no_address_from_vetting(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = loopback_six;
	lookup(w, &res, "a.example");
	assert_int_equal(res.n, 3);
	assert_true(has(&res, "::1") && has(&res, "::ffff:127.0.0.1") && has(&res, "192.0.2.1"));
}

/* D-005, D-014: TTL 0 is not kept, so the second answer is seen (and vetted) */
static void test_lookup_does_not_keep_ttl_zero(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = rebinding;
	lookup(w, &res, "a.example");
	assert_int_equal(res.n, 1);
	assert_true(has(&res, "192.0.2.1"));
	lookup(w, &res, "a.example");
	assert_int_equal(res.n, 1);
	assert_true(has(&res, "127.0.0.1"));
}

static void test_lookup_keeps_an_answer_for_its_ttl(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = both;
	lookup(w, &res, "a.example");
	w->next = nxdomain;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 2);
	assert_int_equal(w->dns.questions, 2);
}

static void test_lookup_keeps_no_such_name(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = nxdomain;
	lookup(w, &res, "a.example");
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_NOTFOUND);
	assert_int_equal(w->dns.questions, 2);
}

static void test_lookup_does_not_keep_a_failure(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = servfail;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_FAILED);
	w->next = both;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
}

/* D-009: the chain is followed; its last addresses are what is vetted */
static void test_lookup_follows_cname_chain(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = chain;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 1);
	assert_true(has(&res, "192.0.2.7"));
}

/* D-010 */
static void test_lookup_survives_cname_loop(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = cname_loop;
	lookup(w, &res, "a.example");
	assert_int_equal(res.n, 0);
	assert_int_not_equal(res.status, RESOLVER_DONE);
}

/* D-010 */
static void test_lookup_survives_long_chain(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = long_chain;
	lookup(w, &res, "a.example");
	assert_true(res.n <= 1);
	assert_true(res.n == 0 || has(&res, "192.0.2.8"));
}

/* D-010 */
static void test_lookup_takes_a_bounded_number_of_records(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = many;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 2 * RESOLVER_ADDRS_MAX);
	assert_int_equal(w->dns.tcp_questions, 2);
}

/* D-010 */
static void test_lookup_survives_64k_answer(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = huge;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 2); /* equal addresses are one */
}

static void test_lookup_turns_to_tcp_when_truncated(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = truncated;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(res.n, 2);
	assert_int_equal(w->dns.tcp_questions, 2);
}

/* D-019 */
static void test_lookup_ignores_wrong_id(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = wrong_id_then_right;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_false(has(&res, "192.0.2.66"));
	assert_true(has(&res, "192.0.2.1"));
}

/* D-019 */
static void test_lookup_ignores_answer_to_another_question(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = other_question;
	lookup(w, &res, "a.example");
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_false(has(&res, "192.0.2.66") || has(&res, "2001:db8::66"));
	assert_true(has(&res, "192.0.2.1"));
}

/* D-019 */
static void test_lookup_ignores_records_of_another_owner(void **state)
{
	static fakedns_script *const rows[] = { other_owner, unlinked_chain };
	struct world *w = *state;
	struct result res;
	char name[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(name, sizeof(name), "owner%zu.example", i);
		w->next = rows[i];
		lookup(w, &res, name);
		assert_int_equal(res.n, 0);
		assert_int_not_equal(res.status, RESOLVER_DONE);
	}
}

/* D-019 */
static void test_lookup_ignores_additional_section(void **state)
{
	struct world *w = *state;
	struct result res;

	w->next = additional_poison;
	lookup(w, &res, "a.example");
	assert_int_equal(res.n, 2);
	assert_false(has(&res, "192.0.2.66") || has(&res, "2001:db8::66"));
}

/* D-011, D-012: a hosts entry is answered as it stands, for the vetting to refuse */
static void test_lookup_prefers_hosts_file(void **state)
{
	struct world *w = *state;
	struct result res;

	write_hosts(w, "127.0.1.1 box.example box\n::1 box.example\n");
	w->next = both;
	lookup(w, &res, "box.example");
	assert_int_equal(res.n, 2);
	assert_true(has(&res, "127.0.1.1") && has(&res, "::1"));
	lookup(w, &res, "box");
	assert_int_equal(res.n, 1);
	assert_int_equal(w->dns.questions, 0);
}

static void test_lookup_rereads_changed_hosts_file(void **state)
{
	struct world *w = *state;
	struct result res;

	write_hosts(w, "192.0.2.5 box.example\n");
	w->next = both;
	lookup(w, &res, "box.example");
	assert_true(has(&res, "192.0.2.5"));
	write_hosts(w, "192.0.2.55 box.example\n");
	lookup(w, &res, "box.example");
	assert_int_equal(res.n, 1);
	assert_true(has(&res, "192.0.2.55"));
}

static void test_lookup_asks_nobody_for_localhost(void **state)
{
	static const char *const names[] = { "localhost", "a.b.localhost" };
	struct world *w = *state;
	struct result res;

	write_hosts(w, "192.0.2.66 localhost a.b.localhost\n");
	w->next = both;
	for (size_t i = 0; i < 2; i++) {
		lookup(w, &res, names[i]);
		assert_int_equal(res.n, 2);
		assert_true(has(&res, "127.0.0.1") && has(&res, "::1"));
	}
	assert_int_equal(w->dns.questions, 0);
}

/* D-015, D-016: nothing is appended, whatever the name looks like and whatever fails */
static void test_lookup_asks_for_the_absolute_name_only(void **state)
{
	static const char *const names[] = { "intranet", "good.example" };
	struct world *w = *state;
	struct result res;

	w->next = nxdomain;
	for (size_t i = 0; i < 2; i++) {
		unsigned before = w->dns.questions;

		lookup(w, &res, names[i]);
		assert_int_equal(res.status, RESOLVER_NOTFOUND);
		assert_string_equal(w->dns.last.name, names[i]);
		assert_int_equal(w->dns.questions - before, 2);
	}
}

static void test_start_joins_equal_lookups(void **state)
{
	struct world *w = *state;
	struct result one, two;

	w->next = both;
	start(w, &one, "a.example");
	one.stop = false;
	start(w, &two, "a.example");
	run(w);
	assert_int_equal(one.last_calls, 1);
	assert_int_equal(two.last_calls, 1);
	assert_int_equal(one.n, 2);
	assert_int_equal(two.n, 2);
	assert_int_equal(w->dns.questions, 2);
}

static void on_join(void *arg, enum resolver_status status, const struct addr *addrs, size_t n)
{
	struct result *late = arg;

	(void)addrs;
	if (status == RESOLVER_MORE) {
		assert_int_equal(n, 1);
		start(late->world, late, "a.example");
	}
}

/* A query that joins when one family is in gets that one too. */
static void test_start_tells_a_late_joiner_everything(void **state)
{
	struct world *w = *state;
	struct hostname h = host("a.example");
	struct result late = { .world = w };

	w->next = a_then_silence;
	(void)resolver_start(w->resolver, NULL, &h, on_join, &late);
	run(w);
	assert_int_equal(late.last_calls, 1);
	assert_int_equal(late.more, 1);
	assert_int_equal(late.n, 1);
}

static void test_start_defers_hosts_and_cached_answers(void **state)
{
	struct world *w = *state;
	struct result res;

	write_hosts(w, "192.0.2.5 box.example\n");
	w->next = both;
	start(w, &res, "box.example"); /* asserts that nothing was called */
	run(w);
	start(w, &res, "localhost");
	run(w);
	lookup(w, &res, "a.example");
	start(w, &res, "a.example");
	run(w);
	assert_int_equal(res.last_calls, 1);
}

static void test_cancel_silences(void **state)
{
	struct world *w = *state;
	struct result gone, stays;

	w->next = both;
	start(w, &gone, "a.example");
	start(w, &stays, "a.example");
	resolver_cancel(gone.query);
	run(w);
	assert_int_equal(gone.calls, 0);
	assert_int_equal(stays.last_calls, 1);
}

static void test_cancel_silences_a_deferred_answer(void **state)
{
	struct world *w = *state;
	struct result gone, other;

	w->next = both;
	start(w, &gone, "localhost");
	resolver_cancel(gone.query);
	lookup(w, &other, "a.example");
	assert_int_equal(gone.calls, 0);
}

static void test_cancel_from_within_the_last_callback(void **state)
{
	struct world *w = *state;
	struct result self, one, two;

	w->next = both;
	start(w, &self, "a.example");
	self.cancel = self.query; /* itself: a no-op when it is the last call */
	run(w);
	assert_int_equal(self.calls, 1);

	start(w, &one, "localhost");
	start(w, &two, "localhost");
	one.cancel = two.query;
	run(w);
	assert_int_equal(one.last_calls, 1);
	assert_int_equal(two.calls, 0);
}

static void test_cancelled_lookup_still_fills_the_cache(void **state)
{
	struct world *w = *state;
	struct result gone, res;

	w->next = both;
	start(w, &gone, "a.example");
	resolver_cancel(gone.query);
	lookup(w, &res, "b.example"); /* asked later on the same socket, so answered later */
	lookup(w, &res, "a.example");
	assert_int_equal(res.n, 2);
	assert_int_equal(w->dns.questions, 4);
}

static void test_free_with_running_queries_is_silent(void **state)
{
	struct world *w = *state;
	struct result a, b;
	const char *servers[] = { w->dns.server, NULL };
	struct resolver_config cfg = { .servers = servers, .hosts_file = w->hosts };
	struct error err;

	w->next = silent;
	start(w, &a, "a.example");
	start(w, &b, "localhost");
	resolver_free(w->resolver);
	assert_int_equal(a.calls + b.calls, 0);
	w->resolver = resolver_new(w->base, &cfg, &err);
	assert_non_null(w->resolver);
}

/* Silent about n0.example and the like. */
static void silent_for_n(void *arg, const struct fakedns_question *q, struct fakedns_msg *out)
{
	if (q->name[0] == 'n')
		silent(arg, q, out);
	else
		both(arg, q, out);
}

static void start_many(struct world *w, struct resolver_share *share, struct result *res, size_t n,
		       const char *word)
{
	char name[32];

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "%s%zu.example", word, i);
		start_for(w, share, &res[i], name);
		res[i].stop = false;
	}
}

static size_t ended(const struct result *res, size_t n, enum resolver_status status)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += res[i].last_calls == 1 && res[i].status == status;
	return found;
}

static void run_until(struct world *w, const unsigned *count, unsigned want)
{
	while (*count < want)
		(void)event_base_loop(w->base, EVLOOP_ONCE);
}

/* Alone it may ask all there is; what waits in vain is told so, by a word of its own. */
static void test_start_bounds_questions(void **state)
{
	struct world *w = *state;
	struct resolver_share *share = resolver_share_new(w->resolver);
	struct result res[20];

	w->next = silent;
	start_many(w, share, res, 20, "n");
	run_until(w, &w->dns.questions, 16);
	assert_int_equal(ended(res, 20, RESOLVER_BUSY), 0);
	while (ended(res, 20, RESOLVER_BUSY) + ended(res, 20, RESOLVER_TIMEOUT) < 20)
		(void)event_base_loop(w->base, EVLOOP_ONCE);
	assert_int_equal(ended(res, 20, RESOLVER_BUSY), 12);
	assert_int_equal(ended(res, 8, RESOLVER_TIMEOUT), 8); /* in the order of asking */
	assert_int_equal(w->dns.questions, 16);
	resolver_share_free(share);
}

/* What waits is asked as soon as others have been answered. */
static void test_start_waits_its_turn(void **state)
{
	struct world *w = *state;
	struct resolver_share *a = resolver_share_new(w->resolver);
	struct resolver_share *b = resolver_share_new(w->resolver);
	struct result res[2][30];

	w->next = both;
	start_many(w, a, res[0], 30, "a");
	start_many(w, b, res[1], 30, "b");
	while (ended(res[0], 30, RESOLVER_DONE) + ended(res[1], 30, RESOLVER_DONE) < 60)
		(void)event_base_loop(w->base, EVLOOP_ONCE);
	assert_int_equal(w->dns.questions, 120);
	resolver_share_free(a);
	resolver_share_free(b);
}

/* Two that take all they get from a silent server, and a third that is answered nevertheless. */
static void test_shares_leave_room(void **state)
{
	struct world *w = *state;
	struct resolver_share *a = resolver_share_new(w->resolver);
	struct resolver_share *b = resolver_share_new(w->resolver);
	struct resolver_share *c = resolver_share_new(w->resolver);
	struct result many[2][20], res;

	w->next = silent_for_n;
	start_many(w, a, many[0], 20, "na");
	start_many(w, b, many[1], 20, "nb");
	run_until(w, &w->dns.questions, 6 + 2);
	for (int i = 0; i < 10; i++) {
		(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
		assert_int_equal(w->dns.questions, 8);
	}
	start_for(w, c, &res, "good.example");
	run(w);
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(w->dns.questions, 10);
	/* also for a name that waits in another's queue */
	w->next = both;
	start_for(w, c, &res, "na19.example");
	run(w);
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(ended(&many[0][19], 1, RESOLVER_DONE), 1);
	resolver_share_free(a);
	resolver_share_free(b);
	resolver_share_free(c);
}

/* However many have come before and taken what they get, one after the other. */
static void test_shares_keep_some_for_the_late(void **state)
{
	struct resolver_share *flood[6], *late;
	struct world *w = *state;
	struct result many[6][20], res;

	w->next = silent_for_n;
	late = resolver_share_new(w->resolver);
	for (size_t i = 0; i < 6; i++) {
		char word[] = { 'n', (char)('a' + i), '\0' };
		unsigned before = w->dns.questions;

		flood[i] = resolver_share_new(w->resolver);
		start_many(w, flood[i], many[i], 20, word);
		run_until(w, &w->dns.questions, before + 2);
		for (int turn = 0; turn < 10; turn++)
			(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(ended(many[5], 20, RESOLVER_TIMEOUT), 0);
	start_for(w, late, &res, "good.example");
	run(w);
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(ended(many[0], 1, RESOLVER_TIMEOUT), 0); /* theirs are out all the while */
	for (size_t i = 0; i < 6; i++)
		resolver_share_free(flood[i]);
	resolver_share_free(late);
}

/* The name of a client that has gone is not asked for, and what comes behind it is. */
static void test_cancel_leaves_the_queue(void **state)
{
	struct world *w = *state;
	struct resolver_share *share = resolver_share_new(w->resolver);
	struct result res[11];

	w->next = silent;
	start_many(w, share, res, 10, "n");
	resolver_cancel(res[8].query);
	resolver_cancel(res[9].query);
	run_until(w, &w->dns.questions, 16);
	start_for(w, share, &res[9], "n9.example"); /* anew */
	resolver_share_free(share);
	run(w);
	assert_int_equal(res[9].status, RESOLVER_BUSY);
	assert_int_equal(res[8].calls, 0);
}

static void test_new_refuses_bad_servers(void **state)
{
	static const char *const bad[] = {
		"",	  "dns.example", "127.1",      "127.0.0.1:0", "127.0.0.1:65536", "[::1",
		"[::1]:", "[::1]53",	 "127.0.0.1:", "[127.0.0.1]", "127.0.0.1:5 "
	};
	static const char *const good[] = { "127.0.0.1", "127.0.0.1:53", "::1", "[::1]",
					    "[::1]:53" };
	struct world *w = *state;
	struct error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *servers[] = { bad[i], NULL };
		struct resolver_config cfg = { .servers = servers, .hosts_file = w->hosts };

		assert_null(resolver_new(w->base, &cfg, &err));
		assert_true(err.msg[0]);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *servers[] = { good[i], NULL };
		struct resolver_config cfg = { .servers = servers, .hosts_file = w->hosts };
		struct resolver *r = resolver_new(w->base, &cfg, &err);

		assert_non_null(r);
		resolver_free(r);
	}
}

static void test_new_fails_on_unreadable_hosts_file(void **state)
{
	struct world *w = *state;
	const char *servers[] = { w->dns.server, NULL };
	struct resolver_config cfg = { .servers = servers, .hosts_file = "/" };
	struct error err = { 0 };

	assert_null(resolver_new(w->base, &cfg, &err));
	assert_true(err.msg[0]);
}

/* --- with servers from a resolv.conf, which knows port 53 only: in a namespace of our own --- */

#define SKIP 77

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		(void)close(fd);
	return n < 0 ? -1 : 0;
}

static int new_namespace(void)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP };
	char uid[32];
	int fd, r;

	(void)snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) || write_file("/proc/self/setgroups", "deny") ||
	    write_file("/proc/self/uid_map", uid))
		return -1;
	strcpy(ifr.ifr_name, "lo");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r = fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &ifr);
	if (fd >= 0)
		(void)close(fd);
	return r;
}

/* D-015, D-016, D-017 with a search list; then the file changes, and the new server is asked. */
static int resolv_conf_child(void)
{
	struct world w = { .next = nxdomain }, other = { .next = both };
	struct resolver_config cfg = { .hosts_file = "/nonexistent" };
	char path[] = "/tmp/test-resolvconf-XXXXXX";
	struct error err;
	struct result res, slow;
	int fd = mkstemp(path);

	if (fd < 0 || close(fd) || new_namespace())
		return SKIP;
	w.base = event_base_new();
	fakedns_start_at(&w.dns, w.base, 0x7f000001, 53, script, &w);
	fakedns_start_at(&other.dns, w.base, 0x7f000002, 53, script, &other);
	cfg.resolv_conf = path;
	assert_int_equal(write_file(path, "nameserver 127.0.0.1\n"
					  "search evil-search.example corp.example\n"
					  "options ndots:5 rotate\n"),
			 0);
	w.resolver = resolver_new(w.base, &cfg, &err);
	assert_non_null(w.resolver);
	lookup(&w, &res, "intranet");
	assert_int_equal(res.status, RESOLVER_NOTFOUND);
	assert_string_equal(w.dns.last.name, "intranet");
	lookup(&w, &res, "good.example");
	assert_string_equal(w.dns.last.name, "good.example");
	assert_int_equal(w.dns.questions, 4);

	assert_int_equal(unlink(path), 0); /* while it is gone the old server is asked */
	lookup(&w, &res, "x.example");
	assert_int_equal(w.dns.questions, 6);
	assert_int_equal(write_file(path, "nameserver 127.0.0.2\n"), 0);
	lookup(&w, &res, "good.example"); /* and what the old one said is forgotten */
	assert_int_equal(res.status, RESOLVER_DONE);
	assert_int_equal(w.dns.questions, 6);
	assert_int_equal(other.dns.questions, 2);
	assert_int_equal(write_file(path, "# back\nnameserver 127.0.0.1\n"), 0);
	lookup(&w, &res, "y.example");
	assert_int_equal(w.dns.questions, 8);

	w.next = silent; /* a question that is out when the file changes is still answered */
	start(&w, &slow, "slow.example");
	(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	assert_int_equal(write_file(path, "nameserver 127.0.0.2\n"), 0);
	lookup(&w, &res, "z.example");
	assert_int_equal(other.dns.questions, 4);
	w.next = both;
	run(&w);
	assert_int_equal(slow.last_calls, 1);
	assert_int_equal(slow.status, RESOLVER_DONE);

	resolver_free(w.resolver);
	fakedns_stop(&w.dns);
	fakedns_stop(&other.dns);
	event_base_free(w.base);
	(void)unlink(path);
	return 0;
}

static void test_new_takes_only_servers_from_resolv_conf(void **state)
{
	const char *must = getenv("SBX_TESTS_MUST_RUN");
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(resolv_conf_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIP && !(must && *must == '1'))
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* D-017: the variables are set for the whole program before c-ares is asked for anything */
static void poison_environment(char *path)
{
	static const char text[] = "intranet evil.example\n";
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, text, sizeof(text) - 1) < 0)
		abort();
	(void)close(fd);
	(void)setenv("HOSTALIASES", path, 1);
	(void)setenv("CARES_HOSTS", path, 1);
	(void)setenv("LOCALDOMAIN", "evil-search.example", 1);
	(void)setenv("RES_OPTIONS", "ndots:15 rotate retrans:1 retry:1", 1);
}

#define T(f)		cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T_IMPATIENT(f)	cmocka_unit_test_setup_teardown(f, setup_impatient, teardown)
#define T_FEW(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_lookup_reports_both_families),
		T_IMPATIENT(test_lookup_reports_first_family_as_it_comes),
		T(test_lookup_is_done_when_only_one_family_fails),
		T(test_lookup_names_each_failure),
		T(test_lookup_ignores_records_of_wrong_length),
		T_IMPATIENT(test_lookup_times_out),
		T_IMPATIENT(test_lookup_ignores_answers_after_its_time),
		T(test_lookup_hides_no_address_from_vetting),
		T(test_lookup_does_not_keep_ttl_zero),
		T(test_lookup_keeps_an_answer_for_its_ttl),
		T(test_lookup_keeps_no_such_name),
		T(test_lookup_does_not_keep_a_failure),
		T(test_lookup_follows_cname_chain),
		T(test_lookup_survives_cname_loop),
		T(test_lookup_survives_long_chain),
		T(test_lookup_takes_a_bounded_number_of_records),
		T(test_lookup_survives_64k_answer),
		T(test_lookup_turns_to_tcp_when_truncated),
		T(test_lookup_ignores_wrong_id),
		T(test_lookup_ignores_answer_to_another_question),
		T(test_lookup_ignores_records_of_another_owner),
		T(test_lookup_ignores_additional_section),
		T(test_lookup_prefers_hosts_file),
		T(test_lookup_rereads_changed_hosts_file),
		T(test_lookup_asks_nobody_for_localhost),
		T(test_lookup_asks_for_the_absolute_name_only),
		T(test_start_joins_equal_lookups),
		T_IMPATIENT(test_start_tells_a_late_joiner_everything),
		T(test_start_defers_hosts_and_cached_answers),
		T(test_cancel_silences),
		T(test_cancel_silences_a_deferred_answer),
		T(test_cancel_from_within_the_last_callback),
		T(test_cancelled_lookup_still_fills_the_cache),
		T(test_free_with_running_queries_is_silent),
		T_FEW(test_start_bounds_questions, setup_few_impatient),
		T_FEW(test_start_waits_its_turn, setup_few),
		T_FEW(test_shares_leave_room, setup_few),
		T_FEW(test_shares_keep_some_for_the_late, setup_some),
		T_FEW(test_cancel_leaves_the_queue, setup_few_impatient),
		T(test_new_refuses_bad_servers),
		T(test_new_fails_on_unreadable_hosts_file),
		cmocka_unit_test(test_new_takes_only_servers_from_resolv_conf),
	};

	char path[] = "/tmp/test-hostaliases-XXXXXX";
	int failed;

	poison_environment(path);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return failed;
}
