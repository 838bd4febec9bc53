/*
 * Each test makes a home and a project of its own under a temporary directory.
 */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/layers/layers.h"
#include "cli/rules.h"
#include "cli/trust.h"

static char dir[64];

static void write_file(const char *name, const char *text)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	FILE *f;

	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_layers.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	log_set_level(LOG_LEVEL_ERROR);
	(void)unsetenv("XDG_CONFIG_HOME");
	(void)unsetenv("XDG_STATE_HOME");
	return setenv("HOME", dir, 1);
}

static int teardown(void **state)
{
	CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", dir);

	(void)state;
	return system(command);
}

/* What the policy of the files says about a host, with the options as they are. */
static enum code ask(struct run_options *o, const char *host)
{
	struct rules r = { .layers = NULL };
	struct target t = { .via = VIA_CONNECT };
	struct decision d;
	struct error err;

	assert_int_equal(target_parse_authority(host, strlen(host), 443, &t), TARGET_OK);
	if (rules_load(&r, o, dir, &err) < 0) {
		print_error("%s\n", err.msg);
		fail();
	}
	policy_decide(r.policy, &t, &d);
	rules_clear(&r);
	return d.verdict == VERDICT_ALLOW ? CODE_OK : d.code;
}

static bool loads(struct run_options *o)
{
	struct rules r = { .layers = NULL };
	struct error err;

	if (rules_load(&r, o, dir, &err) < 0)
		return false;
	rules_clear(&r);
	return true;
}

static const char user_file[] = ".config/sbx-net/settings.json";
static const char project_file[] = ".sbx-net/settings.json";

static void test_lists_of_all_layers_add_up(void **state)
{
	struct run_options o;

	(void)state;
	run_options_init(&o);
	options_add_rule(&o, OPT_ALLOW, "option.example");
	write_file(user_file, "{\"network\": {\"allowedDomains\": [\"user.example\"],"
			      "\"deniedDomains\": [\"never.example\"]}}");
	write_file("p.json", "{\"network\": {\"allowedDomains\": [\"file.example\", "
			     "\"never.example\"]}}");
	CLEANUP_FREE char *path = xasprintf("%s/p.json", dir);

	options_add_rule(&o, OPT_POLICY, path);
	assert_int_equal(ask(&o, "option.example"), CODE_OK);
	assert_int_equal(ask(&o, "user.example"), CODE_OK);
	assert_int_equal(ask(&o, "file.example"), CODE_OK);
	assert_int_equal(ask(&o, "never.example"), CODE_DENIED);
	assert_int_equal(ask(&o, "other.example"), CODE_NOT_LISTED);
	o.no_config = true; /* the user's file is then not read, the named one is */
	assert_int_equal(ask(&o, "user.example"), CODE_NOT_LISTED);
	assert_int_equal(ask(&o, "never.example"), CODE_OK);
	run_options_clear(&o);
}

static void test_an_untrusted_project_only_tightens(void **state)
{
	struct run_options o;

	(void)state;
	run_options_init(&o);
	options_add_rule(&o, OPT_ALLOW, "option.example");
	write_file(user_file, "{\"network\": {\"allowedDomains\": [\"user.example\"]}}");
	write_file(project_file, "{\"network\": {\"allowedDomains\": [\"project.example\"],"
				 "\"deniedDomains\": [\"user.example\"], \"onUnknownHost\": "
				 "\"ask\"}}");
	assert_int_equal(ask(&o, "project.example"), CODE_NOT_LISTED);
	assert_int_equal(ask(&o, "user.example"), CODE_DENIED);
	assert_int_equal(ask(&o, "option.example"), CODE_OK);
	o.trust_project = true; /* from now on, and remembered */
	assert_int_equal(ask(&o, "project.example"), CODE_OK);
	o.trust_project = false;
	assert_int_equal(ask(&o, "project.example"), CODE_OK);
	/* another content is another file */
	write_file(project_file, "{\"network\": {\"allowedDomains\": [\"project2.example\"]}}");
	assert_int_equal(ask(&o, "project2.example"), CODE_NOT_LISTED);
	run_options_clear(&o);
}

