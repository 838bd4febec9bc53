#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "dns/answer.h"
#include "dns/fakeip.h"

/** struct world - a policy that allows names under allowed.example */
struct world {
	struct fakeip *names;
	struct answer_source source;
	unsigned asked;
	struct hostname last;
};

/** struct reply - the fields of a reply that the tests look at */
struct reply {
	size_t len;
	unsigned rcode, answers, authority;
	bool aa, ra, tc;
	struct answer_wait wait;
	uint8_t p[WIRE_REPLY_MAX];
};

static enum stub_answer decide(void *arg, const struct hostname *name)
{
	static const char allowed[] = "allowed.example";
	struct world *w = arg;
	size_t n = sizeof(allowed) - 1;

	w->asked++;
	w->last = *name;
	if (name->len >= n && !strcmp(name->s + name->len - n, allowed))
		return STUB_ALLOW;
	return STUB_DENY;
}

static bool is_local(void *arg, const struct hostname *name, struct stub_local *out)
{
	static const struct stub_local self = { .v4 = { AF_INET, { 127, 0, 1, 1 } } };

	(void)arg;
	if (strcmp(name->s, "builder") != 0)
		return false;
	*out = self;
	return true;
}

/* Even the types that it must not be asked about. */
static bool forwards(void *arg, const struct hostname *name, uint16_t type)
{
	(void)type;
	return arg && name->len;
}

static int setup(void **state)
{
	static struct world w;

	w = (struct world){ .names = fakeip_new() };
	w.source = (struct answer_source){ .names = w.names, .decide = decide, .arg = &w };
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	fakeip_free(((struct world *)*state)->names);
	return 0;
}

/* A query for labels "a.example"; a backslash stands for a dot inside a label. */
static size_t query(uint8_t *msg, const char *name, uint16_t type, uint16_t class)
{
	static const uint8_t head[12] = { 0, 7, 1, 0, 0, 1 };
	size_t n = sizeof(head);

	memcpy(msg, head, sizeof(head));
	while (*name) {
		size_t len = strcspn(name, ".");

		msg[n++] = (uint8_t)len;
		for (size_t i = 0; i < len; i++)
			msg[n++] = (uint8_t)(name[i] == '\\' ? '.' : name[i]);
		name += len + (name[len] == '.');
	}
	msg[n++] = 0;
	msg[n++] = (uint8_t)(type >> 8);
	msg[n++] = (uint8_t)type;
	msg[n++] = (uint8_t)(class >> 8);
	msg[n++] = (uint8_t) class;
	return n;
}

static void send_message(struct world *w, const void *p, size_t n, bool tcp, struct reply *r)
{
	*r = (struct reply){ 0 };
	r->len = answer_message(&w->source, p, n, tcp, &r->wait, r->p);
	if (!r->len)
		return;
	assert_true(r->len >= 12);
	r->rcode = r->p[3] & 0xf;
	r->answers = r->p[7];
	r->authority = r->p[9];
	r->aa = r->p[2] & 4;
	r->tc = r->p[2] & 2;
	r->ra = r->p[3] & 0x80;
}

static void ask(struct world *w, const char *name, uint16_t type, struct reply *r)
{
	uint8_t msg[512];

	send_message(w, msg, query(msg, name, type, WIRE_IN), false, r);
}

static bool address(const struct reply *r, const char *name, uint16_t type, struct addr *out)
{
	struct hostname h = { .len = (uint8_t)strlen(name) };
	struct wire_addrs found;

	memcpy(h.s, name, h.len);
	if (wire_parse_answer(r->p, r->len, &h, type, &found) != PARSE_OK || found.n != 1)
		return false;
	*out = found.v[0];
	return true;
}

static void test_allowed_name_has_one_address(void **state)
{
	struct world *w = *state;
	struct hostname h;
	struct reply r;
	struct addr a;

	ask(w, "www.allowed.example", WIRE_A, &r);
	assert_int_equal(r.rcode, WIRE_NOERROR);
	assert_int_equal(r.answers, 1);
	assert_true(address(&r, "www.allowed.example", WIRE_A, &a));
	assert_true(fakeip_name(w->names, &a, &h));
	assert_string_equal(h.s, "www.allowed.example");
}

