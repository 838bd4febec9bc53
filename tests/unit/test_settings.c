#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "policy/settings.h"

/* The last warning, and how many there were. */
static unsigned warnings;
static unsigned warning_line;
static char warning[512];

static void on_warning(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg, (void)file;
	warnings++;
	warning_line = line;
	(void)snprintf(warning, sizeof(warning), "%s", text);
}

static struct settings *parse(const char *text, const char *file, struct error *err)
{
	warnings = 0;
	return settings_parse(text, strlen(text), file, on_warning, NULL, err);
}

static void test_parse_reads_our_own_shape(void **state)
{
	struct error err;
	struct settings *s =
		parse("{\"network\": {\n"
		      "  \"allowedDomains\": [\"good.example\",\n"
		      "    \"*.wild.example:443\"],\n"
		      "  \"deniedDomains\": [\"bad.example\"],\n"
		      "  \"deniedDomainReasons\": {\"bad.example\": \"leaks\"},\n"
		      "  \"strictAllowlist\": true, \"onUnknownHost\": \"ask\" },\n"
		      " \"filesystem\": {\"denyRead\": [\"~/.aws\"]},\n"
		      " \"credentials\": {\"envVars\": [{\"name\": \"TOKEN\", \"mode\": "
		      "\"deny\"}, \"KEY\"]}}",
		      "settings.json", &err);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->shape, SETTINGS_OWN);
	assert_int_equal(s->list[SETTINGS_ALLOWED_DOMAINS].n, 2);
	assert_string_equal(s->list[SETTINGS_ALLOWED_DOMAINS].v[1].text, "*.wild.example:443");
	assert_int_equal(s->list[SETTINGS_ALLOWED_DOMAINS].v[0].line, 2);
	assert_int_equal(s->list[SETTINGS_ALLOWED_DOMAINS].v[1].line, 3);
	assert_int_equal(s->list[SETTINGS_DENIED_DOMAINS].v[0].line, 4);
	assert_string_equal(s->list[SETTINGS_DENIED_DOMAINS].v[0].reason, "leaks");
	assert_int_equal(s->flag[SETTINGS_STRICT], SETTINGS_YES);
	assert_true(s->has_unknown);
	assert_int_equal(s->unknown, VERDICT_ASK);
	assert_string_equal(s->list[SETTINGS_DENY_READ].v[0].text, "~/.aws");
	assert_int_equal(s->list[SETTINGS_DENY_READ].v[0].line, 7);
	assert_int_equal(s->list[SETTINGS_ENV_DROP].n, 2);
	assert_string_equal(s->list[SETTINGS_ENV_DROP].v[0].text, "TOKEN");
	assert_string_equal(s->list[SETTINGS_ENV_DROP].v[1].text, "KEY");
	assert_int_equal(s->list[SETTINGS_ENV_DROP].v[1].line, 8);
	assert_int_equal(warnings, 0);
	settings_free(s);
}

static void test_parse_names_an_unknown_key_of_ours(void **state)
{
	struct error err;

	(void)state;
	assert_null(parse("{\"network\": {\n\"allowedDomain\": []}}", "s.json", &err));
	assert_string_equal(err.msg,
			    "s.json:2: 'network.allowedDomain' is not a known key; did you "
			    "mean 'network.allowedDomains'?");
	/* the same key in the right spelling is fine */
	struct settings *s = parse("{\"network\": {\n\"allowedDomains\": []}}", "s.json", &err);
	assert_non_null(s);
	settings_free(s);
}

static void test_parse_warns_of_an_unknown_key_in_a_foreign_file(void **state)
{
	struct error err;
	struct settings *s =
		parse("{\"model\": \"x\",\n \"sandbox\": {\"enabled\": true,\n"
		      "  \"excludedCommands\": [\"docker\"],\n"
		      "  \"network\": {\"allowedDomains\": [\"a.example\"]}},\n"
		      " \"permissions\": {\"allow\": [\"WebFetch(domain:b.example)\",\n"
		      "   \"Bash(ls)\", \"Edit(//srv/x/**)\"],\n"
		      "  \"deny\": [\"Read(~/.aws/**)\"]}}",
		      "settings.json", &err);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->shape, SETTINGS_CLAUDE);
	assert_int_equal(warnings, 1);
	assert_int_equal(warning_line, 3);
	assert_non_null(strstr(warning, "excludedCommands"));
	assert_int_equal(s->list[SETTINGS_ALLOWED_DOMAINS].n, 2);
	assert_string_equal(s->list[SETTINGS_ALLOWED_DOMAINS].v[1].text, "b.example");
	assert_int_equal(s->list[SETTINGS_ALLOWED_DOMAINS].v[1].line, 5);
	assert_string_equal(s->list[SETTINGS_ALLOW_WRITE].v[0].text, "/srv/x");
	assert_int_equal(s->list[SETTINGS_ALLOW_WRITE].v[0].line, 6);
	assert_string_equal(s->list[SETTINGS_DENY_READ].v[0].text, "~/.aws");
	assert_int_equal(s->list[SETTINGS_DENY_READ].v[0].line, 7);
	settings_free(s);
}

