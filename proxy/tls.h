/*
 * tls.h - a TLS client on a connected socket, for the way to a proxy of ours
 *
 * One struct tls is one connection. Its calls look like those of a socket that does not block, so
 * that whoever moves bytes needs to know nothing: -1 with EAGAIN, 0 for an end that the peer has
 * announced. An end without that announcement is an error: a cut cannot pass as a whole.
 */
#ifndef PROXY_TLS_H
#define PROXY_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/target.h"

struct tls;
struct tls_trust;

/**
 * tls_trust_new() - whose certificates are believed: $SSL_CERT_FILE, else the system's bundle
 *
 * Everything is read now; later there may be no file to read. Return: NULL with @err.
 */
struct tls_trust *tls_trust_new(struct error *err);

/** tls_trust_ref() - one more owner; NULL is allowed. Return: @t. */
struct tls_trust *tls_trust_ref(struct tls_trust *t);

/** tls_trust_free() - one owner less; NULL is allowed. */
void tls_trust_free(struct tls_trust *t);

/**
 * tls_new() - a connection to be made on @fd, which stays the caller's
 * @peer: whom the certificate must name: a host name, also asked for by SNI, or an address
 *
 * TLS 1.2 at least. Return: NULL without memory.
 */
struct tls *tls_new(const struct tls_trust *t, int fd, const struct target *peer);

/** tls_free() - says nothing to the peer; NULL is allowed. */
void tls_free(struct tls *t);

/** enum tls_step - what a handshake waits for */
enum tls_step {
	TLS_STEP_DONE,
	TLS_STEP_READ,
	TLS_STEP_WRITE,
	TLS_STEP_FAILED,
};

/**
 * tls_handshake() - go on with it
 * @why: on FAILED: what is wrong, in words; 256 bytes
 *
 * errno on FAILED: EKEYREJECTED when the certificate is at fault, else EPROTO or the socket's.
 */
enum tls_step tls_handshake(struct tls *t, char why[256]);

/** tls_recv(), tls_peek() - as recv(); EAGAIN is said only when the socket has no more. */
ssize_t tls_recv(struct tls *t, void *p, size_t n);
ssize_t tls_peek(struct tls *t, void *p, size_t n);

/**
 * tls_send() - as send()
 *
 * After EAGAIN the same bytes must come again first, as many or more.
 */
ssize_t tls_send(struct tls *t, const void *p, size_t n);

/**
 * tls_shutdown() - announce that nothing more will be sent
 * @closing: the connection will be closed at once
 *
 * Before TLS 1.3 the announcement ends both directions (RFC 5246 7.2.1: the peer discards what it
 * had to send), so that it is made only on @closing there.
 */
void tls_shutdown(struct tls *t, bool closing);

#endif