/* The command may write the lists: a changed one is not what was trusted. */
static void test_trust_covers_the_lists_that_the_file_names(void **state)
{
	struct run_options o;

	(void)state;
	run_options_init(&o);
	write_file("allow.list", "good.example\n");
	write_file("deny.list", "bad.example\n");
	write_file(project_file, "{\"network\": {\"allowListFiles\": [\"allow.list\"],"
				 "\"denyListFiles\": [\"./deny.list\"]}}");
	assert_int_equal(ask(&o, "good.example"), CODE_NOT_LISTED);
	assert_int_equal(ask(&o, "bad.example"), CODE_DENIED);
	o.trust_project = true;
	assert_int_equal(ask(&o, "good.example"), CODE_OK);
	o.trust_project = false;
	assert_int_equal(ask(&o, "good.example"), CODE_OK);
	write_file("allow.list", "good.example\nevil.example\n");
	assert_int_equal(ask(&o, "evil.example"), CODE_NOT_LISTED);
	assert_int_equal(ask(&o, "good.example"), CODE_NOT_LISTED);
	write_file("allow.list", "good.example\n");
	assert_int_equal(ask(&o, "good.example"), CODE_OK);
	write_file("deny.list", "other.example\n");
	assert_int_equal(ask(&o, "good.example"), CODE_NOT_LISTED);
	write_file("deny.list", "bad.example\n");
	assert_int_equal(ask(&o, "good.example"), CODE_OK);
	run_options_clear(&o);
}

static void test_an_untrusted_project_names_only_lists_of_its_own(void **state)
{
	CLEANUP_FREE char *home = xstrdup(dir);
	CLEANUP_FREE char *link = xasprintf("%s/project/link.list", home);
	CLEANUP_FREE char *target = xasprintf("%s/outside.list", home);
	struct run_options o;

	(void)state;
	run_options_init(&o);
	write_file("outside.list", "secret.example\n");
	write_file("project/inside.list", "bad.example\n");
	assert_int_equal(symlink(target, link), 0);
	(void)snprintf(dir, sizeof(dir), "%s/project", home);
	write_file(project_file, "{\"network\": {\"denyListFiles\": [\"inside.list\"]}}");
	assert_int_equal(ask(&o, "bad.example"), CODE_DENIED);
	write_file(project_file, "{\"network\": {\"denyListFiles\": [\"../outside.list\"]}}");
	assert_false(loads(&o));
	write_file(project_file, "{\"network\": {\"denyListFiles\": [\"link.list\"]}}");
	assert_false(loads(&o));
	o.trust_project = true;
	assert_int_equal(ask(&o, "secret.example"), CODE_DENIED);
	(void)snprintf(dir, sizeof(dir), "%s", home);
	run_options_clear(&o);
}

/* What the command can write must not make a reload fail: then nothing could be revoked. */
static void test_an_untrusted_project_is_read_once(void **state)
{
	static const char *const changed[] = { "{", "{\"network\": {\"deniedDomains\": []}}",
					       NULL };
	CLEANUP_FREE char *list = xasprintf("%s/deny.list", dir);
	CLEANUP_FREE char *file = xasprintf("%s/%s", dir, project_file);
	struct rules first = { .layers = NULL }, next;
	struct run_options o;
	struct error err;

	(void)state;
	run_options_init(&o);
	options_add_rule(&o, OPT_ALLOW, "*.example");
	write_file("deny.list", "bad.example\n");
	write_file(project_file, "{\"network\": {\"denyListFiles\": [\"deny.list\"]}}");
	assert_int_equal(rules_load(&first, &o, dir, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		if (changed[i])
			write_file(project_file, changed[i]);
		(void)unlink(changed[i] ? list : file);
		assert_int_equal(rules_reread(&next, &o, dir, &first, NULL, &err), 0);
		rules_clear(&first); /* what it read lives on */
		first = next;
		assert_int_equal(policy_count(first.policy, LIST_DENY), 1);
	}
	rules_clear(&first);
	/* The twin: the start reads what is there. */
	write_file(project_file, changed[0]);
	assert_false(loads(&o));
	/* One that comes later is as far from being trusted. */
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rules_load(&first, &o, dir, &err), 0);
	write_file(project_file, changed[0]);
	assert_int_equal(rules_reread(&next, &o, dir, &first, NULL, &err), 0);
	rules_clear(&next);
	rules_clear(&first);
	/* What is trusted is read again. */
	write_file("deny.list", "bad.example\n");
	write_file(project_file, "{\"network\": {\"denyListFiles\": [\"deny.list\"]}}");
	o.trust_project = true;
	assert_int_equal(rules_load(&first, &o, dir, &err), 0);
	assert_int_equal(unlink(list), 0);
	assert_int_equal(rules_reread(&next, &o, dir, &first, NULL, &err), 1);
	assert_int_equal(policy_count(next.policy, LIST_DENY), 1); /* as it was */
	rules_clear(&next);
	write_file("deny.list", "bad.example\nworse.example\n");
	assert_int_equal(rules_reread(&next, &o, dir, &first, NULL, &err), 0);
	assert_int_equal(policy_count(next.policy, LIST_DENY), 2);
	rules_clear(&next);
	rules_clear(&first);
	run_options_clear(&o);
}

