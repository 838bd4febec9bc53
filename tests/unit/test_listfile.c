/* Domain list files: lines, hosts lines, and what stops the start. */
#include "policy/listfile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "policy/ruleset.h"

#define LIT(s) s, sizeof(s) - 1

static struct policy *parse(const char *text, size_t len)
{
	struct policy *p = policy_new();
	struct error err;

	if (listfile_parse(p, LIST_DENY, text, len, "a.list", &err))
		fail_msg("%s", err.msg);
	return p;
}

static const struct rule *rule_for(const struct policy *p, const char *host)
{
	struct target t = { .via = VIA_CONNECT };
	struct decision d;

	assert_int_equal(target_parse_authority(host, strlen(host), 443, &t), TARGET_OK);
	policy_decide(p, &t, &d);
	return d.code == CODE_DENIED ? d.rule : NULL;
}

static void test_parse_lines_and_comments(void **state)
{
	struct policy *p = parse(LIT("# a list\n"
				     "\n"
				     "one.example\n"
				     "  *.two.example:443  # why\n"
				     "\t# indented\n"
				     "three.example#x\n"
				     "10.0.0.0/8\n"
				     "last.example"));
	const struct rule *r;

	(void)state;
	assert_int_equal(policy_count(p, LIST_DENY), 5);
	r = rule_for(p, "a.two.example");
	assert_non_null(r);
	assert_string_equal(r->text, "*.two.example:443");
	assert_string_equal(r->file, "a.list");
	assert_int_equal(r->line, 4);
	assert_non_null(rule_for(p, "three.example"));
	assert_int_equal(rule_for(p, "last.example")->line, 8);
	assert_null(rule_for(p, "four.example"));
	policy_free(p);
}

/* H-049: CRLF and a byte order mark are fine. */
static void test_parse_crlf_and_bom(void **state)
{
	struct policy *p = parse(LIT("\xef\xbb\xbfone.example\r\n\r\ntwo.example # x\r\n"));

	(void)state;
	assert_int_equal(policy_count(p, LIST_DENY), 2);
	assert_int_equal(rule_for(p, "one.example")->line, 1);
	assert_int_equal(rule_for(p, "two.example")->line, 3);
	policy_free(p);
}

static void test_parse_hosts_lines(void **state)
{
	struct policy *p = parse(LIT("127.0.0.1 localhost localhost.localdomain\n"
				     "::1 ip6-localhost ip6-loopback\n"
				     "fe80::1%lo0 localhost\n"
				     "255.255.255.255 broadcasthost\n"
				     "ff02::1 ip6-allnodes\n"
				     "0.0.0.0 0.0.0.0\n"
				     "0.0.0.0 ads.example\n"
				     "0.0.0.0\ttracker.example  Other.Example.\t# two\n"
				     "192.0.2.1\n"));

	(void)state;
	assert_int_equal(policy_count(p, LIST_DENY), 4);
	assert_non_null(rule_for(p, "ads.example"));
	assert_non_null(rule_for(p, "tracker.example"));
	assert_int_equal(rule_for(p, "other.example")->line, 8);
	assert_non_null(rule_for(p, "192.0.2.1")); /* an address alone is an entry */
	policy_free(p);
}

