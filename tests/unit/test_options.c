/*
 * The command line: what it becomes, and what is said about what cannot be right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/options.h"

#define ARGV_MAX 16

/* One parse of blank-separated words; a '~' stands for a blank inside one. */
struct parsed {
	struct run_options o;
	struct error err;
	char text[512];
	char *argv[ARGV_MAX + 1];
	int argc;
	enum options_result result;
};

static struct parsed p;

static void split(const char *line)
{
	assert_true(strlen(line) < sizeof(p.text));
	strcpy(p.text, line);
	p.argc = 0;
	for (char *w = strtok(p.text, " "); w; w = strtok(NULL, " ")) {
		assert_true(p.argc < ARGV_MAX);
		for (char *c = w; *c; c++)
			if (*c == '~')
				*c = ' ';
		p.argv[p.argc++] = w;
	}
	p.argv[p.argc] = NULL;
}

static enum options_result parse(const char *line)
{
	run_options_clear(&p.o);
	run_options_init(&p.o);
	p.err = (struct error){ 0 };
	split(line);
	p.result = options_parse(&p.o, FOR_RUN, p.argc, p.argv, &p.err);
	return p.result;
}

static int teardown(void **state)
{
	(void)state;
	run_options_clear(&p.o);
	return 0;
}

static void assert_parses(const char *line)
{
	if (parse(line) != OPTIONS_OK)
		fail_msg("'%s': %s", line, p.err.msg);
}

/* Refused, with a message that holds @part. */
static void assert_usage(const char *line, const char *part)
{
	if (parse(line) != OPTIONS_USAGE)
		fail_msg("'%s' was accepted", line);
	if (!strstr(p.err.msg, part))
		fail_msg("'%s': '%s' does not say '%s'", line, p.err.msg, part);
}

static void test_parse_stops_at_the_command(void **state)
{
	(void)state;
	assert_parses("run -q cmd --strict -- -v");
	assert_true(p.o.quiet);
	assert_false(p.o.strict);
	assert_int_equal(p.o.ncommand, 4);
	assert_string_equal(p.o.command[0], "cmd");
	assert_string_equal(p.o.command[2], "--");
	assert_null(p.o.command[4]);
}

static void test_parse_takes_two_dashes_away(void **state)
{
	(void)state;
	assert_parses("run --strict -- --version");
	assert_true(p.o.strict);
	assert_int_equal(p.o.ncommand, 1);
	assert_string_equal(p.o.command[0], "--version");
}

static void test_parse_defaults(void **state)
{
	(void)state;
	assert_parses("run true");
	assert_int_equal(p.o.rules.n, 0);
	assert_null(p.o.resolvers.v);
	assert_int_equal(p.o.ask, ASK_AUTO);
	assert_int_equal(p.o.fs, FS_WORKSPACE);
	assert_int_equal(p.o.timeout, 0);
	assert_null(p.o.chdir);
	assert_false(p.o.pinned);
	assert_false(p.o.strict || p.o.no_config || p.o.quiet || p.o.exit_on_deny);
}

static void test_parse_keeps_rules_in_order_with_their_option(void **state)
{
	(void)state;
	assert_parses("run -a one -d two --allow=three --deny four -afive true");
	assert_int_equal(p.o.rules.n, 5);
	assert_string_equal(p.o.rules.v[0].option, "--allow");
	assert_string_equal(p.o.rules.v[0].value, "one");
	assert_int_equal(p.o.rules.v[1].id, OPT_DENY);
	assert_string_equal(p.o.rules.v[1].option, "--deny");
	assert_string_equal(p.o.rules.v[2].value, "three");
	assert_string_equal(p.o.rules.v[3].value, "four");
	assert_string_equal(p.o.rules.v[4].value, "five");
}

static void test_parse_does_no_policy_work(void **state)
{
	(void)state;
	assert_parses("run --allow not~a~pattern true");
	assert_string_equal(p.o.rules.v[0].value, "not a pattern");
}

static void test_parse_reads_clusters_of_letters(void **state)
{
	(void)state;
	assert_parses("run -qvvC /tmp true");
	assert_true(p.o.quiet);
	assert_int_equal(p.o.verbose, 2);
	assert_string_equal(p.o.chdir, "/tmp");
}

static void test_parse_fills_lists_that_end_in_null(void **state)
{
	(void)state;
	assert_parses("run --resolver 192.0.2.1 --resolver [2001:db8::1]:53 --resolver ::1 "
		      "--resolver 127.0.0.1:5353 --env A --env B=c~d true");
	assert_int_equal(p.o.resolvers.n, 4);
	assert_string_equal(p.o.resolvers.v[1], "[2001:db8::1]:53");
	assert_null(p.o.resolvers.v[4]);
	assert_int_equal(p.o.env.n, 2);
	assert_string_equal(p.o.env.v[1], "B=c d");
	assert_null(p.o.env.v[2]);
}

