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

/* What a client sends in pieces of @step bytes: the verdict, and how many of them have gone. */
static enum snicheck_verdict send_pieces(struct snicheck *s, const uint8_t *p, size_t n,
					 size_t step, bool ended, size_t *gone)
{
	enum snicheck_verdict v = SNICHECK_WAIT;
	size_t have = 0, go;

	*gone = 0;
	do {
		have = n - have < step ? n : have + step;
		v = snicheck_client(s, p + *gone, have - *gone, ended && have == n, &go);
		*gone += go;
		assert_true(*gone <= have);
	} while (v == SNICHECK_WAIT && have < n);
	return v;
}

static struct snicheck *check_for(enum sni_check mode)
{
	struct target t = target("good.example:443");

	return snicheck_new(mode, &t);
}

/*
 * Delivered whole and byte by byte; both must agree. A hello that goes does so as a whole, and then
 * the verdict is still out: PASS stands here for that, too.
 */
static enum snicheck_verdict judge(enum sni_check mode, const void *p, size_t n, bool ended)
{
	struct snicheck *whole = check_for(mode), *split = check_for(mode);
	size_t gone, later_gone;
	enum snicheck_verdict v = send_pieces(whole, p, n, n, ended, &gone);
	enum snicheck_verdict later = send_pieces(split, p, n, 1, ended, &later_gone);

	assert_int_equal(v, later);
	assert_int_equal(gone, later_gone);
	snicheck_free(whole);
	snicheck_free(split);
	return v == SNICHECK_WAIT && gone == n && n ? SNICHECK_PASS : v;
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
	assert_int_equal(judge(SNI_STRICT, "\0", 1, false), REFUSE);
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

/* What a load balancer puts before a hello, a client has no business to. */
static void test_no_proxy_header_before_the_hello(void **state)
{
	static const char v1[] = "PROXY TCP4 192.0.2.1 192.0.2.2 1 443\r\n",
			  v2[] = "\r\n\r\n\0\r\nQUIT\n!";
	static const char *const alike[] = { "PROPFIND / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n",
					     "PROXY", "\r\n\r\nhello", "\r\n" };

	(void)state;
	assert_int_equal(judge(SNI_NAME, v1, sizeof(v1) - 1, false), REFUSE);
	assert_int_equal(judge(SNI_NAME, v2, sizeof(v2) - 1, false), REFUSE);
	for (size_t i = 0; i < ARRAY_SIZE(alike); i++)
		assert_int_equal(judge(SNI_NAME, alike[i], strlen(alike[i]), true), PASS);
	assert_int_equal(judge(SNI_NAME, "PROXY", 5, false), SNICHECK_WAIT);
}

static const char retry_random[] =
	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";

/* Handshake bytes in records of at most @record bytes. */
static void put_records(struct hello *out, const struct hello *msg, size_t record)
{
	for (size_t off = 0; off < msg->n; off += record) {
		size_t part = msg->n - off < record ? msg->n - off : record;

		put(out, "\26\3\3", 3);
		put16(out, part);
		put(out, msg->p + off, part);
	}
}

static void put_server_hello(struct hello *msg, bool retry)
{
	put(msg, "\2\0\0\50\3\3", 6);
	put(msg, retry ? retry_random : "an ordinary random of 32 bytes..", 32);
	put(msg, "\0\23\1\0\0\0", 6);
}

/* The same in a record. */
static void put_answer(struct hello *out, bool retry)
{
	static struct hello msg;

	msg.n = 0;
	put_server_hello(&msg, retry);
	put_records(out, &msg, 16384);
}

#define CCS "\24\3\3\0\1\1"
#define ALERT \
	"\25\3\3\0\2\1\160" /* unrecognized_name, a warning: some send it before their hello */

/* The client's first hello has gone; then the server says @p, in pieces of @step bytes. */
static struct snicheck *answered(enum sni_check mode, const struct hello *p, size_t step)
{
	const struct hello *h = hello_for("good.example", 12, 0, 16384, 0);
	struct snicheck *s = check_for(mode);
	size_t gone;

	assert_int_equal(send_pieces(s, h->p, h->n, h->n, false, &gone), SNICHECK_WAIT);
	assert_int_equal(gone, h->n);
	for (size_t off = 0; off < p->n; off += step)
		snicheck_server(s, p->p + off, p->n - off < step ? p->n - off : step);
	return s;
}

/* And then the client sends @next: whole and byte by byte on both sides. */
static void expect_then(const struct hello *server, const struct hello *next,
			enum snicheck_verdict want, size_t want_gone)
{
	static const size_t steps[] = { HELLO_MAX, 1 };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(steps); i++) {
		struct snicheck *s = answered(i % 2 ? SNI_STRICT : SNI_NAME, server, steps[i / 2]);
		size_t gone;

		assert_int_equal(send_pieces(s, next->p, next->n, steps[i / 2], false, &gone),
				 want);
		assert_int_equal(gone, want_gone);
		snicheck_free(s);
	}
}