static void test_case_of_the_name_does_not_matter(void **state)
{
	struct world *w = *state;
	struct addr a, b;
	struct reply r;

	ask(w, "WWW.Allowed.EXAMPLE", WIRE_A, &r);
	assert_true(address(&r, "www.allowed.example", WIRE_A, &a));
	assert_string_equal(w->last.s, "www.allowed.example");
	ask(w, "www.allowed.example", WIRE_A, &r);
	assert_true(address(&r, "www.allowed.example", WIRE_A, &b));
	assert_true(addr_equal(&a, &b));
}

static void test_other_types_of_allowed_name_are_empty(void **state)
{
	/* NS SOA MX TXT AAAA SRV NAPTR DS SVCB HTTPS, and one nobody knows */
	static const uint16_t types[] = { 2, 6, 15, 16, 28, 33, 35, 43, 64, 65, 65280 };
	struct world *w = *state;
	struct reply r;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		ask(w, "www.allowed.example", types[i], &r);
		assert_int_equal(r.rcode, WIRE_NOERROR);
		assert_int_equal(r.answers, 0);
		assert_int_equal(r.authority, 1);
		assert_true(r.aa && r.ra);
	}
	assert_int_equal(fakeip_count(w->names), 0);
}

static void test_records_are_asked_for_where_allowed(void **state)
{
	static const uint16_t known[] = { 15, 16, 33, 44, 52, 257 };
	static const uint16_t never[] = { WIRE_A, WIRE_AAAA, 2, 5, 64, 65, WIRE_ANY };
	struct world *w = *state;
	struct reply r;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		ask(w, "allowed.example", known[i], &r);
		assert_false(r.wait.wanted);
	}
	w->source.forwards = forwards;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		ask(w, "Allowed.example", known[i], &r);
		assert_true(r.wait.wanted && r.len == 0 && r.wait.type == known[i]);
		assert_string_equal(r.wait.name.s, "allowed.example");
		ask(w, "denied.example", known[i], &r);
		assert_false(r.wait.wanted);
		assert_int_equal(r.rcode, WIRE_NXDOMAIN);
		ask(w, "localhost", known[i], &r);
		assert_false(r.wait.wanted);
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		ask(w, "allowed.example", never[i], &r);
		assert_true(!r.wait.wanted && r.len > 0);
	}
}

static void test_finished_answers(void **state)
{
	struct wire_records found = { .type = 16, .n = 1, .ttl = 3, .len = 4, .data = "\0\2\1a" };
	uint8_t out[WIRE_REPLY_MAX];
	struct world *w = *state;
	struct reply r;
	size_t n;

	w->source.forwards = forwards;
	ask(w, "allowed.example", 16, &r);
	n = answer_finish(&r.wait, &found, out);
	assert_int_equal(out[3] & 0xf, WIRE_NOERROR);
	assert_int_equal(out[7], 1);
	assert_memory_equal(out + n - 12, "\0\20\0\1\0\0\0\3\0\2\1a", 12);
	found.ttl = 86400; /* a later refusal is soon seen */
	n = answer_finish(&r.wait, &found, out);
	assert_memory_equal(out + n - 8, "\0\0\0\12\0\2\1a", 8);
	found.n = found.len = 0;
	(void)answer_finish(&r.wait, &found, out);
	assert_int_equal(out[3] & 0xf, WIRE_NOERROR);
	assert_true(out[7] == 0 && out[9] == 1); /* nothing, and for how long */
	(void)answer_finish(&r.wait, NULL, out);
	assert_int_equal(out[3] & 0xf, WIRE_SERVFAIL);
}

static void test_any_gets_the_address(void **state)
{
	struct world *w = *state;
	struct reply r;

	ask(w, "www.allowed.example", WIRE_ANY, &r);
	assert_int_equal(r.rcode, WIRE_NOERROR);
	assert_int_equal(r.answers, 1);
}

static void test_denied_name_does_not_exist(void **state)
{
	static const uint16_t types[] = { WIRE_A, WIRE_AAAA, 15, 16, 65, WIRE_ANY };
	struct world *w = *state;
	struct reply r;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		ask(w, "evil.example", types[i], &r);
		assert_int_equal(r.rcode, WIRE_NXDOMAIN);
		assert_int_equal(r.answers, 0);
	}
	assert_int_equal(fakeip_count(w->names), 0);
}