static void test_parse_refuses_what_is_no_server(void **state)
{
	static const char *const bad[] = { "dns.example.com", "192.0.2.1:0",	"192.0.2.1:65536",
					   "192.0.2",	      "2001:db8::1]:5", "192.0.2.1:53x",
					   "0x7f.1",	      "[192.0.2.1",	"192.0.2.1:" };
	char line[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		(void)snprintf(line, sizeof(line), "run --resolver %s true", bad[i]);
		assert_usage(line, "--resolver: needs the address of a DNS server");
	}
}

static void test_parse_reads_the_timeout(void **state)
{
	static const char *const bad[] = { "0",		  "-1", "5y", "1.5",  "+1", "01",
					   "99999999999", "0m", "m",  "1h1m", "x" };
	char line[64];

	(void)state;
	assert_parses("run --timeout 90 true");
	assert_int_equal(p.o.timeout, 90);
	assert_parses("run --timeout 15m true");
	assert_int_equal(p.o.timeout, 900);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		(void)snprintf(line, sizeof(line), "run --timeout %s true", bad[i]);
		assert_usage(line, "--timeout: needs SECONDS");
	}
}

static void test_parse_last_use_of_a_single_value_counts(void **state)
{
	(void)state;
	assert_parses("run --timeout 1 --timeout 2 -C /a --chdir /b true");
	assert_int_equal(p.o.timeout, 2);
	assert_string_equal(p.o.chdir, "/b");
}

static void test_parse_accepts_only_askers_that_exist(void **state)
{
	(void)state;
	assert_parses("run --ask never true");
	assert_int_equal(p.o.ask, ASK_NEVER);
	assert_parses("run --ask auto true");
	assert_int_equal(p.o.ask, ASK_AUTO);
	assert_parses("run --ask tty true");
	assert_int_equal(p.o.ask, ASK_TTY);
	assert_parses("run --ask control true");
	assert_int_equal(p.o.ask, ASK_CONTROL);
	assert_parses("run --ask exec:/bin/ask true");
	assert_int_equal(p.o.ask, ASK_EXEC);
	assert_string_equal(p.o.ask_program, "/bin/ask");
	assert_int_equal(p.o.ask_timeout, 60);
	assert_parses("run --ask-timeout 5 true");
	assert_int_equal(p.o.ask_timeout, 5);
	assert_usage("run --ask-timeout 0 true", "--ask-timeout: needs");
	assert_usage("run --ask nobody true", "--ask: knows auto, tty");
	assert_usage("run --ask exec: true", "--ask: needs a program");
	assert_usage("run --ask= true", "--ask: knows");
}

static void test_parse_names_the_nearest_option(void **state)
{
	(void)state;
	assert_usage("run --alow x true", "unknown option '--alow'; did you mean --allow?");
	assert_usage("run --resolvr=x true", "did you mean --resolver?");
	assert_usage("run -allow x true", "did you mean --allow?");
	assert_usage("run -timeout 5 true", "did you mean --timeout?");
	assert_usage("run --frobnicate true", "'sbx-net run --help' lists the options");
	assert_usage("run -x true", "unknown option '-x'");
	assert_usage("run -qx true", "unknown option '-x'");
}

static void test_parse_refuses_abbreviations(void **state)
{
	(void)state;
	assert_usage("run --quie true", "options are not abbreviated; type --quiet");
	assert_usage("run --allo x true", "did you mean --allow?"); /* of several */
	assert_usage("run --timeo=5 true", "options are not abbreviated; type --timeout");
	assert_usage("run --hel", "options are not abbreviated; type --help");
}

static void test_parse_escapes_what_it_repeats(void **state)
{
	(void)state;
	assert_usage("run --\033[31m true", "'--\\x1b[31m'");
}

static void test_parse_says_which_argument_is_missing(void **state)
{
	(void)state;
	assert_usage("run --allow", "--allow needs an argument: --allow PATTERN");
	assert_usage("run -a", "--allow needs an argument: -a PATTERN");
	assert_usage("run --allow --strict true", "--allow needs an argument before --strict");
	assert_usage("run --allow --deny=x true", "--allow needs an argument before --deny");
	assert_usage("run -a --deny x true", "--allow needs an argument before --deny");
	assert_usage("run --allow -- true", "--allow needs an argument before --: --allow PATTERN");
	assert_usage("run -a -- true", "--allow needs an argument before --");
	assert_usage("run --allow= true", "--allow: needs PATTERN");
	assert_parses("run --allow=--deny true");
	assert_parses("run --env --not-an-option true");
}

