/*
 * test_upstream.c - the parent proxy: its URL, the environment, NO_PROXY, the handshakes
 *
 * CONFORMANCE F: the numbers stand beside the cases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proxy/upstream.h"

/* ---- URL */

static const struct {
	const char *text, *at, *basic;
	enum upstream_scheme scheme;
} good[] = {
	{ "http://proxy.example:3128", "proxy.example:3128", "", UPSTREAM_HTTP },
	{ "proxy.example:3128", "proxy.example:3128", "", UPSTREAM_HTTP }, /* 82: without scheme */
	{ "HTTP://Proxy.Example/", "proxy.example:80", "", UPSTREAM_HTTP },
	{ "http://192.0.2.1", "192.0.2.1:80", "", UPSTREAM_HTTP },
	{ "http://[2001:db8::1]:8080", "[2001:db8::1]:8080", "", UPSTREAM_HTTP },
	{ "https://proxy.example", "proxy.example:443", "", UPSTREAM_HTTP },
	{ "HTTPS://u@[::1]:8443", "[::1]:8443", "Basic dTo=", UPSTREAM_HTTP },
	{ "socks5h://proxy.example", "proxy.example:1080", "", UPSTREAM_SOCKS5 },
	{ "socks5h://u:p@proxy.example:9", "proxy.example:9", "", UPSTREAM_SOCKS5 },
	{ "http://user:pass@proxy.example", "proxy.example:80", "Basic dXNlcjpwYXNz",
	  UPSTREAM_HTTP },
	{ "http://u@proxy.example", "proxy.example:80", "Basic dTo=", UPSTREAM_HTTP },
	{ "http://a%40b:c%3Ad%25@proxy.example", "proxy.example:80",
	  "Basic YUBiOmM6ZCU=", UPSTREAM_HTTP },
	/* 87: malformed escapes stand for themselves */
	{ "http://a%:b%4@proxy.example", "proxy.example:80", "Basic YSU6YiU0", UPSTREAM_HTTP },
	{ "http://a:p@ss@proxy.example", "proxy.example:80", "Basic YTpwQHNz", UPSTREAM_HTTP },
};

static void test_parse_takes_urls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		char at[TARGET_TEXT_MAX];
		struct upstream up;
		struct error err = { 0 };

		if (upstream_parse(good[i].text, &up, &err) < 0)
			fail_msg("%s: %s", good[i].text, err.msg);
		assert_string_equal(target_format(&up.at, at), good[i].at);
		assert_string_equal(up.basic, good[i].basic);
		assert_int_equal(up.scheme, good[i].scheme);
		assert_int_equal(up.tls, strncasecmp(good[i].text, "https://", 8) == 0);
	}
}

