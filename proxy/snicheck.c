#include "proxy/snicheck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/xalloc.h"
#include "proxy/tls_hello.h"

#define CLIENT	     0
#define RECORD_FIRST 0x14 /* change_cipher_spec */
#define RECORD_LAST  0x18 /* heartbeat (RFC 6520) */

struct snicheck {
	struct tls_hello_scan scan;
	bool strict;
	struct hostname name;
};

struct snicheck *snicheck_new(enum sni_check check, const struct target *t)
{
	struct snicheck *s;

	if (check == SNI_OFF || t->port != SNICHECK_PORT || target_is_literal(t))
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->strict = check == SNI_STRICT;
	s->name = t->host;
	return s;
}

void snicheck_free(struct snicheck *s)
{
	free(s);
}

/* A whole ClientHello. What is encrypted in it cannot be judged. */
static enum snicheck_verdict judge_hello(const struct snicheck *s, const struct tls_hello *h)
{
	if (s->strict && (h->ech || !h->exact || h->kind != TLS_HELLO_NAME))
		return SNICHECK_REFUSE;
	if (h->kind == TLS_HELLO_NONE)
		return SNICHECK_PASS;
	return h->kind == TLS_HELLO_NAME && hostname_equal(&h->name, &s->name) ? SNICHECK_PASS
									       : SNICHECK_REFUSE;
}

/*
 * Of any type: Go's servers drop a warning (an alert) and then read the ClientHello behind it, which
 * nobody would look at here. Nothing but a handshake begins a connection (RFC 8446 2).
 */
static bool is_record(uint8_t type)
{
	return type >= RECORD_FIRST && type <= RECORD_LAST;
}

enum snicheck_verdict snicheck_judge(struct snicheck *s, const uint8_t *p, size_t n, bool ended)
{
	struct tls_hello hello;

	if (n == 0)
		return ended ? SNICHECK_PASS : SNICHECK_WAIT;
	if (!is_record(p[0])) /* no TLS that a server of today would answer */
		return s->strict ? SNICHECK_REFUSE : SNICHECK_PASS;
	switch (tls_hello_parse(&s->scan, p, n, &hello)) {
	case PARSE_OK:
		return judge_hello(s, &hello);
	case PARSE_BAD: /* looks like TLS and is not what we understand: so may the server */
		return SNICHECK_REFUSE;
	case PARSE_MORE:
		break;
	}
	return ended ? SNICHECK_REFUSE : SNICHECK_WAIT;
}

enum snicheck_verdict snicheck_look(struct snicheck *s, struct tunnel *t, uint8_t *scratch,
				    size_t size)
{
	struct way *w = &t->way[CLIENT];
	struct side *client = &t->side[CLIENT];
	size_t have = w->keep ? w->keep_len - w->keep_off : 0;
	bool ended = w->eof;
	ssize_t n = 0;

	if (have > size)
		return SNICHECK_REFUSE; /* cannot be: early data is bounded */
	if (have)
		memcpy(scratch, w->keep + w->keep_off, have);
	if (!ended && have < size) {
		do
			n = side_recv(client, scratch + have, size - have, MSG_PEEK);
		while (n < 0 && errno == EINTR);
		ended = n == 0;
		if (n < 0 && errno == EAGAIN)
			client->readable = false; /* the next edge brings us here again */
		else if (n < 0)
			client->broken = true; /* reset: nothing of it goes out */
	}
	return snicheck_judge(s, scratch, have + (n > 0 ? (size_t)n : 0), ended);
}