static void test_second_hello_after_a_retry(void **state)
{
	static const size_t records[] = { 16384, 1, 7 };
	static struct hello msg, server, good, evil;
	const struct hello *h;

	(void)state;
	good.n = evil.n = 0;
	put(&good, CCS, 6);
	put(&evil, CCS, 6); /* of middlebox compatibility, between the two hellos */
	h = hello_for("good.example", 12, 3000, 900, 0);
	put(&good, h->p, h->n);
	h = hello_for("evil.test", 9, 3000, 900, 0);
	put(&evil, h->p, h->n);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		msg.n = server.n = 0;
		put(&server, ALERT, 7);
		put_server_hello(&msg, true);
		put_records(&server, &msg, records[i]);
		put(&server, CCS, 6);
		expect_then(&server, &good, SNICHECK_WAIT, good.n);
		expect_then(&server, &evil, REFUSE, 6);
	}
}

/* Before the server has said anything, or while it says nothing that we know. */
static void test_second_hello_unasked(void **state)
{
	static struct hello server, both;
	const struct hello *h = hello_for("evil.test", 9, 0, 16384, 0);

	(void)state;
	both.n = 0;
	put(&both, "\27\3\3\0\4data", 9); /* early data goes */
	put(&both, h->p, h->n);
	server.n = 0;
	expect_then(&server, &both, REFUSE, 9);
	put(&server, "SSH-2.0-x\r\n", 11);
	expect_then(&server, &both, REFUSE, 9);
	server.n = 0;
	put(&server, "\26\3\3\0\4\0\0\0\0", 9); /* HelloRequest */
	expect_then(&server, &both, REFUSE, 9);
	put(&server, "\26\3\3\0\4\13\0\0\0", 9); /* a Certificate, out of turn */
	expect_then(&server, &both, REFUSE, 9);
	both.n = 0;
	put(&both, "\26\3\3\0\4\20\0\0\0", 9); /* and a ClientKeyExchange */
	expect_then(&server, &both, REFUSE, 0);
	both.n = 0;
	put(&both, "GET / HTTP/1.1", 14);
	expect_then(&server, &both, REFUSE, 0);
}

/* What decides, in as many records as there are bytes; after that nothing is looked at. */
static void test_a_server_hello_ends_it(void **state)
{
	static const size_t records[] = { 16384, 1, 7 };
	static struct hello msg, server, evil;

	(void)state;
	evil = *hello_for("evil.test", 9, 0, 16384, 0);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		msg.n = server.n = 0;
		put(&server, ALERT, 7);
		expect_then(&server, &evil, REFUSE, 0);
		put_server_hello(&msg, false);
		put_records(&server, &msg, records[i]);
		expect_then(&server, &evil, PASS, 0);
	}
}

/* Of the server, to one hello or to none: an answer too many opens nothing. */
static void test_each_hello_has_one_answer(void **state)
{
	static struct hello retry, plain, both, evil;
	struct snicheck *s = check_for(SNI_NAME);
	const struct hello *h;
	size_t gone;

	(void)state;
	retry.n = plain.n = both.n = 0;
	put_answer(&retry, true);
	put_answer(&plain, false);
	put(&both, retry.p, retry.n);
	put(&both, plain.p, plain.n);
	evil = *hello_for("evil.test", 9, 0, 16384, 0);
	expect_then(&both, &evil, REFUSE, 0);
	snicheck_server(s, plain.p, plain.n); /* before the client has said anything */
	assert_int_equal(send_pieces(s, evil.p, evil.n, 1, false, &gone), REFUSE);
	snicheck_free(s);
	s = answered(SNI_NAME, &retry, 1); /* the twin: asked again, and answered again */
	h = hello_for("good.example", 12, 0, 16384, 0);
	assert_int_equal(send_pieces(s, h->p, h->n, 1, false, &gone), SNICHECK_WAIT);
	assert_int_equal(gone, h->n);
	snicheck_server(s, plain.p, plain.n);
	assert_int_equal(send_pieces(s, evil.p, evil.n, 1, false, &gone), PASS);
	snicheck_free(s);
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

struct world {
	struct tunnel t;
	struct snicheck *s;
	int client, server; /* the far ends */
};

static void world_open(struct world *w)
{
	int v[2];

	tunnel_init(&w->t);
	w->s = check_for(SNI_NAME);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, v), 0);
		w->t.side[i].fd = v[0];
		w->t.side[i].readable = w->t.side[i].writable = true;
		*(i ? &w->server : &w->client) = v[1];
	}
}

