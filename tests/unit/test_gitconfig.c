/* What a configuration file says, as git itself reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/files/gitconfig.h"

static char found[4096];

static void collect(void *arg, const char *section, const char *key, const char *value)
{
	size_t n = strlen(found);

	(void)arg;
	(void)snprintf(found + n, sizeof(found) - n, "%s.%s=%s|", section, key, value);
}

static void expect(const char *text, size_t len, const char *want)
{
	CLEANUP_FREE char *copy = xcalloc(1, len + 1);

	memcpy(copy, text, len);
	found[0] = '\0';
	gitconfig_parse(copy, len, collect, NULL);
	assert_string_equal(found, want);
}

#define EXPECT(text, want) expect(text, sizeof(text) - 1, want)

static void test_parse_reads_what_git_reads(void **state)
{
	(void)state;
	EXPECT("", "");
	EXPECT("[core]\n\thooksPath = .githooks\n", "core.hooksPath=.githooks|");
	EXPECT("[core] hooksPath=.githooks", "core.hooksPath=.githooks|");
	EXPECT("[CORE]\nHOOKSPATH  =  a b  \n", "CORE.HOOKSPATH=a b|");
	EXPECT("[filter \"a ] \\\" b\"]clean = x\n", "filter.clean=x|");
	EXPECT("[filter.old]\nclean = x\n", "filter.clean=x|");
	EXPECT("[a]\nb = \"x # y\" ; c\n", "a.b=x # y|");
	EXPECT("[a]\nb = x\\\ny\nc = z\n", "a.b=xy|a.c=z|");
	EXPECT("[a]\nb = \\\"x\\\\y\\tz\n", "a.b=\"x\\y\tz|");
	EXPECT("[a]\nb\nc = d\n", "a.b=true|a.c=d|"); /* a switch */
	EXPECT("[a]b\n[c]", "a.b=true|");
	EXPECT("[a]\nb = x\\by\n", "a.b=x\by|");
	EXPECT("[a]\nb =\n", "a.b=|");
	EXPECT("; b = c\n# [x]\n[a]\nb = c", "a.b=c|");
}

/* Where a careless reader and git part company. */
static void test_parse_is_not_led_astray(void **state)
{
	(void)state;
	EXPECT("[a]\n# comment \\\nb = c\n", "a.b=c|"); /* a comment is not continued */
	EXPECT("\xef\xbb\xbf[a]\nb = c\n", "a.b=c|");
	EXPECT("[a]\r\nb = x\\\r\ny\r\n", "a.b=xy|");
	EXPECT("[a]\nb = x\0y\nc = z\n", "a.b=x|a.y=true|a.c=z|");
	EXPECT("[a]\nb = \"x;\\\ny\"\n", "a.b=x;y|");
	EXPECT("[a][core]b = c\n", "core.b=c|");
	EXPECT("[a \"[\"] [b]\t[core] b = c\n", "core.b=c|");
	EXPECT("[a", "");
	EXPECT("[a \"b", "");
	EXPECT("\\", "");
	EXPECT("[a]\nb = \\", "a.b=\\|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_reads_what_git_reads),
		cmocka_unit_test(test_parse_is_not_led_astray),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
