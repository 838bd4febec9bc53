/*
 * snicheck.h - does the TLS client in a tunnel ask for the server that the tunnel was allowed to?
 *
 * Judged are tunnels to port 443 of a name. The bytes are looked at where they are (kept early
 * data, then the socket with MSG_PEEK) and none is passed on before the verdict; afterwards the
 * check is gone and costs nothing.
 */
#ifndef PROXY_SNICHECK_H
#define PROXY_SNICHECK_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "proxy/tunnel.h"

#define SNICHECK_PORT 443

struct snicheck;

/** enum snicheck_verdict - about the client's first bytes */
enum snicheck_verdict {
	SNICHECK_WAIT,	 /* not enough has come; look again when more has */
	SNICHECK_PASS,	 /* let the bytes go */
	SNICHECK_REFUSE, /* end the tunnel; the server must not see them */
};

/** snicheck_new() - NULL if the tunnel is none of those judged. Free with snicheck_free(). */
struct snicheck *snicheck_new(enum sni_check check, const struct target *t);

/** snicheck_free() - NULL is allowed. */
void snicheck_free(struct snicheck *s);

/**
 * snicheck_judge() - the verdict on the first bytes; pure
 * @p, @n: all that the client has sent so far
 * @ended: nothing more will come
 */
enum snicheck_verdict snicheck_judge(struct snicheck *s, const uint8_t *p, size_t n, bool ended);

/**
 * snicheck_look() - the verdict on what a tunnel's client has sent
 * @scratch: at least TLS_HELLO_MAX bytes; what is in it afterwards means nothing
 */
enum snicheck_verdict snicheck_look(struct snicheck *s, struct tunnel *t, uint8_t *scratch,
				    size_t size);

#endif
