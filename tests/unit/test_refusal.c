/* The sentences of the contract, word for word. */
#include "policy/refusal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

static struct target target(const char *text)
{
	struct target t = { .via = VIA_CONNECT };

	assert_int_equal(target_parse_authority(text, strlen(text), 0, &t), TARGET_OK);
	return t;
}

static void test_format_every_code(void **state)
{
	static const struct rule plain = { "*.bad.example", "--deny", 0, NULL };
	static const struct rule full = { "*.bad.example", "/etc/list", 12, "tracks users" };
	static const struct {
		const char *target;
		enum code code;
		const char *addr;
		const struct rule *rule;
		const char *text;
	} row[] = {
		{ "example.com:443", CODE_NOT_LISTED, NULL, NULL,
		  "refused example.com:443 (not on the allow list); allow with: --allow "
		  "example.com:443" },
		{ "[2001:db8::1]:443", CODE_NOT_LISTED, NULL, NULL,
		  "refused [2001:db8::1]:443 (not on the allow list); allow with: --allow "
		  "[2001:db8::1]:443" },
		{ "a.bad.example:443", CODE_DENIED, NULL, &plain,
		  "refused a.bad.example:443 (denied by *.bad.example, --deny)" },
		{ "a.bad.example:443", CODE_DENIED, NULL, &full,
		  "refused a.bad.example:443 (denied by *.bad.example, /etc/list:12: tracks "
		  "users)" },
		{ "a.bad.example:443", CODE_DENIED, "10.0.0.1", &plain,
		  "refused a.bad.example:443 (denied address 10.0.0.1 by *.bad.example, --deny)" },
		{ "h.example:3000", CODE_LOOPBACK, "127.0.0.1", NULL,
		  "refused h.example:3000 (leads to this machine: 127.0.0.1); allow also with: "
		  "--allow "
		  "127.0.0.1:3000" },
		{ "h.example:3000", CODE_LOOPBACK, "::1", NULL,
		  "refused h.example:3000 (leads to this machine: ::1); allow also with: --allow "
		  "[::1]:3000" },
		{ "localhost:3000", CODE_NOT_LISTED, "10.0.0.1", NULL,
		  "refused localhost:3000 (not on the allow list: 10.0.0.1); allow also with: "
		  "--allow 10.0.0.1:3000" },
		{ "localhost:3000", CODE_LOOPBACK, NULL, NULL,
		  "refused localhost:3000 (leads to this machine); allow with: --allow "
		  "localhost:3000" },
		{ "h.example:80", CODE_METADATA, "169.254.169.254", NULL,
		  "refused h.example:80 (a cloud metadata service: 169.254.169.254)" },
		{ "169.254.1.1:80", CODE_LINK_LOCAL, NULL, NULL,
		  "refused 169.254.1.1:80 (a link-local address); allow with: --allow "
		  "169.254.1.1:80" },
		{ "h.example:80", CODE_OWN_ADDRESS, "192.0.2.1", NULL,
		  "refused h.example:80 (an address of this machine: 192.0.2.1); allow also with: "
		  "--allow 192.0.2.1:80" },
		{ "h.example:80", CODE_PRIVATE, "10.0.0.1", NULL,
		  "refused h.example:80 (a private address: 10.0.0.1); allow also with: "
		  "--allow-private h.example" },
		{ "10.0.0.1:80", CODE_PRIVATE, "10.0.0.1", NULL,
		  "refused 10.0.0.1:80 (a private address); allow with: --allow 10.0.0.1:80" },
		{ "h.example:80", CODE_SPECIAL, "198.18.0.1", NULL,
		  "refused h.example:80 (a special-use address: 198.18.0.1); allow also with: "
		  "--allow "
		  "198.18.0.1:80" },
		{ "h.example:80", CODE_STRICT, NULL, NULL,
		  "refused h.example:80 (not on the allow list, and strict mode asks nobody); "
		  "allow "
		  "with: --allow h.example:80" },
		{ "h.example:80", CODE_ONLY, NULL, NULL,
		  "refused h.example:80 (not on this run's own list); allow with: --only "
		  "h.example:80" },
		{ "h.example:80", CODE_ASKED_NO, NULL, NULL,
		  "refused h.example:80 (the answer was no); allow with: --allow h.example:80" },
		{ "h.example:80", CODE_ASK_TIMEOUT, NULL, NULL,
		  "refused h.example:80 (nobody answered in time); allow with: --allow "
		  "h.example:80" },
		{ "h.example:80", CODE_SNI_MISMATCH, NULL, NULL,
		  "refused h.example:80 (TLS asked for another name)" },
		{ "h.example:80", CODE_LIMIT, NULL, NULL,
		  "refused h.example:80 (a limit is reached)" },
		{ "h.example:80", CODE_DNS_FAILED, NULL, NULL,
		  "cannot reach h.example:80 (the name does not resolve)" },
		{ "h.example:80", CODE_CONNECT_FAILED, NULL, NULL,
		  "cannot reach h.example:80 (the connection failed)" },
		{ "h.example:80", CODE_CONNECT_TIMEOUT, NULL, NULL,
		  "cannot reach h.example:80 (the connection timed out)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct target t = target(row[i].target);
		struct decision d = { .code = row[i].code, .rule = row[i].rule };
		char out[REFUSAL_MAX];

		if (row[i].addr)
			assert_true(addr_parse(row[i].addr, strlen(row[i].addr), &d.addr));
		assert_string_equal(refusal_format(&t, &d, out), row[i].text);
	}
}

/* Refused, unreachable and reset call for different remedies. */
static void test_format_says_why_a_connection_failed(void **state)
{
	static const struct {
		int error;
		const char *text;
	} row[] = {
		{ ECONNREFUSED, "cannot reach h.example:80 (the connection was refused: nothing "
				"listens there)" },
		{ ENETUNREACH, "cannot reach h.example:80 (unreachable: no way leads there)" },
		{ ECONNRESET, "cannot reach h.example:80 (the connection was reset)" },
		{ ENOTCONN, "cannot reach h.example:80 (the upstream proxy cannot be reached)" },
		{ ECONNABORTED, "cannot reach h.example:80 (the upstream proxy refuses it)" },
		{ EIO, "cannot reach h.example:80 (the connection failed)" },
	};
	char out[REFUSAL_MAX];
	struct target t = { .via = VIA_CONNECT };

	(void)state;
	assert_int_equal(target_parse_authority("h.example:80", 12, 443, &t), TARGET_OK);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct decision d = { .verdict = VERDICT_ALLOW,
					    .code = CODE_CONNECT_FAILED,
					    .error = row[i].error };

		assert_string_equal(refusal_format(&t, &d, out), row[i].text);
	}
}

