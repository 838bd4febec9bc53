/* What a configuration file says, as git itself reads it. */
#include <ctype.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "launcher/files/gitconfig.h"

#define ROUNDS	 400 /* each starts git */
#define PIECES	 14
#define TEXT_MAX 1024

static char found[4096];

static void collect(void *arg, const struct gitconfig_variable *var)
{
	size_t n = strlen(found);

	(void)arg;
	(void)snprintf(found + n, sizeof(found) - n, "%s%s%s.%s=%s|", var->section,
		       var->sub ? ":" : "", var->sub ? var->sub : "", var->key, var->value);
}

static void expect(const char *text, size_t len, enum gitconfig how, const char *want)
{
	found[0] = '\0';
	assert_int_equal(gitconfig_parse(text, len, collect, NULL), how);
	assert_string_equal(found, want);
}

#define EXPECT(text, want)     expect(text, sizeof(text) - 1, GITCONFIG_OK, want)
#define EXPECT_ODD(text, want) expect(text, sizeof(text) - 1, GITCONFIG_ODD, want)
#define EXPECT_BAD(text, want) expect(text, sizeof(text) - 1, GITCONFIG_BAD, want)

static void test_parse_reads_what_git_reads(void **state)
{
	(void)state;
	EXPECT("", "");
	EXPECT("[core]\n\thooksPath = .githooks\n", "core.hooksPath=.githooks|");
	EXPECT("[core] hooksPath=.githooks", "core.hooksPath=.githooks|");
	EXPECT("[CORE]\nHOOKSPATH  =  a b  \n", "CORE.HOOKSPATH=a b|");
	EXPECT("[filter \"a ] \\\" b\"]clean = x\n", "filter:a ] \" b.clean=x|");
	EXPECT("[filter.old]\nclean = x\n", "filter:old.clean=x|");
	EXPECT("[a]\nb = \"x # y\" ; c\n", "a.b=x # y|");
	EXPECT("[a]\nb = x\\\ny\nc = z\n", "a.b=xy|a.c=z|");
	EXPECT("[a]\nb = \\\"x\\\\y\\tz\n", "a.b=\"x\\y\tz|");
	EXPECT("[a]\nb\nc = d\n", "a.b=true|a.c=d|"); /* a switch */
	EXPECT("[a]b\n[c]", "a.b=true|");
	EXPECT("[a]\nb = x\\by\n", "a.b=x\by|");
	EXPECT("[a]\nb =\n", "a.b=|");
	EXPECT("; b = c\n# [x]\n[a]\nb = c", "a.b=c|");
	EXPECT("[a]\nb = c \t \n", "a.b=c|");
	EXPECT("[a]\nb = c \\\n", "a.b=c |");
	EXPECT("[a]\r\nb\r\nc = \"\"  d\r\n", "a.b=true|a.c=d|");
	EXPECT("[a]\nb = \\", "a.b=|");
	EXPECT("b = c\n", ".b=c|");
	EXPECT("[.]b = c\n[e.]f\n[g.h \"i.J\"]k", ":.b=c|e:.f=true|g:h.i.J.k=true|");
}

/* Where a careless reader and git part company. */
static void test_parse_is_not_led_astray(void **state)
{
	(void)state;
	EXPECT("[a]\n# comment \\\nb = c\n", "a.b=c|"); /* a comment is not continued */
	EXPECT("\xef\xbb\xbf[a]\nb = c\n", "a.b=c|");
	EXPECT("[a]\r\nb = x\\\r\ny\r\n", "a.b=xy|");
	EXPECT("[a]\nb = \"x;\\\ny\"\n", "a.b=x;y|");
	EXPECT("[a][core]b = c\n", "core.b=c|");
	EXPECT("[a \"[\"] [b]\t[core] b = c\n", "core.b=c|");
	EXPECT("[core \"x\"]b = c\n", "core:x.b=c|");
	EXPECT("[0123456789012345678901234567890123456789012345678901234567890123456789][core]b = "
	       "c\n",
	       "core.b=c|");
}

