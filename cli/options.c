/*
 * options.c - the parser of the command line
 *
 * Theory of operation: everything that is known about an option stands in one line of
 * option_table. options_parse() builds the tables of getopt_long(3) from the lines that are ready
 * and belong to the command; --help, the completions and the lint tests walk the same lines.
 *
 * Beyond getopt_long: abbreviated long options are refused (a new option must not change what an
 * old script means), and so is an argument that is itself the name of an option ("--allow --deny").
 */
#include "cli/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/nearest.h"

#define LONG_BASE    256 /* getopt values of long options start behind the letters */
#define WORD_SHOWN   128 /* how much of a mistyped word a message repeats */
#define SPELLING_MAX 24
#define HELP_COLUMN  28 /* where the sentences of --help start */
#define HELP_WIDTH   80

void run_options_init(struct run_options *o)
{
	*o = (struct run_options){ .ask = ASK_AUTO, .ask_timeout = 60, .fs = FS_WORKSPACE };
}

void run_options_clear(struct run_options *o)
{
	free(o->rules.v);
	free(o->forwards);
	free(o->publishes);
	free(o->limits);
	free(o->resolvers.v);
	free(o->reports.v);
	free(o->allow_from.v);
	free(o->read.v);
	free(o->write.v);
	free(o->exec.v);
	free(o->deny_read.v);
	free(o->deny_write.v);
	free(o->env.v);
	free(o->within.v);
	free(o->secret);
	run_options_init(o);
}

const char *option_spelling(enum option_id id)
{
	static char text[OPT_NUM][SPELLING_MAX];

	if (!text[id][0])
		(void)snprintf(text[id], SPELLING_MAX, "--%s", option_table[id].name);
	return text[id];
}

const char *options_command_text(const struct run_options *o, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < o->ncommand && n + 1 < size; i++) {
		if (i > 0)
			out[n++] = ' ';
		n += strlen(log_escape(out + n, size - n, o->command[i], strlen(o->command[i])));
	}
	return out;
}

bool option_offered(enum option_id id, unsigned command)
{
	return option_table[id].ready && (option_table[id].commands & command);
}

/* What getopt_long(3) needs to know for one command. */
struct getopt_tables {
	char letters[2 + 2 * OPT_NUM + 1];
	struct option longs[OPT_NUM + 1];
};

/* Commands that run nothing take options behind their words, too. */
static bool permutes(unsigned command)
{
	return !(command & (FOR_RUN | FOR_BRIDGE));
}

static void build_tables(struct getopt_tables *t, unsigned command)
{
	char *letter = t->letters;
	struct option *l = t->longs;

	*t = (struct getopt_tables){ 0 };
	if (!permutes(command))
		*letter++ = '+'; /* options end at the command that is run */
	*letter++ = ':';	 /* no messages; ':' for a missing argument */
	for (int id = 0; id < OPT_NUM; id++) {
		const struct option_spec *spec = &option_table[id];

		if (!option_offered((enum option_id)id, command))
			continue;
		*l++ = (struct option){
			.name = spec->name,
			.has_arg = spec->arg ? required_argument : no_argument,
			.val = LONG_BASE + id,
		};
		if (!spec->letter)
			continue;
		*letter++ = spec->letter;
		if (spec->arg)
			*letter++ = ':';
	}
}

/* find_long() - the line of a long name (@n bytes), ready or not; OPT_NUM if there is none */
static enum option_id find_long(const char *name, size_t n)
{
	int id = 0;

	while (id < OPT_NUM &&
	       (strlen(option_table[id].name) != n || memcmp(option_table[id].name, name, n) != 0))
		id++;
	return (enum option_id)id;
}

static enum option_id find_letter(int letter)
{
	int id = 0;

	while (id < OPT_NUM && (!letter || option_table[id].letter != letter))
		id++;
	return (enum option_id)id;
}

/*
 * struct scan - where the parser stands
 * @command: one bit of enum option_commands
 * @name: the command's name
 * @word: the word that getopt is working on
 */
struct scan {
	struct run_options *o;
	unsigned command;
	const char *name;
	const char *word;
	struct error *err;
};

static bool is_long(const char *word)
{
	return word[0] == '-' && word[1] == '-' && word[2];
}

/* The length of the option in the word, dashes included and "=VALUE" excluded. */
static size_t option_len(const char *word)
{
	return is_long(word) ? strcspn(word, "=") : strlen(word);
}

