/*
 * option_table.c - the table of options, and what each does with its argument
 *
 * An option costs one line here and, where no general apply_*() fits, one function that takes the
 * value. `ready` is set when the feature behind it exists: only then is the option shown, accepted
 * and required in the man page.
 */
#include "cli/options.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/xalloc.h"
#include "cli/allowfrom.h"
#include "cli/report/report.h"
#include "launcher/pin.h"
#include "launcher/weaker.h"
#include "policy/prompt.h"
#include "proxy/audit_chain.h"
#include "proxy/upstream.h"

#define TIMEOUT_MAX_S	  (10UL * 365 * 24 * 60 * 60) /* ten years: no run is meant to be longer */
#define ASK_TIMEOUT_MAX_S 86400u
#define DNS_PORT	  53
#define LONG_BASE	  256 /* getopt values of long options start behind the letters */
#define WORD_SHOWN	  128 /* how much of a mistyped word a message repeats */

/* The value as it may be shown: escaped and cut. */
struct shown {
	char s[WORD_SHOWN];
};

static struct shown show_n(const char *word, size_t n)
{
	struct shown out;

	log_escape(out.s, sizeof(out.s), word, n);
	return out;
}

static struct shown show(const char *word)
{
	return show_n(word, strlen(word));
}

/* grow() - room for one more element behind *n of *v. Return: its address. */
#define grow(v, n)                                               \
	({                                                       \
		(v) = xreallocarray((v), (n) + 1, sizeof(*(v))); \
		&(v)[(n)++];                                     \
	})

static void *member(struct run_options *o, const struct option_spec *spec)
{
	return (char *)o + spec->offset;
}

static int apply_flag(struct run_options *o, const struct option_spec *spec, const char *value,
		      struct error *err)
{
	(void)value;
	(void)err;
	*(bool *)member(o, spec) = true;
	return 0;
}

static int apply_count(struct run_options *o, const struct option_spec *spec, const char *value,
		       struct error *err)
{
	unsigned *count = member(o, spec);

	(void)value;
	(void)err;
	if (*count < 3)
		(*count)++;
	return 0;
}

/* One piece of text; the last use counts. */
static int apply_text(struct run_options *o, const struct option_spec *spec, const char *value,
		      struct error *err)
{
	if (!*value)
		return error_set(err, 0, "needs %s, not an empty word", spec->arg);
	*(const char **)member(o, spec) = value;
	return 0;
}

/* One more piece of text in a struct option_strings. */
static int apply_strings(struct run_options *o, const struct option_spec *spec, const char *value,
			 struct error *err)
{
	struct option_strings *list = member(o, spec);

	if (!*value)
		return error_set(err, 0, "needs %s, not an empty word", spec->arg);
	list->v = xreallocarray(list->v, list->n + 2, sizeof(*list->v));
	list->v[list->n++] = value;
	list->v[list->n] = NULL;
	return 0;
}

void options_add_rule(struct run_options *o, enum option_id id, const char *value)
{
	*grow(o->rules.v, o->rules.n) = (struct option_value){
		.id = id,
		.option = option_spelling(id),
		.value = value,
	};
}

void options_add_within(struct run_options *o, const char *pattern)
{
	o->within.v = xreallocarray(o->within.v, o->within.n + 2, sizeof(*o->within.v));
	o->within.v[o->within.n++] = pattern;
	o->within.v[o->within.n] = NULL;
}

static int apply_rule(struct run_options *o, const struct option_spec *spec, const char *value,
		      struct error *err)
{
	if (!*value)
		return error_set(err, 0, "needs %s, not an empty word", spec->arg);
	options_add_rule(o, (enum option_id)(spec - option_table), value);
	return 0;
}

/* Who may answer. */
static const struct {
	const char *word;
	enum ask_who who;
} askers[] = {
	{ "auto", ASK_AUTO },
	{ "tty", ASK_TTY },
	{ "control", ASK_CONTROL },
	{ "never", ASK_NEVER },
};

static int apply_audit(struct run_options *o, const struct option_spec *spec, const char *value,
		       struct error *err)
{
	(void)spec;
	if (fdname_check(value, err) < 0)
		return -1;
	o->audit = value;
	return 0;
}

static int apply_ask_exec(struct run_options *o, const char *program, struct error *err)
{
	if (!*program)
		return error_set(err, 0, "needs a program behind 'exec:'");
	o->ask = ASK_EXEC;
	o->ask_program = program;
	return 0;
}

