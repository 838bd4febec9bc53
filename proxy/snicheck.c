/*
 * Theory of operation
 *
 * The client's bytes are looked at where they are (kept early data, then the socket with MSG_PEEK) and
 * let go by whole ClientHellos and, behind the first, by parts of other records, which are early data
 * (RFC 8446 4.2.10) or mean nothing to a server. Its next plaintext handshake record before the server
 * has answered must be one more ClientHello, with the same name: nobody else sends one.
 *
 * The server's bytes are read along record by record. Its ServerHello ends the check, unless it is the
 * HelloRetryRequest: then the client's next hello counts. As all of them come through here, no answer
 * of the client's overtakes what decides about it.
 */
#include "proxy/snicheck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "proxy/tls_hello.h"

#define CLIENT		   0
#define SERVER		   1
#define RECORD_HEADER_SIZE 5
#define RECORD_FIRST	   0x14 /* change_cipher_spec */
#define RECORD_HANDSHAKE   0x16
#define RECORD_LAST	   0x18		       /* heartbeat (RFC 6520) */
#define RECORD_MAX	   ((1u << 14) + 2048) /* RFC 5246 6.2.3: encrypted */
#define MESSAGE_HEADER	   4
#define HELLO_REQUEST	   0
#define SERVER_HELLO	   2
#define SERVER_HELLO_START (MESSAGE_HEADER + 2 + 32) /* with version and random */
#define SOME		   2048			     /* bytes let go at a time */
#define TURNS		   4 /* looks at a client that goes on sending, before others have theirs */

/* The random of a ServerHello that is a HelloRetryRequest: SHA-256 of that word (RFC 8446 4.1.3) */
static const uint8_t retry_random[32] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

/* What is no TLS passes by default; but not what may stand before it and names a client's address. */
static const struct {
	const char *p;
	size_t n;
} proxy_header[] = { { "PROXY ", 6 }, { "\r\n\r\n\0\r\nQUIT\n", 12 } };

/*
 * struct answer - how far the server's records have been read
 * @head, @nhead: the header of the record under way
 * @left: of its body
 * @message, @nmessage: the beginning of the handshake message under way
 * @skip: of that message, behind what is kept of it
 * @seen: bytes in all
 */
struct answer {
	uint8_t head[RECORD_HEADER_SIZE], message[SERVER_HELLO_START];
	uint8_t nhead, nmessage;
	size_t left, skip, seen;
};

/*
 * struct snicheck
 * @scan: the ClientHello under way
 * @left: bytes of a record of the client's that may go
 * @early, @off, @nearly: what it had sent before the tunnel stood
 * @first: a ClientHello has gone; @owed: and the server has not answered it
 * @decided: the server has answered with a ServerHello that is none of those that ask again
 * @deaf: the server does not speak as it should, and is no longer listened to
 * @ending: the client's end stands behind what can be looked at
 */
struct snicheck {
	struct tls_hello_scan scan;
	struct answer answer;
	size_t left;
	uint8_t *early;
	size_t off, nearly;
	bool strict, first, owed, decided, deaf, ending;
	struct target target;
	proxy_same_cb *same;
	void *arg;
};

struct snicheck *snicheck_new(enum sni_check check, const struct target *t)
{
	struct snicheck *s;

	if (check == SNI_OFF || t->port != SNICHECK_PORT || target_is_literal(t))
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->strict = check == SNI_STRICT;
	s->target = *t;
	return s;
}

void snicheck_same(struct snicheck *s, proxy_same_cb *same, void *arg)
{
	s->same = same;
	s->arg = arg;
}

void snicheck_free(struct snicheck *s)
{
	if (s)
		free(s->early);
	free(s);
}

/* ---- the client */

/* A whole ClientHello. What is encrypted in it cannot be judged. */
static bool hello_may_go(const struct snicheck *s, const struct tls_hello *h)
{
	if (s->strict && (h->ech || !h->exact || h->kind != TLS_HELLO_NAME))
		return false;
	if (h->kind == TLS_HELLO_NONE)
		return true;
	if (h->kind != TLS_HELLO_NAME)
		return false;
	return hostname_equal(&h->name, &s->target.host) ||
	       (s->same && s->same(s->arg, &s->target, &h->name));
}

