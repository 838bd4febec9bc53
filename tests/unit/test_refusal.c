/* The sentences of the contract, word for word. */
#include "policy/refusal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/grant.h"

#define NOTHING "; nothing allows it while that entry stands"
#define VERY	"; only an entry for that very address allows it"

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
		  "'[2001:db8::1]:443'" },
		{ "a.bad.example:443", CODE_DENIED, NULL, &plain,
		  "refused a.bad.example:443 (denied by *.bad.example, --deny)" NOTHING },
		{ "a.bad.example:443", CODE_DENIED, NULL, &full,
		  "refused a.bad.example:443 (denied by *.bad.example, /etc/list:12: tracks "
		  "users)" NOTHING },
		{ "a.bad.example:443", CODE_DENIED, "10.0.0.1", &plain,
		  "refused a.bad.example:443 (denied address 10.0.0.1 by *.bad.example, "
		  "--deny)" NOTHING },
		{ "h.example:3000", CODE_LOOPBACK, "127.0.0.1", NULL,
		  "refused h.example:3000 (leads to this machine: 127.0.0.1); allow also with: "
		  "--allow "
		  "127.0.0.1:3000" },
		{ "h.example:3000", CODE_LOOPBACK, "::1", NULL,
		  "refused h.example:3000 (leads to this machine: ::1); allow also with: --allow "
		  "'[::1]:3000'" },
		{ "localhost:3000", CODE_NOT_LISTED, "10.0.0.1", NULL,
		  "refused localhost:3000 (not on the allow list: 10.0.0.1); allow also with: "
		  "--allow 10.0.0.1:3000" },
		{ "localhost:3000", CODE_LOOPBACK, NULL, NULL,
		  "refused localhost:3000 (leads to this machine); allow with: --allow "
		  "localhost:3000" },
		{ "h.example:80", CODE_METADATA, "169.254.169.254", NULL,
		  "refused h.example:80 (a cloud metadata service: 169.254.169.254)" VERY },
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
		  "refused h.example:80 (TLS asked for another name); network.sniCheck of "
		  "the settings decides that" },
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

/* More than one list, or an address that a name is known to lead to: all of it at once. */
static void test_format_of_this_machines_name(void **state)
{
	const struct decision d = { .code = CODE_NOT_LISTED, .own_name = true };
	struct target t = target("box:80");
	char out[REFUSAL_MAX];

	(void)state;
	assert_string_equal(
		refusal_format(&t, &d, out),
		"refused box:80 (not on the allow list; the name of this machine outside; "
		"the command's own servers are at localhost:80); allow with: --allow "
		"box:80");
}