static int apply_ask(struct run_options *o, const struct option_spec *spec, const char *value,
		     struct error *err)
{
	(void)spec;
	if (strncmp(value, "exec:", 5) == 0)
		return apply_ask_exec(o, value + 5, err);
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		if (strcmp(value, askers[i].word) != 0)
			continue;
		o->ask = askers[i].who;
		o->ask_program = NULL;
		return 0;
	}
	return error_set(err, 0, "knows auto, tty, control, never and exec:PROGRAM, not '%s'",
			 show(value).s);
}

/* ADDR, ADDR:PORT or [V6]:PORT, as struct resolver_config wants it. */
bool options_is_server(const char *value)
{
	struct target t = { .via = VIA_DNS };
	struct addr a;
	size_t n = strlen(value);

	if (addr_parse(value, n, &a))
		return true;
	return target_parse_authority(value, n, DNS_PORT, &t) == TARGET_OK && target_is_literal(&t);
}

static int apply_resolver(struct run_options *o, const struct option_spec *spec, const char *value,
			  struct error *err)
{
	if (!options_is_server(value))
		return error_set(err, 0,
				 "needs the address of a DNS server, such as 192.0.2.53, "
				 "192.0.2.53:5353 or [2001:db8::53]:53, not '%s'",
				 show(value).s);
	return apply_strings(o, spec, value, err);
}

static int apply_allow_from(struct run_options *o, const struct option_spec *spec,
			    const char *value, struct error *err)
{
	if (!allowfrom_check(value))
		return error_set(err, 0, "knows " ALLOWFROM_TOOLS ", not '%s'", show(value).s);
	return apply_strings(o, spec, value, err);
}

static int apply_report(struct run_options *o, const struct option_spec *spec, const char *value,
			struct error *err)
{
	if (report_check(value, err) < 0)
		return -1;
	return apply_strings(o, spec, value, err);
}

/*
 * The command line of a process can be read by others, and pid 1 inside has ours: a password in it
 * is overwritten where it stands, and we go on with a copy.
 */
static int apply_upstream(struct run_options *o, const struct option_spec *spec, const char *value,
			  struct error *err)
{
	const char *at = strrchr(value, '@');
	struct upstream up;

	if (strcmp(value, "none") != 0 && upstream_parse(value, &up, err) < 0)
		return -1;
	if (!at)
		return apply_text(o, spec, value, err);
	free(o->secret);
	o->secret = xstrdup(value);
	memset((char *)(uintptr_t)value, '*', (size_t)(at - value));
	return apply_text(o, spec, o->secret, err);
}

static bool parse_port(const char *p, size_t n, uint16_t *out)
{
	uint64_t port;

	if (!reader_decimal(p, n, UINT16_MAX, &port) || port == 0)
		return false;
	*out = (uint16_t)port;
	return true;
}

static int apply_forward(struct run_options *o, const struct option_spec *spec, const char *value,
			 struct error *err)
{
	struct option_forward f = { .text = value, .target = { .via = VIA_FORWARD } };
	const char *sep = strchr(value, '=');

	if (!sep || !parse_port(value, (size_t)(sep - value), &f.port) ||
	    target_parse_authority(sep + 1, strlen(sep + 1), 0, &f.target) != TARGET_OK)
		return error_set(err, 0, "needs %s, such as 5432=db.example.com:5432, not '%s'",
				 spec->arg, show(value).s);
	*grow(o->forwards, o->nforwards) = f;
	return 0;
}

int options_add_forward(struct run_options *o, const char *value, struct error *err)
{
	return apply_forward(o, &option_table[OPT_FORWARD], value, err);
}

static int apply_publish(struct run_options *o, const struct option_spec *spec, const char *value,
			 struct error *err)
{
	struct option_publish p = { .text = value };
	const char *sep = strchr(value, '=');

	if (!sep || !parse_port(value, (size_t)(sep - value), &p.host_port) ||
	    !parse_port(sep + 1, strlen(sep + 1), &p.port))
		return error_set(err, 0, "needs %s, such as 8080=8000, not '%s'", spec->arg,
				 show(value).s);
	*grow(o->publishes, o->npublishes) = p;
	return 0;
}