/*
 * Of any type: Go's servers drop a warning (an alert) and then read the ClientHello behind it, which
 * nobody would look at here. Nothing but a handshake begins a connection (RFC 8446 2).
 */
static bool is_record(uint8_t type)
{
	return type >= RECORD_FIRST && type <= RECORD_LAST;
}

static enum snicheck_verdict judge_other(const struct snicheck *s, const uint8_t *p, size_t n,
					 bool ended)
{
	if (s->strict)
		return SNICHECK_REFUSE;
	for (size_t i = 0; i < ARRAY_SIZE(proxy_header); i++) {
		size_t some = n < proxy_header[i].n ? n : proxy_header[i].n;

		if (memcmp(p, proxy_header[i].p, some) != 0)
			continue;
		if (some == proxy_header[i].n)
			return SNICHECK_REFUSE;
		if (!ended)
			return SNICHECK_WAIT;
	}
	return SNICHECK_PASS; /* no TLS that a server of today would answer */
}

/* Return: PASS with its size when a whole one is there and may go. */
static enum snicheck_verdict judge_hello(struct snicheck *s, const uint8_t *p, size_t n, bool ended,
					 size_t *size)
{
	struct tls_hello hello;

	switch (tls_hello_parse(&s->scan, p, n, &hello)) {
	case PARSE_OK:
		if (!hello_may_go(s, &hello))
			return SNICHECK_REFUSE;
		*size = tls_hello_size(&s->scan);
		s->first = s->owed = true;
		s->scan = (struct tls_hello_scan){ 0 };
		return SNICHECK_PASS;
	case PARSE_BAD: /* looks like TLS and is not what we understand: so may the server */
		return SNICHECK_REFUSE;
	case PARSE_MORE:
		break;
	}
	return ended ? SNICHECK_REFUSE : SNICHECK_WAIT;
}

/* Behind the first hello. Return: WAIT if it must wait for more of its header, else @size may go. */
static enum snicheck_verdict judge_record(struct snicheck *s, const uint8_t *p, size_t n,
					  bool ended, size_t *size)
{
	if (p[0] == RECORD_HANDSHAKE)
		return judge_hello(s, p, n, ended, size);
	if (!is_record(p[0]) || (n >= 2 && p[1] != 0x03))
		return SNICHECK_REFUSE;
	if (n < RECORD_HEADER_SIZE)
		return ended ? SNICHECK_REFUSE : SNICHECK_WAIT;
	s->left = (size_t)p[3] << 8 | p[4];
	if (s->left > RECORD_MAX)
		return SNICHECK_REFUSE;
	*size = RECORD_HEADER_SIZE;
	return SNICHECK_PASS;
}

static size_t take_left(struct snicheck *s, size_t n)
{
	size_t part = n < s->left ? n : s->left;

	s->left -= part;
	return part;
}

enum snicheck_verdict snicheck_client(struct snicheck *s, const uint8_t *p, size_t n, bool ended,
				      size_t *go)
{
	size_t size = 0;

	for (*go = 0; !s->decided; *go += size) {
		enum snicheck_verdict v;

		*go += take_left(s, n - *go);
		if (*go == n)
			return ended ? SNICHECK_PASS : SNICHECK_WAIT;
		if (!s->first && !is_record(p[*go]))
			return judge_other(s, p + *go, n - *go, ended);
		if (s->first)
			v = judge_record(s, p + *go, n - *go, ended, &size);
		else
			v = judge_hello(s, p + *go, n - *go, ended, &size);
		if (v != SNICHECK_PASS)
			return v;
	}
	return SNICHECK_PASS;
}

/* ---- the server */

static size_t fill(uint8_t *to, uint8_t *have, size_t want, const uint8_t *p, size_t n)
{
	size_t part = want - *have < n ? want - *have : n;

	memcpy(to + *have, p, part);
	*have = (uint8_t)(*have + part);
	return part;
}

