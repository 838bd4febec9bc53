/*
 * By way of a parent proxy that speaks TLS: whose certificate is believed, that all bytes arrive,
 * and that no end is made up: what was cut ends in a reset on the other side.
 */
#include "tests/support/proxyworld.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>

#include "proxy/limits.h"
#include "proxy/tls.h"
#include "proxy/upstream.h"

#define SIZE (3u << 20)

/* ---- certificates */

struct identity {
	EVP_PKEY *key;
	X509 *cert;
};

static void add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(ext);
	assert_int_equal(X509_add_ext(cert, ext, -1), 1);
	X509_EXTENSION_free(ext);
}

/* @by: NULL for an authority. @san: as in openssl.cnf. @until: seconds from now. */
static struct identity identity_new(const struct identity *by, const char *san, long until)
{
	static long serial = 1;
	struct identity id = { .key = EVP_EC_gen("P-256"), .cert = X509_new() };
	X509_NAME *name = X509_get_subject_name(id.cert);

	assert_non_null(id.key);
	X509_set_version(id.cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(id.cert), serial++);
	X509_gmtime_adj(X509_getm_notBefore(id.cert), -2 * 86400);
	X509_gmtime_adj(X509_getm_notAfter(id.cert), until);
	X509_set_pubkey(id.cert, id.key);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
				   (const unsigned char *)(by ? "parent" : "authority"), -1, -1, 0);
	X509_set_issuer_name(id.cert, by ? X509_get_subject_name(by->cert) : name);
	add_ext(id.cert, by ? by->cert : id.cert, NID_basic_constraints,
		by ? "CA:FALSE" : "critical,CA:TRUE");
	if (san)
		add_ext(id.cert, by->cert, NID_subject_alt_name, san);
	assert_true(X509_sign(id.cert, by ? by->key : id.key, EVP_sha256()) > 0);
	return id;
}

static void identity_free(struct identity *id)
{
	EVP_PKEY_free(id->key);
	X509_free(id->cert);
}

/* ---- the parent */

enum after { AFTER_ECHO, AFTER_SEND_END, AFTER_SEND_CUT, AFTER_READ, AFTER_ENDLESS, AFTER_ANSWER };

static struct {
	SSL_CTX *ctx;
	enum after after;
	atomic_int handshakes, heads, ended, cut;
	_Atomic uint64_t got, hash, sent;
	bool silent, plain;
	pthread_mutex_t lock;
	char sni[64], head[4096];
} srv = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct identity authority;
static char ca_file[] = "/tmp/sbx-ca-XXXXXX";

static bool ssl_head(SSL *ssl, char *out, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && SSL_read(ssl, out + n, 1) == 1) {
		out[++n] = '\0';
		if (n >= 4 && memcmp(out + n - 4, "\r\n\r\n", 4) == 0)
			return true;
	}
	return false;
}

static bool ssl_pattern(SSL *ssl, uint64_t n)
{
	uint8_t buf[16384];

	for (uint64_t off = 0; off < n;) {
		size_t k = n - off < sizeof(buf) ? (size_t)(n - off) : sizeof(buf);

		for (size_t i = 0; i < k; i++)
			buf[i] = pattern_byte(off + i);
		if (SSL_write(ssl, buf, (int)k) <= 0)
			return false;
		off += k;
		atomic_store(&srv.sent, off);
	}
	return true;
}

static void ssl_drain(SSL *ssl)
{
	uint8_t buf[16384];
	uint64_t h = FNV_START;
	int n;

	while ((n = SSL_read(ssl, buf, sizeof(buf))) > 0) {
		h = fnv(h, buf, (size_t)n);
		atomic_fetch_add(&srv.got, (uint64_t)n);
	}
	atomic_store(&srv.hash, h);
	if (SSL_get_error(ssl, n) == SSL_ERROR_ZERO_RETURN)
		atomic_fetch_add(&srv.ended, 1);
	else
		atomic_fetch_add(&srv.cut, 1);
}

static void ssl_echo(SSL *ssl)
{
	uint8_t buf[16384];
	int n;

	while ((n = SSL_read(ssl, buf, sizeof(buf))) > 0 && SSL_write(ssl, buf, n) == n)
		;
	if (SSL_get_error(ssl, n) == SSL_ERROR_ZERO_RETURN)
		(void)SSL_shutdown(ssl);
}