static void test_parse_names_file_and_line(void **state)
{
	static const struct {
		const char *p;
		size_t n;
		const char *msg;
	} row[] = {
		{ LIT("ok.example\nhttps://x.example/\n"),
		  "a.list:2: \"https://x.example/\": a URL" },
		{ LIT("ok.example\r\n\r\nbad..example\r\n"), "a.list:3: \"bad..example\"" },
		{ LIT("one.example two.example\n"), "a.list:1: more than one entry" },
		{ LIT("0.0.0.0 ok.example bad_\xc3\xa4.example\n"),
		  "a.list:1: a line of a hosts file" },
		{ LIT("0.0.0.0 *.example\n"), "a.list:1: a line of a hosts file" },
		{ LIT("ok.example\na\0b.example\n"), "a.list:2: a NUL byte" },
		{ LIT("\xff\xfe"
		      "a\0.\0b\0\n\0"),
		  "a.list:1: a NUL byte" },
		{ LIT("ok.example\rnext.example\n"), "a.list:1: " },
		{ LIT("\xef\xbb\xbf\xef\xbb\xbfok.example\n"), "a.list:1: " },
		{ LIT("||ads.example^\n"), "a.list:1: \"||ads.example^\"" },
		{ LIT("ok.example:0\n"), "a.list:1: \"ok.example:0\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct policy *p = policy_new();
		struct error err;

		if (!listfile_parse(p, LIST_DENY, row[i].p, row[i].n, "a.list", &err))
			fail_msg("row %zu is taken", i);
		if (strncmp(err.msg, row[i].msg, strlen(row[i].msg)) != 0)
			fail_msg("row %zu: %s", i, err.msg);
		policy_free(p);
	}
}

static void test_parse_bounds_lines(void **state)
{
	static char text[LISTFILE_LINE_MAX + 3];
	struct policy *p = policy_new();
	struct error err;

	(void)state;
	memset(text, ' ', sizeof(text));
	text[0] = 'a';
	text[LISTFILE_LINE_MAX] = '\n';
	assert_int_equal(listfile_parse(p, LIST_DENY, text, LISTFILE_LINE_MAX + 1, "f", &err), 0);
	text[LISTFILE_LINE_MAX] = ' ';
	assert_int_equal(listfile_parse(p, LIST_DENY, text, LISTFILE_LINE_MAX + 1, "f", &err), -1);
	text[1] = '#'; /* a comment may be as long as it likes */
	assert_int_equal(listfile_parse(p, LIST_DENY, text, LISTFILE_LINE_MAX + 1, "f", &err), 0);
	policy_free(p);
}

static void test_parse_obeys_the_list(void **state)
{
	struct policy *p = policy_new();
	struct error err;

	(void)state;
	assert_int_equal(listfile_parse(p, LIST_DENY, LIT("*.com\n"), "f", &err), 0);
	assert_int_equal(listfile_parse(p, LIST_ALLOW, LIT("*.com\n"), "f", &err), -1);
	assert_int_equal(listfile_parse(p, LIST_ALLOW, LIT("*.example.com\n"), "f", &err), 0);
	assert_int_equal(policy_count(p, LIST_ALLOW), 1);
	policy_free(p);
}

static char *temp_dir(void)
{
	char *dir = xstrdup("/tmp/test_listfile.XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static void test_load(void **state)
{
	CLEANUP_FREE char *dir = temp_dir();
	CLEANUP_FREE char *path = xasprintf("%s/a.list", dir);
	struct policy *p = policy_new();
	struct error err;
	FILE *f = fopen(path, "we");

	(void)state;
	assert_non_null(f);
	assert_int_equal(listfile_load(p, LIST_DENY, path, &err), -1); /* still empty */
	assert_non_null(strstr(err.msg, "empty"));
	assert_true(fputs("one.example\n", f) >= 0);
	assert_int_equal(fflush(f), 0);
	assert_int_equal(listfile_load(p, LIST_DENY, path, &err), 0);
	assert_string_equal(rule_for(p, "one.example")->file, path);
	assert_true(fputs("two..example\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(listfile_load(p, LIST_DENY, path, &err), -1);
	assert_non_null(strstr(err.msg, "a.list:2: "));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(listfile_load(p, LIST_DENY, path, &err), -1);
	assert_int_equal(err.code, ENOENT);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(listfile_load(p, LIST_DENY, dir, &err), -1);
	assert_int_equal(err.code, EISDIR);
	assert_int_equal(rmdir(dir), 0);
	policy_free(p);
}

/* Lines and comments across the blocks in which a file is read. */
static void test_load_in_blocks(void **state)
{
	CLEANUP_FREE char *dir = temp_dir();
	CLEANUP_FREE char *path = xasprintf("%s/a.list", dir);
	struct policy *p = policy_new();
	const unsigned entries = 30000;
	struct error err;
	FILE *f = fopen(path, "we");

	(void)state;
	assert_non_null(f);
	assert_true(fputs("\xef\xbb\xbf# a list\n", f) >= 0);
	for (unsigned i = 0; i < entries; i++)
		assert_true(fprintf(f, "0.0.0.0 h%u.example # number %u\n", i, i) > 0);
	assert_true(fputs("last.example", f) >= 0);
	assert_int_equal(fflush(f), 0);
	assert_true(ftell(f) > 4 * (long)LISTFILE_BLOCK);
	assert_int_equal(listfile_load(p, LIST_DENY, path, &err), 0);
	assert_int_equal(policy_count(p, LIST_DENY), entries + 1);
	for (unsigned i = 0; i < entries; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "h%u.example", i);
		assert_int_equal(rule_for(p, host)->line, i + 2);
	}
	assert_int_equal(rule_for(p, "last.example")->line, entries + 2);
	assert_true(fputs("\nbad..example\n", f) >= 0);
	assert_int_equal(fflush(f), 0);
	assert_int_equal(listfile_load(p, LIST_DENY, path, &err), -1);
	assert_non_null(strstr(err.msg, "a.list:30003: \"bad..example\""));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	policy_free(p);
}

/* What is promised of the largest lists that there are; how long it takes tests/bench says. */
static void test_load_a_million_entries(void **state)
{
	const unsigned entries = 1000000;
	struct policy *p = policy_new();
	FILE *f = tmpfile();
	struct error err;
	char host[64];

	(void)state;
	assert_non_null(f);
	for (unsigned i = 0; i < entries; i++)
		assert_true(fprintf(f, "ads%06u.tracker%u.example\n", i, i % 1000) > 0);
	assert_int_equal(fflush(f), 0);
	rewind(f);
	assert_int_equal(listfile_read(p, LIST_DENY, fileno(f), "f", &err), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(policy_count(p, LIST_DENY), entries);
	assert_true(ruleset_memory(policy_ruleset(p, LIST_DENY)) <= 64u << 20);
	for (unsigned i = 0; i < entries; i += entries - 1) {
		(void)snprintf(host, sizeof(host), "ads%06u.tracker%u.example", i, i % 1000);
		assert_int_equal(rule_for(p, host)->line, i + 1);
	}
	assert_null(rule_for(p, "ads000001.tracker2.example"));
	policy_free(p);
}

static void test_load_refuses_a_line_without_end(void **state)
{
	static char block[LISTFILE_BLOCK];
	FILE *f = tmpfile();
	struct policy *p = policy_new();
	struct error err;

	(void)state;
	assert_non_null(f);
	memset(block, '#', sizeof(block));
	assert_true(fputs("one.example\n", f) >= 0);
	assert_int_equal(fwrite(block, 1, sizeof(block) - 1, f), sizeof(block) - 1);
	assert_int_equal(fflush(f), 0);
	rewind(f);
	assert_int_equal(listfile_read(p, LIST_DENY, fileno(f), "f", &err), 0);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	assert_int_equal(fwrite(block, 1, sizeof(block), f), sizeof(block));
	assert_int_equal(fflush(f), 0);
	rewind(f);
	assert_int_equal(listfile_read(p, LIST_DENY, fileno(f), "f", &err), -1);
	assert_non_null(strstr(err.msg, "f:2: a line without end"));
	assert_int_equal(fclose(f), 0);
	policy_free(p);
}

static void test_load_from_a_pipe(void **state)
{
	struct policy *p = policy_new();
	struct error err;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(fd_write_all(fd[1], "one.example\n", 12), 0);
	assert_int_equal(close(fd[1]), 0);
	assert_int_equal(listfile_read(p, LIST_DENY, fd[0], "pipe", &err), 0);
	assert_int_equal(policy_count(p, LIST_DENY), 1);
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(listfile_read(p, LIST_DENY, fd[0], "closed", &err), -1);
	assert_int_equal(err.code, EBADF);
	policy_free(p);
}

static void test_load_unreadable(void **state)
{
	CLEANUP_FREE char *dir = temp_dir();
	CLEANUP_FREE char *path = xasprintf("%s/a.list", dir);
	struct policy *p = policy_new();
	struct error err;
	FILE *f = fopen(path, "we");

	(void)state;
	assert_non_null(f);
	assert_true(fputs("one.example\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0), 0);
	if (geteuid() == 0) /* root reads everything; the twin of test_load() then */
		assert_int_equal(listfile_load(p, LIST_DENY, path, &err), 0);
	else {
		assert_int_equal(listfile_load(p, LIST_DENY, path, &err), -1);
		assert_int_equal(err.code, EACCES);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_lines_and_comments),
		cmocka_unit_test(test_parse_crlf_and_bom),
		cmocka_unit_test(test_parse_hosts_lines),
		cmocka_unit_test(test_parse_names_file_and_line),
		cmocka_unit_test(test_parse_bounds_lines),
		cmocka_unit_test(test_parse_obeys_the_list),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_load_in_blocks),
		cmocka_unit_test(test_load_a_million_entries),
		cmocka_unit_test(test_load_refuses_a_line_without_end),
		cmocka_unit_test(test_load_from_a_pipe),
		cmocka_unit_test(test_load_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