/* explain_unoffered() - an option that exists, but not here or not yet */
static void explain_unoffered(const struct scan *s, enum option_id id)
{
	if (option_table[id].commands & s->command)
		error_set(s->err, 0,
			  "%s is not available in this version; 'sbx-net %s --help' lists what is",
			  option_spelling(id), s->name);
	else
		error_set(s->err, 0,
			  "%s is not an option of '%s'; 'sbx-net %s --help' lists what is",
			  option_spelling(id), s->name, s->name);
}

static void explain_unknown(const struct scan *s, const char *word, size_t n)
{
	const char *names[OPT_NUM] = { NULL };
	char shown[WORD_SHOWN];
	size_t near = OPT_NUM;

	log_escape(shown, sizeof(shown), word, n);
	for (int id = 0; id < OPT_NUM; id++)
		if (option_offered((enum option_id)id, s->command))
			names[id] = option_table[id].name;
	if (is_long(shown))
		near = nearest_word(shown + 2, names, OPT_NUM);
	if (near < OPT_NUM)
		error_set(s->err, 0, "unknown option '%s'; did you mean --%s?", shown, names[near]);
	else
		error_set(s->err, 0, "unknown option '%s'; 'sbx-net %s --help' lists the options",
			  shown, s->name);
}

/* explain_bad() - getopt said '?' or ':'; optopt and the word tell what was wrong */
static void explain_bad(const struct scan *s)
{
	const char letter[3] = { '-', (char)optopt, 0 };
	bool is_name = is_long(s->word);
	size_t n = option_len(s->word);
	enum option_id id = is_name ? find_long(s->word + 2, n - 2) : find_letter(optopt);
	const struct option_spec *spec = &option_table[id < OPT_NUM ? id : 0];

	if (id == OPT_NUM)
		explain_unknown(s, is_name ? s->word : letter, is_name ? n : 2);
	else if (!option_offered(id, s->command))
		explain_unoffered(s, id);
	else if (spec->arg)
		error_set(s->err, 0, "%s needs an argument: %s %s", option_spelling(id),
			  is_name ? option_spelling(id) : letter, spec->arg);
	else
		error_set(s->err, 0, "%s takes no argument; type it alone", option_spelling(id));
}

/* Abbreviations are refused, by the name of what getopt took them for. */
static int refuse_abbreviation(const struct scan *s, enum option_id id)
{
	if (!is_long(s->word) || option_len(s->word) == strlen(option_spelling(id)))
		return 0;
	return error_set(s->err, 0, "options are not abbreviated; type %s", option_spelling(id));
}

/* "-allow" is "-a llow" to getopt, and a mistake to everybody else. */
static int refuse_single_dash(const struct scan *s)
{
	const char *name = s->word + 1;

	if (s->word[0] != '-' || is_long(s->word) || strlen(s->word) < 3 ||
	    find_long(name, strcspn(name, "=")) == OPT_NUM)
		return 0;
	return error_set(s->err, 0, "'%s' has one dash too few; did you mean -%s?", s->word,
			 s->word);
}

/* getopt takes whatever comes next for the argument, the next option too: one was forgotten. */
static int refuse_option_word(const struct scan *s, enum option_id id, const char *value)
{
	if (strcmp(value, "--") == 0)
		return error_set(s->err, 0, "%s needs an argument before --: %s %s",
				 option_spelling(id), option_spelling(id), option_table[id].arg);
	if (!is_long(value) || find_long(value + 2, option_len(value) - 2) == OPT_NUM)
		return 0;
	return error_set(s->err, 0, "%s needs an argument before %s: %s %s", option_spelling(id),
			 option_spelling(find_long(value + 2, option_len(value) - 2)),
			 option_spelling(id), option_table[id].arg);
}

/* take() - one use of an option; @separate: its argument is a word of its own */
static int take(const struct scan *s, enum option_id id, const char *value, bool separate)
{
	const struct option_spec *spec = &option_table[id];

	if (separate && refuse_option_word(s, id, value))
		return -1;
	if (spec->apply(s->o, spec, value, s->err))
		return error_wrap(s->err, "%s", option_spelling(id));
	return 0;
}