static void tunnel(SSL *ssl)
{
	switch (srv.after) {
	case AFTER_ECHO:
		ssl_echo(ssl);
		break;
	case AFTER_SEND_END:
		(void)ssl_pattern(ssl, SIZE);
		(void)SSL_shutdown(ssl);
		ssl_drain(ssl); /* to close over unread bytes is a reset */
		break;
	case AFTER_SEND_CUT: /* a FIN, and nothing that says so in TLS */
		(void)ssl_pattern(ssl, SIZE);
		break;
	case AFTER_READ:
		ssl_drain(ssl);
		break;
	case AFTER_ENDLESS:
		(void)ssl_pattern(ssl, UINT64_MAX);
		break;
	case AFTER_ANSWER: /* when the client has ended, or after a while where that is not told */
		if (SSL_version(ssl) == TLS1_3_VERSION)
			ssl_drain(ssl);
		else
			(void)usleep(200000);
		(void)ssl_pattern(ssl, SIZE);
		(void)SSL_shutdown(ssl);
		break;
	}
}

static void talk(SSL *ssl)
{
	char head[4096];

	while (ssl_head(ssl, head, sizeof(head))) {
		pthread_mutex_lock(&srv.lock);
		(void)snprintf(srv.head, sizeof(srv.head), "%s", head);
		pthread_mutex_unlock(&srv.lock);
		atomic_fetch_add(&srv.heads, 1);
		if (strncmp(head, "CONNECT ", 8) == 0) {
			if (SSL_write(ssl, "HTTP/1.1 200 OK\r\n\r\nhello", 24) == 24)
				tunnel(ssl);
			return;
		}
		(void)SSL_write(ssl, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nparent", 44);
	}
}

static int on_sni(SSL *ssl, int *alert, void *arg)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	(void)alert, (void)arg;
	pthread_mutex_lock(&srv.lock);
	(void)snprintf(srv.sni, sizeof(srv.sni), "%s", name ? name : "-");
	pthread_mutex_unlock(&srv.lock);
	return SSL_TLSEXT_ERR_OK;
}

static void serve(int fd, void *arg)
{
	SSL *ssl;
	char byte;

	(void)arg;
	if (srv.plain)
		(void)send_all(fd, "HTTP/1.1 400 not TLS\r\n\r\n", 24);
	if (srv.silent || srv.plain) {
		while (recv(fd, &byte, 1, 0) == 1)
			;
		close(fd);
		return;
	}
	ssl = SSL_new(srv.ctx);
	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1) {
		atomic_fetch_add(&srv.handshakes, 1);
		talk(ssl);
	}
	SSL_free(ssl);
	close(fd);
	ERR_clear_error();
}

/* ---- the world */

struct run {
	struct origin *parent;
	struct upstreams *through;
	struct world *w;
	struct identity id;
};

static struct tls_trust *trust(void)
{
	struct error err;
	struct tls_trust *t = tls_trust_new(&err);

	if (!t)
		fail_msg("%s", err.msg);
	return t;
}

/* @host: how the parent is named in its URL; @san and @until: what its certificate says */
static void start(struct run *r, const char *host, const char *san, long until, unsigned timeout)
{
	struct limits l = limits_default();
	struct upstream up;
	struct error err;
	char url[100];

	srv.after = AFTER_ECHO;
	srv.silent = srv.plain = false;
	srv.handshakes = srv.heads = srv.ended = srv.cut = 0;
	srv.got = srv.sent = srv.hash = 0;
	srv.head[0] = srv.sni[0] = '\0';
	r->id = identity_new(&authority, san, until);
	srv.ctx = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(srv.ctx, r->id.cert);
	SSL_CTX_use_PrivateKey(srv.ctx, r->id.key);
	SSL_CTX_set_tlsext_servername_callback(srv.ctx, on_sni);
	r->parent = origin_start(serve, NULL);
	(void)snprintf(url, sizeof(url), "https://u:p@%s:%u", host, r->parent->port);
	assert_int_equal(upstream_parse(url, &up, &err), 0);
	world_upstreams = r->through = upstreams_one(&up);
	assert_true(upstreams_want_trust(r->through));
	upstreams_set_trust(r->through, trust());
	if (timeout)
		l.upstream_tls_ms = timeout;
	r->w = world_start_with(&l);
	world_allow(r->w, "only.parent.test");
}

