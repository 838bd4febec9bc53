#include "proxy/lastwords.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "policy/refusal.h"
#include "proxy/forward.h"
#include "proxy/reply.h"
#include "proxy/socks4.h"
#include "proxy/socks5.h"

#define DISCARD_MAX (1024 * 1024) /* bytes read from a client that was refused */

/*
 * Closing a socket with unread bytes sends an RST, and that may overtake the reply in the client.
 * So when more has come, or must be expected, the end is announced and the rest read away.
 */
void lastwords_say(struct conn *c, const void *p, size_t n, const char *why)
{
	conn_upstream_end(c, true, why);
	if (c->state == CONN_DEAD)
		return;
	conn_enter(c, CONN_REPLY);
	conn_reply(c, p, n);
	c->linger |= c->in.len > 0;
	conn_consume(c, c->in.len);
	conn_timer(c, conn_limits(c)->reply_ms);
	conn_run(c);
}

void lastwords_run(struct conn *c)
{
	struct proxy *p = c->session->proxy;
	struct side *client = &c->t.side[CLIENT];
	ssize_t n;

	if (!way_flush(&c->t.way[UPSTREAM], client) && !client->broken)
		return;
	if (client->broken) {
		conn_reset(c, "client-gone");
		return;
	}
	while (client->readable && c->discarded < DISCARD_MAX) {
		n = side_recv(client, p->scratch, sizeof(p->scratch), 0);
		if (n < 0 && errno == EAGAIN) {
			client->readable = false;
		} else if (n <= 0) {
			conn_close(c, "refused");
			return;
		} else {
			c->discarded += (uint32_t)n;
			c->linger = true;
		}
	}
	if (!c->linger || c->discarded >= DISCARD_MAX)
		conn_close(c, "refused");
	else if (!c->t.way[UPSTREAM].done)
		(void)shutdown(client->fd, SHUT_WR);
	c->t.way[UPSTREAM].done = true;
}

/* The sentence, as on standard error. */
static const char *told(const struct conn *c, const struct decision *d, char out[REFUSAL_TOLD_MAX])
{
	const struct session_config *cfg = &c->session->cfg;

	return refusal_told(&c->target, d, cfg->hint ? cfg->hint(cfg->arg, &c->target, d) : NULL,
			    out);
}

static void answer(struct conn *c, const struct decision *d, int error)
{
	char sentence[REFUSAL_TOLD_MAX] UNINITIALIZED;
	char http[REPLY_HTTP_MAX] UNINITIALIZED;
	uint8_t socks[SOCKS5_REPLY_SIZE], ssh[REPLY_SSH_MAX] UNINITIALIZED;
	const char *word = policy_code_name(d->code);
	size_t n;

	switch ((enum proto)c->proto) {
	case PROTO_HTTP:
	case PROTO_CONNECT:
		n = reply_http(reply_http_status(d->code), d->code, told(c, d, sentence),
			       c->proto == PROTO_HTTP && forward_is_head(c->forward), http);
		c->linger = c->proto == PROTO_HTTP && forward_has_body(c->forward);
		lastwords_say(c, http, n, word);
		break;
	case PROTO_SOCKS5:
		socks5_format_reply(reply_socks5_rep(d->code, error), socks);
		lastwords_say(c, socks, SOCKS5_REPLY_SIZE, word);
		break;
	case PROTO_SOCKS4:
		socks4_format_reply(false, socks);
		lastwords_say(c, socks, SOCKS4_REPLY_SIZE, word);
		break;
	case PROTO_RAW:
		if (c->target.port != PROXY_SSH_PORT) {
			conn_reset(c, word);
			break;
		}
		/* The one protocol on a port of its own in which a server may say why. */
		n = reply_ssh(told(c, d, sentence), ssh);
		c->linger = true; /* its version is on the way */
		lastwords_say(c, ssh, n, word);
		break;
	case PROTO_NONE:
	case PROTO_SOCKS5_GREETING:
		conn_reset(c, word);
		break;
	}
}

void lastwords_refuse(struct conn *c, const struct decision *d)
{
	struct decision refusal = *d;

	refusal.verdict = VERDICT_DENY;
	session_foresee(c->session, &c->target, &refusal);
	conn_upstream_end(c, false, "eof");
	conn_tell(c, &refusal);
	if (c->state != CONN_DEAD)
		answer(c, &refusal, 0);
}

void lastwords_fail(struct conn *c, enum code code, int error)
{
	const struct decision d = { .verdict = VERDICT_ALLOW, .code = code, .error = error };

	conn_tell(c, &d);
	if (c->state != CONN_DEAD)
		answer(c, &d, error);
}
