#include "dns/recordask.h"

#include <ares.h>
#include <stdbool.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "dns/channel.h"
#include "dns/records.h"
#include "dns/resolver.h"

/**
 * struct recordask - a question that is out, or whose answer is about to be told
 * @ask: NULL once it has been answered
 * @end: the time-out; made active to tell an answer, since c-ares may answer before it returns
 * @good: @records is what was answered
 */
struct recordask {
	recordask_cb *cb;
	void *arg;
	struct hostname name;
	uint16_t type;
	struct channel_ask *ask;
	struct event *end;
	bool good;
	struct wire_records records;
};

static void answer_cb(void *arg, int status, const uint8_t *msg, size_t len)
{
	struct recordask *a = arg;

	a->ask = NULL;
	if (status == ARES_SUCCESS)
		a->good = records_parse(msg, len, &a->name, a->type, &a->records) == PARSE_OK;
	else
		a->good = status == ARES_ENODATA || status == ARES_ENOTFOUND;
	log_debug("event=dns host=%s type=%u status=%s records=%zu", a->name.s, a->type,
		  ares_strerror(status), a->records.n);
	event_active(a->end, EV_TIMEOUT, 0);
}

static void end_cb(evutil_socket_t fd, short what, void *arg)
{
	struct recordask *a = arg;

	(void)fd;
	(void)what;
	if (a->ask)
		channel_forget(a->ask);
	a->cb(a->arg, a->good ? &a->records : NULL);
	event_free(a->end);
	free(a);
}

struct recordask *recordask_start(struct event_base *base, struct resolver *r,
				  const struct hostname *name, uint16_t type, recordask_cb *cb,
				  void *arg)
{
	static const struct timeval patience = { .tv_sec = RESOLVER_TIMEOUT_MS / 1000 };
	struct channel *c = resolver_channel(r);
	struct recordask *a;

	if (!c)
		return NULL;
	a = xcalloc(1, sizeof(*a));
	a->cb = cb;
	a->arg = arg;
	a->name = *name;
	a->type = type;
	a->end = evtimer_new(base, end_cb, a);
	if (!a->end || evtimer_add(a->end, &patience))
		die("out of memory");
	channel_ask(c, name->s, type, answer_cb, a, &a->ask);
	return a;
}

void recordask_cancel(struct recordask *a)
{
	if (a->ask)
		channel_forget(a->ask);
	event_free(a->end);
	free(a);
}