/* Of what git does not read to its end nobody can say what is in it. */
static void test_parse_tells_what_git_refuses(void **state)
{
	(void)state;
	EXPECT_BAD("[a]\nb = c\n[a", "a.b=c|");
	EXPECT_BAD("[a \"b", "");
	EXPECT_BAD("[a \"b\" ]", "");
	EXPECT_BAD("[a b]", "");
	EXPECT_BAD("[]b = c\n", "");
	EXPECT_BAD("[a_b]c = d\n", "");
	EXPECT_BAD("\\", "");
	EXPECT_BAD("[a]\nb ; c\n", "");
	EXPECT_BAD("[a]\nb_c = d\n", "");
	EXPECT_BAD("[a]\n1 = d\n", "");
	EXPECT_BAD("[a]\nb = \\x\n", "");
	EXPECT_BAD("[a]\nb = \"c\nd = e\n", "");
	EXPECT_BAD("\xef\xbb[a]\n", "");
	EXPECT_BAD("[a]\vb = c\n", "");
	EXPECT_BAD("[a]\nb\v= c\n", "");
	EXPECT_BAD("[a]\nb = x\0y\nc = z\n", "");
	EXPECT_BAD("[core \"fsmonitor\0\"]x = y\n", "");
	EXPECT_BAD("# \0\n[a]\nb = c\n", "");
}

static void test_parse_tells_what_is_read_in_two_ways(void **state)
{
	(void)state;
	EXPECT_ODD("[a]\nb = c\v\n", "a.b=c\v|"); /* no blank to git */
	EXPECT_ODD("[a]\nb = c\f\n", "a.b=c\f|");
	EXPECT_ODD("[a]\nb = c\rd\n", "a.b=c\rd|");
	EXPECT_ODD("[a]\nb = c\td\n", "a.b=c\td|");
	EXPECT_ODD("[a]\nb = c\t\"d\"\n", "a.b=c\td|");
	EXPECT_ODD("[a \"\x1b\"]\nb = c\n", "a:\x1b.b=c|");
	EXPECT_ODD("# \x7f\n", "");
	EXPECT("[a]\nb = \"c\td\"\t# e\n", "a.b=c\td|");
}

/** struct listing - what is found, as git config --list -z prints it, in lower case; @n: its length */
struct listing {
	char text[64 * 1024];
	size_t n;
};

static void append(struct listing *l, const char *p, size_t n)
{
	assert_true(l->n + n < sizeof(l->text));
	memcpy(l->text + l->n, p, n);
	l->n += n;
}

static void append_lower(struct listing *l, const char *p)
{
	for (; *p; p++) {
		char c = (char)tolower((unsigned char)*p);

		append(l, &c, 1);
	}
}

static void list(void *arg, const struct gitconfig_variable *var)
{
	struct listing *l = arg;

	append_lower(l, var->section);
	append(l, ".", *var->section || var->sub);
	append_lower(l, var->sub ? var->sub : "");
	append(l, ".", var->sub != NULL);
	append_lower(l, var->key);
	append(l, "\n", 1);
	append(l, var->value, strlen(var->value) + 1);
}

/* A switch is printed without a value, and in a subsection case is kept. */
static void take_line(struct listing *l, const char *line)
{
	const char *eol = strchr(line, '\n');
	char name[TEXT_MAX * 2];
	size_t n = eol ? (size_t)(eol - line) : strlen(line);

	assert_true(n < sizeof(name));
	memcpy(name, line, n);
	name[n] = '\0';
	append_lower(l, name);
	append(l, "\n", 1);
	append(l, eol ? eol + 1 : "true", strlen(eol ? eol + 1 : "true") + 1);
}

static void read_listing(int fd, struct listing *l)
{
	static char raw[64 * 1024];
	size_t n = 0;
	ssize_t got;

	while ((got = read(fd, raw + n, sizeof(raw) - n)) > 0)
		n += (size_t)got;
	assert_true(n < sizeof(raw));
	for (size_t i = 0; i < n; i += strlen(raw + i) + 1)
		take_line(l, raw + i);
}