static void test_parse_refuses_an_argument_where_none_belongs(void **state)
{
	(void)state;
	assert_usage("run --strict=yes true", "--strict takes no argument");
}

static void test_parse_wants_a_command(void **state)
{
	(void)state;
	assert_usage("run", "type: sbx-net run [OPTION]... -- COMMAND");
	assert_usage("run -q --", "no command to run");
}

static void test_parse_finds_help_before_the_command_only(void **state)
{
	(void)state;
	assert_int_equal(parse("run --help"), OPTIONS_HELP);
	assert_int_equal(parse("run -q -h true"), OPTIONS_HELP);
	assert_parses("run true --help");
}

static void test_parse_refuses_options_of_another_command(void **state)
{
	struct error err;

	(void)state;
	run_options_clear(&p.o);
	split("env --timeout 5");
	assert_int_equal(options_parse(&p.o, FOR_ENV, p.argc, p.argv, &err), OPTIONS_USAGE);
	assert_string_equal(
		err.msg, "--timeout is not an option of 'env'; 'sbx-net env --help' lists what is");
}

static void test_parse_refuses_options_that_are_not_ready(void **state)
{
	char line[64];

	(void)state;
	for (int id = 0; id < OPT_NUM; id++) {
		const struct option_spec *spec = &option_table[id];

		if (spec->ready || !(spec->commands & FOR_RUN))
			continue;
		(void)snprintf(line, sizeof(line), "run --%s%s true", spec->name,
			       spec->arg ? "=x" : "");
		assert_usage(line, "is not available in this version");
	}
}

/* What an option does is tested whether or not it is ready yet. */
static int apply(enum option_id id, const char *value)
{
	run_options_clear(&p.o);
	return option_table[id].apply(&p.o, &option_table[id], value, &p.err);
}

static void test_apply_forward(void **state)
{
	static const char *const bad[] = { "",
					   "80",
					   "0=h.example:1",
					   "1=h.example",
					   "1=:2",
					   "1=h.example:0",
					   "65536=h.example:1",
					   "x=h.example:1",
					   "1=h.example:2=3" };

	(void)state;
	assert_int_equal(apply(OPT_FORWARD, "5432=db.example.com:15432"), 0);
	assert_int_equal(p.o.nforwards, 1);
	assert_int_equal(p.o.forwards[0].port, 5432);
	assert_int_equal(p.o.forwards[0].target.port, 15432);
	assert_string_equal(p.o.forwards[0].target.host.s, "db.example.com");
	assert_int_equal(p.o.forwards[0].target.via, VIA_FORWARD);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(apply(OPT_FORWARD, bad[i]), -1);
}

static void test_apply_publish(void **state)
{
	(void)state;
	assert_int_equal(apply(OPT_PUBLISH, "8080=80"), 0);
	assert_int_equal(p.o.publishes[0].host_port, 8080);
	assert_int_equal(p.o.publishes[0].port, 80);
	assert_int_equal(apply(OPT_PUBLISH, "8080"), -1);
	assert_int_equal(apply(OPT_PUBLISH, "8080="), -1);
	assert_int_equal(apply(OPT_PUBLISH, "=80"), -1);
	assert_int_equal(apply(OPT_PUBLISH, "8080=80=1"), -1);
}

static void test_apply_pin_wants_exactly_64_digits(void **state)
{
	static const char good[] = "000102030405060708090a0b0c0d0e0f"
				   "101112131415161718191a1b1c1d1eff";
	char bad[80];

	(void)state;
	assert_int_equal(apply(OPT_PIN_SHA256, good), 0);
	assert_true(p.o.pinned);
	assert_int_equal(p.o.pin[1], 1);
	assert_int_equal(p.o.pin[31], 0xff);
	assert_int_equal(apply(OPT_PIN_SHA256, ""), -1);
	assert_false(p.o.pinned);
	(void)snprintf(bad, sizeof(bad), "%.63s", good);
	assert_int_equal(apply(OPT_PIN_SHA256, bad), -1);
	(void)snprintf(bad, sizeof(bad), "%s0", good);
	assert_int_equal(apply(OPT_PIN_SHA256, bad), -1);
	(void)snprintf(bad, sizeof(bad), "sha256:%.57s", good);
	assert_int_equal(apply(OPT_PIN_SHA256, bad), -1);
	(void)snprintf(bad, sizeof(bad), "%.63sF", good);
	assert_int_equal(apply(OPT_PIN_SHA256, bad), -1);
}