/* A pipe in the place of a file would hold the start, or a reload, until somebody writes. */
static void test_a_pipe_is_no_settings_file_and_no_list(void **state)
{
	CLEANUP_FREE char *pipe_path = xasprintf("%s/pipe", dir);
	CLEANUP_FREE char *user = xasprintf("%s/%s", dir, user_file);
	struct run_options o;

	(void)state;
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	run_options_init(&o);
	assert_true(loads(&o));
	options_add_rule(&o, OPT_DENY_LIST, pipe_path);
	assert_false(loads(&o));
	run_options_clear(&o);
	run_options_init(&o);
	options_add_rule(&o, OPT_POLICY, pipe_path);
	assert_false(loads(&o));
	run_options_clear(&o);
	run_options_init(&o);
	write_file(project_file, "{\"network\": {\"denyListFiles\": [\"pipe\"]}}");
	assert_false(loads(&o));
	write_file(project_file, "{}");
	assert_true(loads(&o));
	write_file(user_file, "{}");
	assert_int_equal(unlink(user), 0);
	assert_int_equal(mkfifo(user, 0600), 0);
	assert_false(loads(&o));
	run_options_clear(&o);
}

static void test_a_link_to_nothing_is_not_no_file(void **state)
{
	CLEANUP_FREE char *user = xasprintf("%s/%s", dir, user_file);
	CLEANUP_FREE char *config = xasprintf("%s/.config", dir);
	CLEANUP_FREE char *other = xasprintf("%s/other", dir);
	struct run_options o;

	(void)state;
	run_options_init(&o);
	assert_true(loads(&o));
	write_file(user_file, "{}");
	assert_int_equal(unlink(user), 0);
	assert_true(loads(&o));
	assert_int_equal(symlink(other, user), 0);
	assert_false(loads(&o));
	write_file("other", "{}");
	assert_true(loads(&o));
	assert_int_equal(unlink(other), 0);
	assert_int_equal(rename(config, other), 0);
	assert_int_equal(symlink("nowhere", config), 0); /* a directory on the way */
	assert_false(loads(&o));
	assert_int_equal(unlink(config), 0);
	assert_true(loads(&o));
	run_options_clear(&o);
}

static void test_a_project_may_not_loosen_switches(void **state)
{
	struct run_options o;
	struct layers *l;
	struct error err;

	(void)state;
	run_options_init(&o);
	o.trust_project = true;
	write_file(user_file, "{\"network\": {\"strictAllowlist\": true}}");
	write_file(project_file, "{\"network\": {\"strictAllowlist\": false},"
				 "\"filesystem\": {\"disabled\": true}}");
	assert_int_equal(ask(&o, "other.example"), CODE_STRICT);
	l = layers_load(&o, dir, NULL, &err);
	assert_non_null(l);
	assert_int_equal(layers_flag(l, SETTINGS_STRICT), SETTINGS_YES);
	assert_int_equal(layers_flag(l, SETTINGS_FS_DISABLED), SETTINGS_UNSET);
	layers_free(l);
	/* the user's own file may */
	write_file(user_file, "{\"filesystem\": {\"disabled\": true}}");
	l = layers_load(&o, dir, NULL, &err);
	assert_int_equal(layers_flag(l, SETTINGS_FS_DISABLED), SETTINGS_YES);
	layers_free(l);
	run_options_clear(&o);
}