/* Return: the exit status of git config; 127 if there is no git. */
static int ask_git(const char *file, struct listing *l)
{
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		(void)close(fds[0]);
		(void)execlp("git", "git", "config", "--list", "-z", "--file", file, NULL);
		_exit(127);
	}
	(void)close(fds[1]);
	read_listing(fds[0], l);
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool has_git(void)
{
	const char *must = getenv("SBX_TESTS_MUST_RUN");
	static struct listing l;

	if (ask_git("/dev/null", &l) == 0)
		return true;
	if (must && strcmp(must, "1") == 0)
		fail_msg("there is no git to compare with");
	return false;
}

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

#define LONG "x0123456789012345678901234567890123456789012345678901234567890123456789"

/* Up to 2.44 each blank in a value is a space. */
static void level(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->text[i] == '\t' || l->text[i] == '\r')
			l->text[i] = ' ';
}

static void compare(const char *text, size_t n, const char *file)
{
	static struct listing ours, gits;
	FILE *f = fopen(file, "w");
	enum gitconfig how;
	int status;

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	ours.n = gits.n = 0;
	how = gitconfig_parse(text, n, list, &ours);
	status = ask_git(file, &gits);
	assert_true(status == 0 || how == GITCONFIG_BAD);
	assert_true(how != GITCONFIG_BAD || status != 0 || memchr(text, '\0', n));
	if (how == GITCONFIG_BAD)
		return;
	if (how == GITCONFIG_ODD) {
		level(&ours);
		level(&gits);
	}
	assert_int_equal(ours.n, gits.n);
	assert_memory_equal(ours.text, gits.text, gits.n);
}

/* Half of them begin as git wants it; each piece is something that one reader may take otherwise. */
static size_t make(uint32_t *state, char text[static TEXT_MAX])
{
	static const char *const pieces[] = {
		"[core]",
		"[",
		"]",
		"[a \"b\"]",
		"[a \"b;\\\"#\"]",
		"[a \"\\\\\"]",
		"\"",
		"\\",
		"\n",
		"\n",
		"\n",
		"\n",
		"\r\n",
		"\r",
		" ",
		"\t",
		"\v",
		"\f",
		"=",
		"= ",
		"k",
		"key",
		"x = y",
		"k = v\n",
		"#",
		";",
		"\\\n",
		"\\\r\n",
		"\\n",
		"\\\"",
		"\\\\",
		"e=1",
		".",
		"[a.B]",
		"-",
		"1",
		"[c] f=g",
		"\x80",
		"'",
		"[A \"\"]",
		"[a\t\"x]\"]",
		"[a  \"[\"]",
		"[" LONG "]",
		LONG,
		"[ \"s\"]",
		"[.]",
		"[a.]",
		"[]",
		"\x01",
		"\x7f",
		"\xef\xbb\xbf",
		"[include]path=x",
		"\"q\"\n",
		"\b",
		"~",
		"_",
	};
	size_t n = 0, count = 1 + random_next(state) % PIECES;

	if (random_next(state) % 2)
		n = (size_t)snprintf(text, TEXT_MAX, "[core]\nk = ");
	for (; count > 0; count--) {
		const char *piece = pieces[random_next(state) % ARRAY_SIZE(pieces)];

		if (random_next(state) % 64 == 0)
			text[n++] = '\0';
		n += (size_t)snprintf(text + n, TEXT_MAX - n, "%s", piece);
		assert_true(n < TEXT_MAX - 1);
	}
	return n;
}

/* SBX_CONFIG_SEED gives other texts, which are the same each time. */
static void test_git_reads_the_same(void **state)
{
	const char *seed = getenv("SBX_CONFIG_SEED");
	uint32_t random = seed ? (uint32_t)strtoul(seed, NULL, 10) : 1;
	char dir[] = "/tmp/test_gitconfig.XXXXXX", file[sizeof(dir) + 2], text[TEXT_MAX];

	(void)state;
	if (!has_git())
		skip();
	assert_non_null(mkdtemp(dir));
	(void)snprintf(file, sizeof(file), "%s/c", dir);
	for (unsigned i = 0; i < ROUNDS; i++)
		compare(text, make(&random, text), file);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_reads_what_git_reads),
		cmocka_unit_test(test_parse_is_not_led_astray),
		cmocka_unit_test(test_parse_tells_what_git_refuses),
		cmocka_unit_test(test_parse_tells_what_is_read_in_two_ways),
		cmocka_unit_test(test_git_reads_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
