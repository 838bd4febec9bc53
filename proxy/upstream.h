/*
 * upstream.h - the proxy that we ourselves must go through, and how one speaks to it
 *
 * Pure: text and bytes in, values and bytes out. parent.c does the input and output.
 */
#ifndef PROXY_UPSTREAM_H
#define PROXY_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/error.h"
#include "base/reader.h"
#include "policy/target.h"
#include "proxy/limits.h"

#define UPSTREAM_CREDENTIAL_MAX 255 /* bytes of a user name or password (RFC 1929) */
#define UPSTREAM_BASIC_MAX	(sizeof("Basic ") + 4 * ((2 * UPSTREAM_CREDENTIAL_MAX + 1) / 3 + 1))
#define UPSTREAM_SAY_MAX	(2 * TARGET_TEXT_MAX + UPSTREAM_BASIC_MAX + 128)

/** enum upstream_scheme - what the parent speaks */
enum upstream_scheme {
	UPSTREAM_HTTP,	 /* CONNECT, and absolute-form for plain HTTP */
	UPSTREAM_SOCKS5, /* RFC 1928; names are resolved there */
};

/**
 * struct upstream - one parent proxy
 * @tls: it is spoken to through TLS
 * @at: where it is
 * @user, @password: decoded, @user_n and @password_n bytes; no credentials when @user_n is 0
 * @basic: value of Proxy-Authorization, or empty
 *
 * Secrets: never to be logged.
 */
struct upstream {
	enum upstream_scheme scheme;
	bool tls;
	struct target at;
	uint8_t user_n, password_n;
	char user[UPSTREAM_CREDENTIAL_MAX + 1];
	char password[UPSTREAM_CREDENTIAL_MAX + 1];
	char basic[UPSTREAM_BASIC_MAX];
};

/**
 * upstream_parse() - "[SCHEME://][USER[:PASSWORD]@]HOST[:PORT][/]"
 * @text: http:// (the default, port 80), https:// (port 443) or socks5h:// (port 1080)
 *
 * Return: 0, or -1 with @err, which never repeats a credential.
 */
int upstream_parse(const char *text, struct upstream *out, struct error *err);

struct tls_trust;
struct upstreams;

/** upstream_equal() - the same parent with the same credentials; NULL is no parent. */
bool upstream_equal(const struct upstream *a, const struct upstream *b);

/** typedef upstream_note_cb - something in the environment is not used; @text has no credential */
typedef void upstream_note_cb(void *arg, const char *text);

/** typedef upstream_getenv - getenv(3) or a test's */
typedef const char *upstream_getenv(const char *name);

/** upstreams_one() - the same parent for everything but this machine's loopback. */
struct upstreams *upstreams_one(const struct upstream *up);

/**
 * upstreams_env() - what HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY say
 *
 * The lower-case name counts before the upper-case one. Tunnels: https, all, http; plain HTTP:
 * http, all. A value that cannot be used is told and left out. Return: NULL if there is none.
 */
struct upstreams *upstreams_env(upstream_getenv *get, upstream_note_cb *note, void *arg);

/** upstreams_want_trust() - one of them speaks TLS: upstreams_trust() must be set before use. */
bool upstreams_want_trust(const struct upstreams *u);

/** upstreams_set_trust() - whose certificates are believed; @trust is taken over. */
void upstreams_set_trust(struct upstreams *u, struct tls_trust *trust);

/** upstreams_trust() - NULL if none was set. */
struct tls_trust *upstreams_trust(const struct upstreams *u);

/** upstreams_free() - NULL is allowed. */
void upstreams_free(struct upstreams *u);

/**
 * upstreams_for() - the parent for a target, or NULL for a direct connection
 * @u: NULL means that there is none
 *
 * This machine's loopback is always direct. NO_PROXY matches names and what is below them,
 * addresses and CIDR blocks; its ports are ignored.
 */
const struct upstream *upstreams_for(const struct upstreams *u, const struct target *t);

/** enum upstream_step - where the handshake stands */
enum upstream_step {
	UPSTREAM_STEP_HEAD,    /* HTTP: the head of the answer to CONNECT is due */
	UPSTREAM_STEP_METHOD,  /* SOCKS5: the chosen method */
	UPSTREAM_STEP_AUTH,    /* SOCKS5: the answer to the credentials */
	UPSTREAM_STEP_REPLY,   /* SOCKS5: the answer to the request */
	UPSTREAM_STEP_THROUGH, /* what follows comes from the target */
};

/**
 * struct upstream_talk - a handshake
 * @say, @say_n: to be sent now; the caller clears @say_n
 * @error: after BAD: an errno that describes the refusal
 * @status: after BAD: what the parent answered (HTTP status, SOCKS5 reply), 0 if nothing sensible
 */
struct upstream_talk {
	const struct upstream *up;
	const struct target *target;
	enum upstream_step step;
	size_t say_n;
	int error;
	unsigned status;
	uint8_t say[UPSTREAM_SAY_MAX];
};

/** upstream_talk_start() - @up and @target must outlive @talk; there is something to say. */
void upstream_talk_start(struct upstream_talk *talk, const struct upstream *up,
			 const struct target *target);

/**
 * upstream_talk_hear() - what the parent has said since the last OK
 * @used: on OK how many of the @n bytes were meant for us; the rest is for the next call, or the
 *        target's once @talk->step is UPSTREAM_STEP_THROUGH
 *
 * MORE is bounded by UPSTREAM_HEAD_MAX; beyond it the answer is BAD.
 */
enum parse upstream_talk_hear(struct upstream_talk *talk, const uint8_t *p, size_t n, size_t *used);

#endif