/* An option that --locked rejects, or that a managed file overrules, is no remedy. */
static void test_format_names_who_can_allow(void **state)
{
	static const struct keeper locked = { false, (char *)(uintptr_t) "p.json" };
	static const struct keeper managed = { true, (char *)(uintptr_t) "/etc/m.json" };
	static const struct {
		const struct keeper *keeper;
		enum code code;
		const char *addr, *text;
	} row[] = {
		{ &locked, CODE_STRICT, NULL,
		  "refused h.example:80 (not on the allow list, and --locked asks nobody); "
		  "--locked: add to p.json: h.example:80" },
		{ &locked, CODE_PRIVATE, "10.0.0.1",
		  "refused h.example:80 (a private address: 10.0.0.1); --locked: add to p.json: "
		  "10.0.0.1:80" },
		{ &locked, CODE_METADATA, NULL, "refused h.example:80 (a cloud metadata service)" },
		{ &managed, CODE_STRICT, NULL,
		  "refused h.example:80 (not on the managed allow list); only the administrator "
		  "can allow it, in /etc/m.json" },
		{ &managed, CODE_SPECIAL, "198.18.0.1",
		  "refused h.example:80 (a special-use address: 198.18.0.1); only the "
		  "administrator can allow it, in /etc/m.json" },
		{ &managed, CODE_ONLY, NULL,
		  "refused h.example:80 (not on this run's own list); allow with: --only "
		  "h.example:80" },
	};
	struct target t = target("h.example:80");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct decision d = { .code = row[i].code, .keeper = row[i].keeper };
		char out[REFUSAL_MAX];

		if (row[i].addr)
			assert_true(addr_parse(row[i].addr, strlen(row[i].addr), &d.addr));
		assert_string_equal(refusal_format(&t, &d, out), row[i].text);
		assert_null(strstr(refusal_remedy(&t, &d, out), "--allow"));
		assert_false(refusal_is_addition(&t, &d));
	}
}

static void test_format_without_port_or_host(void **state)
{
	struct target t = target("h.example:80");
	struct decision d = { .code = CODE_NOT_LISTED };
	char out[REFUSAL_MAX];

	(void)state;
	t.port = 0;
	assert_string_equal(
		refusal_format(&t, &d, out),
		"refused h.example (not on the allow list); allow with: --allow h.example");
	t = (struct target){ 0 };
	d.code = CODE_BAD_HOST;
	assert_string_equal(refusal_format(&t, &d, out),
			    "refused a request (not a valid host name)");
	d.code = CODE_BAD_PORT;
	assert_string_equal(refusal_format(&t, &d, out), "refused a request (not a valid port)");
	d.said = "h.example:0";
	assert_string_equal(refusal_format(&t, &d, out), "refused h.example:0 (not a valid port)");
	t = target("h.example:80"); /* a target that is one speaks for itself */
	assert_string_equal(refusal_format(&t, &d, out), "refused h.example:80 (not a valid port)");
}

/* H-031: what the author of a list wrote is one line of printable text, whatever it was. */
static void test_format_escapes_and_bounds(void **state)
{
	static char longer[5000];
	struct rule r = { "a\x1b[2J\n%s%n", longer, 4000000000u,
			  "\x9b"
			  "31m\r\n\t%n" };
	struct target t = target("h.example:80");
	struct decision d = { .code = CODE_DENIED, .rule = &r };
	char out[REFUSAL_MAX];
	size_t n;

	(void)state;
	memset(longer, 'f', sizeof(longer) - 1);
	n = strlen(refusal_format(&t, &d, out));
	assert_true(n < REFUSAL_MAX);
	for (size_t i = 0; i < n; i++)
		assert_true(out[i] >= ' ' && out[i] <= '~');
	assert_non_null(strstr(out, "%s%n"));
}

static void test_format_longest_host(void **state)
{
	char text[HOSTNAME_MAX + 7];
	struct target t;
	struct decision d = { .code = CODE_STRICT };
	char out[REFUSAL_MAX];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 50; i < HOSTNAME_MAX - 1; i += 51)
		text[i] = '.';
	memcpy(text + HOSTNAME_MAX, ":65535", 7);
	t = target(text);
	(void)refusal_format(&t, &d, out);
	/* whole, twice: what is refused, and what to write */
	assert_non_null(strstr(strstr(out, text) + 1, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format_says_why_a_connection_failed),
		cmocka_unit_test(test_format_every_code),
		cmocka_unit_test(test_format_names_who_can_allow),
		cmocka_unit_test(test_format_without_port_or_host),
		cmocka_unit_test(test_format_escapes_and_bounds),
		cmocka_unit_test(test_format_longest_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
