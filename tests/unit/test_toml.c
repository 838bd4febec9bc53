/* TOML: every value with its whole key, or an error with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/toml.h"

#define OUT_MAX 4096

static int append(void *arg, const struct toml_item *it, struct error *err)
{
	static const char *const kind[] = { "", "true", "false", "other", "table", "array" };
	char *out = arg;
	size_t n = strlen(out);

	(void)err;
	for (size_t i = 0; i < it->nkey; i++)
		n += (size_t)snprintf(out + n, OUT_MAX - n, "%s%s", i ? "/" : "", it->key[i]);
	(void)snprintf(out + n, OUT_MAX - n, "%s=%s%s;", it->element ? "[]" : "", kind[it->kind],
		       it->text ? it->text : "");
	return 0;
}

static const char *parse(const char *text)
{
	static char out[OUT_MAX];
	struct error err = { 0 };

	out[0] = '\0';
	if (toml_parse(text, strlen(text), "f", append, out, &err) < 0)
		(void)snprintf(out, sizeof(out), "%s", err.msg);
	return out;
}

static const struct {
	const char *text, *want;
} good[] = {
	{ "", "" },
	{ "# only\n\n", "" },
	{ "a = \"x\"", "a=x;" },
	{ "\xef\xbb\xbf"
	  "a=true\r\nb = false # c\r\n",
	  "a=true;b=false;" },
	{ "a.b . \"c d\" = 'x\\y'\n", "a/b/c d=x\\y;" },
	{ "[t.'u']\nk = 1\n[v]\nk=+1.5e3\n", "t/u=table;t/u/k=other;v=table;v/k=other;" },
	{ "[[t]]\na=1\n[[t]]\n", "t[]=table;t/a=other;t[]=table;" },
	{ "a = [ \"x\", # c\n 'y' ,\n]\n", "a=array;a[]=x;a[]=y;" },
	{ "a = []\nb = [[1],[]]\n", "a=array;b=array;b[]=array;b[]=other;b[]=array;" },
	{ "a = {}\nb = { c.d = \"x\", e = [1] }\n",
	  "a=table;b=table;b/c/d=x;b/e=array;b/e[]=other;" },
	{ "a = [ { b = 1 }, {b=2} ]\n", "a=array;a[]=table;a/b=other;a[]=table;a/b=other;" },
	{ "a = \"\\t\\u00e9\\U0001F600\\\"\"\n", "a=\t\xc3\xa9\xf0\x9f\x98\x80\";" },
	{ "a = \"\"\"\nx\n\"y\"\\\n   z\"\"\"\"\n", "a=x\n\"y\"z\";" },
	{ "a = '''\nx\\\n'''\n", "a=x\\\n;" },
	{ "a = 1979-05-27T07:32:00Z\nb = 0xff\nc = inf\nd = 1_000\n",
	  "a=other;b=other;c=other;d=other;" },
	{ "\"\" = 1\n1 = 2\ntrue = 3\n", "=other;1=other;true=other;" },
};

static void test_parse_hands_over_every_value(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_string_equal(parse(good[i].text), good[i].want);
}

static void test_parse_refuses_with_the_line(void **state)
{
	static const char *const bad[] = {
		"\na",
		"\na =",
		"\na = \n",
		"\n= 1",
		"\na = 1 b = 2",
		"\n[a",
		"\n[]",
		"\n[[a]",
		"\n[a] b = 1",
		"\na = \"x",
		"\na = \"x\ny\"",
		"\na = 'x\ny'",
		"\na = \"\\q\"",
		"\na = \"\\u00\"",
		"\na = \"\\u0000\"",
		"\na = \"\\ud800\"",
		"\na = \"\\U00110000\"",
		"\na = \"\x01\"",
		"\na = \"\x7f\"",
		"\n# \x01",
		"\na = tru",
		"\na = truex",
		"\na = True",
		"\na = nil",
		"\na = [1 2]",
		"\na = [1,,2]",
		"\na = {b=1,}",
		"\na = {b=1",
		"\na = {b}",
		"\n\"\"\"a\"\"\" = 1",
		"\na..b = 1",
		"\na b = 1",
		"\n\xc3\xa9 = 1",
		"\na = @",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (strncmp(parse(bad[i]), "f:2: ", 5) != 0)
			fail_msg("%s: %s", bad[i], parse(bad[i]));
	}
	assert_int_equal(strncmp(parse("a = [1,\n\n2"), "f:3: ", 5), 0);
}

static void test_parse_bounds_depth_and_keys(void **state)
{
	char text[4096];
	size_t n = 0;

	(void)state;
	n += (size_t)snprintf(text, sizeof(text), "a=");
	memset(text + n, '[', 100);
	memset(text + n + 100, ']', 100);
	text[n + 200] = '\0';
	assert_non_null(strstr(parse(text), "too deeply"));
	text[n + TOML_DEPTH_MAX] = '\0';
	for (size_t i = 0; i < TOML_DEPTH_MAX; i++)
		strcat(text, "]");
	assert_int_equal(strncmp(parse(text), "a=array;", 8), 0);
	memset(text, 'k', 2000);
	(void)snprintf(text + 2000, 10, "=1");
	assert_non_null(strstr(parse(text), "too long"));
	n = 0;
	for (int i = 0; i < TOML_DEPTH_MAX + 1; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%sk", i ? "." : "");
	(void)snprintf(text + n, sizeof(text) - n, "=1");
	assert_non_null(strstr(parse(text), "too long"));
}

static int stop(void *arg, const struct toml_item *it, struct error *err)
{
	unsigned *calls = arg;

	++*calls;
	return error_set(err, 0, "stopped at %u", it->line);
}

static void test_parse_stops_when_told(void **state)
{
	struct error err = { 0 };
	unsigned calls = 0;

	(void)state;
	assert_int_equal(toml_parse("\na=1\nb=2\n", 9, "f", stop, &calls, &err), -1);
	assert_int_equal(calls, 1);
	assert_string_equal(err.msg, "stopped at 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_hands_over_every_value),
		cmocka_unit_test(test_parse_refuses_with_the_line),
		cmocka_unit_test(test_parse_bounds_depth_and_keys),
		cmocka_unit_test(test_parse_stops_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