static void world_close(struct world *w)
{
	struct pipepool pool = { 0 };

	tunnel_clear(&w->t, &pool);
	snicheck_free(w->s);
	close(w->client);
	close(w->server);
	close(w->t.side[0].fd);
	close(w->t.side[1].fd);
}

static enum snicheck_verdict turn(struct world *w)
{
	static uint8_t scratch[TLS_HELLO_MAX];

	w->t.side[0].readable = w->t.side[1].readable = true;
	return snicheck_turn(w->s, &w->t, scratch, sizeof(scratch));
}

static void send_all(int fd, const void *p, size_t n)
{
	assert_int_equal(send(fd, p, n, 0), (ssize_t)n);
}

/* All that has arrived there, and nothing else, is @p. */
static void expect_at(int fd, const void *p, size_t n)
{
	static char back[HELLO_MAX];
	ssize_t got = recv(fd, back, sizeof(back), 0);

	assert_int_equal(got < 0 ? 0 : got, n);
	if (n)
		assert_memory_equal(back, p, n);
}

/* Early data first, then the socket, of which nothing is taken. */
static void test_look_takes_nothing(void **state)
{
	const struct hello *h = hello_for("evil.test", 9, 2000, 16384, 0);
	struct world w;

	(void)state;
	world_open(&w);
	snicheck_begin(w.s, &w.t, h->p, 100);
	assert_int_equal(turn(&w), SNICHECK_WAIT);
	assert_false(w.t.side[0].readable);
	send_all(w.client, h->p + 100, h->n - 101);
	assert_int_equal(turn(&w), SNICHECK_WAIT);
	send_all(w.client, h->p + h->n - 1, 1);
	assert_int_equal(turn(&w), SNICHECK_REFUSE);
	expect_at(w.server, NULL, 0);
	expect_at(w.t.side[0].fd, h->p + 100, h->n - 100);
	world_close(&w);
}

/* A hello goes when it is whole, what the server says at once, and what follows when it may. */
static void test_turn_lets_go(void **state)
{
	static struct hello retry, plain;
	const struct hello *h = hello_for("good.example", 12, 2000, 16384, 0);
	struct world w;

	(void)state;
	retry.n = plain.n = 0;
	put_answer(&retry, true);
	put_answer(&plain, false);
	world_open(&w);
	snicheck_begin(w.s, &w.t, h->p, 100);
	send_all(w.client, h->p + 100, h->n - 101);
	assert_int_equal(turn(&w), SNICHECK_WAIT);
	expect_at(w.server, NULL, 0);
	send_all(w.client, h->p + h->n - 1, 1);
	assert_int_equal(turn(&w), SNICHECK_WAIT);
	expect_at(w.server, h->p, h->n);
	send_all(w.server, retry.p, retry.n);
	assert_int_equal(turn(&w), SNICHECK_WAIT);
	expect_at(w.client, retry.p, retry.n);
	send_all(w.client, h->p, h->n);
	assert_int_equal(turn(&w), SNICHECK_WAIT);
	expect_at(w.server, h->p, h->n);
	assert_true(w.t.way[0].shut && w.t.way[1].shut);
	send_all(w.server, plain.p, plain.n);
	assert_int_equal(turn(&w), SNICHECK_PASS);
	expect_at(w.client, plain.p, plain.n);
	assert_false(w.t.way[0].shut || w.t.way[1].shut);
	world_close(&w);
}

/* Two hellos that come glued together, in early data or not: the first goes alone. */
/* An offset for looks, as an accepted socket inherits it, shows what does not go out. */
static void test_turn_judges_what_goes(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct hello evil = *hello_for("evil.example", 12, 0, 16384, 0);
		const struct hello *good = hello_for("good.example", 12, 0, 16384, 0);
		struct world w;

		world_open(&w);
		if (late)
			snicheck_begin(w.s, &w.t, NULL, 0);
		assert_int_equal(setsockopt(w.t.side[0].fd, SOL_SOCKET, SO_PEEK_OFF,
					    &(int){ (int)evil.n }, sizeof(int)),
				 0);
		if (!late)
			snicheck_begin(w.s, &w.t, NULL, 0);
		send_all(w.client, evil.p, evil.n);
		send_all(w.client, good->p, good->n);
		assert_int_equal(turn(&w), SNICHECK_REFUSE);
		expect_at(w.server, NULL, 0);
		world_close(&w);
	}
}