static void test_parse_reads_a_sandbox_runtime_file(void **state)
{
	struct error err;
	struct settings *s =
		parse("{\"network\": {\"allowedDomains\": [\"a.example\"], \"deniedDomains\": [],\n"
		      "\"allowLocalBinding\": false}, \"ignoreViolations\": {}, "
		      "\"filesystem\": {\"denyRead\": [\"~/.ssh\"], \"allowWrite\": [\".\"], "
		      "\"denyWrite\": [\".env\"]}}",
		      "srt.json", &err);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->shape, SETTINGS_SRT);
	assert_int_equal(warnings, 1);
	assert_string_equal(s->list[SETTINGS_DENY_WRITE].v[0].text, ".env");
	settings_free(s);
}

/* gitignore(5): a rule without a slash, but at its end, is of any depth; an allow rule gets no larger. */
static void test_parse_reads_rules_as_gitignore_does(void **state)
{
	static const struct {
		const char *rule, *deny, *allow;
	} cases[] = {
		{ ".env", "**/.env", ".env" },
		{ "*.env", "**/*.env", NULL },
		{ "**.env", "**/**.env", NULL },
		{ "secrets/", "**/secrets/", "secrets/" },
		{ "secrets/**", "secrets", "secrets" },
		{ "./.env", "./.env", "./.env" },
		{ "/.env", "./.env", "./.env" },
		{ "//srv/x", "/srv/x", "/srv/x" },
		{ "a/.env", "a/.env", "a/.env" },
		{ "~/.env", "~/.env", "~/.env" },
		{ "..", "..", ".." },
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *text = xasprintf("{\"permissions\": {\"deny\": [\"Edit(%s)\"], "
						    "\"allow\": [\"Edit(%s)\"]}}",
						    cases[i].rule, cases[i].rule);
		struct settings *s = parse(text, "s", &err);

		assert_non_null(s);
		assert_string_equal(s->list[SETTINGS_DENY_WRITE].v[0].text, cases[i].deny);
		assert_int_equal(s->list[SETTINGS_ALLOW_WRITE].n, cases[i].allow ? 1 : 0);
		if (cases[i].allow)
			assert_string_equal(s->list[SETTINGS_ALLOW_WRITE].v[0].text,
					    cases[i].allow);
		settings_free(s);
	}
}

static void test_parse_refuses_a_denial_that_nobody_can_have_meant(void **state)
{
	static const char *const bad[] = {
		"$HOME/x",
		"${HOME}/x",
		"/home/$USER/x",
		"~user/x",
		"file:///x",
		"file:/x",
		"https://x.example/y",
		" /x",
		"/x ",
		"/x\\n",
		"a/${X}",
		"~user",
	};
	static const char *const good[] = { "./$HOME", "app/$slug.tsx", "/a b",	    "a:b",
					    "~",       "~/x",		"a$B.class" };
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad) + ARRAY_SIZE(good); i++) {
		const char *path = i < ARRAY_SIZE(bad) ? bad[i] : good[i - ARRAY_SIZE(bad)];
		CLEANUP_FREE char *list =
			xasprintf("{\"filesystem\": {\"denyRead\": [\"/y\",\n\"%s\"]}}", path);
		CLEANUP_FREE char *rule =
			xasprintf("{\"permissions\": {\"deny\": [\"Edit(%s)\"]}}", path);
		CLEANUP_FREE char *grant =
			xasprintf("{\"filesystem\": {\"allowWrite\": [\"%s\"]}}", path);
		struct settings *s = parse(list, "s", &err);

		assert_int_equal(s != NULL, i >= ARRAY_SIZE(bad));
		if (!s)
			assert_non_null(strstr(err.msg, "s:2: 'filesystem.denyRead' '"));
		settings_free(s);
		s = parse(rule, "s", &err);
		assert_int_equal(s != NULL, i >= ARRAY_SIZE(bad));
		settings_free(s);
		s = parse(grant, "s", &err); /* opened at the start, where it is missing then */
		assert_non_null(s);
		settings_free(s);
	}
}