static void test_malformed_name_does_not_exist(void **state)
{
	static const char *const names[] = { "127.0.0.1", "0x7f.1", "a\\allowed.example",
					     "\xff.allowed.example", "a b.allowed.example" };
	struct world *w = *state;
	struct reply r;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask(w, names[i], WIRE_A, &r);
		assert_int_equal(r.rcode, WIRE_NXDOMAIN);
	}
	assert_int_equal(w->asked, 0);
}

static void test_localhost_is_answered_without_the_policy(void **state)
{
	static const char *const names[] = { "localhost", "x.localhost", "LOCALHOST" };
	static const char *const canonical[] = { "localhost", "x.localhost", "localhost" };
	struct world *w = *state;
	struct addr a, v4, v6;
	struct reply r;

	assert_true(addr_parse("127.0.0.1", 9, &v4) && addr_parse("::1", 3, &v6));
	for (size_t i = 0; i < 3; i++) {
		ask(w, names[i], WIRE_A, &r);
		assert_true(address(&r, canonical[i], WIRE_A, &a) && addr_equal(&a, &v4));
		ask(w, names[i], WIRE_AAAA, &r);
		assert_true(address(&r, canonical[i], WIRE_AAAA, &a) && addr_equal(&a, &v6));
		ask(w, names[i], 15, &r);
		assert_int_equal(r.rcode, WIRE_NOERROR);
		assert_int_equal(r.answers, 0);
	}
	assert_int_equal(w->asked, 0);
}

static void test_names_of_the_sandbox_are_its_loopback(void **state)
{
	struct world *w = *state;
	struct addr a, v4;
	struct reply r;

	assert_true(addr_parse("127.0.1.1", 9, &v4));
	ask(w, "builder", WIRE_A, &r);
	assert_int_equal(r.rcode, WIRE_NXDOMAIN);
	assert_int_equal(w->asked, 1);
	w->source.is_local = is_local;
	ask(w, "Builder", WIRE_A, &r);
	assert_true(address(&r, "builder", WIRE_A, &a) && addr_equal(&a, &v4));
	ask(w, "builder", WIRE_AAAA, &r);
	assert_int_equal(r.rcode, WIRE_NOERROR);
	assert_int_equal(r.answers, 0);
	assert_int_equal(w->asked, 1);
	ask(w, "other", WIRE_A, &r);
	assert_int_equal(r.rcode, WIRE_NXDOMAIN);
	assert_int_equal(w->asked, 2);
}

static void test_reverse_of_a_given_address_is_its_name(void **state)
{
	static const uint8_t ptr[] = "\x03www\x07"
				     "allowed\x07"
				     "example";
	struct world *w = *state;
	struct reply r;

	ask(w, "1.0.18.198.in-addr.arpa", WIRE_PTR, &r);
	assert_int_equal(r.rcode, WIRE_NXDOMAIN); /* stands for nothing yet */
	ask(w, "www.allowed.example", WIRE_A, &r);
	ask(w, "1.0.18.198.in-addr.arpa", WIRE_PTR, &r);
	assert_int_equal(r.rcode, WIRE_NOERROR);
	assert_int_equal(r.answers, 1);
	assert_memory_equal(r.p + r.len - sizeof(ptr), ptr, sizeof(ptr));
	ask(w, "1.0.18.198.in-addr.arpa", WIRE_A, &r);
	assert_int_equal(r.rcode, WIRE_NOERROR);
	assert_int_equal(r.answers, 0);
}

static void test_reverse_of_loopback_is_localhost(void **state)
{
	static const uint8_t ptr[] = "\x09localhost";
	struct world *w = *state;
	struct reply r;

	ask(w, "1.0.0.127.in-addr.arpa", WIRE_PTR, &r);
	assert_int_equal(r.answers, 1);
	assert_memory_equal(r.p + r.len - sizeof(ptr), ptr, sizeof(ptr));
	ask(w, "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", WIRE_PTR,
	    &r);
	assert_int_equal(r.answers, 1);
}

static void test_reverse_of_others_does_not_exist(void **state)
{
	struct world *w = *state;
	struct reply r;

	ask(w, "8.8.8.8.in-addr.arpa", WIRE_PTR, &r);
	assert_int_equal(r.rcode, WIRE_NXDOMAIN);
	assert_int_equal(w->asked, 0);
}