static void test_broken_or_missing_files_stop_the_start(void **state)
{
	struct run_options o;

	(void)state;
	run_options_init(&o);
	assert_true(loads(&o)); /* no file at all is fine */
	write_file(user_file, "{\"network\": {\"allowedDomains\": [\"*.com\"]}}");
	assert_false(loads(&o));
	write_file(user_file, "{\"network\": ");
	assert_false(loads(&o));
	write_file(user_file, "{}");
	assert_true(loads(&o));
	options_add_rule(&o, OPT_POLICY, "/nonexistent/settings.json");
	assert_false(loads(&o));
	run_options_clear(&o);
}

static void test_paths_are_made_absolute(void **state)
{
	struct run_options o;
	struct layers *l;
	struct error err;
	const char *const *v;
	size_t n;
	CLEANUP_FREE char *inside = xasprintf("%s/there", dir);
	CLEANUP_FREE char *home = xasprintf("%s/.aws", dir);
	const struct passwd *pw = getpwuid(geteuid());
	CLEANUP_FREE char *at_passwd = pw ? xasprintf("%s/.aws", pw->pw_dir) : NULL;

	(void)state;
	run_options_init(&o);
	write_file("there", "");
	write_file(user_file, "{\"filesystem\": {\"allowWrite\": [\"~/there\", \"missing\"],"
			      "\"denyRead\": [\"~/.aws\"]}}");
	l = layers_load(&o, dir, NULL, &err);
	assert_non_null(l);
	v = layers_list(l, SETTINGS_ALLOW_WRITE, &n);
	assert_int_equal(n, 1); /* a grant needs its path, a denial does not */
	assert_string_equal(v[0], inside);
	v = layers_list(l, SETTINGS_DENY_READ, &n);
	assert_string_equal(v[0], home);
	/* in the home directory of the user database as well, which is not HOME here */
	assert_int_equal(n, at_passwd ? 2 : 1);
	if (at_passwd)
		assert_string_equal(v[1], at_passwd);
	layers_free(l);
	run_options_clear(&o);
}

/* Settings that are strict lock the list: --only picks from it, and adds nothing to it. */
static void test_only_narrows_a_strict_allow_list(void **state)
{
	struct run_options o;

	(void)state;
	run_options_init(&o);
	options_add_rule(&o, OPT_ONLY, "a.example");
	options_add_rule(&o, OPT_ONLY, "own.example");
	write_file(user_file, "{\"network\": {\"allowedDomains\": [\"a.example\", "
			      "\"b.example\"]}}");
	assert_int_equal(ask(&o, "a.example"), CODE_OK);
	assert_int_equal(ask(&o, "own.example"), CODE_OK);
	assert_int_equal(ask(&o, "b.example"), CODE_ONLY);
	write_file(user_file, "{\"network\": {\"allowedDomains\": [\"a.example\", "
			      "\"b.example\"], \"strictAllowlist\": true}}");
	assert_int_equal(ask(&o, "a.example"), CODE_OK);
	assert_int_equal(ask(&o, "own.example"), CODE_STRICT);
	assert_int_equal(ask(&o, "b.example"), CODE_ONLY);
	run_options_clear(&o);
}

