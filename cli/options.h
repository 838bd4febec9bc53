/*
 * options.h - the command line: one table of options, and what they were
 *
 * Theory of operation stands in options.c. Parsing has no side effects and does no policy work:
 * patterns stay text, in order, each with the option that it came from. Syntax is checked here,
 * so that a mistyped number, address or port is a usage error (64).
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "launcher/launcher.h"
#include "policy/target.h"

#define OPTIONS_EXIT_USAGE 64 /* sysexits.h EX_USAGE; the contract's "usage" */

/** enum option_id - every option, in the order of --help */
enum option_id {
	OPT_ALLOW,
	OPT_DENY,
	OPT_ONLY,
	OPT_STRICT,
	OPT_POLICY,
	OPT_ALLOW_LIST,
	OPT_DENY_LIST,
	OPT_NO_CONFIG,
	OPT_TRUST_PROJECT,
	OPT_CUT_REVOKED,
	OPT_ASK,
	OPT_ASK_TIMEOUT,
	OPT_LEARN,
	OPT_LOCKED,
	OPT_ALLOW_FROM,
	OPT_ALLOW_PRIVATE,
	OPT_FORWARD,
	OPT_PUBLISH,
	OPT_NO_CAPTURE,
	OPT_RESOLVER,
	OPT_UPSTREAM_PROXY,
	OPT_SOCKET,
	OPT_DIR,
	OPT_FS,
	OPT_READ,
	OPT_WRITE,
	OPT_EXEC,
	OPT_DENY_READ,
	OPT_DENY_WRITE,
	OPT_ENV,
	OPT_PIN_SHA256,
	OPT_ALLOW_UNIX_SOCKETS,
	OPT_ALLOW_PTRACE,
	OPT_ACCEPT_WEAKER,
	OPT_TIMEOUT,
	OPT_LIMIT,
	OPT_CHDIR,
	OPT_AUDIT,
	OPT_AUDIT_CHAIN,
	OPT_REPORT,
	OPT_VIOLATIONS,
	OPT_EXIT_ON_DENY,
	OPT_QUIET,
	OPT_FOLLOW,
	OPT_SESSION,
	OPT_ALL,
	OPT_LAST,
	OPT_ONCE,
	OPT_JSON,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_NUM
};

/** enum option_section - the headings of --help */
enum option_section { SECTION_NETWORK, SECTION_CONFINEMENT, SECTION_OUTPUT, SECTION_NUM };

/** enum option_commands - which commands take an option; a set of bits */
enum option_commands {
	FOR_RUN = 1U << 0,
	FOR_SERVE = 1U << 1,
	FOR_WHY = 1U << 2,
	FOR_CHECK = 1U << 3,
	FOR_ENV = 1U << 4,
	FOR_BRIDGE = 1U << 5,
	FOR_APPROVALS = 1U << 6,
	FOR_TOP = 1U << 7,
	FOR_GRANTS = 1U << 8,
	FOR_DOCTOR = 1U << 9,
	FOR_AUDIT = 1U << 10,
};

/** enum ask_who - who answers for unknown hosts (--ask) */
enum ask_who {
	ASK_AUTO, /* a terminal if there is one, else nobody: deny */
	ASK_TTY,
	ASK_CONTROL,
	ASK_NEVER,
	ASK_EXEC,
};

/**
 * struct option_value - one use of an option
 * @id: which option
 * @option: how it is spelt, "--allow": for messages and as the origin of a rule
 * @value: what was given; points into argv
 */
struct option_value {
	enum option_id id;
	const char *option;
	const char *value;
};

/** struct option_values - uses in the order of the command line; the array is owned */
struct option_values {
	struct option_value *v;
	size_t n;
};

/**
 * struct option_strings - the values of one repeatable option, in order
 * @v: owned, NULL-terminated; NULL when @n is 0; the strings point into argv
 * @n: how many
 */
struct option_strings {
	const char **v;
	size_t n;
};

/**
 * struct option_forward - one --forward LPORT=HOST:PORT
 * @port: on the sandbox's loopback
 * @text: the whole value, into argv
 * @target: where it leads; @target.via is VIA_FORWARD
 */
struct option_forward {
	uint16_t port;
	const char *text;
	struct target target;
};

/**
 * struct option_publish - one --publish HPORT=PORT
 * @host_port: on the host's loopback
 * @port: on the sandbox's loopback
 * @text: the whole value, into argv
 */
struct option_publish {
	uint16_t host_port, port;
	const char *text;
};

/**
 * struct run_options - what a command line says; init, parse, clear
 * @rules: --allow, --deny, --only, --allow-private, --allow-list, --deny-list and --policy
 * @within: bounds of a session of serve: nothing else is reached; no option leads here
 * @socket: bridge's proxy, or the serve that top looks at, or NULL
 * @dir: where serve listens, or NULL
 * @allow_from: tools, checked
 * @learn: the file of --learn, or NULL
 * @reports: FORMAT or FORMAT:FILE, checked
 * @ask_program: the PROGRAM of --ask exec:PROGRAM, else NULL
 * @ask_timeout: seconds that a question waits
 * @resolvers: ADDR or ADDR:PORT or [V6]:PORT, checked; fit for struct resolver_config
 * @upstream_proxy: URL or "none", checked; NULL when not given
 * @secret: owns the URL where it has credentials
 * @timeout: seconds, 0 for none
 * @chdir: or NULL
 * @audit: or NULL
 * @follow, @asking_run: of approvals: stay; the name of the one run, or NULL for all
 * @all: of grants revoke
 * @last: of audit verify: a hash of a chain, checked; or NULL
 * @once, @json: how top and doctor print
 * @verbose: how often -v was given
 * @command: what is behind the options (argv's tail, NULL-terminated); never NULL after parsing
 * @ncommand: how many words that is
 *
 * Strings point into argv; arrays are owned by this struct.
 */
