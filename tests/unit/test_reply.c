/*
 * test_reply.c - what a client is told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/http_response.h"
#include "proxy/reply.h"

static void test_reply_http_is_exact(void **state)
{
	static const char expected[] = "HTTP/1.1 403 Forbidden\r\n"
				       "Sbx-Net-Code: not-listed\r\n"
				       "Content-Type: text/plain\r\n"
				       "X-Content-Type-Options: nosniff\r\n"
				       "Content-Length: 8\r\n"
				       "Connection: close\r\n"
				       "\r\n"
				       "refused\n";
	char out[REPLY_HTTP_MAX];
	size_t n = reply_http(403, CODE_NOT_LISTED, "refused", false, out);

	(void)state;
	assert_string_equal(out, expected);
	assert_int_equal(n, sizeof(expected) - 1);
	n = reply_http(403, CODE_NOT_LISTED, "refused", true, out);
	assert_int_equal(n, sizeof(expected) - 1 - strlen("refused\n"));
	assert_memory_equal(out, expected, n);
	n = reply_http(431, CODE_OK, "x", false, out);
	assert_null(strstr(out, "Sbx-Net-Code"));
	assert_int_equal(n, strlen(out));
}

/* H-031, H-032, Q-072: whatever the sentence holds, it stays one line inside the body. */
static void test_reply_http_escapes(void **state)
{
	char sentence[2 * REPLY_HTTP_MAX], out[REPLY_HTTP_MAX];
	struct http_asked asked = { .minor = 1 };
	struct http_scan scan = { 0 };
	struct http_response resp;
	struct http_error err;
	struct reader r;
	size_t n;

	(void)state;
	n = reply_http(403, CODE_DENIED, "a\r\nSet-Cookie: b\x1b[2J\x7f\x80%n%s \\x41 <b>", false,
		       out);
	assert_non_null(
		strstr(out, "\r\n\r\na\\x0d\\x0aSet-Cookie: b\\x1b[2J\\x7f\\x80%n%s \\x41 <b>\n"));
	assert_null(strstr(out, "\nSet-Cookie"));
	memset(sentence, '\n', sizeof(sentence) - 1); /* escaped, far too long */
	sentence[sizeof(sentence) - 1] = '\0';
	for (int i = 0; i < 2; i++) {
		n = reply_http(502, CODE_CONNECT_FAILED, i ? sentence : "x", false, out);
		assert_int_equal(n, strlen(out));
		scan = (struct http_scan){ 0 };
		r = reader_init(out, n);
		assert_int_equal(http_response_parse(&r, &scan, &asked, &resp, &err), PARSE_OK);
		assert_int_equal(resp.framing, HTTP_BODY_LENGTH);
		assert_int_equal(resp.length, r.n); /* the whole body is there */
		assert_int_equal(r.p[r.n - 1], '\n');
	}
}

static void test_reply_connected_has_one_empty_line(void **state)
{
	(void)state;
	assert_string_equal(REPLY_CONNECTED, "HTTP/1.1 200 Connection established\r\n\r\n");
}

struct row {
	enum code code;
	int err;
	unsigned status;
	enum socks5_rep rep;
};

/* S-032 */
static void test_reply_maps_every_code(void **state)
{
	static const struct row rows[] = {
		{ CODE_NOT_LISTED, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_DENIED, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_LOOPBACK, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_METADATA, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_LINK_LOCAL, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_OWN_ADDRESS, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_PRIVATE, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_SPECIAL, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_ASKED_NO, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_ASK_TIMEOUT, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_STRICT, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_ONLY, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_SNI_MISMATCH, 0, 403, SOCKS5_NOT_ALLOWED },
		{ CODE_BAD_HOST, 0, 400, SOCKS5_FAILURE },
		{ CODE_BAD_PORT, 0, 400, SOCKS5_FAILURE },
		{ CODE_BAD_REQUEST, 0, 400, SOCKS5_FAILURE },
		{ CODE_LIMIT, 0, 503, SOCKS5_FAILURE },
		{ CODE_DNS_FAILED, 0, 502, SOCKS5_HOST_UNREACHABLE },
		{ CODE_CONNECT_FAILED, ECONNREFUSED, 502, SOCKS5_REFUSED },
		{ CODE_CONNECT_FAILED, ENOTCONN, 502, SOCKS5_REFUSED },
		{ CODE_CONNECT_FAILED, ECONNABORTED, 502, SOCKS5_REFUSED },
		{ CODE_CONNECT_FAILED, ENETUNREACH, 502, SOCKS5_NET_UNREACHABLE },
		{ CODE_CONNECT_FAILED, EHOSTUNREACH, 502, SOCKS5_HOST_UNREACHABLE },
		{ CODE_CONNECT_FAILED, EPERM, 502, SOCKS5_FAILURE },
		{ CODE_CONNECT_TIMEOUT, 0, 504, SOCKS5_TTL_EXPIRED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(reply_http_status(rows[i].code), rows[i].status);
		assert_int_equal(reply_socks5_rep(rows[i].code, rows[i].err), rows[i].rep);
	}
	assert_int_equal(reply_socks5_rep(CODE_OK, 0), SOCKS5_SUCCEEDED);
}

/* RFC 4253 6: length, padding, payload; a whole number of blocks. */
static void test_reply_ssh_is_one_packet(void **state)
{
	static const char version[] = "SSH-2.0-sbx_net\r\n";
	static const char text[] = "refused host.example:22 (not on the allow list) .............";
	uint8_t out[REPLY_SSH_MAX];

	(void)state;
	for (size_t skip = 0; skip < 16; skip++) {
		const char *sentence = text + skip;
		size_t n = reply_ssh(sentence, out), len = strlen(sentence);
		const uint8_t *p = out + sizeof(version) - 1;
		size_t packet = (size_t)p[2] << 8 | p[3], padding = p[4];

		assert_memory_equal(out, version, sizeof(version) - 1);
		assert_int_equal(n, sizeof(version) - 1 + 4 + packet);
		assert_int_equal((4 + packet) % 8, 0);
		assert_in_range(padding, 4, 255);
		assert_int_equal(packet, 1 + 1 + 4 + 4 + len + 4 + padding);
		assert_memory_equal(p + 5, "\1\0\0\0\1", 5);
		assert_int_equal((size_t)p[12] << 8 | p[13], len);
		assert_memory_equal(p + 14, sentence, len);
	}
	assert_in_range(reply_ssh("\033[2J\n", out), 1, REPLY_SSH_MAX);
	assert_memory_equal(out + sizeof(version) - 1 + 14, "\\x1b[2J\\x0a", 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reply_http_is_exact),
		cmocka_unit_test(test_reply_http_escapes),
		cmocka_unit_test(test_reply_connected_has_one_empty_line),
		cmocka_unit_test(test_reply_maps_every_code),
		cmocka_unit_test(test_reply_ssh_is_one_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