static void stop(struct run *r)
{
	world_stop(r->w);
	origin_stop(r->parent);
	upstreams_free(r->through);
	world_upstreams = NULL;
	identity_free(&r->id);
	SSL_CTX_free(srv.ctx);
}

#define GOOD "IP:127.0.0.1,DNS:good.example"
#define YEAR (365L * 86400)

static int open_through(struct run *r, enum way_in in)
{
	char buf[6] = "";
	int fd;

	assert_int_equal(try_tunnel(r->w, in, "only.parent.test", 7443, &fd), 0);
	assert_true(recv_all(fd, buf, 5)); /* glued to the parent's answer, inside one record */
	assert_string_equal(buf, "hello");
	return fd;
}

/* Reads to the end. Return: how many bytes of the pattern; *@clean tells FIN from RST. */
static uint64_t drain(int fd, bool *clean)
{
	static uint8_t buf[65536];
	uint64_t total = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(buf[i], pattern_byte(total + (uint64_t)i));
		total += (uint64_t)n;
	}
	*clean = n == 0;
	return total;
}

/* ---- what works */

static void test_each_way_in_goes_through(void **state)
{
	static const enum way_in named[] = { IN_CONNECT, IN_SOCKS5_NAME, IN_SOCKS4A };
	static const char *const hosts[] = { "127.0.0.1", "good.example" };
	struct run r;
	char buf[6] = "";

	(void)state;
	for (size_t h = 0; h < ARRAY_SIZE(hosts); h++) {
		start(&r, hosts[h], GOOD, YEAR, 0);
		for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
			int fd = open_through(&r, named[i]);

			assert_true(send_all(fd, "again", 5) && recv_all(fd, buf, 5));
			assert_string_equal(buf, "again");
			close(fd);
		}
		assert_string_equal(srv.sni, h ? "good.example" : "-"); /* RFC 6066 section 3 */
		assert_string_equal(srv.head, "CONNECT only.parent.test:7443 HTTP/1.1\r\n"
					      "Host: only.parent.test:7443\r\n"
					      "Proxy-Authorization: Basic dTpw\r\n\r\n");
		eventually(world_nconns(r.w) == 0);
		stop(&r);
	}
}

static void *upload(void *arg)
{
	(void)send_pattern(*(int *)arg, SIZE);
	return NULL;
}

static void test_bytes_both_ways_at_once(void **state)
{
	static uint8_t buf[65536];
	uint64_t total = 0;
	struct run r;
	pthread_t t;
	int fd;

	(void)state;
	start(&r, "127.0.0.1", GOOD, YEAR, 0);
	fd = open_through(&r, IN_CONNECT);
	assert_int_equal(pthread_create(&t, NULL, upload, &fd), 0);
	while (total < SIZE) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(buf[i], pattern_byte(total + (uint64_t)i));
		total += (uint64_t)n;
	}
	pthread_join(t, NULL);
	close(fd);
	eventually(world_count(r.w, PROXY_EVENT_CLOSE, CODE_OK) == 1);
	assert_int_equal(r.w->told[r.w->ntold - 1].up, SIZE);
	assert_int_equal(r.w->told[r.w->ntold - 1].down, SIZE + 5);
	stop(&r);
}

/* Plain HTTP: absolute-form, and the parent's connection serves the next request, too. */
static void test_plain_requests_share_a_connection(void **state)
{
	static const char req[] = "GET http://only.parent.test/a HTTP/1.1\r\nHost: x\r\n\r\n";
	char head[4096], body[7] = "";
	struct run r;
	int fd;

	(void)state;
	start(&r, "127.0.0.1", GOOD, YEAR, 0);
	fd = dial_port(r.w->port);
	for (int i = 0; i < 3; i++) {
		(void)usleep(20000); /* the server's session tickets come in the pause */
		assert_true(send_all(fd, req, strlen(req)));
		assert_true(recv_head(fd, head, sizeof(head)) > 0);
		assert_true(recv_all(fd, body, 6));
		assert_string_equal(body, "parent");
	}
	close(fd);
	assert_int_equal(atomic_load(&srv.heads), 3);
	assert_int_equal(atomic_load(&r.parent->accepts), 1);
	assert_int_equal(strncmp(srv.head, "GET http://only.parent.test/a HTTP/1.1\r\n", 40), 0);
	stop(&r);
}

