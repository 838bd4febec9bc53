#include "proxy/tls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "proxy/libssl.h"

struct tls_trust {
	const struct libssl *lib;
	SSL_CTX *ctx;
	unsigned owners;
};

struct tls {
	const struct libssl *lib;
	SSL *ssl;
};

/* Where distributions keep the bundle; OpenSSL knows the first by itself. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Gentoo */
	"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
	"/etc/ssl/ca-bundle.pem",	      /* openSUSE */
	"/etc/ssl/cert.pem",		      /* Alpine */
};

static const char *find_bundle(const struct libssl *lib)
{
	const char *named = getenv(lib->X509_get_default_cert_file_env());

	if (named && *named)
		return named;
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
		if (access(bundles[i], R_OK) == 0)
			return bundles[i];
	}
	return lib->X509_get_default_cert_file();
}

/* The oldest error of the queue is the cause; the queue is left empty. */
static const char *ssl_reason(const struct libssl *lib)
{
	unsigned long e = lib->ERR_get_error();
	const char *text = e ? lib->ERR_reason_error_string(e) : NULL;

	lib->ERR_clear_error();
	return text ? text : "TLS error";
}

/* The macros of ssl.h would name the library's functions directly. */
static SSL_CTX *new_ctx(const struct libssl *lib)
{
	static const unsigned char alpn[] = "\x08http/1.1";
	const long mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
			  SSL_MODE_RELEASE_BUFFERS;
	SSL_CTX *ctx = lib->SSL_CTX_new(lib->TLS_client_method());

	if (!ctx)
		return NULL;
	lib->SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	lib->SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)lib->SSL_CTX_ctrl(ctx, SSL_CTRL_MODE, mode, NULL);
	(void)lib->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	if (lib->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) == 1 &&
	    lib->SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1) == 0)
		return ctx;
	lib->SSL_CTX_free(ctx);
	return NULL;
}

struct tls_trust *tls_trust_new(struct error *err)
{
	const struct libssl *lib = libssl_load(err);
	const char *bundle;
	struct tls_trust *t;
	SSL_CTX *ctx;

	if (!lib)
		return NULL;
	bundle = find_bundle(lib);
	ctx = new_ctx(lib);
	if (!ctx) {
		error_set(err, 0, "cannot use TLS: %s", ssl_reason(lib));
		return NULL;
	}
	if (lib->SSL_CTX_load_verify_file(ctx, bundle) != 1) {
		error_set(err, 0,
			  "no CA certificates in '%s' (%s): install ca-certificates or set %s",
			  bundle, ssl_reason(lib), lib->X509_get_default_cert_file_env());
		lib->SSL_CTX_free(ctx);
		return NULL;
	}
	t = xmalloc(sizeof(*t));
	*t = (struct tls_trust){ .lib = lib, .ctx = ctx, .owners = 1 };
	return t;
}

struct tls_trust *tls_trust_ref(struct tls_trust *t)
{
	if (t)
		t->owners++;
	return t;
}

void tls_trust_free(struct tls_trust *t)
{
	if (!t || --t->owners)
		return;
	t->lib->SSL_CTX_free(t->ctx);
	free(t);
}

/* The certificate must name the proxy as it was configured. */
static bool expect(const struct tls *t, const struct target *peer)
{
	X509_VERIFY_PARAM *param = t->lib->SSL_get0_param(t->ssl);
	char name[HOSTNAME_MAX + 1];

	t->lib->X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (target_is_literal(peer)) /* no SNI: RFC 6066 section 3 */
		return t->lib->X509_VERIFY_PARAM_set1_ip(
			       param, peer->addr.bytes, peer->addr.family == AF_INET ? 4 : 16) == 1;
	(void)snprintf(name, sizeof(name), "%s", peer->host.s); /* which ssl.h wants writable */
	return t->lib->SSL_set1_host(t->ssl, name) == 1 &&
	       t->lib->SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
				name) == 1;
}