static void test_trust_is_by_path_and_content(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(trust_check("/a/b", "x", 1, &err), 0);
	assert_int_equal(trust_remember("/a/b", "x", 1, &err), 0);
	assert_int_equal(trust_remember("/a/c", "y", 1, &err), 0);
	assert_int_equal(trust_check("/a/b", "x", 1, &err), 1);
	assert_int_equal(trust_check("/a/b", "y", 1, &err), 0);
	assert_int_equal(trust_check("/a/c", "x", 1, &err), 0);
	assert_int_equal(trust_check("/a", "x", 1, &err), 0);
	assert_int_equal(trust_remember("/a/b", "z", 1, &err), 0); /* replaces, keeps the other */
	assert_int_equal(trust_check("/a/b", "x", 1, &err), 0);
	assert_int_equal(trust_check("/a/b", "z", 1, &err), 1);
	assert_int_equal(trust_check("/a/c", "y", 1, &err), 1);
	assert_int_equal(trust_remember("/a/\nb", "z", 1, &err), -1);
}

/* What the rules of a reading while the command runs say. */
static enum code says(const struct rules *r, const char *host)
{
	struct target t = { .via = VIA_CONNECT };
	struct decision d;

	assert_int_equal(target_parse_authority(host, strlen(host), 443, &t), TARGET_OK);
	policy_decide(r->policy, &t, &d);
	return d.verdict == VERDICT_ALLOW ? CODE_OK : d.code;
}

/* Reads again, in place of what is in force. Return: as rules_reread(). */
static int reread(struct rules *r, const struct run_options *o, const char *blames)
{
	struct rules next = { .layers = NULL };
	struct error err = { 0 };
	int rc = rules_reread(&next, o, dir, r, NULL, &err);

	if (rc < 0)
		return rc;
	rules_clear(r);
	*r = next;
	if (blames && !strstr(err.msg, blames))
		fail_msg("%s", err.msg);
	return rc;
}

/* A list that has changed is left alone for as long as that takes. */
static void rest(struct rules *r, const struct run_options *o)
{
	assert_in_range(r->rest_ms, 1, LISTSTAMP_REST_MS);
	(void)usleep(r->rest_ms * 1000);
	assert_int_equal(reread(r, o, NULL), 0);
	assert_int_equal(r->rest_ms, 0);
}

static void test_a_broken_file_holds_no_other_up(void **state)
{
	static const char user[] = "{\"network\": {\"allowedDomains\": [\"user.example\"]}}";
	static const char *const broken[] = {
		"{",
		"",
		"{\"network\": {\"allowedDomains\": [\"*.*.x\"]}}",
		"{\"nework\": {}}",
		"{\"network\": {\"onUnknownHost\": \"allow\"}}",
		"{\"network\": {\"forwardRecordTypes\": [\"A\"]}}",
		"{\"network\": {\"denyListFiles\": [\"missing.list\"]}}",
	};
	CLEANUP_FREE char *path = xasprintf("%s/p.json", dir);
	struct rules r = { .layers = NULL };
	struct run_options o;
	struct error err;

	(void)state;
	run_options_init(&o);
	options_add_rule(&o, OPT_POLICY, path);
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		write_file(user_file, user);
		write_file("p.json", "{\"network\": {\"allowedDomains\": [\"a.example\", "
				     "\"b.example\"]}}");
		assert_int_equal(rules_load(&r, &o, dir, &err), 0);
		write_file(user_file, broken[i]);
		assert_int_equal(reread(&r, &o, i < 6 ? user_file : "missing.list"), 1);
		write_file("p.json", "{\"network\": {\"allowedDomains\": [\"b.example\", "
				     "\"c.example\"]}}");
		assert_int_equal(reread(&r, &o, NULL), 1);
		assert_int_equal(says(&r, "user.example"), i < 6 ? CODE_OK : CODE_NOT_LISTED);
		assert_int_equal(says(&r, "a.example"), CODE_NOT_LISTED);
		assert_int_equal(says(&r, "b.example"), CODE_OK);
		assert_int_equal(says(&r, "c.example"), CODE_NOT_LISTED);
		write_file(user_file, user);
		assert_int_equal(reread(&r, &o, NULL), 0);
		assert_int_equal(says(&r, "user.example"), CODE_OK);
		assert_int_equal(says(&r, "c.example"), CODE_OK);
		rules_clear(&r);
	}
	run_options_clear(&o);
}

