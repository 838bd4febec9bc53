/*
 * libssl.h - inside proxy/: the TLS library, loaded when a proxy of ours wants TLS, and only then
 *
 * Linked in, its relocations cost every start more than a millisecond, and hardly one run in a
 * hundred goes out through an https:// proxy. That holds for libcrypto too, which it brings along and
 * which is most of it: proxy/ links neither, so that a call that is missing here is an error of the build.
 */
#ifndef PROXY_LIBSSL_H
#define PROXY_LIBSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/error.h"

#define LIBSSL_FUNCTIONS(F)                \
	F(ERR_clear_error)                 \
	F(ERR_get_error)                   \
	F(ERR_reason_error_string)         \
	F(SSL_CTX_ctrl)                    \
	F(SSL_CTX_free)                    \
	F(SSL_CTX_load_verify_file)        \
	F(SSL_CTX_new)                     \
	F(SSL_CTX_set_alpn_protos)         \
	F(SSL_CTX_set_options)             \
	F(SSL_CTX_set_verify)              \
	F(SSL_ctrl)                        \
	F(SSL_do_handshake)                \
	F(SSL_free)                        \
	F(SSL_get0_param)                  \
	F(SSL_get_error)                   \
	F(SSL_get_verify_result)           \
	F(SSL_new)                         \
	F(SSL_peek)                        \
	F(SSL_read)                        \
	F(SSL_set1_host)                   \
	F(SSL_set_connect_state)           \
	F(SSL_set_fd)                      \
	F(SSL_shutdown)                    \
	F(SSL_version)                     \
	F(SSL_write)                       \
	F(TLS_client_method)               \
	F(X509_VERIFY_PARAM_set1_ip)       \
	F(X509_VERIFY_PARAM_set_hostflags) \
	F(X509_get_default_cert_file)      \
	F(X509_get_default_cert_file_env)  \
	F(X509_verify_cert_error_string)

/** struct libssl - its functions by their names */
struct libssl {
#define LIBSSL_MEMBER(name) __typeof__(name) *name;
	LIBSSL_FUNCTIONS(LIBSSL_MEMBER)
#undef LIBSSL_MEMBER
};

/**
 * libssl_load() - load it, once for the process
 *
 * Return: NULL with @err. After a success it never fails again.
 */
const struct libssl *libssl_load(struct error *err);

#endif