/* A message has begun. Anything but a ServerHello, at this place, is no TLS that we know. */
static void judge_message(struct snicheck *s)
{
	struct answer *a = &s->answer;
	const uint8_t *m = a->message;
	size_t size = (size_t)m[1] << 16 | (size_t)m[2] << 8 | m[3];

	if (m[0] == HELLO_REQUEST && size == 0) { /* at any time (RFC 5246 7.4.1.1) */
		a->nmessage = 0;
		return;
	}
	if (!s->owed || m[0] != SERVER_HELLO || size < SERVER_HELLO_START - MESSAGE_HEADER) {
		s->deaf = true;
	} else if (a->nmessage == SERVER_HELLO_START) {
		s->decided =
			memcmp(m + MESSAGE_HEADER + 2, retry_random, sizeof(retry_random)) != 0;
		s->owed = false;
		a->skip = size - (SERVER_HELLO_START - MESSAGE_HEADER);
		a->nmessage = 0;
	}
}

/* Part of the body of a handshake record. */
static void read_messages(struct snicheck *s, const uint8_t *p, size_t n)
{
	struct answer *a = &s->answer;

	while (n && !s->decided && !s->deaf) {
		size_t part = n < a->skip ? n : a->skip;

		a->skip -= part;
		if (!part)
			part = fill(a->message, &a->nmessage,
				    a->nmessage < MESSAGE_HEADER ? MESSAGE_HEADER
								 : SERVER_HELLO_START,
				    p, n);
		if (a->nmessage >= MESSAGE_HEADER)
			judge_message(s);
		p += part;
		n -= part;
	}
}

static void read_header(struct snicheck *s)
{
	struct answer *a = &s->answer;

	a->left = (size_t)a->head[3] << 8 | a->head[4];
	s->deaf = !is_record(a->head[0]) || a->head[1] != 0x03 || a->left > RECORD_MAX;
}

void snicheck_server(struct snicheck *s, const uint8_t *p, size_t n)
{
	struct answer *a = &s->answer;

	a->seen += n;
	while (n && !s->decided && !s->deaf) {
		size_t part;

		if (a->left == 0) {
			part = fill(a->head, &a->nhead, RECORD_HEADER_SIZE, p, n);
			if (a->nhead == RECORD_HEADER_SIZE) {
				read_header(s);
				a->nhead = 0;
			}
		} else {
			part = n < a->left ? n : a->left;
			if (a->head[0] == RECORD_HANDSHAKE)
				read_messages(s, p, part);
			a->left -= part;
		}
		p += part;
		n -= part;
	}
	s->deaf = s->deaf || (!s->decided && a->seen >= TLS_HELLO_MAX);
}

/* ---- both, in a tunnel */

/*
 * Whoever handed the listener to `serve` may have set an offset for looks (SO_PEEK_OFF, which TCP has
 * since Linux 6.9) that each accepted socket inherits: what is looked at is then not what goes out.
 */
static void look_at_the_beginning(int fd)
{
	const int off = -1;

	(void)setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
}

size_t snicheck_held(const struct snicheck *s)
{
	return s ? s->nearly - s->off : 0;
}

void snicheck_begin(struct snicheck *s, struct tunnel *t, const uint8_t *p, size_t n)
{
	look_at_the_beginning(t->side[CLIENT].fd);
	if (n) {
		s->early = xmalloc(n);
		memcpy(s->early, p, n);
		s->nearly = n;
	}
	t->way[CLIENT].shut = t->way[SERVER].shut = true;
}

/* Nobody who does not answer can be waited for: from then on its way is as any other. */
static void server_turn(struct snicheck *s, struct tunnel *t, uint8_t *scratch)
{
	struct side *server = &t->side[SERVER], *client = &t->side[CLIENT];
	struct way *w = &t->way[SERVER];

	if (!w->shut)
		return;
	while (way_flush(w, client) && server->readable && !w->eof && !server->broken &&
	       !client->broken && !s->decided && !s->deaf) {
		ssize_t n = way_read(w, server, scratch, TUNNEL_COPY);

		if (n <= 0)
			continue;
		snicheck_server(s, scratch, (size_t)n);
		way_send(w, client, scratch, (size_t)n);
	}
	w->shut = !(s->decided || s->deaf || w->eof || server->broken);
}

