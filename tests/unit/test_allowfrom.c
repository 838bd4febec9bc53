#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/allowfrom.h"

static void collect(void *arg, const struct target *t)
{
	char text[TARGET_TEXT_MAX];
	char *all = arg;

	(void)strcat(strcat(all, target_format(t, text)), " ");
}

static void expect(const char *text, enum allowfrom_words words, const char *want)
{
	char all[1024] = "";

	allowfrom_scan(text, words, collect, all);
	assert_string_equal(all, want);
}

static void test_urls_give_host_and_port(void **state)
{
	(void)state;
	expect("https://reg.example.com/npm/\n", ALLOWFROM_URLS, "reg.example.com:443 ");
	expect("http://a.example http://b.example:8080/x?y\nhttps://[2a01::1]/", ALLOWFROM_URLS,
	       "a.example:80 b.example:8080 ");
	expect("global.index-url='https://user:s3@p.example/simple'\n", ALLOWFROM_URLS,
	       "p.example:443 ");
	expect("index = \"sparse+https://c.example/i/\"", ALLOWFROM_URLS, "c.example:443 ");
	expect("https://G.Example,direct", ALLOWFROM_HOSTS, "g.example:443 ");
}

static void test_git_remotes(void **state)
{
	(void)state;
	expect("remote.origin.url git@g.example:o/r.git\n"
	       "remote.up.url https://h.example/o/r\n"
	       "remote.s.url ssh://git@i.example:2222/r\n"
	       "remote.d.url git://j.example/r\n"
	       "remote.l.url /srv/r.git\nremote.k.url ../r\nremote.f.url file:///srv/r\n",
	       ALLOWFROM_REMOTES, "g.example:22 h.example:443 i.example:2222 j.example:9418 ");
}

static void test_bare_names_only_where_they_are_meant(void **state)
{
	(void)state;
	expect("https://p.example,direct\nsum.example\noff\n", ALLOWFROM_HOSTS,
	       "p.example:443 sum.example:443 ");
	expect("sum.example\nundefined\nnull\n", ALLOWFROM_URLS, "");
}

static void test_what_is_no_host_is_left_out(void **state)
{
	(void)state;
	expect("https:// https://a..b/ https://*.x.example/ https://a.example:0/ ftp://f.example "
	       "https://user@ @: :// x@:y",
	       ALLOWFROM_REMOTES, "");
	/* the scope of a registry is no user of a host */
	expect("@a:registry = \"https://r.example/\"", ALLOWFROM_URLS, "r.example:443 ");
	expect("@a:registry user@h.example:x", ALLOWFROM_HOSTS, "");
}

static void test_no_place_of_this_machine_is_taken(void **state)
{
	static const char *const no[] = {
		"127.0.0.1:18081",
		"[::1]:80",
		"0.0.0.0:80",
		"169.254.169.254:80",
		"169.254.1.1:80",
		"10.0.0.1:80",
		"192.168.1.1:80",
		"100.64.0.1:80",
		"[fd00::1]:80",
		"[fe80::1]:80",
		"[64:ff9b::7f00:1]:80",
		"198.18.0.1:80",
		"168.63.129.16:80",
		"45.33.32.2:80",
		"[::ffff:45.33.32.2]:80",
		"localhost:80",
		"x.localhost:18081",
		"ip6-loopback:80",
		"metadata.google.internal:80",
	};
	static const char *const yes[] = { "51.15.10.1:80", "[2a01:4f8:10::1]:443",
					   "good.example:80", "localhost.example:80" };
	struct addr mine = { .family = AF_INET, .bytes = { 45, 33, 32, 2 } };
	const struct addr_set own = { .v = &mine, .n = 1 };
	struct target t = { .via = VIA_CONNECT };

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		assert_int_equal(target_parse_authority(no[i], strlen(no[i]), 0, &t), TARGET_OK);
		if (allowfrom_may(&t, &own))
			fail_msg("%s", no[i]);
	}
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		assert_int_equal(target_parse_authority(yes[i], strlen(yes[i]), 0, &t), TARGET_OK);
		assert_true(allowfrom_may(&t, &own));
	}
}

static void test_tools_are_known(void **state)
{
	(void)state;
	assert_true(allowfrom_check("npm"));
	assert_true(allowfrom_check("git"));
	assert_false(allowfrom_check("np"));
	assert_false(allowfrom_check(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls_give_host_and_port),
		cmocka_unit_test(test_git_remotes),
		cmocka_unit_test(test_bare_names_only_where_they_are_meant),
		cmocka_unit_test(test_what_is_no_host_is_left_out),
		cmocka_unit_test(test_no_place_of_this_machine_is_taken),
		cmocka_unit_test(test_tools_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