/* Early data for a server that reads nothing is not collected here. */
static void test_turn_holds_little(void **state)
{
	const struct hello *h = hello_for("good.example", 12, 0, 16384, 0);
	static uint8_t early[5 + 16384] = { 0x17, 3, 3, 0x40, 0 };
	size_t sent = 0, got = 0, max = 0;
	struct event_base *base = event_base_new();
	struct world w;

	(void)state;
	world_open(&w);
	event_assign(&w.t.side[1].ev, base, w.t.side[1].fd, EV_READ, NULL, NULL);
	snicheck_begin(w.s, &w.t, NULL, 0);
	send_all(w.client, h->p, h->n);
	for (int i = 0; i < 1000; i++) {
		ssize_t n = send(w.client, early + sent % sizeof(early),
				 sizeof(early) - sent % sizeof(early), MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
		assert_int_not_equal(turn(&w), SNICHECK_REFUSE);
		max = w.t.way[0].keep_len > max ? w.t.way[0].keep_len : max;
	}
	assert_true(max > 0 && max <= 2 * TLS_HELLO_MAX);
	for (int i = 0; i < 1000 && got < h->n + sent;
	     i++) { /* all of it, as soon as it is wanted */
		static uint8_t back[HELLO_MAX];
		ssize_t n = recv(w.server, back, sizeof(back), 0);

		got += n > 0 ? (size_t)n : 0;
		w.t.side[1].writable = true;
		(void)turn(&w);
	}
	assert_int_equal(got, h->n + sent);
	event_del(&w.t.side[1].ev);
	world_close(&w);
	event_base_free(base);
}

static void test_turn_holds_the_second(void **state)
{
	static struct hello both;
	const struct hello *h = hello_for("good.example", 12, 0, 16384, 0);
	size_t first = h->n;
	struct world w;

	(void)state;
	both.n = 0;
	put(&both, h->p, h->n);
	h = hello_for("evil.test", 9, 0, 16384, 0);
	put(&both, h->p, h->n);
	for (size_t early = 0; early <= both.n; early += first / 2) {
		for (size_t missing = 0; missing < 2; missing++) {
			if (early + missing > both.n)
				continue;
			world_open(&w);
			snicheck_begin(w.s, &w.t, both.p, early);
			send_all(w.client, both.p + early, both.n - early - missing);
			if (missing)
				assert_int_equal(shutdown(w.client, SHUT_WR), 0);
			/* refused at once, and the owner then resets: the first may have gone */
			assert_int_equal(turn(&w), SNICHECK_REFUSE);
			world_close(&w);
		}
	}
}

/* Half a hello and an end: nothing more will come that could decide. */
static void test_turn_sees_an_end_behind(void **state)
{
	const struct hello *h = hello_for("good.example", 12, 0, 16384, 0);
	struct world w;

	(void)state;
	world_open(&w);
	snicheck_begin(w.s, &w.t, NULL, 0);
	send_all(w.client, h->p, h->n - 1);
	assert_int_equal(turn(&w), SNICHECK_WAIT);
	assert_int_equal(shutdown(w.client, SHUT_WR), 0);
	assert_int_equal(turn(&w), SNICHECK_REFUSE);
	expect_at(w.server, NULL, 0);
	world_close(&w);
	world_open(&w); /* the twin */
	snicheck_begin(w.s, &w.t, NULL, 0);
	send_all(w.client, h->p, h->n);
	assert_int_equal(shutdown(w.client, SHUT_WR), 0);
	assert_int_equal(turn(&w), SNICHECK_PASS);
	expect_at(w.server, h->p, h->n);
	world_close(&w);
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
		cmocka_unit_test(test_no_proxy_header_before_the_hello),
		cmocka_unit_test(test_second_hello_after_a_retry),
		cmocka_unit_test(test_second_hello_unasked),
		cmocka_unit_test(test_a_server_hello_ends_it),
		cmocka_unit_test(test_each_hello_has_one_answer),
		cmocka_unit_test(test_an_end_decides),
		cmocka_unit_test(test_new_judges_names_on_443_only),
		cmocka_unit_test(test_look_takes_nothing),
		cmocka_unit_test(test_turn_lets_go),
		cmocka_unit_test(test_turn_judges_what_goes),
		cmocka_unit_test(test_turn_holds_little),
		cmocka_unit_test(test_turn_holds_the_second),
		cmocka_unit_test(test_turn_sees_an_end_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
