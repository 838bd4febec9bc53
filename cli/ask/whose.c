/*
 * Theory of operation: a helper process of our own (helper.c) looks, because the supervisor may not.
 * The answer is waited for, so that it is there before the connection goes on: whoever is refused
 * is gone a millisecond later. A look takes less than half of one, and happens once for each target
 * and outcome, LOOKS_MAX times in a run: to have many connections costs nothing, to have many
 * targets little. Only runs that write it down do it at all.
 */
#include "cli/ask/whose.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "cli/ask/helper.h"

#define LOOKS_MAX 512
#define SLOTS	  (2 * LOOKS_MAX)
#define WAIT_MS	  200 /* a busy machine; usually less than one */
#define LATE_MAX  5   /* a helper that is not heard of is not asked any more */

struct whose {
	struct helper *helper;
	bool joined; /* @helper is another's */
	pid_t init;
	struct hash_key key;
	uint64_t seen[SLOTS]; /* 0 is empty */
	size_t nseen;
	unsigned late;
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
	w->init = init;
	w->key = hash_key_random();
	return w;
}

struct whose *whose_join(const struct whose *with, pid_t init)
{
	struct whose *w = xcalloc(1, sizeof(*w));

	w->helper = with->helper;
	w->joined = true;
	w->init = init;
	w->key = hash_key_random();
	return w;
}

void whose_free(struct whose *w)
{
	if (!w)
		return;
	if (!w->joined)
		helper_free(w->helper);
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

const struct who *whose_look(struct whose *w, const struct proxy_event *ev)
{
	struct who_socket socket;

	if ((ev->client < 0 && ev->asker.family == AF_UNSPEC) || w->late == LATE_MAX ||
	    !is_new(w, ev) || !find_socket(ev, &socket))
		return NULL;
	if (helper_who_wait(w->helper, w->init, &socket, WAIT_MS, &w->last) < 0) {
		w->late++;
		return NULL;
	}
	w->late = 0;
	return w->last.pid ? &w->last : NULL;
}