/* What the client has sent and was not let go, in @scratch; nothing is taken. */
static size_t look(struct snicheck *s, struct tunnel *t, uint8_t *scratch, size_t size, bool *ended)
{
	struct side *client = &t->side[CLIENT];
	size_t have = s->nearly - s->off;
	ssize_t n;

	*ended = t->way[CLIENT].eof || s->ending;
	if (have)
		memcpy(scratch, s->early + s->off, have);
	if (t->way[CLIENT].eof || have >= size || !client->readable)
		return have;
	do
		n = side_recv(client, scratch + have, size - have, MSG_PEEK);
	while (n < 0 && errno == EINTR);
	*ended |= n == 0;
	if (n < 0 && errno == EAGAIN)
		client->readable = false; /* the next edge brings us here again */
	else if (n < 0)
		client->broken = true; /* reset: nothing of it goes out */
	return have + (n > 0 ? (size_t)n : 0);
}

static void pass(struct tunnel *t, const uint8_t *p, size_t n)
{
	struct way *w = &t->way[CLIENT];

	if (!n || t->side[SERVER].broken)
		return;
	if (way_flush(w, &t->side[SERVER]))
		way_send(w, &t->side[SERVER], p, n);
	else
		tunnel_keep(t, CLIENT, p, n, 0);
}

/*
 * What was looked at is in @scratch, and still to be read: the first @n bytes of it go. Return: false
 * if something else is read.
 */
static bool let_go(struct snicheck *s, struct tunnel *t, const uint8_t *scratch, size_t n)
{
	size_t at = s->nearly - s->off < n ? s->nearly - s->off : n;
	uint8_t some[SOME];

	if (at)
		pass(t, s->early + s->off, at);
	s->off += at;
	while (at < n && t->side[CLIENT].readable) {
		size_t want = n - at < sizeof(some) ? n - at : sizeof(some);
		ssize_t got = way_read(&t->way[CLIENT], &t->side[CLIENT], some, want);

		if (got <= 0)
			continue;
		if (memcmp(some, scratch + at, (size_t)got) != 0)
			return false;
		pass(t, some, (size_t)got);
		at += (size_t)got;
	}
	return true;
}

/* An end behind bytes that cannot be let go is not seen by looking at them. */
static bool ends_here(struct snicheck *s, const struct tunnel *t)
{
	bool before = s->ending;

	s->ending = side_has_ended(&t->side[CLIENT]);
	return s->ending && !before;
}

/* A server that takes nothing holds the client back: what waits for it is what one look has let go. */
static bool server_takes(struct tunnel *t)
{
	return way_flush(&t->way[CLIENT], &t->side[SERVER]) || t->side[SERVER].broken;
}

/* Return: as snicheck_turn(). */
static enum snicheck_verdict client_turn(struct snicheck *s, struct tunnel *t, uint8_t *scratch,
					 size_t size)
{
	struct side *client = &t->side[CLIENT];

	for (int i = 0; i < TURNS; i++) {
		enum snicheck_verdict v;
		bool ended;
		size_t go, n;

		if (!server_takes(t)) {
			(void)side_notice(client);
			return SNICHECK_WAIT;
		}
		n = look(s, t, scratch, size, &ended);
		v = snicheck_client(s, scratch, n, ended, &go);
		if (v == SNICHECK_REFUSE)
			return v;
		if (!let_go(s, t, scratch, v == SNICHECK_PASS ? n : go))
			return SNICHECK_REFUSE;
		if (v == SNICHECK_PASS || !client->readable || client->broken)
			return v;
		if (!go && !ends_here(s, t))
			return SNICHECK_WAIT;
	}
	return SNICHECK_AGAIN;
}

enum snicheck_verdict snicheck_turn(struct snicheck *s, struct tunnel *t, uint8_t *scratch,
				    size_t size)
{
	enum snicheck_verdict v;

	server_turn(s, t, scratch);
	v = client_turn(s, t, scratch, size);
	if (v == SNICHECK_PASS)
		t->way[CLIENT].shut = t->way[SERVER].shut = false;
	if (t->side[SERVER].broken)
		t->way[SERVER].shut = false; /* what it had said is to be delivered */
	return v;
}