/* Options that do not go together. */
static bool contradicts(const struct run_options *o, struct error *err)
{
	bool policy = false, more = false;

	for (size_t i = 0; i < o->rules.n; i++) {
		policy |= o->rules.v[i].id == OPT_POLICY;
		more |= o->rules.v[i].id != OPT_POLICY && o->rules.v[i].id != OPT_DENY &&
			o->rules.v[i].id != OPT_DENY_LIST;
	}
	if (o->learn && (o->locked || o->strict))
		(void)error_set(err, 0, "--learn allows what --strict and --locked refuse");
	else if (o->audit_chain && !o->audit)
		(void)error_set(err, 0, "--audit-chain seals an audit log; add --audit FILE");
	else if (o->locked && !policy)
		(void)error_set(err, 0, "--locked needs a file to keep to: --policy FILE");
	else if (o->locked && (more || o->allow_from.n > 0))
		(void)error_set(
			err, 0,
			"--locked keeps to --policy; other options cannot allow more: add it to "
			"that file, or run with --learn and that file instead of --locked");
	else
		return false;
	return true;
}

enum options_result options_parse(struct run_options *o, unsigned command, int argc, char **argv,
				  struct error *err)
{
	struct scan s = { .o = o, .command = command, .name = argv[0], .err = err };
	struct getopt_tables t;
	int got;

	build_tables(&t, command);
	optind = 0; /* glibc: start over, and read the '+' */
	opterr = 0;
	for (int at = 1;; at = optind) {
		enum option_id id;

		while (permutes(command) && at < argc && argv[at][0] != '-')
			at++;
		s.word = at < argc ? argv[at] : "";
		got = getopt_long(argc, argv, t.letters, t.longs, NULL);
		if (got == -1)
			break;
		if (refuse_single_dash(&s))
			return OPTIONS_USAGE;
		if (got == '?' || got == ':') {
			explain_bad(&s);
			return OPTIONS_USAGE;
		}
		id = got >= LONG_BASE ? (enum option_id)(got - LONG_BASE) : find_letter(got);
		if (refuse_abbreviation(&s, id))
			return OPTIONS_USAGE;
		if (id == OPT_HELP)
			return OPTIONS_HELP;
		if (take(&s, id, optarg, optarg && optarg == argv[optind - 1]))
			return OPTIONS_USAGE;
	}
	if (command == FOR_RUN && optind == argc) {
		error_set(err, 0, "no command to run; type: sbx-net %s [OPTION]... -- COMMAND",
			  s.name);
		return OPTIONS_USAGE;
	}
	if (contradicts(o, err))
		return OPTIONS_USAGE;
	if (o->locked)
		o->strict = o->no_config = true;
	o->command = argv + optind;
	o->ncommand = (size_t)(argc - optind);
	return OPTIONS_OK;
}

static const char *const section_title[] = {
	[SECTION_NETWORK] = "Network",
	[SECTION_CONFINEMENT] = "Confinement",
	[SECTION_OUTPUT] = "Output",
};
static_assert(ARRAY_SIZE(section_title) == SECTION_NUM, "each section has a title");

/* The sentence from HELP_COLUMN on, broken between words. */
static void print_wrapped(FILE *out, const char *text)
{
	size_t room = HELP_WIDTH - HELP_COLUMN;

	while (strlen(text) > room) {
		size_t n = room;

		while (n > 0 && text[n] != ' ')
			n--;
		if (n == 0)
			break;
		fprintf(out, "%.*s\n%*s", (int)n, text, HELP_COLUMN, "");
		text += n + 1;
	}
	fprintf(out, "%s\n", text);
}

static void print_option(FILE *out, enum option_id id)
{
	const struct option_spec *spec = &option_table[id];
	char left[64];

	(void)snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", spec->letter ? '-' : ' ',
		       spec->letter ? spec->letter : ' ', spec->letter ? ',' : ' ', spec->name,
		       spec->arg ? " " : "", spec->arg ? spec->arg : "");
	if (strlen(left) + 1 < HELP_COLUMN)
		fprintf(out, "%-*s", HELP_COLUMN, left);
	else
		fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
	print_wrapped(out, spec->help);
}

void options_print(FILE *out, unsigned command)
{
	for (int section = 0; section < SECTION_NUM; section++) {
		bool titled = false;

		for (int i = 0; i < OPT_NUM; i++) {
			enum option_id id = (enum option_id)i;

			if ((int)option_table[id].section != section ||
			    !option_offered(id, command))
				continue;
			if (!titled)
				fprintf(out, "\n%s:\n", section_title[section]);
			titled = true;
			print_option(out, id);
		}
	}
}