/* ---- ends */

static void test_end_of_the_parent_is_an_end_only_if_it_says_so(void **state)
{
	struct run r;
	bool clean;
	int fd;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		start(&r, "127.0.0.1", GOOD, YEAR, 0);
		srv.after = cut ? AFTER_SEND_CUT : AFTER_SEND_END;
		fd = open_through(&r, IN_CONNECT);
		if (!cut)
			assert_int_equal(shutdown(fd, SHUT_WR), 0);
		assert_int_equal(drain(fd, &clean), SIZE);
		assert_int_equal(clean, !cut);
		close(fd);
		eventually(world_count(r.w, PROXY_EVENT_CLOSE, CODE_OK) == 1);
		assert_string_equal(r.w->told[r.w->ntold - 1].reason, cut ? "reset" : "eof");
		stop(&r);
	}
}

static void test_end_of_the_client_is_told_in_tls(void **state)
{
	struct run r;
	int fd;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		start(&r, "127.0.0.1", GOOD, YEAR, 0);
		srv.after = AFTER_READ;
		fd = open_through(&r, IN_CONNECT);
		assert_true(send_pattern(fd, SIZE));
		if (cut) {
			eventually(atomic_load(&srv.got) > 0);
			close_reset(fd);
		} else {
			assert_int_equal(shutdown(fd, SHUT_WR), 0);
		}
		eventually(atomic_load(&srv.ended) + atomic_load(&srv.cut) == 1);
		assert_int_equal(atomic_load(&srv.cut), cut);
		if (!cut) {
			assert_int_equal(atomic_load(&srv.got), SIZE);
			assert_true(atomic_load(&srv.hash) == pattern_hash(SIZE));
			close(fd);
		}
		eventually(world_nconns(r.w) == 0);
		stop(&r);
	}
}

/*
 * A client that has half-closed gets the whole answer. In TLS 1.2 telling the parent of it would
 * end the answer, too.
 */
static void test_answer_after_the_clients_half_close(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	struct run r;
	bool clean;
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		start(&r, "127.0.0.1", GOOD, YEAR, 0);
		srv.after = AFTER_ANSWER;
		SSL_CTX_set_max_proto_version(srv.ctx, versions[i]);
		fd = open_through(&r, IN_CONNECT);
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		assert_int_equal(drain(fd, &clean), SIZE);
		assert_true(clean);
		close(fd);
		eventually(world_nconns(r.w) == 0);
		stop(&r);
	}
}

static void test_reader_that_stops_holds_the_parent_back(void **state)
{
	struct run r;
	uint64_t before;
	int fd;

	(void)state;
	start(&r, "127.0.0.1", GOOD, YEAR, 0);
	srv.after = AFTER_ENDLESS;
	fd = open_through(&r, IN_CONNECT);
	do {
		before = atomic_load(&srv.sent);
		(void)usleep(200000);
	} while (atomic_load(&srv.sent) != before);
	assert_true(before > 0 && before < 40u << 20);
	close_reset(fd);
	eventually(world_nconns(r.w) == 0);
	stop(&r);
}

/* ---- what is refused */

static void expect_502(struct run *r, const char *text)
{
	static const char req[] = "CONNECT only.parent.test:7443 HTTP/1.1\r\n\r\n";
	char reply[4096];
	int fd = dial_port(r->w->port);

	assert_true(send_all(fd, req, strlen(req)));
	assert_true(recv_rest(fd, reply, sizeof(reply)) > 0);
	assert_int_equal(strncmp(reply, "HTTP/1.1 502 ", 13), 0);
	assert_non_null(strstr(reply, text));
	close(fd);
	assert_int_equal(atomic_load(&srv.heads), 0); /* not a byte of ours was told */
	assert_int_equal(world_count(r->w, PROXY_EVENT_DECISION, CODE_CONNECT_FAILED), 1);
	stop(r);
}