static void test_parse_refuses_a_deny_rule_that_it_cannot_enforce(void **state)
{
	struct error err;
	struct settings *s;

	(void)state;
	static const char *const rules[] = { "webfetch(domain:x.example)",
					     "WebFetch(domain:x.example) ",
					     " Read(x)",
					     "WebFetch (domain:x.example)",
					     "READ",
					     "WebFetch(domain:x.example",
					     "WebFetch(Domain:x.example)",
					     "Read(*)",
					     "Read(**)",
					     "Edit(**)",
					     "Read(*.{a,b})",
					     "Read(!x)",
					     "Read()",
					     "Edit()",
					     "WebFetch(x)",
					     "WebFetch*",
					     "WebFetch:*",
					     "Web*",
					     "*",
					     "WebFetch(domain:)" };
	static const char *const patterns[] = { "Read(./secrets/*.key)", "Read(**/.env)",
						"Read(~/.ssh/id_*)", "Edit(src/[ab].c)",
						"Write(//etc/*.conf)" };

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		CLEANUP_FREE char *text =
			xasprintf("{\"permissions\": {\"deny\": [\"%s\"]}}", rules[i]);

		assert_null(parse(text, "s", &err));
		assert_non_null(strstr(err.msg, "cannot be enforced"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		CLEANUP_FREE char *text =
			xasprintf("{\"permissions\": {\"deny\": [\"%s\"]}}", patterns[i]);

		s = parse(text, "s", &err);
		assert_non_null(s);
		assert_int_equal(s->list[SETTINGS_DENY_READ].n + s->list[SETTINGS_DENY_WRITE].n, 1);
		assert_int_equal(warnings, 0);
		settings_free(s);
	}
	/* another tool's may be about paths: told of, once a file; Bash's is not */
	s = parse("{\"permissions\": {\"deny\": [\"Read(x)\",\n\"Bash(rm:*)\", \"Readme(x)\"]}}",
		  "s", &err);
	assert_non_null(s);
	assert_int_equal(warnings, 1);
	assert_int_equal(warning_line, 2);
	assert_non_null(strstr(warning, "'Readme(x)' is not taken over"));
	settings_free(s);
	/* other members of the section: of no interest, unless it is a list of something */
	s = parse("{\"permissions\": {\"defaultMode\": \"plan\", \"deny\": [\"mcp__*\"],"
		  "\"disableBypassPermissionsMode\": \"disable\"}, \"env\": {}, \"model\": \"m\"}",
		  "s", &err);
	assert_non_null(s);
	assert_int_equal(warnings, 0);
	settings_free(s);
	s = parse("{\"permissions\": {\"words\": [\"Bash(x)\"]}}", "s", &err);
	assert_non_null(s);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "'permissions.words' is not a known key"));
	settings_free(s);
	/* every host, and a bare tool that would allow every host */
	s = parse("{\"permissions\": {\"deny\": [\"WebFetch(*)\"], \"allow\": [\"WebFetch\"]}}",
		  "s", &err);
	assert_non_null(s);
	assert_string_equal(s->list[SETTINGS_DENIED_DOMAINS].v[0].text, "*");
	assert_int_equal(s->list[SETTINGS_ALLOWED_DOMAINS].n, 0);
	assert_int_equal(warnings, 1);
	settings_free(s);
	/* its twin without the glob is taken, and a glob that allows is only warned of */
	s = parse("{\"permissions\": {\"deny\": [\"Read(./secrets)\"],"
		  "\"allow\": [\"Edit(*.c)\"]}}",
		  "s", &err);
	assert_non_null(s);
	assert_int_equal(warnings, 1);
	assert_int_equal(s->list[SETTINGS_DENY_READ].n, 1);
	assert_int_equal(s->list[SETTINGS_ALLOW_WRITE].n, 0);
	settings_free(s);
}

static void test_parse_takes_the_shape_from_the_name_alone(void **state)
{
	struct error err;
	struct settings *s = parse("{\"network\": {\"x\": 1}}", "/a/b/.srt-settings.json", &err);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->shape, SETTINGS_SRT);
	settings_free(s);
	assert_null(parse("{\"network\": {\"x\": 1}}", "/a/my.srt-files/settings.json", &err));
}