/* Of a list that was broken in its third line, the first two have not been taken. */
static void test_a_broken_list_says_what_it_said(void **state)
{
	CLEANUP_FREE char *allow = xasprintf("%s/allow.list", dir);
	CLEANUP_FREE char *deny = xasprintf("%s/deny.list", dir);
	struct rules r = { .layers = NULL };
	struct run_options o;
	struct error err;

	(void)state;
	run_options_init(&o);
	options_add_rule(&o, OPT_ALLOW_LIST, allow);
	options_add_rule(&o, OPT_DENY_LIST, deny);
	write_file("allow.list", "a.example\nb.example\n");
	write_file("deny.list", "*.bad.example\n");
	assert_int_equal(rules_load(&r, &o, dir, &err), 0);
	write_file("allow.list", "x.example\na.example\nb.example c.example\n");
	assert_int_equal(reread(&r, &o, "allow.list:3"), 1);
	assert_int_equal(policy_count(r.policy, LIST_ALLOW), 2);
	assert_int_equal(says(&r, "x.example"), CODE_NOT_LISTED);
	assert_int_equal(says(&r, "a.example"), CODE_OK);
	assert_int_equal(unlink(deny), 0);
	assert_int_equal(reread(&r, &o, NULL), 1);
	assert_int_equal(says(&r, "y.bad.example"), CODE_DENIED);
	write_file("deny.list", "b.example\n"); /* one is well again, and tightens */
	assert_int_equal(reread(&r, &o, NULL), 1);
	assert_int_equal(says(&r, "b.example"), CODE_DENIED);
	assert_int_equal(says(&r, "a.example"), CODE_OK);
	write_file("allow.list", "x.example\n");
	assert_int_equal(reread(&r, &o, NULL), 0);
	assert_int_equal(says(&r, "x.example"), CODE_NOT_LISTED); /* it may be on its way still */
	assert_int_equal(says(&r, "a.example"), CODE_NOT_LISTED);
	rest(&r, &o);
	assert_int_equal(says(&r, "x.example"), CODE_OK);
	assert_int_equal(says(&r, "a.example"), CODE_NOT_LISTED);
	rules_clear(&r);
	run_options_clear(&o);
}

/* A project that was trusted stays what it was while one of its lists cannot be read. */
static void test_a_trusted_project_without_its_list(void **state)
{
	CLEANUP_FREE char *list = xasprintf("%s/allow.list", dir);
	struct rules r = { .layers = NULL };
	struct run_options o;
	struct error err;

	(void)state;
	run_options_init(&o);
	write_file("allow.list", "good.example\n");
	write_file(project_file, "{\"network\": {\"allowListFiles\": [\"allow.list\"]}}");
	write_file(user_file, "{\"network\": {\"allowedDomains\": [\"user.example\"]}}");
	o.trust_project = true;
	assert_int_equal(rules_load(&r, &o, dir, &err), 0);
	assert_int_equal(unlink(list), 0);
	write_file(user_file, "{\"network\": {\"allowedDomains\": [\"new.example\"]}}");
	for (int i = 0; i < 2; i++) { /* what is kept is kept on */
		assert_int_equal(reread(&r, &o, "allow.list"), 1);
		assert_int_equal(says(&r, "good.example"), CODE_OK);
		assert_int_equal(says(&r, "user.example"), CODE_NOT_LISTED);
		assert_int_equal(says(&r, "new.example"), CODE_NOT_LISTED);
	}
	write_file("allow.list", "good.example\n");
	assert_int_equal(reread(&r, &o, NULL), 0);
	rest(&r, &o);
	assert_int_equal(says(&r, "new.example"), CODE_OK);
	rules_clear(&r);
	run_options_clear(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lists_of_all_layers_add_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_untrusted_project_only_tightens, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_link_to_nothing_is_not_no_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_project_may_not_loosen_switches, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_broken_or_missing_files_stop_the_start, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_paths_are_made_absolute, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_narrows_a_strict_allow_list, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_trust_is_by_path_and_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trust_covers_the_lists_that_the_file_names,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_untrusted_project_names_only_lists_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_untrusted_project_is_read_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_broken_file_holds_no_other_up, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_broken_list_says_what_it_said, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_trusted_project_without_its_list, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_pipe_is_no_settings_file_and_no_list, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