static int apply_fs(struct run_options *o, const struct option_spec *spec, const char *value,
		    struct error *err)
{
	(void)spec;
	if (strcmp(value, "workspace") == 0)
		o->fs = FS_WORKSPACE;
	else if (strcmp(value, "strict") == 0)
		o->fs = FS_STRICT;
	else if (strcmp(value, "off") == 0)
		o->fs = FS_OFF;
	else
		return error_set(err, 0, "knows workspace, strict and off, not '%s'",
				 show(value).s);
	return 0;
}

static int apply_pin(struct run_options *o, const struct option_spec *spec, const char *value,
		     struct error *err)
{
	(void)spec;
	if (pin_parse_hex(value, o->pin, err) < 0)
		return -1;
	o->pinned = true;
	return 0;
}

static int apply_last(struct run_options *o, const struct option_spec *spec, const char *value,
		      struct error *err)
{
	(void)spec;
	if (strlen(value) != AUDIT_CHAIN_HEX || value[strspn(value, "0123456789abcdef")])
		return error_set(err, 0,
				 "needs the %d digits that audit verify prints behind 'last'",
				 AUDIT_CHAIN_HEX);
	o->last = value;
	return 0;
}

static int apply_ask_timeout(struct run_options *o, const struct option_spec *spec,
			     const char *value, struct error *err)
{
	uint64_t s;

	if (!reader_decimal(value, strlen(value), ASK_TIMEOUT_MAX_S, &s) || s == 0)
		return error_set(err, 0, "needs %s from 1 to %u, not '%s'", spec->arg,
				 ASK_TIMEOUT_MAX_S, show(value).s);
	o->ask_timeout = (unsigned)s;
	return 0;
}

static int apply_weaker(struct run_options *o, const struct option_spec *spec, const char *value,
			struct error *err)
{
	(void)spec;
	return weaker_parse(value, &o->accept_weaker, err);
}

static int apply_timeout(struct run_options *o, const struct option_spec *spec, const char *value,
			 struct error *err)
{
	uint64_t s;

	if (!reader_decimal(value, strlen(value), TIMEOUT_MAX_S, &s))
		s = prompt_parse_duration(value, strlen(value));
	if (s == 0)
		return error_set(err, 0, "needs %s from 1 to %lu, or 15m, 2h, 7d, not '%s'",
				 spec->arg, TIMEOUT_MAX_S, show(value).s);
	o->timeout = (unsigned)s;
	return 0;
}

static const struct limit_kind {
	const char *word;
	int resource;
	bool bytes;
} limit_kinds[] = {
	{ "cpu", RLIMIT_CPU, false },	    { "as", RLIMIT_AS, true },
	{ "nofile", RLIMIT_NOFILE, false }, { "nproc", RLIMIT_NPROC, false },
	{ "fsize", RLIMIT_FSIZE, true },
};

static const struct limit_kind *find_kind(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(limit_kinds); i++)
		if (strlen(limit_kinds[i].word) == len &&
		    memcmp(limit_kinds[i].word, word, len) == 0)
			return &limit_kinds[i];
	return NULL;
}