static void test_parse_own_takes_no_unknown_key(void **state)
{
	static const char *const rows[] = { "{\"ripgrep\": {}, \"network\": {\"x\": 1}}",
					    "{\"sandbox\": {\"network\": {\"x\": 1}}}" };
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct settings *s = parse(rows[i], "f", &err);

		assert_non_null(s);
		settings_free(s);
		assert_null(
			settings_parse_own(rows[i], strlen(rows[i]), "f", on_warning, NULL, &err));
		assert_non_null(strstr(err.msg, "not a known key"));
	}
}

static void test_parse_refuses_broken_files(void **state)
{
	static const char *const broken[] = {
		"",
		" ",
		"[]",
		"null",
		"{",
		"{\"network\": []}",
		"{\"network\": {\"allowedDomains\": \"a.example\"}}",
		"{\"network\": {\"allowedDomains\": [1]}}",
		"{\"network\": {\"allowedDomains\": [\"\"]}}",
		"{\"network\": {\"allowedDomains\": [\"a\\u0000b\"]}}",
		"{\"network\": {}, \"network\": {}}",
		"{\"network\": {\"strictAllowlist\": \"yes\"}}",
		"{\"network\": {\"onUnknownHost\": true}}",
		"{} trailing",
		"{\"sandbox\": {\"enabled\": false}}",
		"{\"sandbox\": true}",
		"{\"sandbox\": null, \"network\": {}}",
		"{\"permissions\": []}",
		"{\"permissions\": {\"deny\": \"WebFetch\"}}",
		"{\"permissions\": {\"ask\": {}}}",
		"{\"permissions\": {\"additionalDirectories\": 1}}",
		"{\"permissions\": {\"Deny\": []}}",
		"{\"permissions\": {\"deny \": []}}",
		"{\"permissions\": {\"dny\": []}}",
		"{\"permissions\": {\"denied\": [\"WebFetch(domain:e.example)\"]}}",
		"{\"permissions\": {\"denyRules\": [\"Bash(x)\", \"Read(./x)\"]}}",
		"{\"permissions\": {\"block\": [\"webfetch\"]}}",
		"{\"permissions\": {}, \"permisions\": {\"deny\": []}}",
		"{\"sandbox\": {}, \"permission\": {\"deny\": []}}",
		"{\"permissions\": {}, \"network\": {}}",
		"{\"permissions\": {}, \"Sandbox\": {}}",
		"{\"sandbox\": {}, \"sandbox.network\": {}}",
		"{\"sandbox\": {}, \"credentials\": {}}",
		"{\"sandbox\": {}, \"allowUnsandboxedCommands\": false}",
		"{\"network.strictAllowlist\": true}",
		"{\"sandbox\": {\"network.strictAllowlist\": true}}",
		"{\"ripgrep\": {}, \"network.strictAllowlist\": true}",
		"\xef\xbb\xbf{}",
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		assert_null(parse(broken[i], "f.json", &err));
		assert_non_null(strstr(err.msg, "f.json:"));
	}
}

static void test_parse_says_what_else_a_file_may_be(void **state)
{
	static const char *const rows[][2] = {
		{ "# hosts\nexample.com\n", "--allow-list" },
		{ "\n example.com\n", "--allow-list" },
		{ "// mine\n{}", "JSON has no comments" },
		{ "/* mine */ {}", "JSON has no comments" },
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_null(parse(rows[i][0], "f", &err));
		assert_non_null(strstr(err.msg, rows[i][1]));
	}
	assert_null(parse("{\"network\": {", "f", &err));
	assert_null(strchr(err.msg, ';'));
}

static void test_keys_are_unique(void **state)
{
	const struct settings_key *keys;
	size_t n = settings_keys(&keys);

	(void)state;
	assert_true(n > 20);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++)
			assert_string_not_equal(keys[i].path, keys[j].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_reads_our_own_shape),
		cmocka_unit_test(test_parse_names_an_unknown_key_of_ours),
		cmocka_unit_test(test_parse_warns_of_an_unknown_key_in_a_foreign_file),
		cmocka_unit_test(test_parse_reads_a_sandbox_runtime_file),
		cmocka_unit_test(test_parse_refuses_a_deny_rule_that_it_cannot_enforce),
		cmocka_unit_test(test_parse_reads_rules_as_gitignore_does),
		cmocka_unit_test(test_parse_refuses_a_denial_that_nobody_can_have_meant),
		cmocka_unit_test(test_parse_refuses_broken_files),
		cmocka_unit_test(test_parse_takes_the_shape_from_the_name_alone),
		cmocka_unit_test(test_parse_own_takes_no_unknown_key),
		cmocka_unit_test(test_parse_says_what_else_a_file_may_be),
		cmocka_unit_test(test_keys_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
