/*
 * test_snicheck.c - the first bytes of a tunnel to port 443 of a name (VECTORS)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proxy/snicheck.h"

#define HELLO_MAX (70 * 1024)

struct hello {
	size_t n;
	uint8_t p[HELLO_MAX];
};

static void put(struct hello *h, const void *p, size_t n)
{
	assert_true(h->n + n <= sizeof(h->p));
	memcpy(h->p + h->n, p, n);
	h->n += n;
}

static void put16(struct hello *h, size_t v)
{
	const uint8_t b[] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(h, b, 2);
}

static void put_sni(struct hello *h, const char *name, size_t n)
{
	put16(h, 0);
	put16(h, n + 5);
	put16(h, n + 3);
	put(h, "", 1);
	put16(h, n);
	put(h, name, n);
}

enum extra { WITH_ECH = 1, TWICE = 2 };

/* A ClientHello in records of at most @record bytes, with @padding bytes before the name. */
static struct hello *hello_for(const char *name, size_t len, size_t padding, size_t record,
			       unsigned extra)
{
	static struct hello out, ext, msg;
	size_t off = 0;

	out.n = ext.n = msg.n = 0;
	if (padding) {
		static const uint8_t zero[HELLO_MAX];

		put16(&ext, 21);
		put16(&ext, padding);
		put(&ext, zero, padding);
	}
	if (name)
		put_sni(&ext, name, len);
	if (extra & TWICE)
		put_sni(&ext, name, len);
	if (extra & WITH_ECH) {
		put16(&ext, 0xfe0d);
		put16(&ext, 1);
		put(&ext, "", 1);
	}
	put(&msg, "\1\0", 2);
	put16(&msg, 2 + 32 + 1 + 2 + 2 + 2 + 2 + ext.n);
	put(&msg, "\3\3", 2);
	for (int i = 0; i < 32; i++)
		put(&msg, "r", 1);
	put(&msg, "\0\0\2\23\1\1\0", 7);
	put16(&msg, ext.n);
	put(&msg, ext.p, ext.n);
	while (off < msg.n) {
		size_t part = msg.n - off < record ? msg.n - off : record;

		put(&out, "\26\3\1", 3);
		put16(&out, part);
		put(&out, msg.p + off, part);
		off += part;
	}
	return &out;
}

static struct target target(const char *text)
{
	struct target t = { .via = VIA_CONNECT };

	assert_int_equal(target_parse_authority(text, strlen(text), 0, &t), TARGET_OK);
	return t;
}

/* Delivered whole and byte by byte; both must agree. The verdict after all of it. */
static enum snicheck_verdict judge(enum sni_check mode, const void *p, size_t n, bool ended)
{
	struct target t = target("good.example:443");
	struct snicheck *whole = snicheck_new(mode, &t), *split = snicheck_new(mode, &t);
	enum snicheck_verdict v = snicheck_judge(whole, p, n, ended), later = SNICHECK_WAIT;

	for (size_t i = 1; i <= n && later == SNICHECK_WAIT; i++)
		later = snicheck_judge(split, p, i, ended && i == n);
	if (n)
		assert_int_equal(v, later);
	snicheck_free(whole);
	snicheck_free(split);
	return v;
}

static void expect(const struct hello *h, enum snicheck_verdict name, enum snicheck_verdict strict)
{
	assert_int_equal(judge(SNI_NAME, h->p, h->n, false), name);
	assert_int_equal(judge(SNI_STRICT, h->p, h->n, false), strict);
}

#define PASS   SNICHECK_PASS
#define REFUSE SNICHECK_REFUSE

static void test_q080_name_must_be_the_targets(void **state)
{
	(void)state;
	expect(hello_for("good.example", 12, 0, 16384, 0), PASS, PASS);
	expect(hello_for("evil.test", 9, 0, 16384, 0), REFUSE, REFUSE);
	expect(hello_for("sub.good.example", 16, 0, 16384, 0), REFUSE, REFUSE);
	expect(hello_for("good.example.evil.test", 22, 0, 16384, 0), REFUSE, REFUSE);
	expect(hello_for("ood.example", 11, 0, 16384, 0), REFUSE, REFUSE);
}

static void test_q082_no_name_or_an_address(void **state)
{
	(void)state;
	expect(hello_for(NULL, 0, 0, 16384, 0), PASS, REFUSE);
	expect(hello_for("192.0.2.1", 9, 0, 16384, 0), REFUSE, REFUSE);
}

static void test_q084_hellos_in_pieces(void **state)
{
	(void)state;
	expect(hello_for("good.example", 12, 0, 1, 0), PASS, PASS);
	expect(hello_for("evil.test", 9, 0, 1, 0), REFUSE, REFUSE);
	expect(hello_for("good.example", 12, 17000, 16384, 0), PASS, PASS);
	expect(hello_for("evil.test", 9, 17000, 16384, 0), REFUSE, REFUSE);
	expect(hello_for("good.example", 12, 60000, 16384, 0), PASS, PASS);
	expect(hello_for("evil.test", 9, 60000, 4000, 0), REFUSE, REFUSE);
	/* beyond the bound it is not waited for */
	expect(hello_for("good.example", 12, 65450, 16384, 0), REFUSE, REFUSE);
}

