/*
 * snicheck.h - does the TLS client in a tunnel ask for the server that the tunnel was allowed to?
 *
 * Judged are tunnels to port 443 of a name: the ClientHello, and every further one, until the server
 * begins with something else than a request for another (HelloRetryRequest). A byte of the client's is
 * passed on only after its verdict; what the server says goes its way at once and is only read along.
 * Afterwards the check is gone and costs nothing.
 */
#ifndef PROXY_SNICHECK_H
#define PROXY_SNICHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "proxy/proxy.h"
#include "proxy/tunnel.h"

#define SNICHECK_PORT 443

struct snicheck;

/** enum snicheck_verdict - what is to be done */
enum snicheck_verdict {
	SNICHECK_WAIT,	 /* look again when more has come, either way */
	SNICHECK_AGAIN,	 /* look again soon: there may be more already */
	SNICHECK_PASS,	 /* the check is over: let everything go */
	SNICHECK_REFUSE, /* end the tunnel; the server must not see the rest */
};

/** snicheck_new() - NULL if the tunnel is none of those judged. Free with snicheck_free(). */
struct snicheck *snicheck_new(enum sni_check check, const struct target *t);

/** snicheck_same() - ask @same about a name that is not the target's. */
void snicheck_same(struct snicheck *s, proxy_same_cb *same, void *arg);

/** snicheck_free() - NULL is allowed. */
void snicheck_free(struct snicheck *s);

/** snicheck_held() - bytes that were taken from the client and wait for the verdict; NULL: none. */
size_t snicheck_held(const struct snicheck *s);

/**
 * snicheck_client() - the verdict on what the client has sent; pure
 * @p, @n: all that has come and was not let go by an earlier call
 * @ended: nothing more will come
 * @go: so many of them may go, whatever is said of the rest; the next call's @p begins behind them
 *
 * Return: WAIT, PASS or REFUSE.
 */
enum snicheck_verdict snicheck_client(struct snicheck *s, const uint8_t *p, size_t n, bool ended,
				      size_t *go);

/** snicheck_server() - the next bytes of the server, in order, in whatever pieces; pure. */
void snicheck_server(struct snicheck *s, const uint8_t *p, size_t n);

/** snicheck_begin() - shut @t, none of whose bytes has gone. @p, @n: what the client has sent early. */
void snicheck_begin(struct snicheck *s, struct tunnel *t, const uint8_t *p, size_t n);

/**
 * snicheck_turn() - look at what has come both ways, and let go what may
 * @scratch: @size bytes, at least TLS_HELLO_MAX; what is in it afterwards means nothing
 *
 * Return: after PASS @t is open again.
 */
enum snicheck_verdict snicheck_turn(struct snicheck *s, struct tunnel *t, uint8_t *scratch,
				    size_t size);

#endif
