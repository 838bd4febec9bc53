#include "cli/hostaddrs.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdreserve.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "netns/ifaddrs.h"

#define RETRY_MS 250

struct hostaddrs {
	struct addr_set set;
	struct event ev, again;
	struct error said; /* why the list is as it was, or an empty message */
	int watch;
};

/*
 * A failing list keeps the old one, and is tried again: an own address too many refuses, one too few
 * is caught after the connect, where both ends have the same address.
 */
static void refresh(struct hostaddrs *h)
{
	const struct timeval soon = { .tv_usec = RETRY_MS * 1000 };
	struct error err = { 0 };
	int rc;

	fdreserve_lend();
	rc = ifaddrs_list(&h->set, &err);
	fdreserve_back();
	if (rc < 0)
		(void)event_add(&h->again, &soon);
	if (rc < 0 && strcmp(err.msg, h->said.msg) != 0)
		log_warn("own addresses: %s", err.msg);
	h->said = rc < 0 ? err : (struct error){ 0 };
}

static void changed_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	if (ifaddrs_changed(fd))
		refresh(arg);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	refresh(arg);
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
	(void)event_assign(&h->again, base, -1, 0, again_cb, h);
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
	(void)event_del(&h->again);
	(void)close(h->watch);
	ifaddrs_clear(&h->set);
	free(h);
}

const struct addr_set *hostaddrs_set(const struct hostaddrs *h)
{
	return &h->set;
}