static void test_q085_odd_names(void **state)
{
	(void)state;
	expect(hello_for("good.example", 12, 0, 16384, TWICE), REFUSE, REFUSE);
	expect(hello_for("good.example\0.evil.test", 23, 0, 16384, 0), REFUSE, REFUSE);
	expect(hello_for("good.example.", 13, 0, 16384, 0), PASS, REFUSE);
	expect(hello_for("GOOD.example", 12, 0, 16384, 0), PASS, REFUSE);
	expect(hello_for("", 0, 0, 16384, 0), REFUSE, REFUSE);
}

static void test_ech_hides_a_name(void **state)
{
	(void)state;
	expect(hello_for("good.example", 12, 0, 16384, WITH_ECH), PASS, REFUSE);
	expect(hello_for("front.test", 10, 0, 16384, WITH_ECH), REFUSE, REFUSE);
}

static void test_q086_other_protocols(void **state)
{
	static const char *const plain[] = { "SSH-2.0-OpenSSH_9.2\r\n", "GET / HTTP/1.1\r\n",
					     "EHLO x\r\n", "\200.\1\3\1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		assert_int_equal(judge(SNI_NAME, plain[i], strlen(plain[i]), false), PASS);
		assert_int_equal(judge(SNI_STRICT, plain[i], strlen(plain[i]), false), REFUSE);
	}
	/* what begins like TLS must be TLS */
	assert_int_equal(judge(SNI_NAME, "\26\2\1", 3, false), REFUSE);
	assert_int_equal(judge(SNI_NAME, "\26\3\1\0\0", 5, false), REFUSE);
	assert_int_equal(judge(SNI_NAME, "\26\3\1\0\5\2", 6, false), REFUSE);
}

/* Servers there are that read it away, and then the ClientHello behind it. */
static void test_no_record_before_the_hello(void **state)
{
	static const char *const before[] = { "\25\3\1\0\2\1\132", "\24\3\3\0\1\1", "\27\3\3\0\1a",
					      "\30\3\3\0\1a" };
	static const size_t size[] = { 7, 6, 6, 6 };
	static struct hello both;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		const struct hello *h = hello_for("evil.test", 9, 0, 16384, 0);

		both.n = 0;
		put(&both, before[i], size[i]);
		put(&both, h->p, h->n);
		expect(&both, REFUSE, REFUSE);
	}
}

static void test_an_end_decides(void **state)
{
	const struct hello *h = hello_for("good.example", 12, 0, 16384, 0);

	(void)state;
	assert_int_equal(judge(SNI_NAME, "", 0, false), SNICHECK_WAIT);
	assert_int_equal(judge(SNI_NAME, "", 0, true), PASS);
	assert_int_equal(judge(SNI_NAME, h->p, h->n - 1, false), SNICHECK_WAIT);
	assert_int_equal(judge(SNI_NAME, h->p, h->n - 1, true), REFUSE);
	assert_int_equal(judge(SNI_NAME, h->p, h->n, true), PASS);
}

static void test_new_judges_names_on_443_only(void **state)
{
	const struct target name = target("good.example:443"), other = target("good.example:8443"),
			    literal = target("192.0.2.1:443");
	struct snicheck *s = snicheck_new(SNI_NAME, &name);

	(void)state;
	assert_non_null(s);
	snicheck_free(s);
	assert_null(snicheck_new(SNI_OFF, &name));
	assert_null(snicheck_new(SNI_NAME, &other));
	assert_null(snicheck_new(SNI_STRICT, &literal));
	snicheck_free(NULL);
}

/* Early data first, then the socket, of which nothing is taken. */
static void test_look_takes_nothing(void **state)
{
	static uint8_t scratch[TLS_HELLO_MAX];
	const struct hello *h = hello_for("evil.test", 9, 2000, 16384, 0);
	struct target t = target("good.example:443");
	struct snicheck *s = snicheck_new(SNI_NAME, &t);
	struct tunnel tunnel;
	char back[HELLO_MAX];
	int v[2];

	(void)state;
	tunnel_init(&tunnel);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, v), 0);
	tunnel.side[0].fd = v[0];
	tunnel.side[0].readable = true;
	assert_int_equal(snicheck_look(s, &tunnel, scratch, sizeof(scratch)), SNICHECK_WAIT);
	assert_false(tunnel.side[0].readable);
	tunnel_keep(&tunnel, 0, h->p, 100, 0);
	assert_int_equal(send(v[1], h->p + 100, h->n - 101, 0), (ssize_t)(h->n - 101));
	assert_int_equal(snicheck_look(s, &tunnel, scratch, sizeof(scratch)), SNICHECK_WAIT);
	assert_int_equal(send(v[1], h->p + h->n - 1, 1, 0), 1);
	assert_int_equal(snicheck_look(s, &tunnel, scratch, sizeof(scratch)), SNICHECK_REFUSE);
	assert_int_equal(recv(v[0], back, sizeof(back), 0), (ssize_t)(h->n - 100));
	assert_memory_equal(back, h->p + 100, h->n - 100);
	free(tunnel.way[0].keep);
	snicheck_free(s);
	close(v[0]);
	close(v[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_q080_name_must_be_the_targets),
		cmocka_unit_test(test_q082_no_name_or_an_address),
		cmocka_unit_test(test_q084_hellos_in_pieces),
		cmocka_unit_test(test_q085_odd_names),
		cmocka_unit_test(test_ech_hides_a_name),
		cmocka_unit_test(test_q086_other_protocols),
		cmocka_unit_test(test_no_record_before_the_hello),
		cmocka_unit_test(test_an_end_decides),
		cmocka_unit_test(test_new_judges_names_on_443_only),
		cmocka_unit_test(test_look_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