struct run_options {
	struct option_values rules;
	bool strict;
	bool no_config;
	bool trust_project;
	bool cut_revoked;
	struct option_strings allow_from;
	const char *learn;
	bool locked;
	enum ask_who ask;
	const char *ask_program;
	unsigned ask_timeout;
	struct option_strings resolvers;
	const char *upstream_proxy;
	char *secret;
	struct option_forward *forwards;
	size_t nforwards;
	struct option_publish *publishes;
	size_t npublishes;
	bool no_capture;
	struct option_strings within;
	const char *socket;
	const char *dir;

	enum fs_mode fs;
	struct option_strings read, write, exec, deny_read, deny_write;
	struct option_strings env;
	bool allow_unix_sockets;
	bool allow_ptrace;
	unsigned accept_weaker; /* WEAKER_ bits of launcher/weaker.h */
	bool pinned;
	uint8_t pin[32];
	unsigned timeout;
	struct launcher_limit *limits;
	size_t nlimits;
	const char *chdir;

	const char *audit;
	bool audit_chain;
	struct option_strings reports;
	bool violations;
	bool exit_on_deny;
	bool quiet;
	bool follow;
	const char *asking_run;
	bool all;
	const char *last;
	bool once, json;
	unsigned verbose;

	char **command;
	size_t ncommand;
};

struct option_spec;

/**
 * typedef option_apply - take one use of an option into @o
 * @value: its argument; NULL for an option without one
 *
 * Return: 0, or -1 with @err: a sentence without the option's name, which the parser puts before.
 */
typedef int option_apply(struct run_options *o, const struct option_spec *spec, const char *value,
			 struct error *err);

/**
 * struct option_spec - one line of the table
 * @name: long name, without dashes
 * @letter: short name, or 0
 * @ready: the feature behind it exists; others are neither shown nor accepted
 * @section: heading in --help
 * @commands: which commands take it (enum option_commands)
 * @arg: name of its argument, or NULL for none
 * @words: what a shell may complete the argument with: "@file" or "@dir", blank-separated words,
 *         both in this order, or NULL; "exec:" and "cpu=" go on
 * @help: one sentence without a final stop
 * @apply: called for each use
 * @offset: of the member of struct run_options that a general @apply fills
 */
struct option_spec {
	const char *name;
	char letter;
	bool ready;
	enum option_section section;
	unsigned commands;
	const char *arg;
	const char *words;
	const char *help;
	option_apply *apply;
	size_t offset;
};

/** option_table - indexed by enum option_id */
extern const struct option_spec option_table[OPT_NUM];

/** enum options_result - what options_parse() found */
enum options_result {
	OPTIONS_OK,
	OPTIONS_HELP,  /* --help was given: options_print() and exit 0 */
	OPTIONS_USAGE, /* @err says what to type instead: print and exit OPTIONS_EXIT_USAGE */
};

/** run_options_init() - the defaults. */
void run_options_init(struct run_options *o);

/** run_options_clear() - release the arrays; safe after a failed parse. */
void run_options_clear(struct run_options *o);

/**
 * options_parse() - read the options of one command
 * @o: initialised
 * @command: which command this is; one bit of enum option_commands
 * @argc, @argv: the words from the command's own name on ("run", "--allow", ...)
 *
 * Options end at the first word that is none, or behind "--". The rest goes to @o->command; `run`
 * without a command is a usage error.
 */
enum options_result options_parse(struct run_options *o, unsigned command, int argc, char **argv,
				  struct error *err);

/** option_spelling() - how it is typed: "--allow". */
const char *option_spelling(enum option_id id);

/**
 * options_command_text() - the command as text for a person: its words with blanks between
 * @out: printable ASCII, cut to @size bytes
 *
 * Return: @out.
 */
const char *options_command_text(const struct run_options *o, char *out, size_t size);

/** option_offered() - whether a command takes the option in this version. */
bool option_offered(enum option_id id, unsigned command);

/** options_is_server() - ADDR, ADDR:PORT or [V6]:PORT, as struct resolver_config wants it. */
bool options_is_server(const char *value);

/** options_add_rule() - as if option @id had been given once more, with @value, which must live. */
void options_add_rule(struct run_options *o, enum option_id id, const char *value);

/** options_add_within() - one more of the bounds, which must live. */
void options_add_within(struct run_options *o, const char *pattern);

/** options_add_forward() - as if --forward had been given; @value must live. 0, or -1 with @err. */
int options_add_forward(struct run_options *o, const char *value, struct error *err);

/** options_print() - the option part of `help COMMAND`: what is offered, by section. */
void options_print(FILE *out, unsigned command);

#endif