static void test_apply_limit(void **state)
{
	(void)state;
	assert_int_equal(apply(OPT_LIMIT, "nofile=256"), 0);
	assert_int_equal(p.o.limits[0].value, 256);
	assert_int_equal(apply(OPT_LIMIT, "cpu=0"), 0);
	assert_int_equal(apply(OPT_LIMIT, "nofile"), -1);
	assert_int_equal(apply(OPT_LIMIT, "nofile="), -1);
	assert_int_equal(apply(OPT_LIMIT, "=1"), -1);
	assert_int_equal(apply(OPT_LIMIT, "nofiles=1"), -1);
	assert_int_equal(apply(OPT_LIMIT, "nofile=-1"), -1);
	assert_int_equal(apply(OPT_LIMIT, "as=2G"), 0);
	assert_int_equal(p.o.limits[p.o.nlimits - 1].value, 2147483648);
	assert_int_equal(apply(OPT_LIMIT, "fsize=1K"), 0);
	assert_int_equal(p.o.limits[p.o.nlimits - 1].value, 1024);
	assert_int_equal(apply(OPT_LIMIT, "as=1k"), -1);
	assert_int_equal(apply(OPT_LIMIT, "as=K"), -1);
	assert_int_equal(apply(OPT_LIMIT, "nofile=1K"), -1);
	assert_int_equal(apply(OPT_LIMIT, "as=9007199254740992K"), -1);
	assert_int_equal(apply(OPT_LIMIT, "as=9223372036854775808"), -1);
}

static void test_apply_fs(void **state)
{
	(void)state;
	assert_int_equal(apply(OPT_FS, "strict"), 0);
	assert_int_equal(p.o.fs, FS_STRICT);
	assert_int_equal(apply(OPT_FS, "off"), 0);
	assert_int_equal(p.o.fs, FS_OFF);
	assert_int_equal(apply(OPT_FS, "workspace"), 0);
	assert_int_equal(p.o.fs, FS_WORKSPACE);
	assert_int_equal(apply(OPT_FS, "OFF"), -1);
	assert_int_equal(apply(OPT_FS, ""), -1);
}

static void test_table_is_complete(void **state)
{
	(void)state;
	for (int id = 0; id < OPT_NUM; id++) {
		const struct option_spec *spec = &option_table[id];

		assert_non_null(spec->name);
		assert_non_null(spec->help);
		assert_true(spec->commands != 0);
		assert_true(spec->apply || id == OPT_HELP);
		for (int other = 0; other < id; other++) {
			assert_string_not_equal(spec->name, option_table[other].name);
			assert_true(!spec->letter || spec->letter != option_table[other].letter);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_stops_at_the_command),
		cmocka_unit_test(test_parse_takes_two_dashes_away),
		cmocka_unit_test(test_parse_defaults),
		cmocka_unit_test(test_parse_keeps_rules_in_order_with_their_option),
		cmocka_unit_test(test_parse_does_no_policy_work),
		cmocka_unit_test(test_parse_reads_clusters_of_letters),
		cmocka_unit_test(test_parse_fills_lists_that_end_in_null),
		cmocka_unit_test(test_parse_refuses_what_is_no_server),
		cmocka_unit_test(test_parse_reads_the_timeout),
		cmocka_unit_test(test_parse_last_use_of_a_single_value_counts),
		cmocka_unit_test(test_parse_accepts_only_askers_that_exist),
		cmocka_unit_test(test_parse_names_the_nearest_option),
		cmocka_unit_test(test_parse_refuses_abbreviations),
		cmocka_unit_test(test_parse_escapes_what_it_repeats),
		cmocka_unit_test(test_parse_says_which_argument_is_missing),
		cmocka_unit_test(test_parse_refuses_an_argument_where_none_belongs),
		cmocka_unit_test(test_parse_wants_a_command),
		cmocka_unit_test(test_parse_finds_help_before_the_command_only),
		cmocka_unit_test(test_parse_refuses_options_of_another_command),
		cmocka_unit_test(test_parse_refuses_options_that_are_not_ready),
		cmocka_unit_test(test_apply_forward),
		cmocka_unit_test(test_apply_publish),
		cmocka_unit_test(test_apply_pin_wants_exactly_64_digits),
		cmocka_unit_test(test_apply_limit),
		cmocka_unit_test(test_apply_fs),
		cmocka_unit_test(test_table_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