static void test_format_names_every_option(void **state)
{
	static const struct keeper locked = { false, (char *)(uintptr_t) "p.json" };
	static const struct {
		enum code code;
		unsigned lists;
		const char *leads_to;
		const struct keeper *keeper;
		const char *text, *remedy;
	} row[] = {
		{ CODE_NOT_LISTED, 0, "127.0.1.1", NULL,
		  "refused box:80 (not on the allow list; leads to 127.0.1.1 outside; the "
		  "command's "
		  "own servers are at localhost:80); allow with: --allow box:80 --allow "
		  "127.0.1.1:80",
		  "--allow box:80 --allow 127.0.1.1:80" },
		{ CODE_ONLY, LACKS_ONLY | LACKS_ALLOW, NULL, NULL,
		  "refused box:80 (not on this run's own list); allow with: --allow box:80 --only "
		  "box:80",
		  "--allow box:80 --only box:80" },
		{ CODE_LOOPBACK, LACKS_ONLY, NULL, NULL,
		  "refused box:80 (leads to this machine); allow with: --only box:80",
		  "--only box:80" },
		{ CODE_STRICT, 0, "fd00::1", &locked,
		  "refused box:80 (not on the allow list, and --locked asks nobody; leads to "
		  "fd00::1); --locked: add to p.json: box:80 and [fd00::1]:80",
		  "" },
	};
	struct target t = target("box:80");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct decision d = { .code = row[i].code,
				      .lists = row[i].lists,
				      .keeper = row[i].keeper };
		char out[REFUSAL_MAX];

		if (row[i].leads_to)
			assert_true(
				addr_parse(row[i].leads_to, strlen(row[i].leads_to), &d.leads_to));
		assert_string_equal(refusal_format(&t, &d, out), row[i].text);
		assert_string_equal(refusal_remedy(&t, &d, out), row[i].remedy);
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

/* Among limits, this one is nobody's list's. */
static void test_format_says_which_limit(void **state)
{
	const struct decision d = { .verdict = VERDICT_DENY, .code = CODE_LIMIT, .error = EBUSY };
	char out[REFUSAL_MAX];
	struct target t = { .via = VIA_CONNECT };

	(void)state;
	assert_int_equal(target_parse_authority("h.example:80", 12, 443, &t), TARGET_OK);
	assert_string_equal(refusal_format(&t, &d, out),
			    "refused h.example:80 (too many names are being looked up at once)");
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
		{ &locked, CODE_METADATA, NULL,
		  "refused h.example:80 (a cloud metadata service)" VERY },
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

static void test_told_has_the_hint_behind_it(void **state)
{
	static char longer[5000];
	struct target t = target("h.example:80");
	struct decision d = { .code = CODE_NOT_LISTED };
	char out[REFUSAL_TOLD_MAX], sentence[REFUSAL_MAX];

	(void)state;
	assert_string_equal(refusal_told(&t, &d, NULL, out), refusal_format(&t, &d, sentence));
	assert_string_equal(refusal_told(&t, &d, "look there", out),
			    "refused h.example:80 (not on the allow list); allow with: --allow "
			    "h.example:80 (look there)");
	memset(longer, 'x', sizeof(longer) - 1);
	assert_int_equal(strlen(refusal_told(&t, &d, longer, out)), REFUSAL_TOLD_MAX - 1);
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

/*
 * What a refusal says to type works: the same connection passes with it, or the sentence says that
 * no option can. Over many policies and kinds of targets; the text is parsed as a shell would.
 */
#define OPTIONS_MAX 16

struct option {
	enum list list;
	const char *pattern;
};

/* struct base - a policy before anybody follows an advice; @answered: good.example is a no */
struct base {
	const char *name;
	struct option option[3];
	bool strict, answered;
};

static const struct base bases[] = {
	{ "empty", { { 0 } }, false, false },
	{ "strict", { { 0 } }, true, false },
	{ "answered", { { 0 } }, false, true },
	{ "everything", { { LIST_ALLOW, "*" } }, false, false },
	{ "wide block", { { LIST_ALLOW, "0.0.0.0/0" }, { LIST_ALLOW, "[::]/0" } }, false, false },
	{ "names", { { LIST_ALLOW, "**.example" }, { LIST_ALLOW, "box" } }, false, false },
	{ "local names",
	  { { LIST_ALLOW, "localhost" }, { LIST_ALLOW, "*.localhost" } },
	  false,
	  false },
	{ "own list", { { LIST_ONLY, "else.example" } }, false, false },
	{ "own list, all", { { LIST_ONLY, "*" } }, false, false },
	{ "own list of names",
	  { { LIST_ONLY, "**.example" }, { LIST_ONLY, "box" }, { LIST_ONLY, "localhost" } },
	  false,
	  false },
	{ "own list and allow",
	  { { LIST_ONLY, "else.example" }, { LIST_ALLOW, "*" } },
	  false,
	  false },
	{ "bounds", { { LIST_WITHIN, "else.example" } }, true, false },
	{ "bounds, listed", { { LIST_WITHIN, "else.example" }, { LIST_ALLOW, "*" } }, true, false },
	{ "bounds around", { { LIST_WITHIN, "*" } }, true, false },
	{ "session, listed",
	  { { LIST_SESSION, "else.example" }, { LIST_ALLOW, "*" } },
	  false,
	  false },
	{ "private names", { { LIST_ALLOW, "*" }, { LIST_PRIVATE, "*.example" } }, false, false },
	{ "denied", { { LIST_DENY, "*.example" }, { LIST_DENY, "10.0.0.0/8" } }, false, false },
	{ "all denied", { { LIST_DENY, "*" }, { LIST_ALLOW, "*" } }, false, false },
};

/* What is connected to, and where its name leads; a literal leads to itself. */
static const struct {
	const char *target, *addr;
} goals[] = {
	{ "good.example:443", "51.15.10.1" },
	{ "good.example:443", "2a01:4f8:10::1" },
	{ "box:8000", "127.0.1.1" },
	{ "box:8000", "127.0.0.1" },
	{ "box:8000", "::1" },
	{ "box:8000", "45.33.32.2" }, /* an address of this machine */
	{ "db.example:5432", "10.1.2.3" },
	{ "db.example:5432", "fd12:3456::1" },
	{ "db.example:5432", "100.64.0.1" },
	{ "db.example:5432", "169.254.1.1" },
	{ "db.example:5432", "fe80::1" },
	{ "db.example:5432", "198.18.0.1" },
	{ "db.example:5432", "224.0.0.1" },
	{ "db.example:5432", "0.0.0.0" },
	{ "db.example:5432", "::ffff:127.0.0.1" },
	{ "db.example:5432", "64:ff9b::7f00:1" },
	{ "db.example:5432", "64:ff9b::a00:1" },
	{ "db.example:5432", "2002:7f00:1::1" },
	{ "db.example:80", "169.254.169.254" },
	{ "localhost:3000", "127.0.0.1" },
	{ "localhost:3000", "::1" },
	{ "app.localhost:3000", "127.0.0.1" },
	{ "localhost.localdomain:3000", "127.0.0.1" },
	{ "metadata.google.internal:80", "169.254.169.254" },
	{ "127.0.0.1:3000", NULL },
	{ "[::1]:3000", NULL },
	{ "127.5.6.7:3000", NULL },
	{ "0.0.0.0:3000", NULL },
	{ "[::]:3000", NULL },
	{ "[::ffff:127.0.0.1]:3000", NULL },
	{ "45.33.32.2:3000", NULL },
	{ "51.15.10.1:443", NULL },
	{ "[2a01:4f8:10::1]:443", NULL },
	{ "10.1.2.3:5432", NULL },
	{ "[fd12:3456::1]:5432", NULL },
	{ "[64:ff9b::a00:1]:5432", NULL },
	{ "169.254.1.1:80", NULL },
	{ "169.254.169.254:80", NULL },
	{ "[fd00:ec2::254]:80", NULL },
	{ "[fe80::1]:80", NULL },
	{ "198.18.0.1:80", NULL },
	{ "203.0.113.5:80", NULL },
	{ "224.0.0.1:80", NULL },
	{ "255.255.255.255:80", NULL },
};

/* A run: its options so far, the words of which live in @words. */
struct run {
	const struct base *base;
	struct option option[OPTIONS_MAX];
	size_t n;
	char words[OPTIONS_MAX][TARGET_TEXT_MAX];
	const struct grants *answers;
};

static int64_t no_time(void)
{
	return 0;
}

static struct policy *policy_of(const struct run *r)
{
	struct policy *p = policy_new();
	struct error err;

	for (size_t i = 0; i < r->n; i++)
		if (policy_add(p, r->option[i].list, r->option[i].pattern, "--allow", 0, NULL,
			       &err))
			fail_msg("%s: %s", r->base->name, err.msg);
	policy_set_strict(p, r->base->strict);
	policy_set_answers(p, r->answers);
	return p;
}

static struct run run_of(const struct base *base, const struct grants *answers)
{
	struct run r = { .base = base, .answers = base->answered ? answers : NULL };

	for (size_t i = 0; i < ARRAY_SIZE(base->option) && base->option[i].pattern; i++)
		r.option[r.n++] = base->option[i];
	return r;
}

/* What a shell makes of a word: without its quotes. A bare bracket would be a pattern to it. */
static void unquote(char *word)
{
	size_t n = strlen(word);

	assert_true((strchr(word, '[') != NULL) == (*word == '\''));
	if (*word != '\'')
		return;
	assert_true(n > 2 && word[n - 1] == '\'');
	memmove(word, word + 1, n - 2);
	word[n - 2] = '\0';
}

/* Types what is advised. */
static void type(struct run *r, const char *remedy)
{
	static const struct {
		const char *word;
		enum list list;
	} known[] = {
		{ "--allow", LIST_ALLOW },
		{ "--only", LIST_ONLY },
		{ "--allow-private", LIST_PRIVATE },
	};

	while (*remedy) {
		char word[32];
		size_t k = 0;
		int n = 0;

		assert_true(r->n < OPTIONS_MAX);
		assert_int_equal(sscanf(remedy, "%31s %259s%n", word, r->words[r->n], &n), 2);
		unquote(r->words[r->n]);
		while (k < ARRAY_SIZE(known) && strcmp(known[k].word, word) != 0)
			k++;
		if (k == ARRAY_SIZE(known))
			fail_msg("no such option: %s", remedy);
		r->option[r->n].list = known[k].list;
		/* Settings that say "strict", and serve, take --only for bounds. */
		if (known[k].list == LIST_ONLY && r->base->option[0].pattern &&
		    (r->base->option[0].list == LIST_WITHIN ||
		     r->base->option[0].list == LIST_SESSION))
			r->option[r->n].list = r->base->option[0].list;
		r->option[r->n].pattern = r->words[r->n];
		r->n++;
		remedy += n;
		remedy += *remedy == ' ';
	}
}

/* As the proxy does it; @known: /etc/hosts has the name. */
static struct decision connect_to(const struct policy *p, const struct target *t,
				  const struct addr *addr, bool known)
{
	static const struct addr own_addr = { AF_INET, { 45, 33, 32, 2 } };
	const struct addr_set own = { .v = (struct addr *)(uintptr_t)&own_addr, .n = 1 };
	struct decision d;

	policy_decide(p, t, &d);
	policy_foresee(p, t, addr, known ? 1 : 0, &own, &d);
	if (d.verdict == VERDICT_ALLOW)
		policy_vet(p, t, addr, &own, &d);
	return d;
}

/* Once more, with what was advised. */
static struct decision try(struct run *r, const struct target *t, const struct addr *addr,
			   bool known, char remedy[REFUSAL_MAX], char sentence[REFUSAL_MAX])
{
	struct policy *p = policy_of(r);
	struct decision d = connect_to(p, t, addr, known);

	*remedy = *sentence = '\0';
	if (d.verdict != VERDICT_ALLOW) {
		(void)refusal_remedy(t, &d, remedy);
		(void)refusal_format(t, &d, sentence);
	}
	d.rule = NULL;
	policy_free(p);
	return d;
}

static bool says_no_option_can(const char *sentence)
{
	return strstr(sentence, "nothing allows it") || strstr(sentence, "only an entry for");
}

static void check(const struct base *base, size_t goal, bool known, const struct grants *answers)
{
	char remedy[REFUSAL_MAX], sentence[REFUSAL_MAX], first[REFUSAL_MAX];
	struct run r = run_of(base, answers);
	struct target t = { .via = VIA_CONNECT };
	struct addr addr;
	unsigned steps = 0;
	bool blind;

	assert_int_equal(
		target_parse_authority(goals[goal].target, strlen(goals[goal].target), 0, &t),
		TARGET_OK);
	addr = t.addr;
	if (goals[goal].addr)
		assert_true(addr_parse(goals[goal].addr, strlen(goals[goal].addr), &addr));
	*first = '\0';
	/* A name of which nobody knows yet where it leads may take a step more. */
	blind = goals[goal].addr && !known;
	for (; steps < 3; steps++) {
		if (try(&r, &t, &addr, known, remedy, sentence).verdict == VERDICT_ALLOW)
			break;
		if (!*first)
			memcpy(first, sentence, sizeof(first));
		if (!*remedy) {
			if (!says_no_option_can(sentence))
				fail_msg("%s: what to do? %s", base->name, sentence);
			return;
		}
		type(&r, remedy);
	}
	if (steps > (blind ? 2u : 1u))
		fail_msg("%s: %s leads to %s after: %s", base->name, goals[goal].target, sentence,
			 first);
}

static void test_what_is_advised_works(void **state)
{
	const struct grant no = { .pattern = "good.example:443", .allow = false };
	struct grants *answers = grants_new(no_time);

	(void)state;
	assert_true(grants_add(answers, &no));
	for (size_t b = 0; b < ARRAY_SIZE(bases); b++)
		for (size_t g = 0; g < ARRAY_SIZE(goals); g++)
			for (int known = 0; known < 2; known++)
				check(&bases[b], g, known, answers);
	grants_free(answers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format_says_why_a_connection_failed),
		cmocka_unit_test(test_format_says_which_limit),
		cmocka_unit_test(test_format_every_code),
		cmocka_unit_test(test_what_is_advised_works),
		cmocka_unit_test(test_format_names_every_option),
		cmocka_unit_test(test_format_of_this_machines_name),
		cmocka_unit_test(test_format_names_who_can_allow),
		cmocka_unit_test(test_format_without_port_or_host),
		cmocka_unit_test(test_told_has_the_hint_behind_it),
		cmocka_unit_test(test_format_escapes_and_bounds),
		cmocka_unit_test(test_format_longest_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
