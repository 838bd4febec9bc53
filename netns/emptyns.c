#include "netns/emptyns.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "netns/netlink.h"

#define ATTEMPTS  8  /* a table may change while it is read */
#define LINKS_MAX 64 /* names that are kept for messages */

struct found {
	int lo;
	bool lo_up;
	struct {
		int index;
		char name[IFNAMSIZ];
	} link[LINKS_MAX];
	size_t nlinks;
	const char *what; /* the first thing that leads out */
	int index;
};

static void note(struct found *f, const char *what, int index)
{
	if (f->what)
		return;
	f->what = what;
	f->index = index;
}

static void each_link(void *arg, const struct nlmsghdr *h)
{
	const struct ifinfomsg *m = NLMSG_DATA(h);
	struct found *f = arg;
	size_t n;

	if (h->nlmsg_type != RTM_NEWLINK || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	if (m->ifi_type == ARPHRD_LOOPBACK) {
		f->lo = m->ifi_index;
		f->lo_up = m->ifi_flags & IFF_UP;
		return;
	}
	n = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	for (const struct rtattr *a = IFLA_RTA(m); RTA_OK(a, n); a = RTA_NEXT(a, n)) {
		if (a->rta_type != IFLA_IFNAME || f->nlinks == LINKS_MAX)
			continue;
		f->link[f->nlinks].index = m->ifi_index;
		memcpy(f->link[f->nlinks].name, RTA_DATA(a),
		       RTA_PAYLOAD(a) < IFNAMSIZ ? RTA_PAYLOAD(a) : IFNAMSIZ - 1);
		f->nlinks++;
	}
	if (m->ifi_flags & IFF_UP)
		note(f, "is up", m->ifi_index);
}

static void each_addr(void *arg, const struct nlmsghdr *h)
{
	const struct ifaddrmsg *m = NLMSG_DATA(h);
	struct found *f = arg;

	if (h->nlmsg_type == RTM_NEWADDR && h->nlmsg_len >= NLMSG_LENGTH(sizeof(*m)) &&
	    (int)m->ifa_index != f->lo)
		note(f, "has an address", (int)m->ifa_index);
}

static void each_route(void *arg, const struct nlmsghdr *h)
{
	const struct rtmsg *m = NLMSG_DATA(h);
	struct found *f = arg;
	int oif = f->lo;
	size_t n;

	if (h->nlmsg_type != RTM_NEWROUTE || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	n = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	for (const struct rtattr *a = RTM_RTA(m); RTA_OK(a, n); a = RTA_NEXT(a, n)) {
		if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == sizeof(oif))
			memcpy(&oif, RTA_DATA(a), sizeof(oif));
	}
	if (oif != f->lo)
		note(f, m->rtm_dst_len == 0 ? "carries a default route" : "carries a route", oif);
}

static int dump(int sock, uint16_t type, void (*each)(void *arg, const struct nlmsghdr *h),
		struct found *f, struct error *err)
{
	int rc = -1;

	for (int i = 0; i < ATTEMPTS && rc < 0; i++) {
		rc = netlink_dump(sock, type, each, f);
		if (rc < 0 && errno != EINTR)
			break;
	}
	return rc < 0 ? error_set(err, errno, "cannot look at the network namespace") : 0;
}

int emptyns_check(bool *lo_up, struct error *err)
{
	CLEANUP_CLOSE int sock = netlink_open(0);
	struct found f = { 0 };
	const char *name = "an interface";

	if (sock < 0)
		return error_set(err, errno, "cannot look at the network namespace");
	if (dump(sock, RTM_GETLINK, each_link, &f, err) < 0 ||
	    dump(sock, RTM_GETADDR, each_addr, &f, err) < 0 ||
	    dump(sock, RTM_GETROUTE, each_route, &f, err) < 0)
		return -1;
	for (size_t i = 0; i < f.nlinks; i++)
		if (f.link[i].index == f.index)
			name = f.link[i].name;
	if (f.what)
		return error_set(
			err, 0,
			"this network namespace is not empty: %s %s; start a bridge in one "
			"that is (unshare -rn, bwrap --unshare-net, --network none), or use "
			"sbx-net run",
			name, f.what);
	if (!f.lo)
		return error_set(err, 0, "this network namespace has no loopback");
	*lo_up = f.lo_up;
	return 0;
}