struct tls *tls_new(const struct tls_trust *trust, int fd, const struct target *peer)
{
	struct tls *t = xmalloc(sizeof(*t));

	*t = (struct tls){ .lib = trust->lib, .ssl = trust->lib->SSL_new(trust->ctx) };
	if (t->ssl && t->lib->SSL_set_fd(t->ssl, fd) == 1 && expect(t, peer)) {
		t->lib->SSL_set_connect_state(t->ssl);
		return t;
	}
	t->lib->ERR_clear_error();
	tls_free(t);
	return NULL;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	t->lib->SSL_free(t->ssl); /* the socket is not closed: SSL_set_fd() says so */
	free(t);
}

/* After a call that returned @n <= 0. Return: 0 for an announced end, else -1 with errno. */
static ssize_t failed(struct tls *t, int n)
{
	int saved = errno;

	switch (t->lib->SSL_get_error(t->ssl, n)) {
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		errno = EAGAIN;
		break;
	case SSL_ERROR_SYSCALL:
		errno = saved && saved != EAGAIN ? saved : ECONNRESET;
		break;
	default: /* SSL_ERROR_SSL: also an end without close_notify */
		errno = EPROTO;
		break;
	}
	t->lib->ERR_clear_error();
	return -1;
}

/* Says why a handshake has failed. Return: an errno for it. */
static int explain(const struct tls *t, int saved, char why[256])
{
	long verdict = t->lib->SSL_get_verify_result(t->ssl);
	const char *reason = ssl_reason(t->lib);

	if (verdict != X509_V_OK) {
		(void)snprintf(why, 256, "its certificate is not accepted: %s",
			       t->lib->X509_verify_cert_error_string(verdict));
		return EKEYREJECTED;
	}
	if (saved && saved != EAGAIN) {
		(void)snprintf(why, 256, "%s", strerror(saved));
		return saved;
	}
	(void)snprintf(why, 256, "%s", reason);
	return EPROTO;
}

enum tls_step tls_handshake(struct tls *t, char why[256])
{
	int n, saved;

	t->lib->ERR_clear_error();
	errno = 0;
	n = t->lib->SSL_do_handshake(t->ssl);
	if (n == 1)
		return TLS_STEP_DONE;
	saved = errno;
	switch (t->lib->SSL_get_error(t->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		return TLS_STEP_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_STEP_WRITE;
	default:
		errno = explain(t, saved, why);
		return TLS_STEP_FAILED;
	}
}

static int at_most(size_t n)
{
	return n > INT_MAX ? INT_MAX : (int)n;
}

ssize_t tls_recv(struct tls *t, void *p, size_t n)
{
	int got;

	t->lib->ERR_clear_error();
	errno = 0;
	got = t->lib->SSL_read(t->ssl, p, at_most(n));
	return got > 0 ? got : failed(t, got);
}

ssize_t tls_peek(struct tls *t, void *p, size_t n)
{
	int got;

	t->lib->ERR_clear_error();
	errno = 0;
	got = t->lib->SSL_peek(t->ssl, p, at_most(n));
	return got > 0 ? got : failed(t, got);
}

ssize_t tls_send(struct tls *t, const void *p, size_t n)
{
	int sent;

	if (n == 0)
		return 0;
	t->lib->ERR_clear_error();
	errno = 0;
	sent = t->lib->SSL_write(t->ssl, p, at_most(n));
	if (sent > 0)
		return sent;
	if (failed(t, sent) == 0)
		errno = EPIPE;
	return -1;
}

void tls_shutdown(struct tls *t, bool closing)
{
	if (!closing && t->lib->SSL_version(t->ssl) < TLS1_3_VERSION)
		return;
	t->lib->ERR_clear_error();
	(void)t->lib->SSL_shutdown(t->ssl);
	t->lib->ERR_clear_error();
}