static void test_root_is_empty(void **state)
{
	struct world *w = *state;
	struct reply r;

	ask(w, "", 2, &r);
	assert_int_equal(r.rcode, WIRE_NOERROR);
	assert_int_equal(r.answers, 0);
}

static void test_meta_types_and_classes_are_refused(void **state)
{
	struct world *w = *state;
	uint8_t msg[512];
	struct reply r;

	ask(w, "www.allowed.example", 252, &r); /* AXFR */
	assert_int_equal(r.rcode, WIRE_REFUSED);
	ask(w, "www.allowed.example", WIRE_OPT, &r);
	assert_int_equal(r.rcode, WIRE_FORMERR);
	send_message(w, msg, query(msg, "version.bind", 16, 3), false, &r);
	assert_int_equal(r.rcode, WIRE_REFUSED);
	send_message(w, msg, query(msg, "www.allowed.example", 1, 255), false, &r);
	assert_int_equal(r.rcode, WIRE_REFUSED);
	assert_int_equal(w->asked, 0);
}

static void test_errors_are_answered_and_answers_are_not(void **state)
{
	struct world *w = *state;
	uint8_t msg[512];
	size_t n = query(msg, "www.allowed.example", 1, 1);
	struct reply r;

	send_message(w, msg, n - 1, false, &r);
	assert_int_equal(r.rcode, WIRE_FORMERR);
	msg[2] = 0x28; /* UPDATE */
	send_message(w, msg, n, false, &r);
	assert_int_equal(r.rcode, WIRE_NOTIMP);
	msg[2] = 0x80; /* an answer */
	send_message(w, msg, n, false, &r);
	assert_int_equal(r.len, 0);
	send_message(w, msg, 11, false, &r);
	assert_int_equal(r.len, 0);
}

/* The longest answers there are: a question of 255 bytes, and a PTR to a name of 255. */
static void test_every_answer_fits_udp(void **state)
{
	struct world *w = *state;
	char name[254];
	struct reply r;

	memset(name, 'a', 253);
	for (int i = 63; i < 237; i += 64)
		name[i] = '.';
	memcpy(name + 237, ".allowed.example", 17);
	ask(w, name, WIRE_A, &r);
	assert_int_equal(r.answers, 1);
	ask(w, name, WIRE_AAAA, &r);
	assert_int_equal(r.authority, 1);
	assert_true(!r.tc && r.len <= WIRE_UDP_MAX);
	ask(w, "1.0.18.198.in-addr.arpa", WIRE_PTR, &r);
	assert_int_equal(r.answers, 1);
	assert_true(!r.tc && r.len <= WIRE_UDP_MAX);
}

static void test_exhausted_addresses_are_refused(void **state)
{
	struct world *w = *state;
	struct hostname h = { 0 };
	struct addr a;
	struct reply r;

	for (int i = 0; i < FAKEIP_MAX; i++) {
		h.len = (uint8_t)snprintf(h.s, sizeof(h.s), "h%d.allowed.example", i);
		assert_true(fakeip_assign(w->names, &h, &a));
	}
	ask(w, "one.more.allowed.example", WIRE_A, &r);
	assert_int_equal(r.rcode, WIRE_REFUSED);
	ask(w, "h7.allowed.example", WIRE_A, &r);
	assert_int_equal(r.answers, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_allowed_name_has_one_address),
		T(test_case_of_the_name_does_not_matter),
		T(test_other_types_of_allowed_name_are_empty),
		T(test_records_are_asked_for_where_allowed),
		T(test_finished_answers),
		T(test_any_gets_the_address),
		T(test_denied_name_does_not_exist),
		T(test_malformed_name_does_not_exist),
		T(test_localhost_is_answered_without_the_policy),
		T(test_names_of_the_sandbox_are_its_loopback),
		T(test_reverse_of_a_given_address_is_its_name),
		T(test_reverse_of_loopback_is_localhost),
		T(test_reverse_of_others_does_not_exist),
		T(test_root_is_empty),
		T(test_meta_types_and_classes_are_refused),
		T(test_errors_are_answered_and_answers_are_not),
		T(test_every_answer_fits_udp),
		T(test_exhausted_addresses_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
