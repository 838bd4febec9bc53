/*
 * Theory of operation: a helper process of our own (helper.c) looks, because the supervisor may not.
 * The answer is waited for, so that it is there before the connection goes on: whoever is refused
 * is gone a millisecond later. A look takes less than half of one, and happens once for each target
 * and outcome, LOOKS_MAX times in a run: to have many connections costs nothing, to have many
 * targets little. Only runs that write it down do it at all.
 * In serve all sandboxes share the helper. One that has very many processes and descriptors makes looks into it
 * slow: each ends in LOOK_MS, and a namespace where SLOW_MAX were not over then gets none for a while, however
 * many sessions it begins. What that costs the others is a small part of the time, and none of their names.
 */
#include "cli/ask/whose.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "cli/ask/helper.h"

#define LOOKS_MAX 512
#define SLOTS	  (2 * LOOKS_MAX)
#define LOOK_MS	  50 /* a busy machine; usually less than one */
#define SLOW_MAX  4
#define REST_MS	  (10 * 1000)
#define PLACES	  512

/* One network namespace whose looks were slow. @slow: how many, and when it last was */
struct place {
	uint64_t netns, last;
	unsigned slow;
};

struct whose {
	struct helper *helper;
	bool joined; /* @helper and @place are another's */
	struct place *place;
	uint64_t netns;
	pid_t init;
	struct hash_key key;
	uint64_t seen[SLOTS]; /* 0 is empty */
	size_t nseen;
	struct who last;
};

struct whose *whose_new(pid_t init, struct error *err)
{
	const struct helper_config cfg = { .init = init };
	struct helper *helper = helper_start(NULL, &cfg, err);
	struct whose *w;

	if (!helper)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->helper = helper;
	w->place = xcalloc(PLACES, sizeof(*w->place));
	w->init = init;
	w->key = hash_key_random();
	return w;
}

struct whose *whose_join(const struct whose *with, pid_t init, uint64_t netns)
{
	struct whose *w = xcalloc(1, sizeof(*w));

	w->helper = with->helper;
	w->joined = true;
	w->place = with->place;
	w->init = init;
	w->netns = netns;
	w->key = hash_key_random();
	return w;
}

void whose_free(struct whose *w)
{
	if (!w)
		return;
	if (!w->joined) {
		helper_free(w->helper);
		free(w->place);
	}
	free(w);
}

/* Whether it is the first of its kind, and there is room to remember that. */
static bool is_new(struct whose *w, const struct proxy_event *ev)
{
	char text[TARGET_TEXT_MAX];
	uint64_t h;
	size_t i;

	(void)target_format(ev->target, text);
	h = hash_bytes(&w->key, text, strlen(text)) + (uint64_t)ev->decision.code * 2 +
	    (ev->decision.verdict == VERDICT_ALLOW);
	h |= h == 0;
	for (i = h % SLOTS; w->seen[i]; i = (i + 1) % SLOTS)
		if (w->seen[i] == h)
			return false;
	if (w->nseen == LOOKS_MAX)
		return false;
	w->seen[i] = h;
	w->nseen++;
	return true;
}

/* The client's own end: of a connection, or of the datagram that asked for a name. */
static bool find_socket(const struct proxy_event *ev, struct who_socket *out)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);

	*out = (struct who_socket){ .udp = true, .addr = ev->asker, .port = ev->asker_port };
	if (ev->client < 0)
		return true;
	out->udp = false;
	return getpeername(ev->client, (struct sockaddr *)&ss, &len) == 0 &&
	       addr_from_sockaddr((struct sockaddr *)&ss, &out->addr, &out->port);
}

/* That of our namespace; the number is the kernel's, not the peer's to choose. */
static struct place *our_place(const struct whose *w)
{
	return &w->place[w->netns % PLACES];
}

static bool is_resting(const struct whose *w)
{
	const struct place *p = our_place(w);

	return p->netns == w->netns && p->slow >= SLOW_MAX && clock_ms() - p->last < REST_MS;
}

static void note_slow(struct whose *w)
{
	struct place *p = our_place(w);
	uint64_t now = clock_ms();

	if (p->netns != w->netns || now - p->last >= REST_MS)
		*p = (struct place){ .netns = w->netns };
	p->slow++;
	p->last = now;
}

const struct who *whose_look(struct whose *w, const struct proxy_event *ev)
{
	struct who_socket socket;

	if ((ev->client < 0 && ev->asker.family == AF_UNSPEC) || is_resting(w) || !is_new(w, ev) ||
	    !find_socket(ev, &socket))
		return NULL;
	switch (helper_who_wait(w->helper, w->init, &socket, LOOK_MS, &w->last)) {
	case HELPER_LATE:
		note_slow(w);
		return NULL;
	case HELPER_NOT_LOOKED:
		return NULL;
	case HELPER_LOOKED:
		break;
	}
	return w->last.pid ? &w->last : NULL;
}
