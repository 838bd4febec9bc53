#include "cli/hostaddrs.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "netns/ifaddrs.h"

struct hostaddrs {
	struct addr_set set;
	struct event ev;
	int watch;
};

static void changed_cb(evutil_socket_t fd, short what, void *arg)
{
	struct hostaddrs *h = arg;
	struct error err;

	(void)what;
	/* A failing list keeps the old one: an own address too many refuses, one too few is caught
	 * after the connect, where both ends have the same address. */
	if (ifaddrs_changed(fd) && ifaddrs_list(&h->set, &err) < 0)
		log_warn("own addresses: %s", err.msg);
}

struct hostaddrs *hostaddrs_new(struct event_base *base, struct error *err)
{
	struct hostaddrs *h = xcalloc(1, sizeof(*h));

	/* Watch first: a change between the two is then seen. */
	h->watch = ifaddrs_watch(err);
	if (h->watch < 0 || ifaddrs_list(&h->set, err) < 0) {
		if (h->watch >= 0)
			(void)close(h->watch);
		free(h);
		return NULL;
	}
	(void)event_assign(&h->ev, base, h->watch, EV_READ | EV_PERSIST, changed_cb, h);
	if (event_add(&h->ev, NULL) < 0) {
		(void)error_set(err, errno, "cannot watch our own addresses");
		hostaddrs_free(h);
		return NULL;
	}
	return h;
}

void hostaddrs_free(struct hostaddrs *h)
{
	if (!h)
		return;
	(void)event_del(&h->ev);
	(void)close(h->watch);
	ifaddrs_clear(&h->set);
	free(h);
}

const struct addr_set *hostaddrs_set(const struct hostaddrs *h)
{
	return &h->set;
}