/* N, of bytes also in units of 1024: 512K, 64M, 2G. */
static bool parse_amount(const char *text, bool bytes, uint64_t *out)
{
	static const char units[] = "KMG";
	size_t len = strlen(text);
	const char *unit = bytes && len > 1 ? strchr(units, text[len - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (!reader_decimal(text, len - (unit != NULL), (uint64_t)INT64_MAX >> shift, out))
		return false;
	*out <<= shift;
	return true;
}

static int apply_limit(struct run_options *o, const struct option_spec *spec, const char *value,
		       struct error *err)
{
	size_t len = strcspn(value, "=");
	const struct limit_kind *kind = find_kind(value, len);
	uint64_t n;

	(void)spec;
	if (!kind && value[len])
		return error_set(err, 0,
				 "knows the kinds cpu, as, nofile, nproc and fsize, not '%s'",
				 show_n(value, len).s);
	if (!kind || !value[len] || !parse_amount(value + len + 1, kind->bytes, &n))
		return error_set(err, 0,
				 "needs KIND=N with a whole number, such as nofile=256 or as=4G, "
				 "not '%s'",
				 show(value).s);
	*grow(o->limits, o->nlimits) = (struct launcher_limit){
		.resource = kind->resource,
		.value = n,
	};
	return 0;
}

#define FOR_POLICY  (FOR_RUN | FOR_SERVE | FOR_WHY | FOR_CHECK)
#define FOR_SESSION (FOR_POLICY | FOR_BRIDGE)
#define FOR_ALL	    (FOR_POLICY | FOR_ENV | FOR_BRIDGE)
#define FOR_TOOLS   (FOR_APPROVALS | FOR_TOP | FOR_GRANTS | FOR_DOCTOR | FOR_AUDIT)
#define INTO(m)	    offsetof(struct run_options, m)

/* clang-format off */
const struct option_spec option_table[OPT_NUM] = {
	/* name, letter, ready, section, commands, argument, words, help, apply, offset */
	[OPT_ALLOW] = { "allow", 'a', true, SECTION_NETWORK, FOR_POLICY, "PATTERN", NULL,
		"allow a host: name, *.name, **.name, address or block, each with :port",
		apply_rule, 0 },
	[OPT_DENY] = { "deny", 'd', true, SECTION_NETWORK, FOR_SESSION, "PATTERN", NULL,
		"refuse a host, whatever allows it", apply_rule, 0 },
	[OPT_ONLY] = { "only", 0, true, SECTION_NETWORK, FOR_SESSION, "PATTERN", NULL,
		"this run's own list: anything else is refused without asking", apply_rule, 0 },
	[OPT_STRICT] = { "strict", 0, true, SECTION_NETWORK, FOR_POLICY, NULL, NULL,
		"refuse unknown hosts without asking", apply_flag, INTO(strict) },
	[OPT_POLICY] = { "policy", 'p', true, SECTION_NETWORK, FOR_POLICY, "FILE", "@file",
		"read a settings file (JSON)", apply_rule, 0 },
	[OPT_ALLOW_LIST] = { "allow-list", 0, true, SECTION_NETWORK, FOR_POLICY, "FILE", "@file",
		"allow the hosts in a list file, one a line", apply_rule, 0 },
	[OPT_DENY_LIST] = { "deny-list", 0, true, SECTION_NETWORK, FOR_POLICY, "FILE", "@file",
		"refuse the hosts in a list file, one a line", apply_rule, 0 },
	[OPT_NO_CONFIG] = { "no-config", 0, true, SECTION_NETWORK, FOR_POLICY, NULL, NULL,
		"read no user, project or managed settings file", apply_flag, INTO(no_config) },
	[OPT_TRUST_PROJECT] = { "trust-project", 0, true, SECTION_NETWORK, FOR_POLICY, NULL, NULL,
		"let this project's settings file widen the policy (remembered by its SHA-256)",
		apply_flag, INTO(trust_project) },
	[OPT_CUT_REVOKED] = { "cut-revoked", 0, true, SECTION_NETWORK, FOR_RUN | FOR_SERVE, NULL,
		NULL, "when a changed policy refuses a host, cut its open connections too",
		apply_flag, INTO(cut_revoked) },
	[OPT_ASK] = { "ask", 0, true, SECTION_NETWORK, FOR_RUN, "WHO",
		"auto tty control never exec:",
		"who answers for unknown hosts: auto, tty, control, never or exec:PROGRAM",
		apply_ask, 0 },
	[OPT_ASK_TIMEOUT] = { "ask-timeout", 0, true, SECTION_NETWORK, FOR_RUN, "SECONDS", NULL,
		"how long a question waits for its answer (default 60)",
		apply_ask_timeout, 0 },
	[OPT_LEARN] = { "learn", 0, true, SECTION_NETWORK, FOR_RUN, "FILE", "@file",
		"allow what is merely unlisted, and write the policy that was needed to FILE",
		apply_text, INTO(learn) },
	[OPT_LOCKED] = { "locked", 0, true, SECTION_NETWORK, FOR_RUN, NULL, NULL,
		"only what --policy says: refuse the rest and exit 77 if there was any",
		apply_flag, INTO(locked) },
	[OPT_ALLOW_FROM] = { "allow-from", 0, true, SECTION_NETWORK, FOR_POLICY, "TOOL", ALLOWFROM_TOOLS,
		"allow the registries that npm, apt, pip, cargo, go or git is configured for",
		apply_allow_from, INTO(allow_from) },
	[OPT_ALLOW_PRIVATE] = { "allow-private", 0, true, SECTION_NETWORK, FOR_POLICY, "PATTERN",
		NULL, "names that match may lead to private addresses", apply_rule, 0 },
	[OPT_FORWARD] = { "forward", 0, true, SECTION_NETWORK, FOR_RUN | FOR_BRIDGE, "LPORT=HOST:PORT",
		NULL,
		"a port on the sandbox's loopback that leads to HOST:PORT, under the same policy",
		apply_forward, 0 },
	[OPT_PUBLISH] = { "publish", 0, true, SECTION_NETWORK, FOR_RUN, "HPORT=PORT", NULL,
		"a port on the host's loopback that leads to a server which the command runs",
		apply_publish, 0 },
	[OPT_NO_CAPTURE] = { "no-capture", 0, true, SECTION_NETWORK,
		FOR_RUN | FOR_ENV | FOR_SERVE | FOR_BRIDGE, NULL, NULL,
		"proxy variables only: no DNS stub, no captured connections",
		apply_flag, INTO(no_capture) },
	[OPT_RESOLVER] = { "resolver", 0, true, SECTION_NETWORK, FOR_RUN | FOR_SERVE, "ADDR[:PORT]",
		NULL, "DNS server to ask instead of those in /etc/resolv.conf",
		apply_resolver, INTO(resolvers) },
	[OPT_UPSTREAM_PROXY] = { "upstream-proxy", 0, true, SECTION_NETWORK, FOR_RUN | FOR_SERVE,
		"URL", "none",
		"reach the world through this http://, https:// or socks5h:// proxy; none: directly",
		apply_upstream, INTO(upstream_proxy) },
	[OPT_SOCKET] = { "socket", 0, true, SECTION_NETWORK, FOR_BRIDGE | FOR_TOP, "PATH", "@file",
		"a control.sock of serve; bridge takes its proxy.sock or any HTTP proxy's socket, too",
		apply_text, INTO(socket) },
	[OPT_DIR] = { "dir", 0, true, SECTION_NETWORK, FOR_SERVE, "DIR", "@dir",
		"where proxy.sock and control.sock are (default: $XDG_RUNTIME_DIR/sbx-net)",
		apply_text, INTO(dir) },

	[OPT_FS] = { "fs", 0, true, SECTION_CONFINEMENT, FOR_RUN, "MODE", "workspace strict off",
		"how files are confined: workspace (default), strict or off", apply_fs, 0 },
	[OPT_READ] = { "read", 0, true, SECTION_CONFINEMENT, FOR_RUN, "PATH", "@file",
		"let the command read PATH", apply_strings, INTO(read) },
	[OPT_WRITE] = { "write", 0, true, SECTION_CONFINEMENT, FOR_RUN, "PATH", "@file",
		"let the command write PATH", apply_strings, INTO(write) },
	[OPT_EXEC] = { "exec", 0, true, SECTION_CONFINEMENT, FOR_RUN, "PATH", "@file",
		"let the command execute PATH", apply_strings, INTO(exec) },
	[OPT_DENY_READ] = { "deny-read", 0, true, SECTION_CONFINEMENT, FOR_RUN, "PATH", "@file",
		"hide PATH, whatever grants it", apply_strings, INTO(deny_read) },
	[OPT_DENY_WRITE] = { "deny-write", 0, true, SECTION_CONFINEMENT, FOR_RUN, "PATH", "@file",
		"keep PATH unwritable, whatever grants it", apply_strings, INTO(deny_write) },
	[OPT_ENV] = { "env", 0, true, SECTION_CONFINEMENT, FOR_RUN | FOR_ENV, "NAME[=VALUE]", NULL,
		"pass a variable, or set it; 'CARGO_*' passes by pattern",
		apply_strings, INTO(env) },
	[OPT_PIN_SHA256] = { "pin-sha256", 0, true, SECTION_CONFINEMENT, FOR_RUN, "HEX", NULL,
		"run the program only if its bytes have this digest", apply_pin, 0 },
	[OPT_ALLOW_UNIX_SOCKETS] = { "allow-unix-sockets", 0, true, SECTION_CONFINEMENT, FOR_RUN,
		NULL, NULL, "do not refuse AF_UNIX sockets", apply_flag, INTO(allow_unix_sockets) },
	[OPT_ALLOW_PTRACE] = { "allow-ptrace", 0, true, SECTION_CONFINEMENT, FOR_RUN,
		NULL, NULL, "let the command's processes trace one another: gdb, strace, LeakSanitizer",
		apply_flag, INTO(allow_ptrace) },
	[OPT_ACCEPT_WEAKER] = { "accept-weaker", 0, true, SECTION_CONFINEMENT, FOR_RUN, "NAME",
		"proc landlock-scopes spelling",
		"run although this host lacks a wall: proc, landlock-scopes, spelling",
		apply_weaker, 0 },
	[OPT_TIMEOUT] = { "timeout", 0, true, SECTION_CONFINEMENT, FOR_RUN, "SECONDS", NULL,
		"kill the run after that time and exit 124", apply_timeout, 0 },
	[OPT_LIMIT] = { "limit", 0, true, SECTION_CONFINEMENT, FOR_RUN, "KIND=N",
		"cpu= as= nofile= nproc= fsize=",
		"limit cpu (seconds), as (bytes), nofile, nproc or fsize (bytes)", apply_limit, 0 },
	[OPT_CHDIR] = { "chdir", 'C', true, SECTION_CONFINEMENT, FOR_RUN, "DIR", "@dir",
		"where the command starts, and what it may write", apply_text, INTO(chdir) },

	[OPT_AUDIT] = { "audit", 0, true, SECTION_OUTPUT, FOR_RUN | FOR_SERVE, "FILE",
		"@file journald fd:", "write one JSON object a line: every decision, every closed connection",
		apply_audit, 0 },
	[OPT_AUDIT_CHAIN] = { "audit-chain", 0, true, SECTION_OUTPUT, FOR_RUN | FOR_SERVE, NULL,
		NULL, "seal each line of the audit log with a hash of the one before",
		apply_flag, INTO(audit_chain) },
	[OPT_REPORT] = { "report", 0, true, SECTION_OUTPUT, FOR_RUN, "FORMAT[:FILE]",
		"text markdown json junit sarif",
		"at the end, what was reached and refused: text, markdown, json, junit or sarif",
		apply_report, INTO(reports) },
	[OPT_VIOLATIONS] = { "violations", 0, true, SECTION_OUTPUT, FOR_RUN, NULL, NULL,
		"print a <sandbox_violations> block on stderr at the end",
		apply_flag, INTO(violations) },
	[OPT_EXIT_ON_DENY] = { "exit-on-deny", 0, true, SECTION_OUTPUT, FOR_RUN, NULL, NULL,
		"exit 77 if the command succeeded but anything was refused",
		apply_flag, INTO(exit_on_deny) },
	[OPT_QUIET] = { "quiet", 'q', true, SECTION_OUTPUT, FOR_RUN | FOR_SERVE | FOR_BRIDGE, NULL,
		NULL,
		"no refusal lines and no summary on stderr", apply_flag, INTO(quiet) },
	[OPT_FOLLOW] = { "follow", 0, true, SECTION_OUTPUT, FOR_APPROVALS, NULL, NULL,
		"stay when no run is left, and find those that start later",
		apply_flag, INTO(follow) },
	[OPT_SESSION] = { "session", 0, true, SECTION_OUTPUT, FOR_APPROVALS, "ID", NULL,
		"answer this run's questions only", apply_text, INTO(asking_run) },
	[OPT_ALL] = { "all", 0, true, SECTION_OUTPUT, FOR_GRANTS, NULL, NULL,
		"revoke every answer", apply_flag, INTO(all) },
	[OPT_LAST] = { "last", 0, true, SECTION_OUTPUT, FOR_AUDIT, "HASH", NULL,
		"the log must hold the line with this hash, as verify has printed it before",
		apply_last, 0 },
	[OPT_ONCE] = { "once", 0, true, SECTION_OUTPUT, FOR_TOP, NULL, NULL,
		"print the table once, at a terminal too", apply_flag, INTO(once) },
	[OPT_JSON] = { "json", 0, true, SECTION_OUTPUT, FOR_TOP | FOR_DOCTOR, NULL, NULL,
		"print JSON for programs, once", apply_flag, INTO(json) },
	[OPT_VERBOSE] = { "verbose", 'v', true, SECTION_OUTPUT, FOR_ALL, NULL, NULL,
		"diagnostics on stderr; twice for more", apply_count, INTO(verbose) },
	[OPT_HELP] = { "help", 'h', true, SECTION_OUTPUT, FOR_ALL | FOR_TOOLS, NULL, NULL,
		"print this and exit", NULL, 0 },
};
/* clang-format on */