static void test_parse_refuses_what_it_cannot_do(void **state)
{
	static const char *const bad[] = {
		"",
		"http://",
		"socks5://secret:secret@proxy.example",
		"socks4://proxy.example",
		"ftp://proxy.example",
		"http://proxy.example:0",
		"http://proxy.example:65536",
		"http://proxy.example:8x",
		"http://proxy.example/secret",
		"http://proxy .example",
		"http://secret%3Asecret:secret@proxy.example",
		"http://:secret@proxy.example",
		"http://proxy.example\r\nX: y",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct upstream up;
		struct error err = { 0 };

		if (upstream_parse(bad[i], &up, &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_null(strstr(err.msg, "secret"));
	}
}

static void test_parse_tells_a_broken_url_from_a_bad_port(void **state)
{
	static const struct {
		const char *text, *words;
	} row[] = {
		{ "http:/proxy.example", "needs [SCHEME://]HOST[:PORT]" },
		{ "HTTPS:proxy.example", "needs [SCHEME://]HOST[:PORT]" },
		{ "socks5h:/proxy.example:1080", "needs [SCHEME://]HOST[:PORT]" },
		{ "http://proxy.example:8x", "bad port" },
		{ "proxy.example:8x", "bad port" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct upstream up;
		struct error err = { 0 };

		assert_int_equal(upstream_parse(row[i].text, &up, &err), -1);
		if (!strstr(err.msg, row[i].words))
			fail_msg("%s: %s", row[i].text, err.msg);
	}
}

static void test_parse_bounds_credentials(void **state)
{
	char text[700], word[UPSTREAM_CREDENTIAL_MAX + 2];
	struct upstream up;
	struct error err;

	(void)state;
	memset(word, 'a', sizeof(word));
	word[UPSTREAM_CREDENTIAL_MAX] = '\0';
	(void)snprintf(text, sizeof(text), "http://%s:%s@proxy.example", word, word);
	assert_int_equal(upstream_parse(text, &up, &err), 0);
	assert_int_equal(up.user_n, UPSTREAM_CREDENTIAL_MAX);
	(void)snprintf(text, sizeof(text), "http://%sa:x@proxy.example", word);
	assert_int_equal(upstream_parse(text, &up, &err), -1);
}

/* ---- environment */

static const char *const *environment; /* pairs, NULL at the end */
static unsigned notes;

static const char *lookup(const char *name)
{
	for (const char *const *p = environment; *p; p += 2) {
		if (strcmp(p[0], name) == 0)
			return p[1];
	}
	return NULL;
}

static void note(void *arg, const char *text)
{
	(void)arg;
	assert_null(strstr(text, "secret"));
	notes++;
}

/* The parent's host for a target, "" for direct. */
static const char *parent_for(const struct upstreams *u, const char *target, enum via via)
{
	static struct hostname host;
	struct target t = { .via = via };
	const struct upstream *up;

	assert_int_equal(target_parse_authority(target, strlen(target), 443, &t), TARGET_OK);
	up = upstreams_for(u, &t);
	if (!up)
		return "";
	host = up->at.host;
	return host.s;
}

#define ENV(...)                                                              \
	(environment = (const char *const[]){ __VA_ARGS__, NULL }, notes = 0, \
	 upstreams_env(lookup, note, NULL))

static void test_env_82_which_variable_counts(void **state)
{
	struct upstreams *u;

	(void)state;
	u = ENV("http_proxy", "http://lower.example", "HTTP_PROXY", "http://upper.example");
	assert_string_equal(parent_for(u, "t.example", VIA_CONNECT), "lower.example");
	assert_string_equal(parent_for(u, "t.example", VIA_HTTP), "lower.example");
	upstreams_free(u);
	/* plain HTTP does not fall back to HTTPS_PROXY */
	u = ENV("HTTPS_PROXY", "http://tls.example");
	assert_string_equal(parent_for(u, "t.example", VIA_SOCKS5), "tls.example");
	assert_string_equal(parent_for(u, "t.example", VIA_HTTP), "");
	upstreams_free(u);
	u = ENV("ALL_PROXY", "socks5h://all.example", "http_proxy", "http://http.example");
	assert_string_equal(parent_for(u, "t.example", VIA_CAPTURE), "all.example");
	assert_string_equal(parent_for(u, "t.example", VIA_HTTP), "http.example");
	upstreams_free(u);
	/* ignored with a note */
	u = ENV("https_proxy", "socks5://x:secret@old.example", "HTTP_PROXY", "ok.example:8080");
	assert_int_equal(notes, 1);
	assert_string_equal(parent_for(u, "t.example", VIA_CONNECT), "ok.example");
	upstreams_free(u);
	assert_null(ENV("https_proxy", "", "HTTP_PROXY", ""));
	assert_null(ENV("https_proxy", "ftp://x:secret@tls.example"));
	assert_int_equal(notes, 1);
	assert_null(ENV("NO_PROXY", "*"));
}

static const struct {
	const char *list, *target;
	bool direct;
} no_proxy[] = {
	{ "foo.com", "foo.com", true },
	{ "foo.com", "sub.foo.com", true },
	{ "foo.com", "xfoo.com", false },
	{ "foo.com", "foo.com.evil.example", false },
	{ ".foo.com", "sub.foo.com", true },
	{ ".foo.com", "notfoo.com", false },
	{ "*.foo.com", "sub.foo.com", true },
	{ "FOO.com", "foo.COM", true },
	{ "foo.com:8080", "foo.com", true }, /* the port is ignored */
	{ "a.example, foo.com  b.example", "foo.com", true },
	{ "a.example,,", "foo.com", false },
	{ "*", "anything.example", true },
	{ "*", "192.0.2.1", true },
	{ "10.0.0.0/8", "10.9.8.7", true },
	{ "10.1.2.3/8", "10.9.8.7", true },
	{ "10.0.0.0/8", "11.0.0.1", false },
	{ "10.0.0.0/8", "ten.example", false },
	{ "10.0.0.0/", "192.0.2.1", false }, /* malformed: ignored, never everything */
	{ "10.0.0.0/33", "10.0.0.1", false },
	{ "/0", "192.0.2.1", false },
	{ "0.0.0.0/0", "192.0.2.1", true },
	{ "192.0.2.7", "192.0.2.7", true },
	{ "192.0.2.7:80", "192.0.2.7", true },
	{ "192.0.2.7", "192.0.2.70", false },
	{ "2001:db8::/32", "[2001:db8::5]", true },
	{ "2001:db8::5", "[2001:db8:0::5]", true },
	{ "[2001:db8::5]:443", "[2001:db8::5]", true },
	{ "2001:db8::/32", "[2001:db9::5]", false },
};

static void test_env_83_no_proxy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(no_proxy); i++) {
		struct upstreams *u = ENV("http_proxy", "p.example", "no_proxy", no_proxy[i].list);
		const char *parent = parent_for(u, no_proxy[i].target, VIA_CONNECT);

		if ((*parent == '\0') != no_proxy[i].direct)
			fail_msg("NO_PROXY=%s %s", no_proxy[i].list, no_proxy[i].target);
		upstreams_free(u);
	}
}

static void test_for_84_loopback_is_direct(void **state)
{
	static const char *const local[] = { "127.0.0.1",	   "127.9.9.9",	    "[::1]",
					     "[::ffff:127.0.0.1]", "localhost",	    "x.localhost",
					     "LOCALHOST",	   "localhost:8080" };
	struct upstream up;
	struct error err;
	struct upstreams *u;

	(void)state;
	assert_int_equal(upstream_parse("http://p.example", &up, &err), 0);
	u = upstreams_one(&up);
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		assert_string_equal(parent_for(u, local[i], VIA_CONNECT), "");
	assert_string_equal(parent_for(u, "10.0.0.1", VIA_CONNECT), "p.example");
	assert_string_equal(parent_for(u, "notlocalhost", VIA_HTTP), "p.example");
	assert_string_equal(parent_for(NULL, "good.example", VIA_HTTP), "");
	upstreams_free(u);
}

/* ---- handshakes */

/* Feeds @in in steps; what was said goes to @said. Return: the last result; @used in all. */
static enum parse talk(const char *url, const char *target, const void *in, size_t n, size_t step,
		       char *said, size_t *said_n, size_t *used, int *error)
{
	static struct upstream_talk t;
	struct target to = { .via = VIA_CONNECT };
	struct upstream up;
	struct error err;
	enum parse result = PARSE_MORE;
	size_t have = 0;

	assert_int_equal(upstream_parse(url, &up, &err), 0);
	assert_int_equal(target_parse_authority(target, strlen(target), 443, &to), TARGET_OK);
	upstream_talk_start(&t, &up, &to);
	*used = *said_n = 0;
	for (;;) {
		size_t part = 0;

		memcpy(said + *said_n, t.say, t.say_n);
		*said_n += t.say_n;
		t.say_n = 0;
		if (t.step == UPSTREAM_STEP_THROUGH)
			break;
		result = upstream_talk_hear(&t, (const uint8_t *)in + *used, have, &part);
		if (result == PARSE_BAD)
			break;
		if (result == PARSE_OK) {
			*used += part;
			have -= part;
			continue;
		}
		if (*used + have == n)
			break;
		have = n - *used - have < step ? n - *used : have + step;
	}
	*error = t.error;
	return result;
}

static void expect_talk(const char *url, const char *target, const void *in, size_t n,
			enum parse want, size_t want_used, const void *want_said, size_t want_n)
{
	char said[2 * UPSTREAM_SAY_MAX];
	size_t said_n, used;
	int error;

	for (size_t step = 1; step <= n + 1; step += n ? n : 1) {
		assert_int_equal(talk(url, target, in, n, step, said, &said_n, &used, &error),
				 want);
		if (want == PARSE_OK)
			assert_int_equal(used, want_used);
		if (want == PARSE_BAD)
			assert_true(error != 0);
		assert_int_equal(said_n, want_n);
		assert_memory_equal(said, want_said, want_n);
	}
}

#define CONNECT_GOOD "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n"

static void expect_http(const char *answer, enum parse want, size_t used)
{
	expect_talk("http://p.example", "good.example", answer, strlen(answer), want, used,
		    CONNECT_GOOD, strlen(CONNECT_GOOD));
}

static void test_talk_86_http_answers(void **state)
{
	static const char ok[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nX: y\r\n\r\n"
				      "HTTP/1.1 200 OK\r\n\r\nb";
	static const char fields[] = "HTTP/1.0 200\r\nVia: x\r\nX: y\r\n\r\nbytes of the target";

	(void)state;
	expect_http(ok, PARSE_OK, strlen(ok));
	expect_http(fields, PARSE_OK, strlen(fields) - strlen("bytes of the target"));
	expect_http("HTTP/1.1 299 x\r\n\r\n", PARSE_OK, 18);
	expect_http("HTTP/1.1 500 200 OK\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1 302 x\r\nLocation: http://evil.example/\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/2.0 200 OK\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1  200 OK\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1 2000 OK\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1 100 Continue\r\n\r\n", PARSE_MORE, 0);
	expect_http(interim, PARSE_OK, strlen(interim) - 1);
	expect_http("HTTP/1.1 103 x\r\n\r\nHTTP/1.1 502 x\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1 100 x\r\n\r\nSSH-2.0-x\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1 101 x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", PARSE_BAD, 0);
	expect_http("SSH-2.0-x\r\n\r\n", PARSE_BAD, 0);
	expect_http("HTTP/1.1 200 OK\r\nX: y\r\n", PARSE_MORE, 0);
	expect_http("", PARSE_MORE, 0);
}

static void test_talk_86_bounds_the_head(void **state)
{
	static char head[UPSTREAM_HEAD_MAX + 64];
	char said[2 * UPSTREAM_SAY_MAX];
	size_t said_n, used, n = (size_t)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nX: ");
	int error;

	(void)state;
	memset(head + n, 'a', sizeof(head) - n);
	memcpy(head + UPSTREAM_HEAD_MAX - 4, "\r\n\r\n", 4);
	assert_int_equal(talk("p.example", "good.example", head, UPSTREAM_HEAD_MAX, 4096, said,
			      &said_n, &used, &error),
			 PARSE_OK);
	assert_int_equal(used, UPSTREAM_HEAD_MAX);
	memcpy(head, "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\nX: ", 38); /* all heads together */
	assert_int_equal(talk("p.example", "good.example", head, UPSTREAM_HEAD_MAX, 4096, said,
			      &said_n, &used, &error),
			 PARSE_OK);
	memcpy(head + UPSTREAM_HEAD_MAX - 4, "a\r\n\r\n", 5);
	assert_int_equal(talk("p.example", "good.example", head, UPSTREAM_HEAD_MAX + 1, 4096, said,
			      &said_n, &used, &error),
			 PARSE_BAD);
}

static void test_talk_87_sends_basic(void **state)
{
	static const char want[] =
		"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n"
		"Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n";

	(void)state;
	expect_talk("http://user:pass@p.example", "[2001:db8::1]", "", 0, PARSE_MORE, 0, want,
		    strlen(want));
}

static void test_talk_socks5(void **state)
{
	static const char none[] = "\5\1\0\5\1\0\3\14good.example\1\273";
	static const char v4[] = "\5\1\0\5\1\0\1\300\0\2\1\1\273";
	static const char auth[] = "\5\2\0\2\1\1u\2pw\5\1\0\3\14good.example\1\273";

	(void)state;
	expect_talk("socks5h://p.example", "good.example", "\5\0\5\0\0\1\0\0\0\0\0\0x", 13,
		    PARSE_OK, 12, none, sizeof(none) - 1);
	expect_talk("socks5h://p.example", "192.0.2.1", "\5\0\5\0\0\3\3abc\1\2x", 13, PARSE_OK, 12,
		    v4, sizeof(v4) - 1);
	expect_talk("socks5h://p.example", "192.0.2.1",
		    "\5\0\5\0\0\4\1\2\3\4\5\6\7\1\2\3\4\5\6\7\1\2\1\2x", 25, PARSE_OK, 24, v4,
		    sizeof(v4) - 1);
	expect_talk("socks5h://u:pw@p.example", "good.example", "\5\2\1\0\5\0\0\1\0\0\0\0\0\0", 14,
		    PARSE_OK, 14, auth, sizeof(auth) - 1);
	/* the parent may still want none */
	expect_talk("socks5h://u:pw@p.example", "good.example", "\5\0\5\0\0\1\0\0\0\0\0\0", 12,
		    PARSE_OK, 12, "\5\2\0\2\5\1\0\3\14good.example\1\273", 23);
}

/* What the parent itself does not let through, and what it could not reach. */
static void test_talk_http_refusals(void **state)
{
	static const struct {
		const char *in;
		int error;
	} row[] = {
		{ "HTTP/1.1 403 No\r\n\r\n", ECONNABORTED },
		{ "HTTP/1.1 407 Who\r\n\r\n", ECONNABORTED },
		{ "HTTP/1.1 502 Bad Gateway\r\n\r\n", ECONNREFUSED },
		{ "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 502 x\r\n\r\n", ECONNREFUSED },
		{ "HTTP/1.1 101 x\r\n\r\n", EPROTO },
		{ "HTTP/1.1 abc\r\n\r\n", EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		char said[2 * UPSTREAM_SAY_MAX];
		size_t said_n, used, n = strlen(row[i].in);
		int error;

		assert_int_equal(talk("http://p.example", "good.example", row[i].in, n, n, said,
				      &said_n, &used, &error),
				 PARSE_BAD);
		assert_int_equal(error, row[i].error);
	}
}

static void test_talk_socks5_refusals(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		int error;
	} row[] = {
		{ "\5\377", 2, EACCES },	 { "\5\2", 2, EACCES }, /* we have no credentials */
		{ "\4\0", 2, EPROTO },		 { "H", 1, EPROTO },
		{ "\5\0\5\5", 4, ECONNREFUSED }, { "\5\0\5\3", 4, ENETUNREACH },
		{ "\5\0\5\4", 4, EHOSTUNREACH }, { "\5\0\5\2", 4, EACCES },
		{ "\5\0\4", 3, EPROTO },	 { "\5\0\5\0\1", 5, EPROTO },
		{ "\5\0\5\0\0\2\0", 7, EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		char said[2 * UPSTREAM_SAY_MAX];
		size_t said_n, used;
		int error;

		for (size_t step = 1; step < 9; step += 7) {
			assert_int_equal(talk("socks5h://p.example", "good.example", row[i].in,
					      row[i].n, step, said, &said_n, &used, &error),
					 PARSE_BAD);
			assert_int_equal(error, row[i].error);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_takes_urls),
		cmocka_unit_test(test_parse_refuses_what_it_cannot_do),
		cmocka_unit_test(test_parse_tells_a_broken_url_from_a_bad_port),
		cmocka_unit_test(test_parse_bounds_credentials),
		cmocka_unit_test(test_env_82_which_variable_counts),
		cmocka_unit_test(test_env_83_no_proxy),
		cmocka_unit_test(test_for_84_loopback_is_direct),
		cmocka_unit_test(test_talk_86_http_answers),
		cmocka_unit_test(test_talk_86_bounds_the_head),
		cmocka_unit_test(test_talk_87_sends_basic),
		cmocka_unit_test(test_talk_socks5),
		cmocka_unit_test(test_talk_http_refusals),
		cmocka_unit_test(test_talk_socks5_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