static void test_certificates_that_are_not_accepted(void **state)
{
	static const struct {
		const char *host, *san;
		long until;
	} bad[] = {
		{ "127.0.0.1", "IP:127.0.0.2,DNS:good.example", YEAR },
		{ "127.0.0.1", "DNS:127.0.0.1", YEAR }, /* an address is no name */
		{ "127.0.0.1", GOOD, -86400 },		/* it was good until yesterday */
		{ "good.example", "DNS:other.example,IP:127.0.0.1", YEAR },
		{ "good.example", "DNS:*.good.example", YEAR },
		{ "good.example", "DNS:go*.example", YEAR },
		{ "good.example", "DNS:*", YEAR },
	};
	struct run r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		start(&r, bad[i].host, bad[i].san, bad[i].until, 0);
		expect_502(&r, "certificate is not accepted");
	}
}

/* The same certificate as the one that works, from an authority that nobody believes. */
static void test_unknown_authority_is_refused(void **state)
{
	struct identity good = authority;
	struct run r;

	(void)state;
	authority = identity_new(NULL, NULL, YEAR);
	start(&r, "127.0.0.1", GOOD, YEAR, 0);
	identity_free(&authority);
	authority = good;
	expect_502(&r, "certificate is not accepted");
}

static void test_parent_without_tls_is_502(void **state)
{
	struct run r;

	(void)state;
	start(&r, "127.0.0.1", GOOD, YEAR, 0);
	srv.plain = true;
	expect_502(&r, "cannot reach only.parent.test:7443");
}

static void test_old_tls_is_502(void **state)
{
	struct run r;

	(void)state;
	start(&r, "127.0.0.1", GOOD, YEAR, 0);
	SSL_CTX_set_min_proto_version(srv.ctx, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(srv.ctx, TLS1_1_VERSION);
	SSL_CTX_set_security_level(srv.ctx, 0);
	expect_502(&r, "cannot reach only.parent.test:7443");
}

static void test_silent_handshake_is_504(void **state)
{
	struct run r;
	int fd;

	(void)state;
	start(&r, "127.0.0.1", GOOD, YEAR, 200);
	srv.silent = true;
	assert_int_equal(try_tunnel(r.w, IN_CONNECT, "only.parent.test", 7443, &fd), 504);
	close(fd);
	eventually(world_nconns(r.w) == 0);
	stop(&r);
}

/* Without certificates to believe nothing is begun; the file is named. */
static void test_trust_wants_certificates(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(setenv("SSL_CERT_FILE", "/nonexistent.pem", 1), 0);
	assert_null(tls_trust_new(&err));
	assert_non_null(strstr(err.msg, "/nonexistent.pem"));
	assert_int_equal(setenv("SSL_CERT_FILE", "/dev/null", 1), 0);
	assert_null(tls_trust_new(&err));
	assert_int_equal(setenv("SSL_CERT_FILE", ca_file, 1), 0);
}

static int set_up(void **state)
{
	FILE *f;
	int fd = mkstemp(ca_file);

	(void)state;
	authority = identity_new(NULL, NULL, YEAR);
	f = fdopen(fd, "w");
	if (!f || PEM_write_X509(f, authority.cert) != 1 || fclose(f) != 0)
		return -1;
	return setenv("SSL_CERT_FILE", ca_file, 1);
}

static int tear_down(void **state)
{
	(void)state;
	identity_free(&authority);
	return unlink(ca_file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_way_in_goes_through),
		cmocka_unit_test(test_bytes_both_ways_at_once),
		cmocka_unit_test(test_plain_requests_share_a_connection),
		cmocka_unit_test(test_end_of_the_parent_is_an_end_only_if_it_says_so),
		cmocka_unit_test(test_end_of_the_client_is_told_in_tls),
		cmocka_unit_test(test_answer_after_the_clients_half_close),
		cmocka_unit_test(test_reader_that_stops_holds_the_parent_back),
		cmocka_unit_test(test_certificates_that_are_not_accepted),
		cmocka_unit_test(test_unknown_authority_is_refused),
		cmocka_unit_test(test_parent_without_tls_is_502),
		cmocka_unit_test(test_old_tls_is_502),
		cmocka_unit_test(test_silent_handshake_is_504),
		cmocka_unit_test(test_trust_wants_certificates),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* the parent's end uses write() */
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
