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

/*
 * Devices that some modules put into every namespace, by their kind: they carry packets to where
 * routes of this namespace lead, which is nowhere.
 */
static const struct {
	const char *name, *kind;
} fallback[] = {
	{ "tunl0", "ipip" },  { "sit0", "sit" },       { "ip6tnl0", "ip6tnl" },
	{ "gre0", "gre" },    { "gretap0", "gretap" }, { "erspan0", "erspan" },
	{ "ip_vti0", "vti" }, { "ip6_vti0", "vti6" },  { "ip6gre0", "ip6gre" },
};

/**
 * struct found - what has been seen so far
 * @down: an interface that could be raised, or 0
 * @what: the first thing that leads out, at interface @index
 */
struct found {
	int lo, down;
	bool lo_up;
	struct {
		int index;
		char name[IFNAMSIZ];
	} link[LINKS_MAX];
	size_t nlinks;
	const char *what;
	int index;
};

static void note(struct found *f, const char *what, int index)
{
	if (f->what)
		return;
	f->what = what;
	f->index = index;
}

static void copy_text(char *out, size_t size, const struct rtattr *a)
{
	size_t n = RTA_PAYLOAD(a) < size ? RTA_PAYLOAD(a) : size - 1;

	memcpy(out, RTA_DATA(a), n);
	out[n] = '\0';
}

/* IFLA_INFO_KIND of IFLA_LINKINFO. */
static void copy_kind(char *out, size_t size, const struct rtattr *info)
{
	size_t n = RTA_PAYLOAD(info);

	for (const struct rtattr *a = RTA_DATA(info); RTA_OK(a, n); a = RTA_NEXT(a, n)) {
		if (a->rta_type == IFLA_INFO_KIND)
			copy_text(out, size, a);
	}
}

/* A tunnel that was brought here from another namespace still sends its packets there. */
static bool is_fallback(const char *name, const char *kind, bool elsewhere)
{
	for (size_t i = 0; !elsewhere && i < ARRAY_SIZE(fallback); i++) {
		if (strcmp(name, fallback[i].name) == 0 && strcmp(kind, fallback[i].kind) == 0)
			return true;
	}
	return false;
}

static void each_link(void *arg, const struct nlmsghdr *h)
{
	const struct ifinfomsg *m = NLMSG_DATA(h);
	struct found *f = arg;
	char name[IFNAMSIZ] = "", kind[IFNAMSIZ] = "";
	bool elsewhere = false;
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
		if (a->rta_type == IFLA_IFNAME)
			copy_text(name, sizeof(name), a);
		else if ((a->rta_type & NLA_TYPE_MASK) == IFLA_LINKINFO)
			copy_kind(kind, sizeof(kind), a);
		elsewhere |= a->rta_type == IFLA_LINK_NETNSID;
	}
	if (f->nlinks < LINKS_MAX) {
		f->link[f->nlinks].index = m->ifi_index;
		memcpy(f->link[f->nlinks++].name, name, sizeof(name));
	}
	if (m->ifi_flags & IFF_UP)
		note(f, "is up", m->ifi_index);
	else if (!f->down && !is_fallback(name, kind, elsewhere))
		f->down = m->ifi_index;
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

int emptyns_check(bool admin, bool *lo_up, struct error *err)
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
	if (admin && f.down)
		note(&f, "is there, and CAP_NET_ADMIN could raise it", f.down);
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
