#include "proxy/turnaway.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/refusal.h"
#include "proxy/handshake.h"
#include "proxy/reply.h"
#include "proxy/sniff.h"

static const struct decision full = { .verdict = VERDICT_DENY, .code = CODE_LIMIT };

/* By what has come in the meantime: the client has waited for a second. */
static enum via guess(const uint8_t *p, ssize_t n)
{
	if (n <= 0)
		return VIA_CONNECT;
	switch (sniff_first_byte(p[0])) {
	case SNIFF_SOCKS5:
		return VIA_SOCKS5;
	case SNIFF_SOCKS4:
		return VIA_SOCKS4A;
	case SNIFF_HTTP:
	case SNIFF_BAD:
		break;
	}
	return n >= 8 && memcmp(p, "CONNECT ", 8) == 0 ? VIA_CONNECT : VIA_HTTP;
}

static struct target asked_for(struct session *s, int fd, enum listener_kind kind,
			       const struct target *fixed, const uint8_t *p, ssize_t n)
{
	struct target t = { .via = VIA_CONNECT };

	switch (kind) {
	case LISTENER_PROXY:
		t.via = guess(p, n);
		break;
	case LISTENER_FORWARD:
		t = *fixed;
		t.via = VIA_FORWARD;
		break;
	case LISTENER_CAPTURE:
		(void)handshake_captured(s, fd, &t);
		break;
	}
	return t;
}

/* What was sent is read first: closing over unread bytes would reset the answer away. */
void turnaway(struct session *s, int fd, enum listener_kind kind, const struct target *fixed)
{
	struct proxy *p = s->proxy;
	ssize_t n = recv(fd, p->scratch, sizeof(p->scratch), MSG_DONTWAIT);
	struct target t = asked_for(s, fd, kind, fixed, p->scratch, n);
	const struct proxy_event ev = { .kind = PROXY_EVENT_DECISION,
					.conn = ++p->next_conn,
					.target = &t,
					.client = fd,
					.decision = full };
	const bool answered = n > 0 && (t.via == VIA_CONNECT || t.via == VIA_HTTP);
	char sentence[REFUSAL_MAX], reply[REPLY_HTTP_MAX];

	if (s->cfg.event)
		s->cfg.event(s->cfg.arg, &ev);
	if (answered) {
		n = (ssize_t)reply_http(reply_http_status(full.code), full.code,
					refusal_format(&t, &full, sentence), false, reply);
		(void)send(fd, reply, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	fd_linger(fd, !answered);
	(void)close(fd);
}
